package import Diffing
package import ObservableCollections

extension CollectionProperty {
  /// Applies a change that another process sent, and sets the status in the same commit.
  ///
  /// The sender may identify elements in another way. Then an update that changes the identity becomes a deletion and
  /// an insertion. If other identities do not match either, the change is computed again from the contents.
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
    let change = ReceivedChange(changeset, inserted: inserted, updated: updated, old)
    let deleted = Set(change.changeset.deletions.map { old[$0].differenceIdentifier })
    let insertsNew = !change.inserted.contains { deleted.contains($0.differenceIdentifier) }
    // A check of the moves in O(n) would take most of the time.
    let moves = change.changeset.moves
    if insertsNew, change.changeset.withLeastMoves.moves.count == moves.count {
      publish(
        change.changeset, inserted: change.inserted, updated: change.updated, status: status)
    } else {
      publish(
        changeset.applying(to: old.array, inserted: inserted, updated: updated), status: status)
    }
  }
}

/// A change that another process sent, whose updates keep the identities of the elements.
private struct ReceivedChange<Element: Differentiable & Sendable> {
  private(set) var changeset: Changeset
  private(set) var inserted: [Element]
  private(set) var updated: [Element]

  init(
    _ received: Changeset, inserted: [Element], updated: [Element], _ old: Snapshot<Element>
  ) {
    (changeset, self.inserted, self.updated) = (received, inserted, updated)
    var updates: [(place: Changeset.Update, element: Element)] = []
    var replacements: [(place: Changeset.Update, element: Element)] = []
    for (update, element) in zip(received.updates, updated) {
      let before = old[update.from]
      if before.differenceIdentifier != element.differenceIdentifier {
        replacements.append((update, element))
      } else if !before.isWholeContentEqual(to: element) {
        updates.append((update, element))
      }
    }
    if updates.count == received.updates.count { return }
    let insertions =
      (Array(zip(received.insertions, inserted)) + replacements.map { ($0.place.to, $0.element) })
      .sorted { $0.0 < $1.0 }
    let replaced = Set(replacements.map(\.place.to))
    changeset = Changeset(
      deletions: (received.deletions + replacements.map(\.place.from)).sorted(),
      insertions: insertions.map(\.0), moves: received.moves.filter { !replaced.contains($0.to) },
      updates: updates.map(\.place))
    self.inserted = insertions.map(\.1)
    self.updated = updates.map(\.element)
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
