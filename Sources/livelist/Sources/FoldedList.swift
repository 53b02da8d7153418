import FileSources
import ObservableCollections
import RemoteSources

/// A list to which the events of another program are applied one after another.
struct FoldedList {
  let contents: CollectionProperty<JSONElement>
  /// The revision of the last event, or `nil` before the first one.
  private(set) var revision: Int?
  /// The status that the events report.
  private(set) var status = SourceStatus.loaded
  /// What helps if the first event is a change and there are no elements before it.
  private let advice: String
  private var hasElements: Bool

  /// - Parameters:
  ///   - contents: The elements before the first event.
  ///   - hasElements: A Boolean value that indicates whether the first event may be a change.
  ///   - advice: What helps if the first event must be an initial event, and is a change.
  init(_ contents: CollectionProperty<JSONElement>, hasElements: Bool = false, advice: String) {
    self.contents = contents
    self.hasElements = hasElements
    self.advice = advice
  }

  /// Applies an event. If it throws an error, the list keeps its elements.
  ///
  /// An initial event replaces all elements.
  mutating func apply(_ event: InputEvent) throws(InputEventError) {
    switch event {
    case .status(let state, let message):
      status = SourceStatus(reported: state, message)
      if hasElements { contents.setStatus(status) }
    case .initial(let initial):
      // The initial events of a feed report the state, and those of `watch` do not.
      if let failure = initial.failure {
        status = failure
      } else if initial.token != nil {
        status = .loaded
      }
      contents.publish(initial.elements, status: status)
      (revision, hasElements) = (initial.revision, true)
    case .change(let change):
      guard hasElements else {
        throw InputEventError("the first event is a change, not an initial event; \(advice)")
      }
      if let revision { try change.checkContinues(from: revision) }
      // A feed sends an empty change if the changes between two revisions cancel out.
      if change.isEmpty, change.token == nil {
        throw InputEventError("the change has no deletes, inserts, updates or moves")
      }
      let checked = try change.checked(against: contents.snapshot)
      contents.publish(
        received: checked.changeset, inserted: checked.inserted, updated: checked.updated,
        status: status)
      revision = change.revision
    case .alive: break
    case .error(let message): throw InputEventError("the server reports: \(message)")
    }
  }
}
