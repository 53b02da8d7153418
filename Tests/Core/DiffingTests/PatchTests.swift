import DataSourceTesting
import Diffing
import TestTags
import Testing

@Suite("A patch")
struct PatchTests {
  @Test
  func `each step of a patch has its element and the offset at the time of the step`() {
    let old = ["a", "b", "c"]
    let new = ["c", "d", "a"]
    let change = Changeset(from: old, to: new)
    let patch = Patch(change, from: old, to: new)
    #expect(
      patch.steps.first == .remove("b", at: 1))
    #expect(patch.steps.last == .insert("d", at: 1))
    #expect(patch.steps.count == 3)
    #expect(patch.applying(to: old) == new)
    #expect(Patch(Changeset.empty, from: old, to: old).steps.isEmpty)
    #expect(Patch(steps: patch.steps) == patch)
  }

  @Test func `an update has the old and the new element`() {
    let old = [Item(id: 0, content: 0)]
    let new = [Item(id: 0, content: 1)]
    #expect(
      Patch(Changeset(from: old, to: new), from: old, to: new).steps
        == [.update(old: old[0], new: new[0], at: 0)])
  }

  @Test(.reaches(.rearrangements), arguments: 0..<100)
  func `moves among insertions and deletions are replayed`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let old = Array(0..<Int.random(in: 0..<60, using: &generator))
    var new = old.filter { _ in Int.random(in: 0..<5, using: &generator) > 0 }
    for _ in 0..<Int.random(in: 0..<15, using: &generator) where !new.isEmpty {
      let element = new.remove(at: .random(in: 0..<new.count, using: &generator))
      new.insert(element, at: .random(in: 0...new.count, using: &generator))
      new.insert(new.count + 1_000, at: .random(in: 0...new.count, using: &generator))
    }
    #expect(violation(from: old, to: new) == nil, "seed \(seed)")
  }
}
