import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TerminalViews
import Testing

@Suite struct ListLimitsTests {
  typealias State = TerminalListState<TestElement>

  @Test func `a row selected without any room becomes visible with room`() {
    var state = State(columns: [TerminalColumn("Key") { "\($0.id)" }])
    state.apply(.initial(Snapshot((0..<50).map { TestElement($0) }), revision: 0))
    state.select(30)
    state.resize(to: TerminalSize(rows: 10, columns: 20))
    #expect(state.visibleRows == 23..<31)
    state.resize(to: TerminalSize(rows: 0, columns: 0))
    state.perform(.end)
    state.resize(to: TerminalSize(rows: 10, columns: 20))
    #expect(state.visibleRows == 42..<50)
  }

  @Test func `an empty column does not hide the following columns`() {
    var state = State(columns: [
      TerminalColumn("A") { _ in "a" }, TerminalColumn("") { _ in "" },
      TerminalColumn("C") { _ in String(repeating: "c", count: 50) },
    ])
    state.resize(to: TerminalSize(rows: 4, columns: 20))
    state.apply(.initial(Snapshot([TestElement(1)]), revision: 0))
    #expect(
      state.frame().lines.prefix(2).map(\.text) == ["  A    C            ", "> a    cccccccccccc…"])
  }

  @Test func `the closures of invisible columns are not called`() {
    let asked = Locked<Set<Int>>([])
    let columns = (0..<1000).map { number in
      TerminalColumn<TestElement>("") { _ in
        asked.withLock { _ = $0.insert(number) }
        return number.isMultiple(of: 3) ? "" : "x"
      }
    }
    var state = State(columns: columns)
    state.resize(to: TerminalSize(rows: 4, columns: 40))
    state.apply(.initial(Snapshot([TestElement(1)]), revision: 0))
    let row = state.frame().lines[1]
    #expect(asked.withLock(\.count) == 21)
    #expect(row.text.count { $0 == "x" } == 10)
    for _ in 0..<999 { state.perform(.right) }
    #expect(asked.withLock(\.count) == 1000)
  }

  @Test func `only the start of a long text is read`() {
    for (unit, shown) in [("ab", "ab"), ("漢", "漢"), ("e\u{301}", "e\u{301}"), ("\t", "␉")] {
      let text = String(repeating: unit, count: 200_000)
      var state = State(columns: [
        TerminalColumn("A") { _ in text }, TerminalColumn("B") { _ in "b" },
      ])
      state.resize(to: TerminalSize(rows: 4, columns: 60))
      state.apply(.initial(Snapshot([TestElement(1)]), revision: 0))
      let line = state.frame().lines[1]
      #expect(line.width == 60)
      #expect(line.text.hasPrefix("> " + shown + shown))
      #expect(line.text.contains("…  b"))
      // The frame contains only a prefix of the text.
      #expect(line.text.unicodeScalars.count < 150)
    }
  }
}
