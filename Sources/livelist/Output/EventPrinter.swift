import Dispatch
import FileSources
import ObservableCollections

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

  init(_ output: Output) {
    self.output = output
  }

  /// Prints an event. Call this method on the queue.
  func print(_ event: CollectionEvent<JSONElement>) {
    output.line { EventLine.append(event, to: &$0) }
    if let key = duplicates.firstNew(after: event) { DuplicateKeys.warn(key) }
  }

  /// Prints a status after all pending events, if its state differs from the last one.
  func post(_ status: SourceStatus) {
    afterPendingEvents { [self] in
      guard status.state.name != state else { return }
      state = status.state.name
      output.line { EventLine.append(status, to: &$0) }
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

/// The format of events for other programs: one line of JSON for each event.
enum EventLine {
  static func append(_ event: CollectionEvent<JSONElement>, to line: inout LineBuffer) {
    switch event {
    case .initial(let snapshot, let revision):
      line.append("{\"event\":\"initial\",\"revision\":")
      line.append(revision)
      line.append(",\"elements\":")
      append(snapshot, to: &line) { element, line in line.append(element.utf8) }
      line.append("}\n")
    case .change(let change):
      append(change, to: &line)
    }
  }

  private static func append(
    _ change: CollectionChange<JSONElement>, to line: inout LineBuffer
  ) {
    line.append("{\"event\":\"change\",\"since\":")
    line.append(change.revisionBefore)
    line.append(",\"revision\":")
    line.append(change.revision)
    line.append(",\"deletes\":")
    append(change.deleted, to: &line) { deletion, line in
      line.append("{\"at\":")
      line.append(deletion.offset)
      line.append(",\"element\":")
      line.append(deletion.element.utf8)
      line.append("}")
    }
    line.append(",\"inserts\":")
    append(change.inserted, to: &line) { insertion, line in
      line.append("{\"at\":")
      line.append(insertion.offset)
      line.append(",\"element\":")
      line.append(insertion.element.utf8)
      line.append("}")
    }
    line.append(",\"updates\":")
    append(change.updated, to: &line) { update, line in
      line.append("{\"from\":")
      line.append(update.from)
      line.append(",\"at\":")
      line.append(update.to)
      line.append(",\"old\":")
      line.append(update.old.utf8)
      line.append(",\"element\":")
      line.append(update.new.utf8)
      line.append("}")
    }
    line.append(",\"moves\":")
    append(change.moved, to: &line) { move, line in
      line.append("{\"from\":")
      line.append(move.from)
      line.append(",\"to\":")
      line.append(move.to)
      line.append("}")
    }
    line.append("}\n")
  }

  /// Appends a status, with its message if it has one.
  static func append(_ status: SourceStatus, to line: inout LineBuffer) {
    line.append("{\"event\":\"status\",\"state\":\"\(status.state.name)\"")
    if let message = status.error.flatMap({ try? JSONElement(.string($0.message)) }) {
      line.append(",\"message\":")
      line.append(message.utf8)
    }
    line.append("}\n")
  }

  private static func append<Item>(
    _ items: some Sequence<Item>, to line: inout LineBuffer,
    _ append: (Item, inout LineBuffer) -> Void
  ) {
    line.append("[")
    var isFirst = true
    for item in items {
      if !isFirst { line.append(",") }
      isFirst = false
      append(item, &line)
    }
    line.append("]")
  }
}

extension SourceStatus.State {
  /// The name of the state in status lines.
  var name: String {
    switch self {
    case .idle: "idle"
    case .loading: "loading"
    case .loaded: "loaded"
    case .failed: "failed"
    case .missing: "missing"
    }
  }
}
