import FileSources
import ObservableCollections

/// Writes events in the form that other programs read: one is one line of JSON.
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

  /// Writes the status; its message only where there is one.
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
  /// The name that status lines give it.
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
