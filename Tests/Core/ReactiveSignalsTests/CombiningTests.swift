import DataSourceTesting
import ReactiveSignals
import TestSupport
import Testing

@Suite struct CombiningTests {
  private let marbles = Marbles()

  private func check<A, B>(
    _ signal: Signal<(A, B)>, _ line: String
  ) throws(MarbleError) {
    try marbles.check(signal, line) { "\($0.0)\($0.1)" }
  }

  // MARK: merge

  @Test func `merge sends the values of all inputs as they arrive`() throws {
    let (one, two) = (marbles.input("-a--b-|"), marbles.input("-x-y----z|"))
    try marbles.check(one.merge(with: two), "-(ax)-yb---z|")
  }

  @Test func `merge of three signals ends with the last one`() throws {
    let inputs = ["a|", "-b---|", "--c|"].map { marbles.input($0) }
    try marbles.check(inputs[0].merge(with: inputs[1], inputs[2]), "abc--|")
  }

  @Test(arguments: [([], "-a-|"), (["b|"], "ba-|"), (["-b--|", "-c|"], "-(abc)--|")])
  func `merge takes any number of signals`(others: [String], line: String) throws {
    let input = marbles.input("-a-|")
    try marbles.check(input.merge(with: others.map { marbles.input($0) }), line)
  }

  @Test func `merge loses no value of one commit`() throws {
    let input = marbles.input("-a-b|")
    try marbles.check(input.merge(with: input.map { $0.uppercased() }), "-(aA)-(bB)|")
  }

  @Test func `merge sends a signal before the signals derived from it`() throws {
    let input = marbles.input("-a-b|")
    try marbles.check(input.map { $0.uppercased() }.merge(with: input), "-(aA)-(bB)|")
  }

  @Test func `merge of properties sends the latest value first`() {
    let (one, other) = (Property(1), Property(2))
    let merged = one.signal.merge(with: other.signal)
    one.value = 3
    let log = Log<Int>()
    let observation = merged.observe { log.append($0) }
    other.value = 4
    #expect(log.value == [3, 4])
    withExtendedLifetime(observation) {}
  }

  // MARK: combineLatest

  @Test func `combineLatest sends the pair of the latest values`() throws {
    let (one, two) = (marbles.input("-a--b-|"), marbles.input("--x--y-(zw)|"))
    try check(one.combineLatest(two), "--[ax]-[bx][by]-([bz][bw])|")
  }

  @Test func `combineLatest ends with an input that has sent nothing`() throws {
    try check(marbles.input("-a-b-c").combineLatest(marbles.input("---|")), "---|")
  }

  @Test func `combineLatest of one root sends one pair for each commit`() throws {
    let input = marbles.input("-a-b|")
    let pairs = input.map { $0.uppercased() }.combineLatest(input.filter { _ in true })
    try check(pairs, "-[Aa]-[Bb]|")
  }

  @Test func `combineLatest of one root keeps the other value if one is left out`() throws {
    let input = marbles.input("-abc|")
    try check(input.filter { $0 != "b" }.combineLatest(input), "-[aa][ab][cc]|")
  }

  @Test func `combineLatest combines three signals`() throws {
    let (a, b, c) = (marbles.input("a--d--|"), marbles.input("-b----|"), marbles.input("--c--e|"))
    try marbles.check(a.combineLatest(b, c), "--[abc][dbc]-[dbe]|") { "\($0.0)\($0.1)\($0.2)" }
  }

  @Test func `combineLatest of three signals of one root sends one value for each commit`() throws {
    let input = marbles.input("ab|")
    let triples = input.combineLatest(input.map { $0.uppercased() }, input.scan("") { $0 + $1 })
    try marbles.check(triples, "[aAa][bBab]|") { "\($0.0)\($0.1)\($0.2)" }
  }

  @Test func `combineLatest of properties sends the current pair first`() {
    let (name, count) = (Property("a"), Property(1))
    let pairs = name.signal.combineLatest(count.signal)
    count.value = 2
    let log = Log<String>()
    let observation = pairs.observe { log.append("\($0)\($1)") }
    name.value = "b"
    #expect(log.value == ["a2", "b2"])
    withExtendedLifetime(observation) {}
  }

  // MARK: zip

  @Test func `zip sends pairs in order`() throws {
    try check(
      marbles.input("-a-(bc)---d").zip(marbles.input("--x--y-z")), "--[ax]--[by]-[cz]")
  }

  @Test(arguments: [
    // The values of the ended input are used up, or are pending for a partner.
    ("-a|", "--x---", "--([ax]|)"),
    ("-a|", "x--y", "-[ax]|"),
    ("-a-b-|", "x|", "-([ax]|)"),
    ("-a-|", "----|", "----|"),
  ])
  func `zip ends when no pair is possible`(one: String, other: String, line: String) throws {
    try check(marbles.input(one).zip(marbles.input(other)), line)
  }

  @Test func `zip of one root sends at most one pair for each commit`() throws {
    let input = marbles.input("-abcd|")
    try check(input.zip(input.filter { $0 != "a" }), "--[ab][bc][cd]|")
  }

  @Test func `zip combines three signals`() throws {
    let (a, b, c) = (marbles.input("ad|"), marbles.input("-b-e"), marbles.input("--cf"))
    try marbles.check(a.zip(b, c), "--[abc]([def]|)") { "\($0.0)\($0.1)\($0.2)" }
  }

  @Test func `zip keeps the order of many pending values`() {
    let (one, other) = (SignalInput<Int>(), SignalInput<Int>())
    let log = Log<Bool>()
    let observation = one.signal.zip(other.signal).observe { log.append($0 == $1) }
    for number in 0..<1000 { one.send(number) }
    for number in 0..<1000 { other.send(number) }
    #expect(log.value == Array(repeating: true, count: 1000))
    withExtendedLifetime(observation) {}
  }

  // MARK: Several domains

  @Test func `a combined signal has memory only if all inputs have memory`() {
    let (property, input, log) = (Property(1), SignalInput<Int>(), Log<Int>())
    let signals = [
      property.signal.merge(with: input.signal),
      property.signal.combineLatest(input.signal).map { $0 + $1 },
      property.signal.zip(input.signal).map { $0 + $1 },
    ]
    input.send(2)
    let observations = signals.map { $0.observe { log.append($0) } }
    #expect(log.value == [])
    withExtendedLifetime(observations) {}
  }

  @Test func `the end releases a value that is pending for a partner`() {
    let (one, other) = (SignalInput<Int>(), SignalInput<Token>())
    let zipped = one.signal.zip(other.signal)
    weak var weakToken: Token?
    do {
      let token = Token()
      weakToken = token
      other.send(token)
    }
    #expect(weakToken != nil)
    one.finish()
    #expect(weakToken == nil)
    withExtendedLifetime(zipped) {}
  }

  @Test(
    .timeLimit(.minutes(10)),
    arguments: [
      { $0.zip($1) }, { $0.combineLatest($1) },
    ] as [@Sendable (Signal<Int>, Signal<Int>) -> Signal<(Int, Int)>])
  func `a combined signal that has ended releases inputs that continue`(
    combine: @Sendable (Signal<Int>, Signal<Int>) -> Signal<(Int, Int)>
  ) async {
    let (ended, end) = AsyncStream<Void>.makeStream()
    let (stream, feed) = AsyncStream<Int>.makeStream()
    feed.onTermination = { _ in end.finish() }
    let input = SignalInput<Int>()
    let combined = combine(input.signal, Signal(stream))
    let observation = combined.observe { _ in }
    input.finish()
    for await _ in ended {}
    withExtendedLifetime((combined, observation)) {}
  }
}
