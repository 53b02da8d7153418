import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import SwappableSources
import TerminalViews
import TestTags
import Testing

@Suite(.timeLimit(.minutes(10))) struct TerminalListStateTests {
  typealias State = TerminalListState<TestElement>

  private static let columns = [
    TerminalColumn<TestElement>("Key", alignment: .trailing) { "\($0.id)" },
    TerminalColumn<TestElement>("Content") { "c\($0.content)" },
  ]

  /// A list that follows a source, without a terminal.
  private final class Follower {
    let source: ArrayDataSource<TestElement>
    var state: State
    private var before: Snapshot<TestElement>

    init(_ elements: [TestElement], rows: Int = 7, columns: Int = 20) {
      source = ArrayDataSource(elements)
      state = State(columns: TerminalListStateTests.columns)
      state.resize(to: TerminalSize(rows: rows, columns: columns))
      before = source.snapshot
      state.apply(.initial(before, revision: 0))
    }

    /// Edits the source, and applies the events to the list.
    func edit(
      at now: Duration = .zero, _ body: (ArrayDataSource<TestElement>) throws -> Void
    ) rethrows {
      let collected = Locked<[CollectionEvent<TestElement>]>([])
      let observation = source.observe { event in collected.withLock { $0.append(event) } }
      try body(source)
      observation.dispose()
      for event in collected.withLock(\.self).dropFirst() { state.apply(event, at: now) }
    }

    var lines: [String] {
      state.frame(status: TerminalLine("status")).lines.map { line in
        String(line.text.reversed().drop { $0 == " " }.reversed())
      }
    }
  }

  private func elements(_ range: Range<Int>) -> [TestElement] { range.map { TestElement($0) } }

  @Test func `a heading is not wider than the maximum of its column`() {
    var state = State(columns: [
      TerminalColumn("Identity", maximumWidth: 3) { "\($0.id)" },
      TerminalColumn("Content") { "c\($0.content)" },
    ])
    state.resize(to: TerminalSize(rows: 4, columns: 40))
    state.apply(.initial(Snapshot(elements(0..<1)), revision: 0))
    let lines = state.frame(status: TerminalLine("status")).lines.map(\.text)
    let starts = lines.prefix(2).map { line in
      line.firstRange(of: /[Cc]/)?.lowerBound.utf16Offset(in: line)
    }
    #expect(starts[0] == 7 && starts[0] == starts[1], "\(lines)")
  }

  @Test func `headings, rows and status fill the screen`() {
    let list = Follower(elements(0..<3))
    #expect(
      list.lines == [
        "  Key  Content", ">   0  c0", "    1  c0", "    2  c0", "", "", "status",
      ])
    #expect(list.state.selectedElement?.id == 0)
    #expect(list.state.visibleRows == 0..<3)
  }

  @Test func `commands move the selection and scroll`() {
    let list = Follower(elements(0..<20))
    #expect(list.state.visibleRows == 0..<5)
    for _ in 0..<6 { list.state.perform(.down) }
    #expect(list.state.selection == 6 && list.state.visibleRows == 2..<7)
    list.state.perform(.up)
    #expect(list.state.selection == 5 && list.state.visibleRows == 2..<7)
    list.state.perform(.end)
    #expect(list.state.selection == 19 && list.state.visibleRows == 15..<20)
    list.state.perform(.down)
    #expect(list.state.selection == 19)
    list.state.perform(.pageUp)
    #expect(list.state.selection == 15 && list.state.visibleRows == 11..<16)
    list.state.perform(.home)
    #expect(list.state.selection == 0 && list.state.visibleRows == 0..<5)
    list.state.perform(.pageDown)
    #expect(list.state.selection == 4 && list.state.visibleRows == 4..<9)
    list.state.select(100)
    #expect(list.state.selection == 19)
  }

  // MARK: Before a row is chosen

  @Test(.reaches(.rearrangements), arguments: 0..<10 as Range<UInt64>)
  func `a list stays at its top until a row is chosen`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let list = Follower(elements(0..<40))
    let edits = RecordingObserver(counting: list.source)
    for _ in 0..<100 {
      list.edit { source in
        let count = source.count
        switch random.below(5) {
        case 0: source.insert(TestElement(1000 + random.below(1000)), at: random.below(count + 1))
        case 1 where count > 10: _ = source.remove(at: random.below(count))
        case 2: source.replace(with: source.snapshot.shuffled(using: &random))
        case 3: source.move(from: random.below(count), to: 0)
        default: source.move(from: 0, to: random.below(count))
        }
      }
      #expect(list.state.visibleRows == 0..<5, "seed \(seed)")
      #expect(list.state.selection == 0 && !list.state.keepsSelectedRow, "seed \(seed)")
      #expect(list.lines[1].hasPrefix(">"), "seed \(seed)")
    }
    Coverage.note(edits)
  }

  @Test(arguments: [State.Command.up, .down, .pageUp, .pageDown, .home, .end])
  func `a command that selects a row chooses it`(command: State.Command) throws {
    let list = Follower(elements(0..<40))
    for other in [State.Command.left, .right] { list.state.perform(other) }
    #expect(!list.state.keepsSelectedRow)
    list.state.perform(command)
    let chosen = try #require(list.state.selectedElement)
    let line = try #require(list.state.selection) - list.state.visibleRows.lowerBound
    list.edit { $0.insert(contentsOf: self.elements(100..<120), at: 0) }
    #expect(list.state.selectedElement == chosen && list.state.keepsSelectedRow)
    #expect(list.state.selection.map { $0 - list.state.visibleRows.lowerBound } == line)
  }

  @Test func `a program has a policy of its own`() {
    let list = Follower(elements(0..<20))
    list.state.keepsSelectedRow = true
    list.edit { $0.insert(100, at: 0) }
    #expect(list.state.selectedElement?.id == 0 && list.state.visibleRows == 1..<6)
    list.state.keepsSelectedRow = false
    list.edit { $0.insert(101, at: 0) }
    #expect(list.state.selectedElement?.id == 100 && list.state.visibleRows == 1..<6)
    // A new list begins at its top.
    list.state.select(3)
    list.state.apply(.initial(Snapshot(elements(0..<9)), revision: 5))
    #expect(!list.state.keepsSelectedRow && list.state.visibleRows == 0..<5)
  }

  @Test func `the first row stays visible if the selected row fits`() {
    let list = Follower(elements(0..<20))
    list.state.staysAtTop = true
    list.state.select(3)
    list.edit { $0.insert(100, at: 0) }
    #expect(list.state.selection == 4 && list.state.visibleRows == 0..<5)
    // The selected row needs the last line.
    list.edit { $0.insert(101, at: 0) }
    #expect(list.state.selection == 5 && list.state.visibleRows == 1..<6)
    list.edit { $0.insert(102, at: 0) }
    #expect(list.state.selection == 6 && list.state.visibleRows == 2..<7)
    list.edit { $0.removeSubrange(0..<2) }
    #expect(list.state.selection == 4 && list.state.visibleRows == 0..<5)
    list.edit { $0.move(from: 4, to: 10) }
    #expect(list.state.selection == 10 && list.state.visibleRows == 6..<11)
    list.edit { $0.move(from: 10, to: 2) }
    #expect(list.state.selection == 2 && list.state.visibleRows == 0..<5)
    list.edit { $0.replace(with: list.source.snapshot.reversed()) }
    #expect(list.state.selection == 18 && list.state.visibleRows == 14..<19)
    #expect(list.state.selectedElement?.id == 3)
  }

  @Test func `the first row stays visible when a chosen row that was hidden returns`() {
    let list = Follower(elements(0..<40))
    list.state.staysAtTop = true
    list.state.select(3)
    let filtered = elements(10..<40)
    list.edit { $0.replace(with: filtered) }
    #expect(list.state.visibleRows == 0..<5)
    list.edit { $0.replace(with: self.elements(0..<40)) }
    #expect(list.state.selectedElement?.id == 3 && list.state.visibleRows == 0..<5)
    list.edit { $0.replace(with: filtered) }
    list.edit { $0.replace(with: self.elements(100..<110) + self.elements(0..<40)) }
    #expect(list.state.selection == 13 && list.state.visibleRows == 9..<14)
  }

  @Test func `a list returns to its first row as soon as the selected row permits`() {
    let list = Follower(elements(0..<40))
    list.state.staysAtTop = true
    list.state.select(3)
    for rows in [4, 3, 2, 1, 0] {
      // With a status and headings, one row remains. Without rows for these, one line remains.
      list.state.resize(to: TerminalSize(rows: rows, columns: 20))
      list.state.resize(to: TerminalSize(rows: 7, columns: 20))
      #expect(list.state.selection == 3 && list.state.visibleRows == 0..<5, "\(rows) rows")
    }
    list.edit { $0.move(from: 3, to: 30) }
    #expect(list.state.visibleRows == 26..<31)
    // A command that does not scroll changes nothing about that.
    list.state.perform(.up)
    #expect(list.state.visibleRows == 26..<31)
    list.edit { $0.move(from: 29, to: 1) }
    #expect(list.state.selection == 1 && list.state.visibleRows == 0..<5)
  }

  @Test func `a list that is not scrolled returns to its first row whatever happens`() {
    func follower() -> Follower {
      let list = Follower(elements(0..<40))
      list.state.staysAtTop = true
      return list
    }
    // The value is set again.
    var list = follower()
    list.state.select(3)
    list.edit { $0.move(from: 3, to: 30) }
    list.state.staysAtTop = true
    list.edit { $0.move(from: 30, to: 1) }
    list.edit { $0.insert(100, at: 0) }
    #expect(list.state.selection == 2 && list.state.visibleRows == 0..<5)
    // A filter shortens the list, and the key Home does not need to scroll.
    list = follower()
    list.state.perform(.pageDown)
    list.edit { $0.replace(with: [20, 21, 22]) }
    list.state.perform(.home)
    list.edit { $0.replace(with: self.elements(0..<40)) }
    list.edit { $0.move(from: 20, to: 1) }
    #expect(list.state.visibleRows == 0..<5)
    // The list was empty.
    list = follower()
    list.state.perform(.end)
    list.edit { $0.removeAll() }
    list.edit { $0.insert(contentsOf: self.elements(100..<140), at: 0) }
    list.state.perform(.down)
    list.edit { $0.insert(99, at: 0) }
    #expect(list.state.selection == 2 && list.state.visibleRows == 0..<5)
    // At the end, Page Down does not scroll.
    list = follower()
    list.state.select(3)
    list.edit { $0.move(from: 3, to: 39) }
    list.state.perform(.pageDown)
    list.edit { $0.move(from: 39, to: 1) }
    list.edit { $0.insert(100, at: 0) }
    #expect(list.state.selection == 2 && list.state.visibleRows == 0..<5)
    // The selection is released before the screen shrinks and grows.
    list = follower()
    list.state.select(4)
    list.state.keepsSelectedRow = false
    list.state.resize(to: TerminalSize(rows: 5, columns: 20))
    list.state.resize(to: TerminalSize(rows: 7, columns: 20))
    #expect(list.state.visibleRows == 0..<5)
    // Keys arrive before the size is known.
    list = Follower(elements(0..<3), rows: 0)
    list.state.staysAtTop = true
    list.state.perform(.pageDown)
    list.state.perform(.pageDown)
    list.state.resize(to: TerminalSize(rows: 7, columns: 20))
    list.edit { $0.append(contentsOf: self.elements(3..<23)) }
    list.edit { $0.insert(100, at: 0) }
    #expect(list.state.selection == 3 && list.state.visibleRows == 0..<5)
  }

  @Test(arguments: [State.Command.down, .pageDown, .end])
  func `a list that a command has scrolled stays there`(
    command: State.Command
  ) {
    let list = Follower(elements(0..<40))
    list.state.staysAtTop = true
    list.state.select(4)
    list.state.perform(command)
    let (top, selection) = (list.state.visibleRows.lowerBound, list.state.selection ?? -1)
    #expect(top > 0)
    // The selected row stays on its line.
    list.edit { $0.insert(contentsOf: [100, 101, 102], at: 0) }
    list.edit { $0.removeSubrange(0..<2) }
    #expect(list.state.selection == selection + 1)
    #expect(list.state.visibleRows.lowerBound == top + 1)
    list.state.perform(.home)
    list.edit { $0.insert(103, at: 0) }
    #expect(list.state.selection == 1 && list.state.visibleRows == 0..<5)
  }

  @Test func `the first row stays visible if the screen had no room for rows`() {
    let list = Follower(elements(0..<20), rows: 0)
    list.state.staysAtTop = true
    list.state.select(3)
    list.edit { $0.insert(100, at: 0) }
    list.state.resize(to: TerminalSize(rows: 7, columns: 20))
    #expect(list.state.selection == 4 && list.state.visibleRows == 0..<5)
  }

  @Test func `a list that is filled again stays at its top`() {
    let list = Follower(elements(0..<20))
    list.state.select(7)
    list.edit { $0.removeAll() }
    list.edit { $0.append(contentsOf: self.elements(100..<120)) }
    list.edit { $0.insert(99, at: 0) }
    #expect(list.state.selectedElement?.id == 99 && list.state.visibleRows == 0..<5)
  }

  // MARK: A chosen row

  @Test func `a chosen row is awaited after any number of deletions`() {
    let list = Follower(elements(0..<40))
    list.state.select(7)
    for _ in 0..<25 { list.edit { $0.remove(at: 7) } }
    #expect(list.state.selectedElement?.id == 32)
    list.edit { $0.insert(7, at: 0) }
    #expect(list.state.selectedElement?.id == 7)
  }

  @Test func `a row that took the place of a deleted one is selected again when it returns`() {
    let list = Follower(elements(0..<20))
    list.state.select(7)
    list.edit { $0.remove(at: 7) }
    #expect(list.state.selectedElement?.id == 8)
    list.edit { $0.replace(with: [1, 2, 12]) }
    #expect(list.state.selectedElement?.id == 12)
    list.edit { $0.replace(with: self.elements(8..<20)) }
    #expect(list.state.selectedElement?.id == 8)
    list.edit { $0.replace(with: [1, 2, 12]) }
    list.edit { $0.replace(with: self.elements(0..<20)) }
    #expect(list.state.selectedElement?.id == 7)
    // Nothing is missing any longer.
    list.edit { $0.remove(at: 12) }
    list.edit { $0.append(12) }
    #expect(list.state.selectedElement?.id == 7)
  }

  @Test func `a chosen row that is hidden is selected again when it returns`() {
    let list = Follower(elements(0..<20))
    list.state.select(7)
    list.edit { $0.replace(with: [1, 2, 9, 12]) }
    #expect(list.state.selectedElement?.id == 9)
    list.edit { $0.replace(with: []) }
    #expect(list.state.selection == nil)
    list.edit { $0.replace(with: [1, 2, 12]) }
    #expect(list.state.selectedElement?.id == 1)
    list.edit { $0.replace(with: self.elements(0..<20)) }
    #expect(list.state.selectedElement?.id == 7)
    // It is followed as before.
    list.edit { $0.insert(contentsOf: self.elements(100..<150), at: 0) }
    #expect(list.state.selectedElement?.id == 7)
  }

  @Test func `a chosen row that was deleted is selected again if an update brings it back`() {
    let list = Follower(elements(0..<20))
    list.state.select(7)
    list.edit { $0.remove(at: 7) }
    list.edit { $0[2] = 7 }
    #expect(list.state.selectedElement?.id == 7 && list.state.selection == 2)
  }

  @Test func `a row that is chosen instead of a hidden one stays selected`() {
    let list = Follower(elements(0..<20))
    list.state.select(7)
    list.edit { $0.replace(with: [1, 2, 9, 12]) }
    list.state.perform(.up)
    list.edit { $0.replace(with: self.elements(0..<20)) }
    #expect(list.state.selectedElement?.id == 2)
  }

  @Test func `the first row of a list without a chosen row is not selected again`() {
    let list = Follower(elements(0..<20))
    list.edit { $0.remove(at: 0) }
    list.edit { $0.append(0) }
    #expect(list.state.selectedElement?.id == 1 && list.state.visibleRows == 0..<5)
  }

  @Test func `the position counts the rows above and below the screen`() {
    let list = Follower(elements(0..<20))
    #expect(list.state.position == "row 1 of 20, 15 below")
    list.state.select(11)
    #expect(list.state.position == "row 12 of 20, 7 above, 8 below")
    list.state.perform(.end)
    #expect(list.state.position == "row 20 of 20, 15 above")
    list.edit { $0.replace(with: self.elements(0..<3)) }
    list.state.perform(.home)
    #expect(list.state.position == "row 1 of 3")
    list.edit { $0.removeAll() }
    #expect(list.state.position == "no rows")
    let wide = Follower(elements(0..<20), columns: 40)
    #expect(wide.state.frame().lines.last?.text.hasPrefix("row 1 of 20, 15 below ") == true)
    let own = wide.state.frame(status: TerminalLine("own")).lines.last
    #expect(own?.text.hasPrefix("own ") == true)
  }

  @Test func `the selected line stays while rows above it are inserted and deleted`() {
    let list = Follower(elements(0..<20))
    for _ in 0..<10 { list.state.perform(.down) }
    let line = list.lines.firstIndex { $0.hasPrefix(">") }
    for step in 0..<50 {
      list.edit { $0.insert(TestElement(100 + step), at: step.isMultiple(of: 2) ? 0 : 3) }
      #expect(list.state.selectedElement?.id == 10)
      #expect(list.lines.firstIndex { $0.hasPrefix(">") } == line)
    }
    for _ in 0..<40 {
      list.edit { _ = $0.remove(at: 1) }
      #expect(list.state.selectedElement?.id == 10)
      #expect(list.lines.firstIndex { $0.hasPrefix(">") } == line)
    }
  }

  @Test func `the selected line stays when its element moves`() {
    let list = Follower(elements(0..<40))
    for _ in 0..<20 { list.state.perform(.down) }
    let line = list.lines.firstIndex { $0.hasPrefix(">") }
    list.edit { $0.move(from: 20, to: 30) }
    #expect(list.state.selection == 30)
    #expect(list.lines.firstIndex { $0.hasPrefix(">") } == line)
  }

  @Test func `the selected line stays when the list is reversed`() {
    let list = Follower(elements(0..<40))
    for _ in 0..<10 { list.state.perform(.down) }
    let line = list.lines.firstIndex { $0.hasPrefix(">") }
    list.edit { $0.replace(with: self.elements(0..<40).reversed()) }
    #expect(list.state.selectedElement?.id == 10 && list.state.selection == 29)
    #expect(list.lines.firstIndex { $0.hasPrefix(">") } == line)
  }

  @Test func `the next row takes the line of a deleted row`() {
    let list = Follower(elements(0..<20))
    for _ in 0..<6 { list.state.perform(.down) }
    let line = list.lines.firstIndex { $0.hasPrefix(">") }
    list.edit { $0.removeSubrange(6..<9) }
    #expect(list.state.selectedElement?.id == 9)
    #expect(list.lines.firstIndex { $0.hasPrefix(">") } == line)
    list.edit { $0.removeSubrange(6..<17) }
    #expect(list.state.selectedElement?.id == 5)
    list.edit { $0.removeAll() }
    #expect(list.state.selection == nil && list.state.selectedElement == nil)
    #expect(list.lines == ["  Key  Content", "", "", "", "", "", "status"])
    list.edit { $0.append(7) }
    #expect(list.state.selectedElement?.id == 7)
  }

  @Test func `the selected line stays through a swap`() async throws {
    let first = ArrayDataSource(elements(0..<1000))
    let second = ArrayDataSource(
      (0..<1000).filter { !$0.isMultiple(of: 3) || $0 == 501 }.map { TestElement($0, 1) }
        + elements(2000..<2100))
    let container = SwappableContainer(first)
    let collected = Locked<[CollectionEvent<TestElement>]>([])
    let observation = container.observe { event in collected.withLock { $0.append(event) } }
    var state = State(columns: Self.columns)
    state.resize(to: TerminalSize(rows: 30, columns: 40))
    state.apply(collected.withLock { $0.removeFirst() })
    state.select(501)
    for _ in 0..<7 { state.perform(.up) }
    for _ in 0..<7 { state.perform(.down) }
    let line = state.selection.map { $0 - state.visibleRows.lowerBound }
    #expect(await container.swap(to: second).outcome == .swapped)
    for event in collected.withLock(\.self) { state.apply(event) }
    observation.dispose()
    #expect(state.selectedElement == TestElement(501, 1))
    #expect(state.selection.map { $0 - state.visibleRows.lowerBound } == line)
  }

  @Test func `changed rows are marked for the mark duration`() {
    let list = Follower(elements(0..<4))
    list.edit(at: .seconds(1)) {
      $0.transaction { draft in
        draft.insert(10, at: 1)
        draft[0].content = 5
        draft.move(from: 4, to: 2)
      }
    }
    #expect(list.lines[1...5] == [">~  0  c5", " + 10  c0", " ^  3  c0", "    1  c0", "    2  c0"])
    #expect(list.state.nextMarkEnd == .seconds(1) + list.state.markDuration)
    list.edit(at: .seconds(2)) { $0.insert(11, at: 0) }
    #expect(list.state.mark(ofRow: 0) == .inserted && list.state.mark(ofRow: 1) == .updated)
    let isGone = list.state.expireMarks(at: .milliseconds(2500))
    #expect(isGone)
    #expect(list.state.mark(ofRow: 0) == .inserted && list.state.mark(ofRow: 1) == nil)
    list.state.expireMarks(at: .seconds(4))
    #expect(list.state.nextMarkEnd == nil)
  }

  @Test func `the color of a column replaces the color of a mark`() {
    let list = Follower(elements(0..<4))
    list.state.columns = [
      TerminalColumn("Key", style: { _ in TerminalStyle(foreground: .red, isBold: true) }) {
        "k\($0.id)"
      },
      TerminalColumn("Content", style: { _ in TerminalStyle(isFaint: true) }) {
        "c\($0.content)"
      },
    ]
    list.edit { $0.update(at: 1) { $0.content = 5 } }
    let spans = list.state.frame().lines[2].spans
    func style(_ text: String) -> TerminalStyle? {
      spans.first { $0.text.contains(text) }?.style
    }
    #expect(style("~") == TerminalStyle(foreground: .yellow))
    #expect(style("k1") == TerminalStyle(foreground: .red, isBold: true))
    #expect(style("c5") == TerminalStyle(foreground: .yellow, isBold: true, isFaint: true))
  }

  @Test func `changed cells are bold as long as their row is marked`() {
    let list = Follower(elements(0..<4))
    func boldCells() -> [String] {
      list.state.frame().lines[1...].flatMap(\.spans).filter(\.style.isBold)
        .map { String($0.text.filter { $0 != " " }) }
    }
    list.edit(at: .seconds(1)) { $0.update(at: 1) { $0.content = 5 } }
    #expect(boldCells() == ["c5"])
    // The row moves, and another one is inserted.
    list.edit(at: .seconds(2)) {
      $0.insert(10, at: 0)
      $0.move(from: 2, to: 4)
    }
    #expect(boldCells() == ["c5"])
    // A value that returns has changed, too.
    list.edit(at: .seconds(3)) { $0.update(at: 4) { $0.content = 0 } }
    #expect(boldCells() == ["c0"])
    list.state.columns.insert(TerminalColumn("More") { "m\($0.content)" }, at: 0)
    #expect(boldCells() == ["m0", "c0"])
    list.state.expireMarks(at: .seconds(5))
    #expect(boldCells() == [])
    list.edit(at: .seconds(6)) { $0.update(at: 0) { $0.content = 7 } }
    #expect(boldCells() == ["m7", "c7"])
  }

  @Test func `a very large change marks only rows near the visible ones`() {
    let list = Follower(elements(0..<10))
    list.edit { $0.insert(contentsOf: self.elements(100..<20_000), at: 1) }
    #expect(list.state.mark(ofRow: 0) == nil)
    #expect((1..<10).allSatisfy { list.state.mark(ofRow: $0) == .inserted })
    #expect((10..<19_000).allSatisfy { list.state.mark(ofRow: $0) == nil })
  }

  @Test func `the first load is not marked`() {
    let list = Follower([])
    list.edit { $0.replace(with: self.elements(0..<3)) }
    #expect((0..<3).allSatisfy { list.state.mark(ofRow: $0) == nil })
  }

  @Test(arguments: 0..<5, [0, 1, 2, 9])
  func `a frame has the size of the screen`(rows: Int, columns: Int) {
    let list = Follower([TestElement(1), TestElement(2)], rows: rows, columns: columns)
    list.edit { $0.append(3) }
    for command in [State.Command.down, .pageDown, .pageUp, .end, .left, .right, .right] {
      list.state.perform(command)
      let frame = list.state.frame(status: TerminalLine("a status line"), cursorColumn: 3)
      #expect(frame.lines.count == rows)
      #expect(frame.size == TerminalSize(rows: rows, columns: columns))
      if let cursor = frame.cursor { #expect(cursor.row < rows && cursor.column < columns) }
    }
  }

  @Test(arguments: 0..<6)
  func `a part of a screen contains only headings and rows`(rows: Int) {
    let list = Follower(elements(0..<3))
    list.state.resize(to: TerminalSize(rows: rows, columns: 20), hasStatus: false)
    let frame = list.state.frame(status: TerminalLine("status"), cursorColumn: 1)
    #expect(frame.lines.count == rows)
    #expect(frame.cursor == nil)
    let expected =
      rows == 1 ? [">   0  c0"] : ["  Key  Content", ">   0  c0", "    1  c0", "    2  c0", ""]
    #expect(list.lines.elementsEqual(expected.prefix(rows)))
    list.state.resize(to: TerminalSize(rows: rows, columns: 20))
    #expect(list.state.hasStatus)
    if rows > 1 { #expect(list.lines.last == "status") }
  }

  @Test func `keys that move in a list are commands`() {
    let keys: [(TerminalKey, State.Command)] = [
      (.up, .up), (.down, .down), (.left, .left), (.right, .right), (.pageUp, .pageUp),
      (.pageDown, .pageDown), (.home, .home), (.end, .end),
    ]
    for (key, command) in keys { #expect(State.Command(key) == command) }
    for key in [TerminalKey.character("j"), .enter, .escape, .control("b"), .function(1)] {
      #expect(State.Command(key) == nil)
    }
  }

  @Test func `wide columns are reduced first and can be scrolled`() {
    let wide = [
      TerminalColumn<TestElement>("A") { _ in "aaaa" },
      TerminalColumn<TestElement>("B") { _ in String(repeating: "b", count: 100) },
      TerminalColumn<TestElement>("C") { _ in String(repeating: "c", count: 50) },
    ]
    var state = State(columns: wide)
    state.resize(to: TerminalSize(rows: 4, columns: 30))
    state.apply(.initial(Snapshot([TestElement(1)]), revision: 0))
    let row = state.frame().lines[1]
    #expect(row.text == "> aaaa  bbbbbbbbbbb…  ccccccc…")
    state.perform(.right)
    state.perform(.right)
    #expect(state.frame().lines[1].text == "> " + String(repeating: "c", count: 27) + "…")
    state.perform(.right)
    #expect(state.frame().lines[1].text == "> " + String(repeating: "c", count: 27) + "…")
    state.perform(.left)
    #expect(state.frame().lines[1].text == "> bbbbbbbbbbbbb…  ccccccccccc…")
  }

  @Test func `a column is revealed by as few columns as possible`() {
    let columns = (0..<10).map { number in
      TerminalColumn<TestElement>("\(number)") { _ in String(repeating: "\(number)", count: 8) }
    }
    var state = State(columns: columns)
    state.resize(to: TerminalSize(rows: 4, columns: 32))
    state.apply(.initial(Snapshot([TestElement(1)]), revision: 0))
    func reveal(_ columns: [Int]) -> String {
      state.reveal(anyColumnOf: columns)
      return state.frame().lines[1].text
    }
    #expect(reveal([1]) == "> 00000000  11111111  22222222  ")
    #expect(reveal([9, 2]) == "> 00000000  11111111  22222222  ")
    #expect(reveal([]) == "> 00000000  11111111  22222222  ")
    #expect(reveal([4, 9]).hasPrefix("> 22222222  33333333  44444444"))
    #expect(reveal([3]).hasPrefix("> 22222222  33333333  44444444"))
    #expect(reveal([9]).hasPrefix("> 77777777  88888888  99999999"))
    #expect(reveal([1]).hasPrefix("> 11111111  22222222  33333333"))
  }

  @Test func `a pinned column stays at the left edge while the others scroll`() {
    func texts(pinned: Set<Int>, _ commands: [State.Command]) -> [String] {
      let columns = (0..<8).map { number in
        TerminalColumn<TestElement>("\(number)", isPinned: pinned.contains(number)) { _ in
          String(repeating: "\(number)", count: 6)
        }
      }
      var state = State(columns: columns)
      state.resize(to: TerminalSize(rows: 4, columns: 24))
      state.apply(.initial(Snapshot([TestElement(1)]), revision: 0))
      return commands.map { command in
        state.perform(command)
        // Each cell is six digits, unless the edge cuts it off.
        return String(
          state.frame().lines[1].text.dropFirst(2).split(separator: " ").compactMap(\.first))
      }
    }
    let right = Array(repeating: State.Command.right, count: 8)
    let left = Array(repeating: State.Command.left, count: 8)
    #expect(
      texts(pinned: [0], right) == ["023", "034", "045", "056", "067", "07", "07", "07"])
    #expect(
      texts(pinned: [0], right + left).suffix(8)
        == ["067", "056", "045", "034", "023", "012", "012", "012"])
    #expect(texts(pinned: [2], right).prefix(5) == ["123", "234", "245", "256", "267"])
    #expect(texts(pinned: [0, 1], right).prefix(3) == ["013", "014", "015"])
    #expect(texts(pinned: [], right).prefix(3) == ["123", "234", "345"])
  }

  @Test func `a search reveals a column beside the pinned one`() {
    let columns = (0..<10).map { number in
      TerminalColumn<TestElement>("\(number)", isPinned: number == 1) { _ in
        String(repeating: "\(number)", count: 8)
      }
    }
    var state = State(columns: columns)
    state.resize(to: TerminalSize(rows: 4, columns: 32))
    state.apply(.initial(Snapshot([TestElement(1)]), revision: 0))
    state.reveal(anyColumnOf: [7])
    #expect(state.frame().lines[1].text.hasPrefix("> 11111111  66666666  77777777"))
    state.reveal(anyColumnOf: [1, 9])
    #expect(state.frame().lines[1].text.hasPrefix("> 11111111  66666666  77777777"))
    state.reveal(anyColumnOf: [0])
    #expect(state.frame().lines[1].text.hasPrefix("> 00000000  11111111  22222222"))
  }

  @Test func `columns keep their width while the list scrolls`() {
    let list = Follower((0..<40).map { TestElement($0 == 3 ? 12345 : $0) })
    list.state.perform(.end)
    #expect(list.lines[1] == "     35  c0")
  }

  @Test(.reaches(.changes), arguments: 0..<10 as Range<UInt64>)
  func `the anchor row stays on its line through random changes`(seed: UInt64) throws {
    // The anchor follows offsets: an exchange of two identities leaves it on its line.
    var editor = RandomEditor(
      seed: seed, size: 60, kinds: RandomEdit.allCases.filter { $0 != .exchange })
    let list = Follower((0..<30).map { TestElement(1000 + $0) })
    let edits = RecordingObserver(counting: list.source)
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      list.state.select(random.below(max(1, list.state.contents.count)))
      let before = list.state
      try list.edit { try editor.step($0) }
      let state = list.state
      #expect(state.contents.hasSameContents(as: list.source.snapshot))
      #expect(state.visibleRows.count == min(5, state.contents.count))
      #expect(state.selection.map { state.visibleRows.contains($0) } ?? state.contents.isEmpty)
      guard let old = before.selection,
        let identity = before.selectedElement?.id,
        state.contents.filter({ $0.id == identity }).count == 1,
        before.contents.filter({ $0.id == identity }).count == 1
      else { continue }
      #expect(state.selectedElement?.id == identity, "seed \(seed)")
      // The element is on its line, unless the ends of the list leave no room.
      let line = old - before.visibleRows.lowerBound
      guard let new = state.selection else { continue }
      let top = max(0, min(new - line, state.contents.count - 5))
      #expect(state.visibleRows.lowerBound == top, "seed \(seed)")
    }
    Coverage.note(edits)
  }
}
