/// The difference between two versions of a collection, as simultaneous offsets.
///
/// Deletions are offsets in the old version, and insertions are offsets in the new version. A
/// changeset contains no elements, and has a meaning only together with its two versions. Its
/// sequential counterpart is `Patch`.
///
/// ```swift
/// let change = Changeset(from: ["a", "b", "c"], to: ["c", "a", "d"])
/// // deletions: [1], insertions: [2], moves: [2->0]
/// ```
public struct Changeset: Sendable, Hashable {
  /// A kept element that left the order of the other kept elements.
  public struct Move: Sendable, Hashable {
    /// The offset in the old version.
    public let from: Int
    /// The offset in the new version.
    public let to: Int

    /// Creates a move.
    @inlinable
    public init(from: Int, to: Int) {
      self.from = from
      self.to = to
    }
  }

  /// A kept element whose content differs.
  public struct Update: Sendable, Hashable {
    /// The offset in the old version.
    public let from: Int
    /// The offset in the new version.
    public let to: Int

    /// Creates an update.
    @inlinable
    public init(from: Int, to: Int) {
      self.from = from
      self.to = to
    }
  }

  /// The offsets in the old version of deleted elements, ascending.
  public let deletions: [Int]

  /// The offsets in the new version of inserted elements, ascending.
  public let insertions: [Int]

  /// The moved elements, by ascending offset in the new version.
  ///
  /// The number of moves is minimal. An element that only shifts because of other elements is not a
  /// move.
  public let moves: [Move]

  /// The kept elements whose content differs, moved or not, by ascending offset in the new version.
  public let updates: [Update]

  /// The empty changeset.
  public static let empty = Changeset(
    unchecked: (deletions: [], insertions: [], moves: [], updates: []))

  /// Creates a changeset from offsets.
  ///
  /// Order and disjointness are checked in debug builds.
  ///
  /// - Parameters:
  ///   - deletions: Offsets in the old version, ascending.
  ///   - insertions: Offsets in the new version, ascending.
  ///   - moves: The moved elements, by ascending destination. No origin is a deletion, and no
  ///     destination is an insertion.
  ///   - updates: The updated elements, by ascending offset in the new version.
  public init(
    deletions: [Int] = [], insertions: [Int] = [], moves: [Move] = [], updates: [Update] = []
  ) {
    self.init(
      unchecked: (
        deletions: deletions, insertions: insertions, moves: moves, updates: updates
      ))
    assert(orderViolation == nil, "\(self) is no changeset: \(orderViolation ?? "")")
  }

  @usableFromInline
  init(
    unchecked parts: (deletions: [Int], insertions: [Int], moves: [Move], updates: [Update])
  ) {
    deletions = parts.deletions
    insertions = parts.insertions
    moves = parts.moves
    updates = parts.updates
  }
}

extension Changeset {
  /// A Boolean value that indicates whether nothing has changed.
  public var isEmpty: Bool {
    deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty
  }

  /// The number of elements that the collection grows by, which is negative if it shrinks.
  public var countChange: Int { insertions.count - deletions.count }

  /// The change from the new version back to the old one.
  ///
  /// - Complexity: O(*k* log *k*) in the *k* offsets.
  public var inverse: Changeset {
    var updates = updates.map { Update(from: $0.to, to: $0.from) }
    // Without moves, the kept elements are in the same order on both sides.
    if !moves.isEmpty { updates.sort { $0.to < $1.to } }
    return Changeset(
      unchecked: (
        deletions: insertions,
        insertions: deletions,
        moves: moves.map { Move(from: $0.to, to: $0.from) }.sorted { $0.to < $1.to },
        updates: updates
      ))
  }

  /// The offsets in the old version of all deletions and origins of moves, ascending.
  @usableFromInline package var removals: [Int] {
    guard !moves.isEmpty else { return deletions }
    return (deletions + moves.map(\.from)).sorted()
  }

  /// The offsets in the new version of all insertions and destinations of moves, ascending.
  package var arrivals: [Int] {
    moves.isEmpty ? insertions : merged(insertions, moves.map(\.to), by: <)
  }
}

extension Changeset: CustomStringConvertible {
  /// The parts that are not empty, for example `Changeset(deletions: [1], moves: [2->0])`.
  public var description: String {
    var parts: [String] = []
    if !deletions.isEmpty { parts.append("deletions: \(deletions)") }
    if !insertions.isEmpty { parts.append("insertions: \(insertions)") }
    if !moves.isEmpty {
      parts.append("moves: [\(moves.map { "\($0.from)->\($0.to)" }.joined(separator: ", "))]")
    }
    if !updates.isEmpty {
      parts.append("updates: [\(updates.map { "\($0.from)->\($0.to)" }.joined(separator: ", "))]")
    }
    return "Changeset(\(parts.joined(separator: ", ")))"
  }
}
