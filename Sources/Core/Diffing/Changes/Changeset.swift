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
  /// A kept element with a new place in the order of the kept elements.
  ///
  /// An element that only shifts because others are inserted or deleted is not a move.
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

  /// The number of operations: deletions, insertions, moves and updates.
  ///
  /// ```swift
  /// let animates = Changeset(from: old, to: new).changeCount < 100
  /// ```
  // Stored, because each operator and each observer asks.
  public let changeCount: Int

  /// The empty changeset.
  public static let empty = Changeset(uncheckedDeletions: [])

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
    self.init(uncheckedDeletions: deletions, insertions: insertions, moves: moves, updates: updates)
    assert(orderViolation == nil, "\(self) is not valid: \(orderViolation ?? "")")
  }

  @inlinable
  init(
    uncheckedDeletions deletions: [Int], insertions: [Int] = [], moves: [Move] = [],
    updates: [Update] = []
  ) {
    (self.deletions, self.insertions) = (deletions, insertions)
    (self.moves, self.updates) = (moves, updates)
    changeCount = deletions.count + insertions.count + moves.count + updates.count
  }
}

extension Changeset {
  /// A Boolean value that indicates whether nothing has changed.
  @inlinable public var isEmpty: Bool { changeCount == 0 }

  /// The offset of the updated element if there is one update and nothing else, otherwise `nil`.
  @inlinable package var updatedOffset: Int? {
    changeCount == 1 && updates.count == 1 && updates[0].from == updates[0].to
      ? updates[0].to : nil
  }

  /// A Boolean value that indicates whether one element is inserted, deleted, moved or updated, or moved and updated.
  @inlinable package var isOfOneElement: Bool {
    changeCount == 1
      || changeCount == 2 && moves.count == 1 && updates.count == 1 && moves[0].to == updates[0].to
  }

  /// Returns the change with only some of its updates.
  ///
  /// - Parameter positions: The positions of these updates.
  @inlinable
  package func keepingUpdates(at positions: [Int]) -> Changeset {
    Changeset(
      uncheckedDeletions: deletions, insertions: insertions, moves: moves,
      updates: positions.map { updates[$0] })
  }

  /// The number of elements that the collection grows by, which is negative if it shrinks.
  @inlinable public var countChange: Int { insertions.count - deletions.count }

  /// The change from the new version back to the old one.
  ///
  /// - Complexity: O(*k* log *k*) in the *k* offsets.
  public var inverse: Changeset {
    var updates = updates.map { Update(from: $0.to, to: $0.from) }
    // Without moves, the kept elements are in the same order on both sides.
    if !moves.isEmpty { updates.sort { $0.to < $1.to } }
    return Changeset(
      uncheckedDeletions: insertions, insertions: deletions,
      moves: moves.map { Move(from: $0.to, to: $0.from) }.sorted { $0.to < $1.to }, updates: updates
    )
  }

  /// The offsets in the old version of all deletions and origins of moves, ascending.
  @usableFromInline package var removals: [Int] {
    guard !moves.isEmpty else { return deletions }
    return (deletions + moves.map(\.from)).sorted()
  }

  /// The offsets in the new version of all insertions and destinations of moves, ascending.
  package var arrivals: [Int] {
    moves.isEmpty ? insertions : insertions.merged(with: moves.map(\.to), by: <)
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

extension Changeset {
  /// The numbers of changes, for example `3 inserted, 1 moved`.
  public var summary: String {
    let parts = [
      (insertions.count, "inserted"), (deletions.count, "deleted"), (updates.count, "updated"),
      (moves.count, "moved"),
    ]
    let texts = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return texts.isEmpty ? "nothing changed" : texts.joined(separator: ", ")
  }
}

extension Changeset {
  /// Applies the change to the old version.
  ///
  /// This method removes deletions and origins of moves. It then inserts insertions and
  /// destinations of moves by ascending offset, and writes the updates. It reads only inserted and
  /// updated elements from the new version. All other elements come from the old version.
  ///
  /// - Parameters:
  ///   - old: The version before the change.
  ///   - new: The version after the change.
  /// - Returns: The elements of the new version.
  /// - Precondition: The counts of both versions fit the changeset.
  /// - Complexity: O(*n*).
  @inlinable
  public func applying<Element>(
    to old: some Collection<Element>, with new: some Collection<Element>
  ) -> [Element] {
    let old = Array(old)
    precondition(
      old.count + countChange == new.count,
      "the new version must have \(old.count + countChange) elements, but has \(new.count)")
    if isEmpty { return old }
    checkFits(old.count)
    return applying(
      to: old, inserted: new.elements(at: insertions),
      updated: new.elements(at: updates.map(\.to)))
  }

  /// Traps if the change cannot be applied to a list.
  @inlinable
  package func checkFits(_ count: Int) {
    let misfit = misfit(oldCount: count)
    precondition(misfit == nil, "\(self) does not fit \(count) elements: \(misfit ?? "")")
  }

  /// Applies the change to the old version.
  ///
  /// - Parameters:
  ///   - old: The version before the change.
  ///   - inserted: The inserted elements, in order.
  ///   - updated: The new elements of the updates, in order.
  /// - Precondition: All offsets are in range.
  @inlinable
  package func applying<Element>(
    to old: [Element], inserted: [Element], updated: [Element]
  ) -> [Element] {
    func checkFit(_ condition: Bool) {
      precondition(condition, "\(self) does not fit \(old.count) elements")
    }
    var result: [Element] = []
    result.reserveCapacity(max(0, old.count + countChange))
    var insertion = 0
    for segment in SegmentList(self).segments {
      while insertion < insertions.count, insertions[insertion] < segment.new {
        result.append(inserted[insertion])
        insertion += 1
      }
      let end = Swift.min(segment.old + segment.count, old.count)
      checkFit(result.count == segment.new && segment.old <= end)
      if end - segment.old < 8 {
        for offset in segment.old..<end { result.append(old[offset]) }
      } else {
        result.append(contentsOf: old[segment.old..<end])
      }
    }
    checkFit(result.count == old.count + countChange)
    // By index: iterating allocates in code that is not specialized.
    for position in 0..<updates.count { result[updates[position].to] = updated[position] }
    return result
  }
}

extension Collection {
  /// Returns the elements at ascending offsets.
  ///
  /// This method walks forward once. A separate access to each element of a collection without
  /// random access would begin at its start.
  @inlinable
  func elements(at offsets: [Int]) -> [Element] {
    var index = startIndex
    var position = 0
    return offsets.map { offset in
      formIndex(&index, offsetBy: offset - position)
      position = offset
      return self[index]
    }
  }
}

extension Array {
  /// Returns the elements without those at ascending offsets.
  @inlinable
  func removing(at offsets: [Int]) -> [Element] {
    guard !offsets.isEmpty else { return self }
    var stayed: [Element] = []
    stayed.reserveCapacity(count - offsets.count)
    var next = 0
    for offset in offsets {
      stayed.append(contentsOf: self[next..<offset])
      next = offset + 1
    }
    stayed.append(contentsOf: self[next...])
    return stayed
  }
}
