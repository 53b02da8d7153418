import DataSourceTesting
import Diffing
import TestTags
import Testing

@Suite("The algebra of patches")
struct PatchAlgebraTests {
  @Test func `the inverse of a patch undoes each step in reverse order`() {
    let patch = Patch<String>(steps: [
      .remove("b", at: 1), .move("a", from: 0, to: 1), .insert("d", at: 2),
      .update(old: "c", new: "e", at: 0),
    ])
    #expect(
      patch.inverse.steps == [
        .update(old: "e", new: "c", at: 0), .remove("d", at: 2), .move("a", from: 1, to: 0),
        .insert("b", at: 1),
      ])
    let new = patch.applying(to: ["a", "b", "c"])
    #expect(new == ["e", "a", "d"])
    #expect(patch.inverse.applying(to: new) == ["a", "b", "c"])
    #expect(patch.inverse.inverse == patch)
  }

  @Test func `a changeset of steps with invalid offsets traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = Changeset(Patch(steps: [.insert(1, at: -1), .insert(2, at: 3)]))
    }
    await #expect(processExitsWith: .failure) {
      _ = Changeset(Patch(steps: [.insert(1, at: 3), .move(2, from: 1 << 62, to: 0)]))
    }
  }

  @Test func `steps become a changeset and a changeset becomes steps`() {
    #expect(Changeset(Patch<Int>(steps: [])) == .empty)
    #expect(Changeset(Patch(steps: [.insert(1, at: 3), .remove(1, at: 3)])) == .empty)
    #expect(
      Changeset(Patch(steps: [.move(1, from: 2, to: 2), .update(old: 1, new: 2, at: 2)]))
        == Changeset(updates: [.init(from: 2, to: 2)]))
  }

  @Test(.reaches(.changes), arguments: 0..<300 as Range<UInt64>)
  func `a patch and its inverse lead there and back`(
    seed: UInt64
  ) {
    var generator = SeededGenerator(seed: seed)
    var list = EditedList(
      count: .random(in: 0..<30, using: &generator), ids: seed % 2 == 0 ? 0..<5 : nil,
      using: &generator)
    let old = list.items
    let change = list.edit(using: &generator)
    let new = list.items
    let patch = Patch(change, from: old, to: new)
    let back = Changeset(patch)
    Coverage.note(change)
    #expect(!back.differs(from: change), "seed \(seed)")
    #expect(Patch(back, from: old, to: new).applying(to: old) == new, "seed \(seed)")
    #expect(patch.inverse.applying(to: new) == old, "seed \(seed)")
    #expect(!Changeset(patch.inverse).differs(from: change.inverse), "seed \(seed)")
    // Steps in any order, like steps that are written by hand.
    let more = list.edit(using: &generator)
    let long = Patch(steps: patch.steps + Patch(more, from: new, to: list.items).steps)
    #expect(
      !Changeset(long).differs(from: change.composed(with: more)), "seed \(seed)")
    #expect(
      (patch.steps + patch.inverse.steps).count == 2 * change.changeCount, "seed \(seed)")
    #expect(
      Changeset(long).normalForm(from: old, to: list.items).applying(to: old, with: list.items)
        == list.items)
  }
}
