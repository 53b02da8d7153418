import Diffing
import FileSources

/// A list that events are applied to, one after the other.
struct Fold {
  private(set) var elements: [JSONElement]?
  /// The revision of the last event; nil before the first.
  private var revision: Int?

  /// - Parameter elements: what the first event changes; nil where it has to be an initial.
  init(_ elements: [JSONElement]?) {
    self.elements = elements
  }

  /// Applies an event, or throws and leaves the list as it was.
  mutating func apply(_ event: ReadEvent) throws(EventFault) {
    switch event {
    case .status: return
    case .initial(let revision, let elements):
      guard self.revision == nil else {
        throw EventFault("an initial stands behind another event; it comes once, and first")
      }
      self.elements = elements
      self.revision = revision
    case .change(let change):
      guard let elements else {
        throw EventFault(
          "the first event is no initial; say what it changes, by livelist apply OLD")
      }
      if let revision, change.since != revision {
        throw EventFault(
          "its since is \(change.since), and the event before has revision \(revision); "
            + "events are missing, or in another order")
      }
      let checked = try change.checked(against: elements)
      self.elements = checked.changeset.applying(
        to: elements, inserted: checked.inserted, updated: checked.updated)
      revision = change.revision
    }
  }
}
