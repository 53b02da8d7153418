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

  /// The plain lines of some rows.
  private func plainLines(
    _ columns: [TerminalColumn<TestElement>], _ rows: [TestElement]
  ) -> [String] {
    var state = State(columns: columns)
    state.apply(.initial(Snapshot(rows), revision: 0))
    var lines: [String] = []
    state.writePlainLines { lines.append($0) }
    return lines
  }

  @Test func `a very long text in one row adds no spaces to the others`() {
    let long = String(repeating: "漢", count: 100_000)
    let lines = plainLines(
      [
        TerminalColumn("A") { $0.id == 1 ? long : "a" },
        TerminalColumn("B", alignment: .trailing) { "\($0.id)" },
        TerminalColumn("C", maximumWidth: 3) { _ in "cccc" },
      ], [TestElement(1), TestElement(22)])
    let space = { String(repeating: " ", count: $0) }
    #expect(lines[0] == "A" + space(202) + "B  C")
    // The whole text is written.
    #expect(lines[1] == long + "  1  cc…")
    #expect(lines[2] == "a" + space(201) + "22  cc…")
  }

  @Test func `a line returns to its columns after a text that is too wide`() {
    let wide = String(repeating: "w", count: 230)
    let lines = plainLines(
      [
        TerminalColumn("A") { $0.id == 1 ? wide : "a" },
        TerminalColumn("B") { _ in String(repeating: "b", count: 40) },
        TerminalColumn("C", alignment: .trailing) { $0.id == 1 ? "" : "c" },
        TerminalColumn("D") { _ in "d" },
      ], [TestElement(1), TestElement(2)])
    let space = { String(repeating: " ", count: $0) }
    let b = String(repeating: "b", count: 40)
    #expect(lines[1] == wide + "  " + b + "  d")
    #expect(lines[2] == "a" + space(201) + b + "  c  d")
  }

  @Test func `plain lines have columns with the alignments and without spaces at their ends`() {
    let lines = plainLines(
      [
        TerminalColumn("Name") { $0.id == 1 ? "" : "漢字" },
        TerminalColumn("Number", alignment: .trailing) { "\($0.id)" },
        TerminalColumn("Mid", alignment: .center) { $0.id == 1 ? "x" : "" },
        TerminalColumn("") { $0.id == 1 ? "  " : "" },
      ], [TestElement(1), TestElement(22)])
    #expect(lines == ["Name  Number  Mid", "           1   x", "漢字      22"])
    #expect(plainLines([], [TestElement(1)]) == [""])
  }
}
