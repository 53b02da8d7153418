import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TerminalViews
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct TerminalSectionsTests {
  private struct Customer: Differentiable, Hashable, Sendable, Identifiable {
    let id: Int
    var country: String
    var name: String
  }

  private typealias Row = ListSection<String, Customer>.Row

  private static let customers = [
    Customer(id: 1, country: "Chile", name: "Ana"), Customer(id: 2, country: "Spain", name: "Bea"),
    Customer(id: 3, country: "Spain", name: "Carlos"),
  ]

  private static let columns = [
    TerminalColumn<Customer>("No.", alignment: .trailing) { "\($0.id)" },
    TerminalColumn<Customer>("Name", style: { _ in TerminalStyle(isFaint: true) }) { $0.name },
  ]

  @Sendable private static func header(_ country: String, _ count: Int) -> String {
    "\(country) (\(count))"
  }

  /// A list that follows sections, without a terminal.
  private final class Follower {
    let customers = ArrayDataSource(TerminalSectionsTests.customers)
    var state = TerminalListState(
      columns: TerminalSectionsTests.columns, header: TerminalSectionsTests.header)
    private let events = Log<CollectionEvent<Row>>()
    private var observation: Disposable?

    init(columns: Int = 20) {
      state.resize(to: TerminalSize(rows: 8, columns: columns), hasStatus: false)
      let sections = customers.sections(by: \.country, order: .ascending(\.self))
      observation = sections.rows().observe { [events] event in events.append(event) }
      followEvents()
    }

    func edit(_ edit: (CollectionDraft<Customer>) -> Void) {
      customers.transaction { edit($0) }
      followEvents()
    }

    private func followEvents() {
      for event in events.exchange([]) { state.apply(event) }
    }

    var lines: [String] {
      state.frame().lines.map { line in
        String(line.text.reversed().drop { $0 == " " }.reversed())
      }.filter { !$0.isEmpty }
    }
  }

  @Test func `headers take the whole line`() {
    let list = Follower()
    #expect(
      list.lines == [
        "  No.  Name", "> Chile (1)", "    1  Ana", "  Spain (2)", "    2  Bea", "    3  Carlos",
      ])
    list.state.perform(.right)
    #expect(
      list.lines
        == ["  Name", "> Chile (1)", "  Ana", "  Spain (2)", "  Bea", "  Carlos"])
  }

  @Test func `headers are bold and do not widen the columns`() {
    let list = Follower(columns: 10)
    #expect(list.lines[3] == "  Spain (…")
    let spans = list.state.frame().lines[3].spans
    #expect(spans.last?.style == TerminalStyle(isBold: true))
    #expect(list.state.frame().lines[4].spans.last?.style == TerminalStyle(isFaint: true))
  }

  @Test func `an element that enters another section is marked`() {
    let list = Follower()
    list.state.perform(.end)
    list.edit { $0.update(identifiedBy: 2) { $0.country = "Chile" } }
    #expect(
      list.lines == [
        "  No.  Name", " ~Chile (2)", "    1  Ana", " ~  2  Bea", " ~Spain (1)", ">   3  Carlos",
      ])
  }

  @Test func `plain lines have headers`() {
    var lines: [String] = []
    Follower(columns: 0).state.writePlainLines { lines.append($0) }
    #expect(
      lines == ["No.  Name", "Chile (1)", "  1  Ana", "Spain (2)", "  2  Bea", "  3  Carlos"])
  }

  @Test func `unprintable characters of a header are replaced`() {
    let list = Follower()
    list.edit { $0[0].country = "A\u{1B}[2J\nB" }
    let text = list.state.frame().lines.map(\.text).joined()
    #expect(!text.contains("\u{1B}") && !text.contains("\n"))
  }

  @MainActor @Test func `a view follows sections`() async {
    let customers = ArrayDataSource(Self.customers)
    let (events, received) = AsyncStream<Int>.makeStream()
    let list = TerminalListView(
      customers.sections(by: \.country).rows(), columns: Self.columns, header: Self.header
    ) { _ in }
    list.onEvent = { event in received.yield(event.snapshot.count) }
    var counts = events.makeAsyncIterator()
    #expect(await counts.next() == 5)
    #expect(list.press(.down))
    #expect(list.state.selectedElement == .element(Self.customers[0]))
    customers.removeAll()
    #expect(await counts.next() == 0)
    list.columns = [TerminalColumn(Self.columns[0])]
    let line = list.lines(for: TerminalSize(rows: 3, columns: 20)).first
    #expect(line?.text.hasPrefix("  No.") == true)
  }
}
