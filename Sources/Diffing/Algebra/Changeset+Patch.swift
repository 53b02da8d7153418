extension Changeset {
  /// Creates the changeset that does what the steps of a patch do, one after the other.
  ///
  /// Only their offsets are looked at: what a step removes and another inserts is not recognised as the
  /// same element, and what a step updates is updated. The moves are as few as can be.
  ///
  /// - Parameter patch: The steps. No offset is negative, or beyond 2 to the 61st power.
  /// - Complexity: O(*k* log *k*) for *k* steps.
  public init<Element>(_ patch: Patch<Element>) {
    self = Changeset.composed(
      of: patch.steps.compactMap { step in
        precondition(step.faultyOffset == nil, "\(step.faultyOffset ?? 0) is no offset")
        return step.changeset
      })
  }
}

extension ElementChange {
  /// What this step alone changes; `nil` for a move that leads nowhere.
  fileprivate var changeset: Changeset? {
    switch self {
    case .insert(_, let offset): Changeset(insertions: [offset])
    case .remove(_, let offset): Changeset(deletions: [offset])
    case .update(_, _, let offset): Changeset(updates: [.init(from: offset, to: offset)])
    case .move(_, let source, let destination):
      source == destination ? nil : Changeset(moves: [.init(from: source, to: destination)])
    }
  }
}
