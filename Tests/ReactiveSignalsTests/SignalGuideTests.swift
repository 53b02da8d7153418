import DataSourceTesting
import ReactiveSignals
import Testing

/// What the guide to signals shows.
@Suite struct SignalGuideTests {
  private let marbles = Marbles()

  @Test func theExampleOfTheOverviewRuns() {
    let log = Log<String>()
    let name = Property("Ada")
    let greeting = name.signal.map { "Hello, \($0)" }
    let observation = greeting.observe { log.add($0) }
    name.value = "Grace"
    #expect(log.all == ["Hello, Ada", "Hello, Grace"])
    withExtendedLifetime(observation) {}
  }

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
      { inputs, marbles in inputs[0].debounce(for: .seconds(3), clock: marbles.clock) },
      ["-a-bc------|"], "-------c---|"
    ),
    (
      { inputs, marbles in inputs[0].throttle(for: .seconds(3), clock: marbles.clock) },
      ["-abcde-----|"], "-a--c--e---|"
    ),
    ({ inputs, _ in inputs[0].receive(on: .immediate) }, ["-a-b-|"], "-a-b-|"),
  ]

  @Test(arguments: table.indices)
  func theTableOfOperatorsIsRight(row: Int) throws {
    let (make, input, output) = Self.table[row]
    try marbles.check(make(input.map { marbles.input($0) }, marbles), output)
  }

  @Test func theExampleOfViewsRuns() {
    struct Person { var name = "Ada"; var city = "London" }
    let person = Property(Person())
    let city = person.projection(\.city)
    let initial = person.map { $0.name.prefix(1) }
    city.value = "Turin"
    #expect("\(person.value.city) \(initial.value)" == "Turin A")
  }
}
