import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TerminalViews
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct TerminalOutlineTests {
  private typealias Expansion = OutlineRow<Folder>.Expansion

  private struct Folder: Differentiable, Hashable, Sendable, Identifiable {
    let id: Int
    var parent: Int?
    var name: String
  }

  private static let folders = [
    Folder(id: 1, parent: nil, name: "music"), Folder(id: 2, parent: 1, name: "jazz"),
    Folder(id: 3, parent: 1, name: "rock"), Folder(id: 4, parent: nil, name: "films"),
  ]

  private static let columns = [TerminalColumn<OutlineRow<Folder>>(outline: "Folder") { $0.name }]

  /// A list that follows an outline, without a terminal.
  private final class Follower {
    let rows: LiveCollection<OutlineRow<Folder>>
    let expansion = Property(Expansion())
    var state = TerminalListState(columns: TerminalOutlineTests.columns, markDuration: .zero)
    private let events = Log<CollectionEvent<OutlineRow<Folder>>>()
    private var observation: Disposable?

    init() {
      let folders = ArrayDataSource(TerminalOutlineTests.folders)
      rows = folders.outline(parent: \.parent, isExpanded: expansion)
      state.resize(to: TerminalSize(rows: 6, columns: 20), hasStatus: false)
      observation = rows.observe { [events] event in events.append(event) }
      followEvents()
    }

    func perform(_ commands: TerminalListState<OutlineRow<Folder>>.Command...) {
      for command in commands {
        var new = expansion.value
        state.perform(command, expanding: &new)
        expansion.value = new
        followEvents()
      }
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

  @Test func `rows are indented and have markers`() {
    let list = Follower()
    #expect(list.lines == ["  Folder", "> ▸ music", "    films"])
    list.expansion.value = .all
    list.perform(.home)
    #expect(list.lines == ["  Folder", "> ▾ music", "      jazz", "      rock", "    films"])
  }

  @Test func `right expands a row and then selects its first child`() {
    let list = Follower()
    list.perform(.right)
    #expect(list.expansion.value == Expansion([1]))
    #expect(list.state.selectedElement?.element.name == "music")
    list.perform(.right)
    #expect(list.state.selectedElement?.element.name == "jazz")
    list.perform(.right)
    #expect(list.state.selectedElement?.element.name == "jazz")
  }

  @Test func `left selects the parent and then collapses it`() {
    let list = Follower()
    list.perform(.right, .down, .down, .left)
    #expect(list.state.selectedElement?.element.name == "music")
    list.perform(.left)
    #expect(list.lines == ["  Folder", "> ▸ music", "    films"])
    list.perform(.left, .end, .left)
    #expect(list.state.selectedElement?.element.name == "films")
  }

  @Test func `keys in an empty outline do nothing`() {
    var state = TerminalListState(columns: Self.columns)
    var expansion = Expansion()
    state.perform(.right, expanding: &expansion)
    state.perform(.left, expanding: &expansion)
    #expect(expansion == Expansion() && state.selection == nil)
  }

  @Test func `the indentation of very deep rows is limited`() {
    let column = Self.columns[0]
    func length(_ depth: Int) -> Int {
      column.text(
        OutlineRow(Self.folders[0], depth: depth, hasChildren: false, isExpanded: false)
      ).count
    }
    #expect(length(2) == length(1) + 2)
    #expect(length(1_000_000) == length(64))
  }

  @MainActor @Test func `keys of a view set the expansion`() async {
    let folders = ArrayDataSource(Self.folders)
    let expansion = Property(Expansion())
    let rows = folders.outline(parent: \.parent, isExpanded: expansion)
    let (events, received) = AsyncStream<Int>.makeStream()
    let list = TerminalListView(rows, columns: Self.columns) { _ in }
    list.onEvent = { event in received.yield(event.snapshot.count) }
    var counts = events.makeAsyncIterator()
    #expect(await counts.next() == 2)
    #expect(list.press(.right, expanding: expansion))
    #expect(await counts.next() == 4)
    #expect(list.press(.left, expanding: expansion))
    #expect(await counts.next() == 2)
    #expect(list.press(.down, expanding: expansion))
    #expect(list.state.selection == 1)
    #expect(!list.press(.enter, expanding: expansion))
  }
}
