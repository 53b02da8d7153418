import DataSourceTesting
import ReactiveSignals
import TestSupport
import Testing

@Suite struct TransformingTests {
  private let marbles = Marbles()

  @Test func mapTransformsEachValue() throws {
    try marbles.check(marbles.input("-a-b-|").map { $0.uppercased() }, "-A-B-|")
  }

  @Test func filterLeavesOut() throws {
    try marbles.check(marbles.input("-a-b-(ac)|").filter { $0 != "a" }, "---b-c|")
  }

  @Test func removeDuplicatesLeavesOutWhatFollowsItsEqual() throws {
    try marbles.check(marbles.input("-aa(ab)-a|").removeDuplicates(), "-a-b-a|")
  }

  @Test func compactMapLeavesOutWhatBecomesNil() throws {
    try marbles.check(marbles.input("-1-a-2-|").compactMap { Int($0) }, "-1---2-|")
  }

  @Test func scanSendsWhatEachValueMakesOfTheResultBefore() throws {
    try marbles.check(marbles.input("-a-(bc)-|").scan("") { $0 + $1 }, "-a-([ab][abc])-|")
  }

  @Test func scanOfAPropertyTellsItsResultFirst() {
    let property = Property(1)
    let sums = property.signal.scan(10, +)
    property.value = 2
    let log = Log<Int>()
    let observation = sums.observe { log.append($0) }
    property.value = 3
    #expect(log.value == [13, 16])
    withExtendedLifetime(observation) {}
  }

  @Test func anOptionalValueIsAValue() {
    let property = Property<Int?>(nil)
    let log = Log<Int?>()
    let observation = property.signal.map { $0 }.observe { log.append($0) }
    property.value = 1
    property.value = nil
    #expect(log.value == [nil, 1, nil])
    withExtendedLifetime(observation) {}
  }
}
