import DataSourceTesting
import ReactiveSignals
import SwappablePrimitives
import Testing

@Suite struct MarblesTests {
  private let marbles = Marbles()

  @Test func `an input is played tick by tick`() throws {
    let letters = marbles.input("-a-b-|")
    try marbles.check(letters.map { $0.uppercased() }, "-A-B-|")
  }

  @Test func `groups, long names and blanks are parsed and printed`() throws {
    let recording = marbles.record(marbles.input("  (ab) - [long] ([x-y] z) | "))
    marbles.play()
    #expect(recording.line == "(ab)-[long]([x-y]z)|")
    try recording.check("(ab)-[long]([x-y]z)|---")
  }

  @Test func `a name may contain blanks`() throws {
    let pairs = marbles.input("-a-b").map { ($0, 1) }
    try marbles.check(pairs, #"- [("a", 1)] - [("b", 1)]"#)
  }

  @Test func `each recording begins with a tick of its own`() throws {
    for _ in 0..<3 { try marbles.check(marbles.input("-a-b-|"), "-a-b-|") }
  }

  @Test func `values are named by their description or a closure`() throws {
    let numbers = marbles.input("-12-").map { Int($0) ?? 0 }
    let (plain, named) = (marbles.record(numbers), marbles.record(numbers) { "\($0 * 10)" })
    marbles.play()
    try plain.check("-12")
    try named.check("-[10][20]")
  }

  @Test func `a failure shows both lines`() {
    let input = marbles.input("-a-b-|")
    let mismatch = #expect(throws: MarbleError.self) { try marbles.check(input, "-a--b|") }
    #expect(
      mismatch?.description == """
        the signal has sent other values
          expected -a--b|
          received -a-b-|
        """)
  }

  @Test(arguments: ["-a-|", "-a-b", "a--b|", "(ab)", ""])
  func `every difference is found`(expected: String) {
    let input = marbles.input("-a-b-|")
    #expect(throws: MarbleError.self) { try marbles.check(input, expected) }
  }

  @Test func `inputs of one tick send in the order of their creation`() throws {
    let log = Locked<[String]>([])
    let (one, other) = (marbles.input("-a-c"), marbles.input("-b-d"))
    let observations = [one, other].map {
      $0.observe { value in log.withLock { $0.append(value) } }
    }
    marbles.play()
    #expect(log.withLock { $0 } == ["a", "b", "c", "d"])
    withExtendedLifetime(observations) {}
  }

  @Test(arguments: [Duration.milliseconds(100), .nanoseconds(3), .seconds(7)])
  func `a tick may have any duration`(tick: Duration) throws {
    let marbles = Marbles(tick: tick)
    let input = marbles.input("abcdefghij|")
    let late = input.debounced(for: tick * 3, clock: marbles.clock)
    let (plain, debounced) = (marbles.record(input), marbles.record(late))
    marbles.play()
    try plain.check("abcdefghij|")
    try debounced.check("----------(j|)")
  }

  @Test func `a disposed recording keeps its values`() throws {
    let recording = marbles.record(marbles.input("a"))
    recording.dispose()
    marbles.play()
    try recording.check("---")
  }

  @Test(arguments: ["-(ab", "-(", "-[ab", "-ab)", "(a(b))", "(a-b)"])
  func `a line that is not well formed traps`(line: String) async {
    await #expect(processExitsWith: .failure) { [line] in
      _ = Marbles().input(line)
    }
  }
}
