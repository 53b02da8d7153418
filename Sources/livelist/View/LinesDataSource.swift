import Diffing
import Dispatch
import FileSources
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// A list from elsewhere: the events that another program writes, one a line.
///
/// The last good contents stay where a line cannot be understood, or does not follow the one before it:
/// what was missed cannot be known, and nothing is shown that may be wrong.
final class LinesDataSource: DataSource {
  let collection: LiveCollection<JSONElement>
  private let contents = CollectionProperty<JSONElement>(status: .idle)
  private let descriptor: Int32
  private let key: String?
  private let isStarted = Locked(false)

  /// - Parameters:
  ///   - descriptor: Where the lines are read.
  ///   - key: The field by which elements are known; nil for the whole element.
  init(descriptor: Int32, key: String?) {
    self.descriptor = descriptor
    self.key = key
    collection = contents.collection
  }

  func start() {
    let isFirst = isStarted.withLock { isStarted in
      defer { isStarted = true }
      return !isStarted
    }
    guard isFirst else { return }
    contents.setStatus(.loading)
    // It reads as long as the program runs.
    Task.detached { [contents, descriptor, key] in
      await LinesDataSource.read(descriptor, key, into: contents)
    }
  }

  private static func read(
    _ descriptor: Int32, _ key: String?, into contents: CollectionProperty<JSONElement>
  ) async {
    let input = LineReader(descriptor: descriptor)
    var fold = LiveFold(contents)
    var number = 0
    while let line = await input.next() {
      number += 1
      if line.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) { continue }
      do throws(EventFault) {
        try fold.apply(ReadEvent(line, key: key))
      } catch {
        let message =
          "standard input, line \(number): \(error.reason); the list stays as it was before it, "
          + "start both programs again"
        return contents.setStatus(.failed(SourceError(code: "lines", message: message)))
      }
    }
    fold.end()
  }
}

/// Applies events to a live collection, one after the other.
private struct LiveFold {
  private let contents: CollectionProperty<JSONElement>
  /// The revision of the last event; nil before the first.
  private var revision: Int?
  /// How the source is doing that the events are of.
  private var status = SourceStatus.loaded

  init(_ contents: CollectionProperty<JSONElement>) {
    self.contents = contents
  }

  mutating func apply(_ event: ReadEvent) throws(EventFault) {
    switch event {
    case .status(let state, let message):
      status = SourceStatus(reported: state, message)
      if revision != nil { contents.setStatus(status) }
    case .initial(let revision, let elements):
      guard self.revision == nil else {
        throw EventFault("an initial stands behind another event; it comes once, and first")
      }
      self.revision = revision
      contents.publish(elements, status: status)
    case .change(let change):
      guard let revision else {
        throw EventFault("the first event is no initial; write them by livelist watch")
      }
      guard change.since == revision else {
        throw EventFault(
          "its since is \(change.since), and the event before has revision \(revision): "
            + "events are missing, or in another order")
      }
      publish(try change.checked(against: contents.snapshot))
      self.revision = change.revision
    }
  }

  /// Takes note that no more will come.
  func end() {
    guard revision != nil else {
      let message =
        "standard input has ended without an initial event; pipe the output of livelist watch into this"
      return contents.setStatus(.failed(SourceError(code: "lines", message: message)))
    }
    let remark = SourceDiagnostic(code: "ended", message: "the input has ended")
    contents.setStatus(SourceStatus(status.state, diagnostics: [remark]))
  }

  private func publish(_ change: ReadChange.Checked) {
    let old = contents.snapshot
    let changeset = change.changeset
    let keepsIdentities = zip(changeset.updates, change.updated).allSatisfy { update, element in
      let before = old[update.from]
      return before.differenceIdentifier == element.differenceIdentifier && before != element
    }
    let count = old.count + changeset.countChange
    if keepsIdentities, changeset.invariantViolation(oldCount: old.count, newCount: count) == nil {
      contents.publish(
        changeset, inserted: change.inserted, updated: change.updated, status: status)
    } else {
      // Another key than that of the writer's: what differs is found here.
      contents.publish(
        changeset.applying(
          to: old.array, inserted: change.inserted, updated: change.updated), status: status)
    }
  }
}

extension SourceStatus {
  /// The status that a line tells of.
  fileprivate init(reported state: String, _ message: String?) {
    let error = SourceError(code: "reported", message: message ?? "the source has \(state)")
    switch state {
    case "failed": self = .failed(error)
    case "missing": self = .missing(error)
    default: self = .loaded
    }
  }
}
