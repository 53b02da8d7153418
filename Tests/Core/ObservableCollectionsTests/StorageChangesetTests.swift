import DataSourceTesting
import Diffing
import ObservableCollections
import TestSupport
import TestTags
import Testing

/// Changesets applied to the tree behind snapshots.
@Suite struct StorageChangesetTests {
  private let tiny = NodeLimits(leaf: 3, inner: 4, flat: 0, bulk: 0)

  @Test(.reaches(.changes)) func `a changeset has the same effect on a tree as on an array`() {
    for seed in UInt64(0)..<300 {
      var editor = RandomEditor(seed: seed, size: 40)
      let old = editor.makeElements()
      let new = editor.variation(of: old)
      let changeset = Changeset(from: old, to: new)
      Coverage.note(changeset)
      var tree = PersistentArray(old)
      let before = tree
      tree.apply(
        changeset, inserted: changeset.insertions.map { new[$0] },
        updated: changeset.updates.map { new[$0.to] }, limits: tiny)
      #expect(tree.flattened() == new, "seed \(seed), \(changeset)")
      #expect(tree.violation(tiny) == nil, "seed \(seed), \(changeset)")
      #expect(before.flattened() == old)
    }
  }

  @Test func `a small changeset leaves most of a tree unchanged`() {
    var list = PersistentArray(Array(0..<100_000))
    _ = list.exchangeElement(at: 5, with: -5)
    let before = list
    let changeset = Changeset(
      deletions: [10, 11, 70_000], insertions: [0, 99_998], moves: [.init(from: 500, to: 60_000)],
      updates: [.init(from: 40_000, to: 39_998)])
    list.apply(changeset, inserted: [-1, -2], updated: [-3])
    #expect(list.flattened() == changeset.applying(to: before.flattened(), with: list.flattened()))
    #expect(list[39_998] == -3)
    #expect(list.ownNodeCount(beside: before) < 7 * 2 * (before.height + 1))
  }
}
