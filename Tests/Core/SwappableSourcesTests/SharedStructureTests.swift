import DataSourceTesting
import Diffing
import ObservableCollections
import SwappableSources
import TestSupport
import Testing

/// Changes between snapshots that share structure, as observers receive them.
@Suite struct SharedStructureTests {
  /// Returns a long list that is a tree, and two lists that share it.
  private func makeLists() -> (old: Items, new: Items) {
    let base = Items((0..<5_000).map { TestElement($0) })
    base[4].content = 1
    return (Items(base.snapshot), Items(base.snapshot))
  }

  @Test func `replacing contents by an edited version of them is one change`() throws {
    let (old, new) = makeLists()
    new[3_000].content = 7
    new.remove(at: 10)
    new.move(from: 100, to: 4_000)
    let recorder = RecordingObserver(old)
    old.replace(with: new.snapshot)
    #expect(
      recorder.changes.map(\.changeset) == [
        Changeset(
          deletions: [10], moves: [.init(from: 101, to: 4_000)],
          updates: [.init(from: 3_000, to: 2_998)])
      ])
    #expect(old.snapshot.storage.isIdentical(to: new.snapshot.storage))
    try recorder.check(against: old)
  }

  @Test func `replacing contents by the same snapshot is no change`() throws {
    let (old, new) = makeLists()
    let recorder = RecordingObserver(old)
    old.replace(with: new.snapshot)
    #expect(recorder.changes.isEmpty)
    try recorder.check(against: old)
  }

  @Test func `a swap to an edited version of the contents is one change`() throws {
    let (old, new) = makeLists()
    new[3_000].content = 7
    new.insert(-1, at: 1_000)
    let container = Container(old)
    let recorder = RecordingObserver(container)
    #expect(container.swap(to: new).outcomeIfKnown == .swapped)
    #expect(
      recorder.changes.map(\.changeset) == [
        Changeset(insertions: [1_000], updates: [.init(from: 3_000, to: 3_001)])
      ])
    // And back again.
    #expect(container.swap(to: old).outcomeIfKnown == .swapped)
    #expect(
      recorder.changes.last?.changeset
        == Changeset(deletions: [1_000], updates: [.init(from: 3_001, to: 3_000)]))
    try recorder.check(against: container)
  }

  @Test func `a swap to the same snapshot is no change`() throws {
    let (old, new) = makeLists()
    let container = Container(old)
    let recorder = RecordingObserver(container)
    #expect(container.swap(to: new).outcomeIfKnown == .unchanged)
    #expect(recorder.changes.isEmpty)
    try recorder.check(against: container)
  }
}
