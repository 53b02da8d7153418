@testable import DataSourceTesting
import Diffing
import ObservableCollections
import TestTags
import Testing

@Suite struct ReachTests {
  /// Edits a source at random, and returns the operations.
  private func operations(_ kinds: [RandomEdit]) throws -> Reach.Operations {
    let source = ArrayDataSource<TestElement>()
    let recorder = RecordingObserver(source)
    var editor = RandomEditor(seed: 1, allowsDuplicates: false, kinds: kinds)
    for _ in 0..<200 { try editor.step(source) }
    try recorder.check(against: source)
    return recorder.operations
  }

  private let withoutMoves: [RandomEdit] = [.append, .insert, .remove, .update]

  @Test func `a campaign whose generator makes no moves fails by its counter`() throws {
    let reach = Reach(.changes)
    reach.note(try operations(withoutMoves))
    let error = #expect(throws: ReachError.self) { try reach.check() }
    #expect(error?.missing == ["move"])
    #expect(
      error?.description.hasPrefix("these cases were reached less than 1 times: move (0);") == true)
    reach.note(try operations(withoutMoves + [.move]))
    try reach.check()
  }

  @Test func `a campaign that reaches a case too seldom fails if it must reach it often`() throws {
    let reach = Reach("swap", .changes(of: ["map"]))
    for kind in Reach.kinds { reach.note("map: \(kind)", 30) }
    reach.note("swap", 29)
    reach.note("a case that is not declared")
    try reach.check()
    let error = #expect(throws: ReachError.self) { try reach.check(least: 30) }
    #expect(error?.missing == ["swap"])
  }

  @Test(.reaches("0", "1", "2"), arguments: 0..<3)
  func `the cases of all arguments of a test count together`(number: Int) {
    #expect(Reach.current != nil)
    Reach.note("\(number)", 30)
  }

  @Test func `a check whose editor makes no moves breaks the rule of coverage`() throws {
    var reach = EditorReach()
    reach.add(try operations(withoutMoves), steps: 199)
    try reach.check()
    reach.add(Reach.Operations(), steps: 1)
    let violation = #expect(throws: ContractError.self) { try reach.check() }
    #expect(violation?.rule == "coverage" && violation?.message.hasSuffix(": move") == true)
    reach.add(try operations([.append, .move]), steps: 200)
    try reach.check()
  }
}
