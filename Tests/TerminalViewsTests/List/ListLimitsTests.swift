import DataSourceTesting
import Diffing
import ObservableCollections
import Testing

@testable import TerminalViews

@Suite struct ListLimitsTests {
  typealias State = TerminalListState<TestElement>

  @Test func whatIsSelectedWithoutAnyRoomIsInSightOnceThereIsSome() {
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

  @Test func aColumnWithoutTextDoesNotHideThoseBehindIt() {
    var state = State(columns: [
      TerminalColumn("A") { _ in "a" }, TerminalColumn("") { _ in "" },
      TerminalColumn("C") { _ in String(repeating: "c", count: 50) },
    ])
    state.resize(to: TerminalSize(rows: 4, columns: 20))
    state.apply(.initial(Snapshot([TestElement(1)]), revision: 0))
    #expect(state.frame().lines.prefix(2).map(\.text) == ["  A    C            ", "> a    cccccccccccc…"])
  }
}
