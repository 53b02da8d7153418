@testable import DataSourceTesting
import Diffing
import ObservableCollections
import TestTags
import Testing

@Suite struct CoverageTests {
  /// Edits a source at random, and returns the operations.
  private func operations(_ kinds: [RandomEdit]) throws -> Coverage.Operations {
    let source = ArrayDataSource<TestElement>()
    let recorder = RecordingObserver(source)
    var editor = RandomEditor(seed: 1, allowsDuplicates: false, kinds: kinds)
    for _ in 0..<200 { try editor.step(source) }
    try recorder.check(against: source)
    return recorder.operations
  }

  private let withoutMoves: [RandomEdit] = [.append, .insert, .remove, .update]

  @Test func `a campaign whose generator makes no moves fails by its counter`() throws {
    let coverage = Coverage(.changes)
    coverage.note(try operations(withoutMoves))
    let error = #expect(throws: CoverageError.self) { try coverage.check() }
    #expect(error?.missing == ["move"])
    #expect(
      error?.description.hasPrefix("these cases were reached less than 1 times: move (0);") == true)
    coverage.note(try operations(withoutMoves + [.move]))
    try coverage.check()
  }

  @Test func `a campaign that reaches a case too seldom fails if it must reach it often`() throws {
    let coverage = Coverage("swap", .changes(of: ["map"]))
    for kind in Coverage.kinds { coverage.note("map: \(kind)", 30) }
    coverage.note("swap", 29)
    coverage.note("a case that is not declared")
    try coverage.check()
    let error = #expect(throws: CoverageError.self) { try coverage.check(least: 30) }
    #expect(error?.missing == ["swap"])
  }

  @Test(.reaches("0", "1", "2"), arguments: 0..<3)
  func `the cases of all arguments of a test count together`(number: Int) {
    #expect(Coverage.current != nil)
    Coverage.note("\(number)", 30)
  }

  @Test func `a check whose editor makes no moves breaks the rule of coverage`() throws {
    var coverage = EditorCoverage()
    coverage.add(try operations(withoutMoves), steps: 199)
    try coverage.check()
    coverage.add(Coverage.Operations(), steps: 1)
    let violation = #expect(throws: ContractError.self) { try coverage.check() }
    #expect(violation?.rule == "coverage" && violation?.message.hasSuffix(": move") == true)
    coverage.add(try operations([.append, .move]), steps: 200)
    try coverage.check()
  }
}
