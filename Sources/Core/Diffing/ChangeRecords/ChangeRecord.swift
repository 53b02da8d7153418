/// A change with its inserted, deleted and updated elements, for another process.
///
/// A record does not need the versions of the collection. The receiver applies it to its own copy
/// of the old version. A record is encoded in the JSON format of the `livelist` tool:
///
/// ```swift
/// let record = try JSONDecoder().decode(ChangeRecord<Row>.self, from: line)
/// rows = try record.applying(to: rows)
/// ```
///
/// ```
/// {"deletes":[{"at":2,"element":…}],"inserts":[{"at":0,"element":…}],
///  "updates":[{"from":1,"at":2,"old":…,"element":…}],"moves":[{"from":0,"to":2}]}
/// ```
///
/// The offsets are simultaneous, as in a `Changeset`. A move has no element, because the receiver
/// already has it. A record that is created from a `Patch` keeps the elements of the moves, and
/// writes an element that does not occur elsewhere: `"moves":[{"from":0,"to":2,"element":…}]`.
/// Unknown members are ignored.
public struct ChangeRecord<Element> {
  /// The change, as offsets.
  public let changeset: Changeset
  /// The deleted elements, in the order of the changeset's deletions.
  public let deleted: [Element]
  /// The inserted elements, in the order of the changeset's insertions.
  public let inserted: [Element]
  /// The old values of the updated elements, in the order of the changeset's updates.
  public let replaced: [Element]
  /// The new values of the updated elements, in the order of the changeset's updates.
  public let updated: [Element]
  /// The old values of the moved elements, in the order of the moves. Unknown values are `nil`.
  public let moved: [Element?]
}

extension ChangeRecord {
  /// Creates the record of a change.
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - old: The version before the change.
  ///   - new: The version after the change.
  /// - Complexity: O(*k*) in the *k* offsets of the changeset.
  public init(
    _ changeset: Changeset, from old: some RandomAccessCollection<Element>,
    to new: some RandomAccessCollection<Element>
  ) {
    self.init(
      changeset: changeset,
      deleted: changeset.deletions.map { old.element(at: $0) },
      inserted: changeset.insertions.map { new.element(at: $0) },
      replaced: changeset.updates.map { old.element(at: $0.from) },
      updated: changeset.updates.map { new.element(at: $0.to) },
      moved: changeset.moves.map { _ in nil })
  }

  /// Applies the change to the old version.
  ///
  /// - Parameter old: The version before the change.
  /// - Returns: The elements of the new version.
  /// - Throws: A ``Changeset/RangeError`` if the old version is too short for the change.
  /// - Complexity: O(*n*).
  public func applying(to old: some Collection<Element>) throws(Changeset.RangeError) -> [Element] {
    let old = Array(old)
    try check(against: old.count)
    return changeset.applying(to: old, inserted: inserted, updated: updated)
  }

  /// Checks that all offsets of the change are in range.
  func check(against count: Int) throws(Changeset.RangeError) {
    if let offset = changeset.greatestOldOffset, offset >= count {
      throw Changeset.RangeError(offset: offset, count: count, isBefore: true)
    }
    let newCount = count + changeset.countChange
    if let offset = changeset.greatestNewOffset, offset >= newCount {
      throw Changeset.RangeError(offset: offset, count: newCount, isBefore: false)
    }
  }
}

extension ChangeRecord: Sendable where Element: Sendable {}
extension ChangeRecord: Equatable where Element: Equatable {}
extension ChangeRecord: Hashable where Element: Hashable {}

extension Changeset {
  fileprivate var greatestOldOffset: Int? {
    let kept = (moves.lazy.map(\.from).max(), updates.lazy.map(\.from).max())
    return [deletions.last, kept.0, kept.1].compactMap(\.self).max()
  }

  fileprivate var greatestNewOffset: Int? {
    [insertions.last, moves.last?.to, updates.last?.to].compactMap(\.self).max()
  }
}

extension Patch {
  /// Creates the patch with the same effect as a record.
  ///
  /// - Parameters:
  ///   - record: The change.
  ///   - old: The version before the change, which has the elements of the moves.
  /// - Throws: A ``Changeset/RangeError`` if the old version is too short for the change.
  /// - Complexity: O(*k* log *k*) in the *k* offsets of the change.
  public init(
    _ record: ChangeRecord<Element>, from old: some RandomAccessCollection<Element>
  ) throws(Changeset.RangeError) {
    try record.check(against: old.count)
    self.init(record, moved: { old.element(at: record.changeset.moves[$0].from) })
  }

  /// - Parameter moved: A closure that returns the element of the move at a position.
  init(_ record: ChangeRecord<Element>, moved: (Int) -> Element) {
    self.init(
      record.changeset, deleted: { record.deleted[$0] }, moved: moved,
      inserted: { record.inserted[$0] }, updated: { (record.replaced[$0], record.updated[$0]) })
  }
}

extension ChangeRecord {
  /// Creates the record of the combined change of all steps of a patch.
  ///
  /// An element that the steps insert and remove again does not occur. An element that they update
  /// twice is updated once. Only elements that a step moves are moved, and as few of them as
  /// possible.
  ///
  /// - Parameter patch: The steps. Each offset must be at least 0 and below 2⁶¹.
  /// - Complexity: O(*k* (log *k*)²) for *k* steps.
  public init(_ patch: Patch<Element>) {
    var replays = BinaryCounter<PatchReplay<Element>>()
    for replay in patch.steps.lazy.compactMap({ PatchReplay($0) }) {
      replays.append(replay) { $0.followed(by: $1) }
    }
    self =
      replays.total { $0.followed(by: $1) }?.record
      ?? ChangeRecord(
        changeset: .empty, deleted: [], inserted: [], replaced: [], updated: [], moved: [])
  }
}

extension Patch.Step {
  /// The first offset of this step that is out of bounds, or `nil` if all are valid.
  var invalidOffset: Int? {
    let offsets =
      switch self {
      case .insert(_, let offset), .remove(_, let offset), .update(_, _, let offset): [offset]
      case .move(_, let source, let destination): [source, destination]
      }
    return offsets.first { !offsetBounds.contains($0) }
  }

  /// The change of this step alone, or `nil` if the step moves an element to its own offset.
  ///
  /// - Precondition: All offsets are valid.
  var changeset: Changeset? {
    precondition(
      invalidOffset == nil, "offset \(invalidOffset ?? 0) is out of range \(offsetBounds)")
    return switch self {
    case .insert(_, let offset): Changeset(insertions: [offset])
    case .remove(_, let offset): Changeset(deletions: [offset])
    case .update(_, _, let offset): Changeset(updates: [.init(from: offset, to: offset)])
    case .move(_, let source, let destination):
      source == destination ? nil : Changeset(moves: [.init(from: source, to: destination)])
    }
  }
}

/// The range of valid offsets, which leaves room for arithmetic.
let offsetBounds = 0..<Int.max / 4

extension Changeset {
  /// An error that occurs if a change is applied to a collection that is too short for it.
  public struct RangeError: Error, Sendable, Hashable {
    /// The offset that is out of range.
    public let offset: Int
    /// The number of elements in the collection.
    public let count: Int
    /// A Boolean value that indicates whether the version before the change is meant.
    ///
    /// Otherwise, the offset and the count are in the version after it.
    public let isBefore: Bool
  }
}

extension Changeset.RangeError: CustomStringConvertible {
  /// The offset, the valid range, and a remedy.
  public var description: String {
    "offset \(offset) \(isBefore ? "before" : "after") the change is out of range 0..<\(count); "
      + "apply the change to the version that it was created from"
  }
}
