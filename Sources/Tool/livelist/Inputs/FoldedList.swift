import Diffing
import FileSources
import ObservableCollections
import RemoteSources

/// A list to which the events of another program are applied one after another.
struct FoldedList {
  private let writer: SourceWriter<JSONElement>
  /// The revision of the last event, or `nil` before the first one.
  private(set) var revision: Int?
  /// The status that the events report.
  private(set) var status = SourceStatus.loaded
  /// What helps if the first event is a change and there are no elements before it.
  private let advice: String
  private var hasElements: Bool

  /// - Parameters:
  ///   - feed: The elements before the first event.
  ///   - hasElements: A Boolean value that indicates whether the first event may be a change.
  ///   - advice: What helps if the first event must be an initial event, and is a change.
  init(_ writer: SourceWriter<JSONElement>, hasElements: Bool = false, advice: String) {
    self.writer = writer
    self.hasElements = hasElements
    self.advice = advice
  }

  /// Applies the events of an input, one on each line, until it ends.
  ///
  /// - Parameter key: The field that identifies elements, or `nil` for the whole element.
  /// - Throws: The error of the first event that cannot be applied.
  mutating func apply(
    _ input: LineReader, key: String? = nil
  ) async throws(InputEventError) {
    var number = 0
    while let line = await input.next() {
      number += 1
      if JSONText.isBlank(line: line[...]) { continue }
      do throws(InputEventError) {
        try apply(InputEvent(line, key: key))
      } catch {
        throw InputEventError("standard input, line \(number): \(error.reason)")
      }
    }
  }

  /// Applies an event. If it throws an error, the list keeps its elements.
  ///
  /// An initial event replaces all elements.
  private mutating func apply(_ event: InputEvent) throws(InputEventError) {
    switch event {
    case .status(let state, let message):
      status = SourceStatus(reported: state, message)
      if hasElements { writer.show(status.state) }
    case .initial(let initial):
      // The initial events of a feed report the state, and those of `watch` do not.
      if let failure = initial.failure {
        status = failure
      } else if initial.token != nil || revision.map({ initial.revision <= $0 }) == true {
        // Another run of `watch` begins with a list that is loaded.
        status = .loaded
      }
      writer.publish(.whole(initial.elements), status.state)
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
      let checked = try change.checked(against: writer.collection.snapshot)
      // The other program may identify elements in another way, so its moves need not be the fewest here.
      writer.publish(
        .changed(
          checked.changeset.withLeastMoves, inserted: checked.inserted, updated: checked.updated),
        status.state)
      revision = change.revision
    case .alive: break
    case .error(let message): throw InputEventError("the server reports: \(message)")
    }
  }
}
