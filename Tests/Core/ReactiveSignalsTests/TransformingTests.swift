import DataSourceTesting
import ReactiveSignals
import TestSupport
import Testing

@Suite struct TransformingTests {
  private let marbles = Marbles()

  @Test func `map transforms each value`() throws {
    try marbles.check(marbles.input("-a-b-|").map { $0.uppercased() }, "-A-B-|")
  }

  @Test func `filter leaves out values that do not pass`() throws {
    try marbles.check(marbles.input("-a-b-(ac)|").filter { $0 != "a" }, "---b-c|")
  }

  @Test func `removeDuplicates leaves out a value that equals the previous one`() throws {
    try marbles.check(marbles.input("-aa(ab)-a|").removeDuplicates(), "-a-b-a|")
  }

  @Test func `compactMap leaves out values that become nil`() throws {
    try marbles.check(marbles.input("-1-a-2-|").compactMap { Int($0) }, "-1---2-|")
  }

  @Test func `scan combines each value with the previous result`() throws {
    try marbles.check(marbles.input("-a-(bc)-|").scan("") { $0 + $1 }, "-a-([ab][abc])-|")
  }

  @Test func `scan of a property sends its current result first`() {
    let property = Property(1)
    let sums = property.signal.scan(10, +)
    property.value = 2
    let log = Log<Int>()
    let observation = sums.observe { log.append($0) }
    property.value = 3
    #expect(log.value == [13, 16])
    withExtendedLifetime(observation) {}
  }

  @Test func `nil is a value like any other`() {
    let property = Property<Int?>(nil)
    let log = Log<Int?>()
    let observation = property.signal.map { $0 }.observe { log.append($0) }
    property.value = 1
    property.value = nil
    #expect(log.value == [nil, 1, nil])
    withExtendedLifetime(observation) {}
  }
}
