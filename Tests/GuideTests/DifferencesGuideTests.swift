import Swappable
import TestSupport
import Testing

/// The code of the guide "Differences".
@Suite struct DifferencesGuideTests {
  struct Row: Identifiable, Hashable, Differentiable {
    let id: Int
    var name: String
  }

  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("Differences")
    #expect(!guide.code.isEmpty)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `a difference has a summary, and its stages lead to the new rows`() {
    let print = Printed()
    let old = [Row(id: 1, name: "Ada"), Row(id: 2, name: "Grace")]
    let new = [
      Row(id: 1, name: "Ada L."), Row(id: 3, name: "Edsger"), Row(id: 2, name: "Grace H."),
    ]
    let change = Changeset(from: old, to: new)
    print(change.summary)  // 1 inserted, 2 updated
    print(ChangeDescription(change, from: old, to: new))
    #expect(print.lines.first == "1 inserted, 2 updated")

    var model = old
    for stage in StagedChangeset(from: old, to: new) {
      // In one batch of a view, set the data, and perform these operations:
      model = stage.data
      print(stage.changeset, model.count)
    }
    #expect(model == new)
  }
}
