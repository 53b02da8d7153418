/// What changed between two versions of a collection, as offsets that all hold at the same time.
///
/// Offsets of what left are those in the old version, offsets of what came are those in the new one. A
/// changeset carries no elements, and means nothing without the two versions that it was made from. Its
/// sequential counterpart is `Patch`.
///
/// ```swift
/// let change = Changeset(from: ["a", "b", "c"], to: ["c", "a", "d"])
/// // deletions: [1], insertions: [2], moves: [2->0]
/// ```
public struct Changeset: Sendable, Hashable {
  /// An element that left the order of those that stayed.
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

  /// An element that was kept, whose content differs.
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

  /// Offsets in the old version of what is gone, ascending.
  public let deletions: [Int]

  /// Offsets in the new version of what came, ascending.
  public let insertions: [Int]

  /// What was kept and left the order of the rest, by ascending offset in the new version.
  ///
  /// No fewer elements could have moved; an element that is only pushed along by others is not here.
  public let moves: [Move]

  /// What was kept and whose content differs, moved or not, by ascending offset in the new version.
  public let updates: [Update]

  /// The changeset that changes nothing.
  public static let empty = Changeset(
    unchecked: (deletions: [], insertions: [], moves: [], updates: []))

  /// Creates a changeset from offsets.
  ///
  /// Order and disjointness are checked in debug builds.
  ///
  /// - Parameters:
  ///   - deletions: Offsets in the old version, ascending.
  ///   - insertions: Offsets in the new version, ascending.
  ///   - moves: Kept elements, by ascending destination; no origin is a deletion, no destination an
  ///     insertion.
  ///   - updates: Kept elements, by ascending offset in the new version.
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
  /// Tells whether nothing changed.
  public var isEmpty: Bool {
    deletions.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty
  }

  /// How much the collection grows by this change; negative where it shrinks.
  public var countChange: Int { insertions.count - deletions.count }

  /// The change from the new version back to the old one.
  ///
  /// - Complexity: O(*k* log *k*) in the *k* offsets.
  public var inverse: Changeset {
    var updates = updates.map { Update(from: $0.to, to: $0.from) }
    // Without moves, the kept elements are in one order on both sides.
    if !moves.isEmpty { updates.sort { $0.to < $1.to } }
    return Changeset(
      unchecked: (
        deletions: insertions,
        insertions: deletions,
        moves: moves.map { Move(from: $0.to, to: $0.from) }.sorted { $0.to < $1.to },
        updates: updates
      ))
  }

  /// The offsets in the old version of all that is taken out, deletions and origins of moves, ascending.
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
