package import Diffing
package import ObservableCollections

extension CollectionProperty {
  /// Applies a change that another process sent, and sets the status in the same commit.
  ///
  /// The sender may identify elements in another way. Therefore, an update may change an identity here, as any recorded
  /// edit may (rule C9), and a deletion and an insertion of one identity here become a kept element.
  ///
  /// - Parameters:
  ///   - changeset: The change. Its offsets must be valid. Its moves need not be the fewest.
  ///   - inserted: The inserted elements, in the order of the insertions.
  ///   - updated: The updated elements, in the order of the updates.
  ///   - status: The new status.
  /// - Complexity: O(*k* log *n*) for *k* operations.
  package func publish(
    received changeset: Changeset, inserted: [Element], updated: [Element], status: SourceStatus
  ) {
    publish(changeset.withLeastMoves, inserted: inserted, updated: updated, status: status)
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
