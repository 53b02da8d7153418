import Dispatch
import FileSources
import ObservableCollections
import RemoteSources

/// A printer of events and status changes in one order.
///
/// It prints on a queue of its own. Therefore, a slow reader delays only its own lines.
final class EventPrinter: @unchecked Sendable {
  // Sendable: the variables are accessed on the serial queue only.

  let queue = DispatchQueue(label: "livelist.output")
  private let output: Output
  private var duplicates = DuplicateKeys()
  /// The state that the reader knows. After an initial event, it is `loaded`.
  private var state = SourceStatus.loaded.state.name
  /// The reason why a guard has refused a change, if the reader knows one.
  private var reason: String?

  init(_ output: Output) {
    self.output = output
  }

  /// Prints an event. Call this method on the queue.
  func print(_ event: CollectionEvent<JSONElement>) {
    output.line { line in
      switch event {
      case .initial(let elements, let revision):
        EventLine.appendInitial(elements, revision: revision, to: &line)
      case .change(let change): EventLine.append(change, to: &line)
      }
    }
    if let key = duplicates.firstNew(after: event) { DuplicateKeys.warn(key) }
  }

  /// Prints a status after all pending events, if its state differs from the last one.
  ///
  /// - Parameter pending: The change that a guard has refused. The state is then `held`, unless the source has failed.
  func post(_ status: SourceStatus, _ pending: ChangeGuard<JSONElement>.PendingChange?) {
    afterPendingEvents { [self] in
      let held = status.error == nil ? pending : nil
      let name = held == nil ? status.state.name : "held"
      guard name != state || held?.reason != reason else { return }
      (state, reason) = (name, held?.reason)
      output.line { line in
        if let held {
          EventLine.append(held.change.changeset, heldFor: held.reason, to: &line)
        } else {
          EventLine.append(status, to: &line)
        }
      }
    }
  }

  /// Waits until all pending events are printed.
  func waitUntilPrinted() async {
    await withCheckedContinuation { continuation in
      afterPendingEvents { continuation.resume() }
    }
  }

  /// Restarts the search for duplicate keys with the contents of another source.
  func sourceChanged(to snapshot: Snapshot<JSONElement>) {
    queue.async { [self] in
      if let key = duplicates.firstNew(inNewSource: snapshot) { DuplicateKeys.warn(key) }
    }
  }

  private func afterPendingEvents(_ work: @escaping @Sendable () -> Void) {
    // An event that arrives while another one is printed is queued after that one, at the latest
    // when the first of these two blocks runs. Therefore, it is printed before the second block
    // runs.
    queue.async { [queue] in queue.async(execute: work) }
  }
}
