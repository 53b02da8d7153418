/// What was done to a collection, edit by edit, and what that comes to by offsets alone.
///
/// Its size is that of the changes: it neither grows with the collection nor, where edits meet the same
/// elements again and again, with their number.
package struct EditRecord: Sendable {
  /// An edit that follows on others.
  package enum Edit: Sendable {
    /// What stands at a range afterwards came.
    case insertion(Range<Int>)
    /// What stood at a range went.
    case removal(Range<Int>)
    /// The element at an offset was written.
    case update(Int)
    /// An element was taken out, and put in again where the destination is counted without it.
    case move(from: Int, to: Int)
    /// Several things at once.
    case changeset(Changeset)
  }

  /// The only edit so far, kept as it is, so that the most frequent kind of transaction costs little.
  private var first: Edit?
  /// What was done before the edits in `recent`.
  private var earlier = BinaryCounter<PartialInjection>()
  private var recent = EditedStretches()
  private var hasSeveral = false

  /// Makes one of no edit.
  package init() {}

  /// Whether there is no edit.
  package var isEmpty: Bool { first == nil && !hasSeveral }

  /// The edit, if there is but one.
  package var single: Changeset? { first?.changeset }

  /// Adds an edit behind all others.
  ///
  /// - Complexity: O(log *k*) on average for *k* edits, and the size of a changeset.
  package mutating func append(_ edit: Edit) {
    if let first {
      self.first = nil
      hasSeveral = true
      add(first)
    } else if !hasSeveral {
      first = edit
      return
    }
    add(edit)
  }

  private mutating func add(_ edit: Edit) {
    if case .changeset(let changeset) = edit {
      settle()
      earlier.append(PartialInjection(changeset)) { $0.followed(by: $1) }
      return
    }
    recent.apply(edit)
    // Each edit of them walks along all of them.
    if recent.count > 128 { settle() }
  }

  /// How many stretches it holds.
  package var footprint: Int { recent.count + earlier.values.reduce(0) { $0 + $1.stretchCount } }

  private mutating func settle() {
    guard !recent.isUntouched else { return }
    earlier.append(recent.injection) { $0.followed(by: $1) }
    recent = EditedStretches()
  }

  /// What all edits come to, with the fewest moves.
  ///
  /// What is inserted and removed again is not in it; what is removed and inserted again is both.
  ///
  /// - Complexity: O(*k* log *k*) for *k* edits.
  package var changeset: Changeset {
    if let first { return first.changeset }
    let before = earlier.total { $0.followed(by: $1) }
    if recent.isUntouched { return before?.changeset ?? .empty }
    let injection = recent.injection
    return (before?.followed(by: injection) ?? injection).changeset
  }
}

extension EditRecord.Edit {
  /// What the edit changes.
  fileprivate var changeset: Changeset {
    switch self {
    case .insertion(let range): Changeset(insertions: Array(range))
    case .removal(let range): Changeset(deletions: Array(range))
    case .update(let offset): Changeset(updates: [.init(from: offset, to: offset)])
    case .move(let source, let destination):
      Changeset(moves: [.init(from: source, to: destination)])
    case .changeset(let changeset): changeset
    }
  }
}
