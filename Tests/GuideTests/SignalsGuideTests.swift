import DataSourceTesting
import Swappable
import Synchronization
import TestSupport
import Testing

struct Person {
  var name = "Ada"
  var city = "London"
}

private final class Label: Sendable {
  private let shown = Mutex("")

  var text: String {
    get { shown.withLock { $0 } }
    set { shown.withLock { $0 = newValue } }
  }
}

/// The code of the guide "Signals and properties", and its table of operators.
@Suite(.timeLimit(.minutes(10))) struct SignalsGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("Signals")
    #expect(guide.code.count == 7)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `it prints what the guide says`() throws {
    let print = Printed()
    let name = Property("Ada")
    let greeting = name.signal.map { "Hello, \($0)" }
    let observation = greeting.observe { print($0) }
    name.value = "Grace"
    observation.dispose()

    let price = Property(3)
    let count = Property(2)
    let total = ReadOnlyProperty(combining: price, count) { price, count in price * count }
    count.value = 5
    print(total.value)

    let person = Property(Person())
    let city = person.projection(\.city)
    let initial = person.map { $0.name.prefix(1) }
    city.value = "Turin"
    print(person.value.city, initial.value)
    #expect(try print.lines == Guide("Signals").output)
  }

  @Test func `a loop receives the newest value until its task is canceled`() async {
    let name = Property("Ada")
    let greeting = name.signal.map { "Hello, \($0)" }
    let (texts, text) = AsyncStream<String>.makeStream()
    @Sendable func print(_ line: String) { text.yield(line) }
    let loop = Task {
      for await text in greeting.values() {
        print(text)
      }
    }
    var lines = texts.makeAsyncIterator()
    #expect(await lines.next() == "Hello, Ada")
    name.value = "Grace"
    #expect(await lines.next() == "Hello, Grace")
    loop.cancel()
    await loop.value
  }

  @Test func `a sequence feeds a signal`() async {
    let (stream, line) = AsyncStream<String>.makeStream()
    let (texts, text) = AsyncStream<String>.makeStream()
    @Sendable func print(_ line: String) { text.yield(line) }
    let lines = Signal(stream)
    let numbered = lines.scan((0, "")) { ($0.0 + 1, $1) }.map { "\($0.0). \($0.1)" }
    let printing = numbered.observe {
      print($0)
    } onCompletion: {
      print("no more lines")
    }
    line.yield("first")
    line.yield("second")
    line.finish()
    var printed = texts.makeAsyncIterator()
    #expect(await printed.next() == "1. first")
    #expect(await printed.next() == "2. second")
    #expect(await printed.next() == "no more lines")
    printing.dispose()  // to stop before the end
  }

  @Test func `bindings follow`() {
    let print = Printed()
    let name = Property("Ada")
    let other = Property("")
    let label = Label()
    let followed = name.bind(to: other)  // another property, or a projection
    let shown = name.bind(to: \.text, of: label)  // a key path of an object
    let logged = name.bind(to: { print($0) })  // a closure
    name.value = "Grace"
    #expect(other.value == "Grace")
    #expect(label.text == "Grace")
    #expect(print.lines == ["Ada", "Grace"])
    for binding in [followed, shown, logged] { binding.dispose() }
  }

  @Test func `the example of marbles passes`() throws {
    let marbles = Marbles()
    let letters = marbles.input("-a-bc------|")
    try marbles.check(letters.debounced(for: .seconds(3), clock: marbles.clock), "-------c---|")
  }

  // MARK: The table

  private typealias Row = (
    make: @Sendable ([Signal<String>], Marbles) -> Signal<String>, input: [String], output: String
  )

  private static let table: [Row] = [
    ({ inputs, _ in inputs[0].map { $0.uppercased() } }, ["-a-b-|"], "-A-B-|"),
    ({ inputs, _ in inputs[0].filter { $0 != "a" } }, ["-a-b-|"], "---b-|"),
    ({ inputs, _ in inputs[0].compactMap { Int($0) }.map { "\($0)" } }, ["-1-a-2-|"], "-1---2-|"),
    ({ inputs, _ in inputs[0].scan("") { $0 + $1 } }, ["-a-b-|"], "-a-[ab]-|"),
    ({ inputs, _ in inputs[0].removeDuplicates() }, ["-aab-a|"], "-a-b-a|"),
    ({ inputs, _ in inputs[0].merge(with: inputs[1]) }, ["-a--b-|", "--x----|"], "-ax-b--|"),
    (
      { inputs, _ in inputs[0].combineLatest(inputs[1]).map { $0 + $1 } },
      ["-a--b-|", "--x----|"], "--[ax]-[bx]--|"
    ),
    (
      { inputs, _ in inputs[0].zip(inputs[1]).map { $0 + $1 } },
      ["-a-b---|", "--x--y-|"], "--[ax]--[by]-|"
    ),
    (
      { inputs, _ in
        let (one, two) = (inputs[0], inputs[1])
        return inputs[2].map { $0 == "1" ? one : two }.switchToLatest()
      },
      ["--a-b-c-", "ABCDEFG|", "-1--2-|"], "--a-bFG|"
    ),
    (
      { inputs, marbles in inputs[0].debounced(for: .seconds(3), clock: marbles.clock) },
      ["-a-bc------|"], "-------c---|"
    ),
    (
      { inputs, marbles in inputs[0].throttled(for: .seconds(3), clock: marbles.clock) },
      ["-abcde-----|"], "-a--c--e---|"
    ),
    ({ inputs, _ in inputs[0].receive(on: .immediate) }, ["-a-b-|"], "-a-b-|"),
  ]

  @Test(arguments: table.indices)
  func `the table of operators is right`(row: Int) throws {
    let (make, input, output) = Self.table[row]
    let marbles = Marbles()
    try marbles.check(make(input.map { marbles.input($0) }, marbles), output)
  }
}
