package import Diffing
import SwappablePrimitives
package import Testing

/// Counts the cases that a random test reaches.
///
/// A random test proves nothing about a case that its generator no longer makes. So each declares its cases, and fails if one
/// of them was never reached:
///
///     let reach = Reach(.changes)
///     … reach.note(change.changeset) …
///     reach.check()
package final class Reach: Sendable {
  /// The cases of changesets.
  package struct Cases: Sendable {
    package let names: [String]

    package init(_ names: [String]) { self.names = names }

    /// The four kinds of operations.
    package static let changes = Cases(["deletion", "insertion", "update", "move"])

    package static func + (one: Cases, other: Cases) -> Cases { Cases(one.names + other.names) }
  }

  private let counts: Locked<[String: Int]>

  /// Creates a counter of some cases.
  package init(_ cases: Cases) {
    counts = Locked(Dictionary(uniqueKeysWithValues: cases.names.map { ($0, 0) }))
  }

  /// Counts a case, which must be one that was declared.
  package func note(_ name: String, _ count: Int = 1) {
    counts.withLock { counts in
      precondition(counts[name] != nil, "\(name) is no case of this test")
      counts[name, default: 0] += count
    }
  }

  /// Counts the operations of a changeset.
  package func note(_ changeset: Changeset) {
    note("deletion", changeset.deletions.count)
    note("insertion", changeset.insertions.count)
    note("update", changeset.updates.count)
    note("move", changeset.moves.count)
  }

  /// The cases that were never reached.
  package var missing: [String] {
    counts.withLock { counts in counts.filter { $0.value == 0 }.keys.sorted() }
  }

  /// Fails the test if a case was never reached.
  package func check(sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(
      missing.isEmpty, "never reached: \(missing.joined(separator: ", "))",
      sourceLocation: sourceLocation)
  }
}
