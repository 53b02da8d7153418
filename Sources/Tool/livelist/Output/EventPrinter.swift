import ChangeDescriptions
import Diffing
import Dispatch
import FileSources
import ObservableCollections
import RemoteSources
import TerminalViews

/// A printer of events and status changes in one order.
///
/// It prints on a queue of its own. Therefore, a slow reader delays only its own lines. Instead of
/// printing events, it can run a command for each.
final class EventPrinter: @unchecked Sendable {
  // Sendable: the variables are accessed on the serial queue only.

  let queue = DispatchQueue(label: "livelist.output")
  private let source: any DataSource<JSONElement>
  private let output: Output
  private let options: Options
  private var format: OutputFormat { options.format ?? .json }
  private let commands: ExecRunner?
  private var warnings = KeyWarnings()
  /// The status that the reader knows. After an initial event, it is `loaded`.
  private var shown = ShownStatus(state: SourceStatus.loaded.state.name, message: nil)

  init(of source: any DataSource<JSONElement>, _ output: Output, _ options: Options) {
    self.source = source
    self.output = output
    self.options = options
    commands = options.execution.map { ExecRunner($0) }
  }

  /// Prints an event. Call this method on the queue.
  func print(_ event: CollectionEvent<JSONElement>) {
    defer { warnings.check(event) }
    let isInitial = if case .initial = event { true } else { false }
    if isInitial, options.printsChangesOnly { return }
    guard let commands else {
      return format == .json
        ? output.json { append(event, to: &$0) } : output.line { append(event, to: &$0) }
    }
    if isInitial, !options.executesInitial { return }
    var input = LineBuffer()
    append(event, to: &input)
    commands.run(for: event, input: input.bytes)
  }

  private func append(_ event: CollectionEvent<JSONElement>, to line: inout LineBuffer) {
    switch (format, event) {
    case (.json, .initial(let elements, let revision)):
      EventLine.appendInitial(elements, revision: revision, to: &line)
    case (.json, .change(let change)) where options.printsSnapshots:
      EventLine.appendInitial(change.after, revision: change.revision, to: &line)
    case (.json, .change(let change)): EventLine.append(change, to: &line)
    case (.text, .initial(let elements, _)): EventText.append(elements, to: &line)
    case (.text, .change(let change)) where options.printsSnapshots:
      EventText.append(change.after, to: &line)
    case (.text, .change(let change)):
      let style = commands == nil ? output.textStyle(options.colors) : .whole
      EventText.append(
        change.changeset, from: change.before, to: change.after, style: style, to: &line)
    }
  }

  /// Prints a status after all pending events, if it differs from the last one.
  ///
  /// - Parameter pending: A closure that returns the change that a guard has refused. The state is then `held`, unless
  ///   the source has failed. The closure is called when the status is printed: several threads post statuses, so an
  ///   older change could follow a newer one.
  func post(
    _ status: SourceStatus,
    _ pending: @escaping @Sendable () -> ChangeGuard<JSONElement>.PendingChange?
  ) {
    afterPendingEvents { [self] in
      let held = status.error == nil ? pending() : nil
      let new = ShownStatus(status, heldFor: held?.reason)
      guard new != shown else { return }
      shown = new
      // The output belongs to the command.
      if commands != nil { return Program.report(new.description) }
      switch format {
      case .text: output.line { $0.append(new.description.printableLine + "\n") }
      case .json:
        output.json { line in
          if let held {
            EventLine.append(held.change.changeset, heldFor: held.reason, to: &line)
          } else {
            EventLine.append(state: new.state, message: new.message, to: &line)
          }
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

  private func afterPendingEvents(_ work: @escaping @Sendable () -> Void) {
    queue.async { [queue, source] in
      // An observer may have posted a status before the source hands over the event of the same step.
      source.flushAndWait()
      // An event that arrives while another one is printed is queued after that one, at the latest
      // when this block runs. Therefore, it is printed before the next block runs.
      queue.async(execute: work)
    }
  }
}

/// A status as the reader of the output knows it.
private struct ShownStatus: Equatable {
  let state: String
  let message: String?

  var description: String { [state, message].compactMap(\.self).joined(separator: ": ") }
}

extension ShownStatus {
  init(_ status: SourceStatus, heldFor reason: String?) {
    if let reason {
      self.init(state: "held", message: reason)
    } else {
      // Other remarks, such as one on polling, do not concern the contents.
      let remarks = status.diagnostics.filter {
        ["malformed-lines", "no-match", "immutable", "replaced-outside"].contains($0.code)
      }
      let message = status.shownMessage ?? remarks.map(\.message).joined(separator: " ")
      self.init(state: status.state.name, message: message.isEmpty ? nil : message)
    }
  }
}

/// The format of events for people.
enum EventText {
  /// Appends a line for each changed element, and a summary.
  static func append(
    _ changeset: Changeset, from old: Snapshot<JSONElement>, to new: Snapshot<JSONElement>,
    style: ChangeDescription.Style, to text: inout LineBuffer
  ) {
    _ = changeset.describe(from: old, to: new, style: style) { line in
      text.append(Array(line.utf8))
      text.append("\n")
    }
    text.append(changeset.summary + "\n")
  }

  /// Appends the elements, one a line, and their number.
  ///
  /// The lines are for people, who may also read them from a file in a terminal.
  static func append(_ elements: Snapshot<JSONElement>, to text: inout LineBuffer) {
    for element in elements {
      text.append(TerminalText.escaped(json: element.utf8))
      text.append("\n")
    }
    text.append(elements.count == 1 ? "1 element\n" : "\(elements.count) elements\n")
  }
}
