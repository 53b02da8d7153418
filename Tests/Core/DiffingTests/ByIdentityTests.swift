import DataSourceTesting
import Diffing
import Testing

/// A change by identity, as a dictionary needs it.
@Suite struct ByIdentityTests {
  private func change(
    _ changeset: Changeset, _ old: [TestElement], _ new: [TestElement]
  ) -> ChangeRecord<TestElement>.ByIdentity {
    ChangeRecord(changeset, from: old, to: new).byIdentity
  }

  @Test func `an update to another identity loses one identity and gains one`() {
    let edits = change(Changeset(updates: [.init(from: 1, to: 1)]), [1, 2, 3], [1, 5, 3])
    #expect(edits.deleted == [2])
    #expect(edits.inserted == [5])
    #expect(edits.updated.isEmpty)
    #expect(edits.stored == [5])
  }

  @Test func `two updates that exchange identities lose and gain nothing`() {
    let updates = [Changeset.Update(from: 0, to: 0), .init(from: 1, to: 1)]
    let equal = change(Changeset(updates: updates), [1, 2], [2, 1])
    #expect(equal.deleted.isEmpty && equal.inserted.isEmpty && equal.updated.isEmpty)
    let edited = change(
      Changeset(updates: updates), [TestElement(1, 0), TestElement(2, 1)],
      [TestElement(2, 0), TestElement(1, 0)])
    #expect(edited.deleted.isEmpty && edited.inserted.isEmpty)
    #expect(edited.updated.map(\.old) == [TestElement(2, 1)])
    #expect(edited.updated.map(\.new) == [TestElement(2, 0)])
  }

  @Test func `an identity that leaves by an update and enters by an insertion is kept`() {
    let edits = change(
      Changeset(insertions: [1], updates: [.init(from: 0, to: 0)]), [1], [4, TestElement(1, 2)])
    #expect(edits.deleted.isEmpty)
    #expect(edits.inserted == [4])
    #expect(edits.updated.map(\.new) == [TestElement(1, 2)])
  }

  @Test func `updates that keep the identity are updates, and moves are left out`() {
    let edits = change(
      Changeset(moves: [.init(from: 2, to: 0)], updates: [.init(from: 2, to: 0)]),
      [1, 2, TestElement(3, 0)], [TestElement(3, 1), 1, 2])
    #expect(edits.deleted.isEmpty && edits.inserted.isEmpty)
    #expect(edits.updated.map(\.new) == [TestElement(3, 1)])
    let moved = change(Changeset(moves: [.init(from: 2, to: 0)]), [1, 2, 3], [3, 1, 2])
    #expect(moved.stored.isEmpty && moved.deleted.isEmpty)
  }

  @Test func `each occurrence of a repeated identity counts`() {
    let edits = change(
      Changeset(deletions: [0], updates: [.init(from: 2, to: 1)]), [1, 1, 1], [1, 2])
    #expect(edits.deleted == [1, 1])
    #expect(edits.inserted == [2])
  }
}
