/// A change with those of its elements that it brings or takes away: what one line of JSON tells of it.
///
/// It needs neither version to be understood, can be sent to another process, and can be applied there
/// to what that process holds. As JSON it is what the tool `livelist` writes of a change:
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
/// All offsets hold at the same time, as those of a `Changeset` do. A move is told without its element,
/// which whoever applies the change has already. A `Patch` has the elements of its moves as well; made
/// from one, a record keeps them, and writes those that it does not tell elsewhere as one member more,
/// `"moves":[{"from":0,"to":2,"element":…}]`. Members of other names are read over.
public struct ChangeRecord<Element> {
  /// What changed, as offsets.
  public let changeset: Changeset
  /// What was deleted, in the order of the changeset's deletions.
  public let deleted: [Element]
  /// What was inserted, in the order of the changeset's insertions.
  public let inserted: [Element]
  /// What the updated elements were before, in the order of the changeset's updates.
  public let replaced: [Element]
  /// What the updated elements became, in the order of the changeset's updates.
  public let updated: [Element]
  /// What was moved as it was before, in the order of the changeset's moves; `nil` where that is not told.
  public let moved: [Element?]

  /// Creates the record of a change.
  ///
  /// - Parameters:
  ///   - changeset: The change.
  ///   - old: The version that the changeset was made from.
  ///   - new: The version that it leads to.
  /// - Complexity: O(*k*) in the *k* offsets of the changeset.
  public init(
    _ changeset: Changeset, from old: some RandomAccessCollection<Element>,
    to new: some RandomAccessCollection<Element>
  ) {
    self.init(
      changeset,
      deleted: changeset.deletions.map { old.element(at: $0) },
      inserted: changeset.insertions.map { new.element(at: $0) },
      replaced: changeset.updates.map { old.element(at: $0.from) },
      updated: changeset.updates.map { new.element(at: $0.to) },
      moved: changeset.moves.map { _ in nil })
  }

  init(
    _ changeset: Changeset, deleted: [Element], inserted: [Element], replaced: [Element],
    updated: [Element], moved: [Element?]
  ) {
    self.changeset = changeset
    self.deleted = deleted
    self.inserted = inserted
    self.replaced = replaced
    self.updated = updated
    self.moved = moved
  }
}

extension ChangeRecord {
  /// Applies the change to the old version.
  ///
  /// - Parameter old: The version that the change was made from.
  /// - Returns: The new version's elements.
  /// - Throws: A ``ChangeMismatch`` where the old version is too short for the change.
  /// - Complexity: O(*n*).
  public func applying(to old: some Collection<Element>) throws(ChangeMismatch) -> [Element] {
    let old = Array(old)
    try check(against: old.count)
    return changeset.applying(to: old, inserted: inserted, updated: updated)
  }

  /// Looks whether a version has all the offsets that the change names.
  func check(against count: Int) throws(ChangeMismatch) {
    if let offset = changeset.greatestOldOffset, offset >= count {
      throw ChangeMismatch(offset: offset, count: count, isBefore: true)
    }
    let newCount = count + changeset.countChange
    if let offset = changeset.greatestNewOffset, offset >= newCount {
      throw ChangeMismatch(offset: offset, count: newCount, isBefore: false)
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
