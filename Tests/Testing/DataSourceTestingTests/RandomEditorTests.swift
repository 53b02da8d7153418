import DataSourceTesting
import Diffing
import ObservableCollections
import TestSupport
import TestTags
import Testing

@Suite struct RandomEditorTests {
  private func run(seed: UInt64, kinds: [RandomEdit] = RandomEdit.allCases) throws -> [Changeset] {
    let source = ArrayDataSource<TestElement>()
    let recorder = RecordingObserver(source, seed: seed)
    var editor = RandomEditor<TestElement>(seed: seed, kinds: kinds)
    for _ in 0..<100 { try editor.step(source) }
    try recorder.check(against: source)
    Coverage.note(recorder)
    return recorder.changes.map(\.changeset)
  }

  @Test func `the same seed gives the same edits`() throws {
    try withEvery("seed", in: UInt64(0)..<10) { seed in
      let (first, second) = (try run(seed: seed), try run(seed: seed))
      #expect(first == second)
    }
    #expect(try run(seed: 1) != run(seed: 2))
  }

  @Test(.reaches(.changes)) func `every kind of edit keeps the contract`() throws {
    try withEvery("kind", in: RandomEdit.allCases) { kind in
      try withEvery("seed", in: 0..<(TestRun.isLong ? 20 as UInt64 : 7)) { seed in
        _ = try run(seed: seed, kinds: [kind, .append, .insertMany])
      }
    }
  }

  @Test(.reaches(.changes)) func `all kinds of edits together keep the contract`() throws {
    try withEvery("seed", in: 100..<(TestRun.isLong ? 200 as UInt64 : 133)) { seed in
      _ = try run(seed: seed)
    }
  }

  @Test func `edits that cancel out are no events`() throws {
    let source = ArrayDataSource<TestElement>([1, 2, 3])
    let recorder = RecordingObserver(source)
    var editor = RandomEditor<TestElement>(seed: 3, kinds: [.cancelOut, .writeEqual])
    for _ in 0..<50 { try editor.step(source) }
    #expect(recorder.eventCount == 1)
  }

  @Test func `identities are unique if duplicates are not allowed`() throws {
    let source = ArrayDataSource<TestElement>()
    var editor = RandomEditor<TestElement>(seed: 5, allowsDuplicates: false)
    for _ in 0..<200 {
      try editor.step(source)
      #expect(Set(source.snapshot.map(\.id)).count == source.count)
    }
  }

  @Test func `withEvery reports the combination that fails`() {
    let failure = #expect(throws: CombinationError.self) {
      try withEvery("row", in: 0..<3) { row in
        try withEvery("column", in: 0..<3) { column in
          if row == 1, column == 2 { throw TimeoutError("late") }
        }
      }
    }
    #expect(failure?.description == "with row = 1, column = 2: late")
  }

  @Test func `everyList returns all lists up to a length`() {
    #expect(everyList(upTo: 2, of: ["a", "b"]).count == 7)
    #expect(Set(everyList(upTo: 3, of: [1, 2, 3])).count == 40)
  }
}
