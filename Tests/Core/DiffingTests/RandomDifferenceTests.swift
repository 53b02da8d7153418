import DataSourceTesting
import Diffing
import Foundation
import TestSupport
import TestTags
import Testing

@Suite("The difference of random lists")
struct RandomDifferenceTests {
  /// Two hundred in a plain run, a million with `SWAPPABLE_LONG=1`, from `SWAPPABLE_SEED` on.
  @Test(.reaches(.changes))
  func `random lists of all sizes up to 1,000 follow all rules`() async {
    let count: UInt64 = TestRun.isLong ? 1_000_000 : 200
    let first = TestRun.seed ?? .random(in: 0...1 << 40)
    print("random differences: SWAPPABLE_SEED=\(first), \(count) cases")
    let parts = UInt64(max(2, ProcessInfo.processInfo.activeProcessorCount))
    let coverage = Coverage.current
    await withTaskGroup(of: String?.self) { group in
      for part in 0..<parts {
        group.addTask {
          await withCheckedContinuation { continuation in
            // On a thread of its own, since tasks share theirs with other tests.
            Thread.detachNewThread {
              var violation: String?
              var seed = first + part
              while seed < first + count, violation == nil {
                violation = Coverage.$current.withValue(coverage) { Self.violation(seed: seed) }
                seed += parts
              }
              continuation.resume(returning: violation)
            }
          }
        }
      }
      for await violation in group {
        if let violation { Issue.record("\(violation)") }
      }
    }
  }

  private static func violation(seed: UInt64) -> String? {
    var edits = ListEdits(seed: seed)
    let old = edits.list(of: edits.size())
    let new = edits.edited(old)
    let texts: Bool = edits.isOneIn(4)
    let violation =
      texts
      ? DiffingTests.violation(from: old.map(\.text), to: new.map(\.text))
      : DiffingTests.violation(from: old, to: new)
    return violation.map { "seed \(seed): \($0.prefix(2000))" }
  }
}

/// A generator of random lists and edits: scattered edits, edits of blocks, near and far moves,
/// reversals and replacements.
private struct ListEdits {
  private var generator: SeededGenerator
  private let universe: Int
  private var next = 0

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
    // Few identities give many duplicates, none at all gives none.
    universe = [0, 0, 0, 3, 30, 1000].randomElement(using: &generator) ?? 0
  }

  struct Element: Differentiable, Hashable, CustomStringConvertible {
    var id: Int
    var content: Int
    var differenceIdentifier: Int { id }
    var description: String { "\(id).\(content)" }
    /// Of more bytes than fit into a string itself.
    var text: String { "the element of identity \(id)" }
  }

  mutating func below(_ bound: Int) -> Int {
    bound < 1 ? 0 : .random(in: 0..<bound, using: &generator)
  }
  mutating func isOneIn(_ count: Int) -> Bool { below(count) == 0 }

  /// Small ones are as frequent as large ones.
  mutating func size() -> Int { min(1000, below(1 << (1 + below(11)))) }

  private mutating func make() -> Element {
    next += 1
    return Element(id: universe > 0 ? below(universe) : next, content: below(2))
  }

  mutating func list(of count: Int) -> [Element] { (0..<count).map { _ in make() } }

  mutating func edited(_ old: [Element]) -> [Element] {
    var list = old
    if isOneIn(8) { return self.list(of: size()) }
    for _ in 0..<1 + below(4) { edit(&list) }
    return list
  }

  private mutating func edit(_ list: inout [Element]) {
    let start = below(list.count)
    let length = min(below(1 << below(11)), list.count - start)
    let block = start..<start + length
    switch below(11) {
    case 0: for _ in 0..<below(1 + list.count / 8) { list.remove(at: below(list.count)) }
    case 1:
      for _ in 0..<below(2 + list.count / 8) { list.insert(make(), at: below(list.count + 1)) }
    case 2: for _ in 0..<below(1 + list.count / 8) { list[below(list.count)].content += 1 }
    case 3:
      for _ in 0..<below(1 + list.count / 8) {
        let moved = list.remove(at: below(list.count))
        list.insert(moved, at: below(list.count + 1))
      }
    case 4: list.removeSubrange(block)
    case 5: list.insert(contentsOf: self.list(of: length), at: start)
    case 6:
      let moved = Array(list[block])
      list.removeSubrange(block)
      list.insert(contentsOf: moved, at: below(list.count + 1))
    case 7: list[block].reverse()
    case 8: list[block].shuffle(using: &generator)
    case 9:
      for offset in block where offset + 1 < list.count && isOneIn(2) {
        list.swapAt(offset, offset + 1)
      }
    default: list.replaceSubrange(block, with: self.list(of: below(2 * length + 1)))
    }
  }
}
