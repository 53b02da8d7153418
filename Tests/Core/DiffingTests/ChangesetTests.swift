import DataSourceTesting
import Diffing
import TestTags
import Testing

@Suite("A changeset")
struct ChangesetTests {
  private let sample = Changeset(
    deletions: [1], insertions: [1, 3], moves: [.init(from: 2, to: 0)],
    updates: [.init(from: 0, to: 2)])

  @Test func `a changeset is empty if nothing changed`() {
    #expect(Changeset.empty.isEmpty)
    #expect(!sample.isEmpty)
    #expect(Changeset.empty.inverse == .empty)
    #expect(Changeset.empty.applying(to: [1, 2], with: [1, 2]) == [1, 2])
    #expect(sample.countChange == 1)
  }

  @Test func `a description has the parts that are not empty`() {
    #expect("\(Changeset.empty)" == "Changeset()")
    #expect(
      "\(sample)"
        == "Changeset(deletions: [1], insertions: [1, 3], moves: [2->0], updates: [0->2])")
  }

  @Test
  func `applying takes elements out, puts elements in, and then writes updates`() {
    #expect(
      sample.applying(to: ["a", "b", "c"], with: ["c", "d", "A", "e"]) == ["c", "d", "A", "e"])
    // What is kept and not updated comes from the old version.
    #expect(
      sample.applying(to: ["a", "b", "c"], with: ["?", "d", "A", "e"]) == ["c", "d", "A", "e"])
  }

  @Test func `applying to a collection of another count traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = Changeset(deletions: [0]).applying(to: [1, 2], with: [1, 2])
    }
  }

  @Test
  func `a changeset has an inverse`() {
    #expect(
      sample.inverse
        == Changeset(
          deletions: [1, 3], insertions: [1], moves: [.init(from: 0, to: 2)],
          updates: [.init(from: 2, to: 0)]))
    #expect(sample.inverse.inverse == sample)
  }

  @Test(arguments: [
    (Changeset(deletions: [3]), 3, 2, "C1"),
    (Changeset(deletions: [-1]), 3, 2, "C1"),
    (Changeset(insertions: [4]), 3, 4, "C2"),
    (Changeset(moves: [.init(from: 3, to: 0)]), 3, 3, "C3"),
    (Changeset(moves: [.init(from: 0, to: 3)]), 3, 3, "C3"),
    // It stays where it was.
    (Changeset(moves: [.init(from: 1, to: 1)]), 3, 3, "C3"),
    // One would do.
    (Changeset(moves: [.init(from: 1, to: 0), .init(from: 0, to: 1)]), 3, 3, "C3"),
    (Changeset(updates: [.init(from: 3, to: 3)]), 3, 3, "C4"),
    // No pair.
    (Changeset(updates: [.init(from: 0, to: 1)]), 3, 3, "C4"),
    (Changeset(deletions: [0]), 3, 3, "C5"),
    (Changeset.empty, 3, 2, "C5"),
  ])
  func `a violation names the rule that the changeset breaks`(
    change: Changeset, oldCount: Int, newCount: Int, rule: String
  ) {
    let violation = change.invariantViolation(oldCount: oldCount, newCount: newCount)
    #expect(violation?.hasPrefix(rule) == true, "\(change): \(violation ?? "no violation")")
  }

  #if DEBUG
    @Test
    func `a changeset with offsets out of order traps`() async {
      await #expect(processExitsWith: .failure) { _ = Changeset(deletions: [1, 0]) }
      await #expect(processExitsWith: .failure) { _ = Changeset(insertions: [1, 1]) }
      await #expect(processExitsWith: .failure) {
        _ = Changeset(moves: [.init(from: 0, to: 1), .init(from: 1, to: 0)])
      }
      await #expect(processExitsWith: .failure) {
        _ = Changeset(moves: [.init(from: 0, to: 1), .init(from: 0, to: 2)])
      }
      await #expect(processExitsWith: .failure) {
        _ = Changeset(deletions: [0], moves: [.init(from: 0, to: 1)])
      }
      await #expect(processExitsWith: .failure) {
        _ = Changeset(insertions: [1], moves: [.init(from: 0, to: 1)])
      }
      await #expect(processExitsWith: .failure) {
        _ = Changeset(updates: [.init(from: 0, to: 1), .init(from: 1, to: 0)])
      }
      await #expect(processExitsWith: .failure) {
        _ = Changeset(deletions: [0], updates: [.init(from: 0, to: 0)])
      }
      await #expect(processExitsWith: .failure) {
        _ = Changeset(insertions: [0], updates: [.init(from: 0, to: 0)])
      }
    }
  #endif

  @Test(.reaches(.changes), arguments: 0..<100)
  func `shifted and concatenated changes equal the change of the whole`(
    seed: UInt64
  ) {
    var generator = SeededGenerator(seed: seed)
    func list(_ range: Range<UInt8>) -> [Item] {
      (0..<Int.random(in: 0..<8, using: &generator)).map { _ in
        Item(
          id: .random(in: range, using: &generator), content: .random(in: 0..<2, using: &generator))
      }
    }
    let (oldHead, newHead) = (list(0..<6), list(0..<6))
    let (oldTail, newTail) = (list(6..<12), list(6..<12))
    let joined = Changeset.concatenated(
      Changeset(from: oldHead, to: newHead), oldCount: oldHead.count, newCount: newHead.count,
      Changeset(from: oldTail, to: newTail))
    #expect(violation(of: joined, from: oldHead + oldTail, to: newHead + newTail) == nil)
  }
}
