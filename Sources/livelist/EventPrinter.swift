import Dispatch
import FileSources
import ObservableCollections

/// Prints events and status steps in one order, on a queue of its own, so that a slow reader holds up
/// nothing but its lines.
final class EventPrinter: @unchecked Sendable {
  // Sendable: the variables are touched on the serial queue only.

  let queue = DispatchQueue(label: "livelist.output")
  private let output: Output
  private var duplicates = DuplicateKeys()
  /// The state that the reader knows: an initial says that something was loaded.
  private var state = SourceStatus.loaded.state.name

  init(_ output: Output) {
    self.output = output
  }

  /// Prints an event. Called on the queue.
  func print(_ event: CollectionEvent<JSONElement>) {
    output.line { EventLine.append(event, to: &$0) }
    if let key = duplicates.firstNew(after: event) { DuplicateKeys.warn(key) }
  }

  /// Prints a status, if the state is another one, after all events that were posted before.
  func post(_ status: SourceStatus) {
    afterPostedEvents { [self] in
      guard status.state.name != state else { return }
      state = status.state.name
      output.line { EventLine.append(status, to: &$0) }
    }
  }

  /// Waits until all that was posted before is printed.
  func settle() async {
    await withCheckedContinuation { continuation in
      afterPostedEvents { continuation.resume() }
    }
  }

  /// Begins to look for duplicates anew: another source is shown.
  func sourceChanged(to snapshot: Snapshot<JSONElement>) {
    queue.async { [self] in
      if let key = duplicates.firstNew(inNewSource: snapshot) { DuplicateKeys.warn(key) }
    }
  }

  private func afterPostedEvents(_ work: @escaping @Sendable () -> Void) {
    // An event that was posted while another one is printed is queued when that is done: at the
    // latest when the first of these two blocks runs, hence before the second.
    queue.async { [queue] in queue.async(execute: work) }
  }
}
