import ChangeDescriptions
import DataSourceTesting
import Diffing
import ObservableCollections
import Testing

@Suite struct DescriptionTests {
  private func makeChange() -> CollectionChange<TestElement>? {
    let source = ArrayDataSource<TestElement>([1, 2, 3])
    let recorder = RecordingObserver(source)
    source.transaction { draft in
      draft.remove(at: 1)
      draft.append(TestElement(9, 5))
      draft[0] = TestElement(1, 4)
    }
    return recorder.changes.last
  }

  @Test func `a change is described line by line, with a summary`() throws {
    let change = try #require(makeChange())
    #expect(
      change.description == """
        ~ [0] 1: content: 0 → 4
        - [1] 2
        + [2] 9.5
        1 inserted, 1 deleted, 1 updated
        """)
    #expect(ChangeDescription(change, style: .init(lineLimit: 1)).omittedCount == 2)
  }

  @Test func `a status is described by its state, its error and its diagnostics`() {
    let remark = SourceStatus.Diagnostic(code: "polling", message: "it polls")
    let error = SourceError(code: "offline", message: "there is no network")
    #expect("\(SourceStatus.loading)" == "loading")
    #expect("\(SourceStatus(.loaded, diagnostics: [remark]))" == "loaded; it polls")
    #expect("\(SourceStatus.failed(error))" == "failed: there is no network")
  }

  @Test func `a change's record leads from one snapshot to the other`() throws {
    let change = try #require(makeChange())
    #expect(try change.record.applying(to: change.before) == Array(change.after))
    #expect(change.record.changeset == change.changeset)
  }
}
