package import Diffing
package import ObservableCollections

extension CollectionProperty {
  /// Applies a change that another process sent, and sets the status in the same commit.
  ///
  /// The sender may identify elements in another way. Then the change is computed again from the contents.
  ///
  /// - Parameters:
  ///   - changeset: The change. Its offsets must be valid.
  ///   - inserted: The inserted elements, in the order of the insertions.
  ///   - updated: The updated elements, in the order of the updates.
  ///   - status: The new status.
  /// - Complexity: O(*k* log *n*) for *k* operations, or O(*n*) if the change is computed again.
  package func publish(
    received changeset: Changeset, inserted: [Element], updated: [Element], status: SourceStatus
  ) {
    let old = snapshot
    let keepsIdentities = zip(changeset.updates, updated).allSatisfy { update, element in
      let before = old[update.from]
      return before.differenceIdentifier == element.differenceIdentifier
        && !before.isContentEqual(to: element)
    }
    let deleted = Set(changeset.deletions.map { old[$0].differenceIdentifier })
    let insertsNew = !inserted.contains { deleted.contains($0.differenceIdentifier) }
    // A check of the moves in O(n) would take most of the time.
    let hasLeastMoves = changeset.withLeastMoves.moves.count == changeset.moves.count
    if keepsIdentities, insertsNew, hasLeastMoves {
      publish(changeset, inserted: inserted, updated: updated, status: status)
    } else {
      publish(
        changeset.applying(to: old.array, inserted: inserted, updated: updated), status: status)
    }
  }
}

extension SourceStatus {
  /// Creates the status that a line reports for contents that have loaded.
  package init(reported state: String, _ message: String?) {
    let error = SourceError(
      code: "reported", message: message ?? "the source reports the state \(state)")
    switch state {
    case "failed": self = .failed(error)
    case "missing": self = .missing(error)
    default: self = .loaded
    }
  }
}
