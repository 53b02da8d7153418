import Dispatch
import FileSources
import ObservableCollections
import ReactiveSignals
import RemoteSources
import SwappablePrimitives

/// A data source that reads the events that another program writes, one event on each line.
///
/// If a line is not valid or an event is missing, the source fails and keeps its last contents. It
/// cannot know the missing changes, so it reads no further events.
final class LinesDataSource: DataSource {
  let collection: LiveCollection<JSONElement>
  private let contents = CollectionProperty<JSONElement>(status: .idle)
  private let descriptor: Int32
  private let key: String?
  private let isStarted = Locked(false)

  /// - Parameters:
  ///   - descriptor: The file descriptor to read from.
  ///   - key: The field that identifies elements, or `nil` for the whole element.
  init(descriptor: Int32, key: String?) {
    self.descriptor = descriptor
    self.key = key
    collection = contents.collection
    collection.describe(as: LinesDataSource.self, location: "standard input")
    collection.describe(mode: "streamed", "Each line is applied when it arrives.")
  }

  func start() {
    let isFirst = isStarted.withLock { isStarted in
      defer { isStarted = true }
      return !isStarted
    }
    guard isFirst else { return }
    contents.setStatus(.loading)
    // The task reads until the input ends or the program exits.
    Task.detached { [contents, descriptor, key] in
      await LinesDataSource.read(descriptor, key, into: contents)
    }
  }

  private static func read(
    _ descriptor: Int32, _ key: String?, into contents: CollectionProperty<JSONElement>
  ) async {
    let input = LineReader(descriptor: descriptor)
    var list = FoldedList(contents, advice: "pipe the output of livelist watch")
    var number = 0
    while let line = await input.next() {
      number += 1
      if JSONText.isBlank(line: line[...]) { continue }
      do throws(InputEventError) {
        try list.apply(InputEvent(line, key: key))
      } catch {
        let message =
          "standard input, line \(number): \(error.reason); the list no longer changes, "
          + "start both programs again"
        return contents.setStatus(.failed(SourceError(code: "lines", message: message)))
      }
    }
    guard list.revision != nil else {
      let message =
        "standard input ended before an initial event; "
        + "pipe the output of livelist watch into this command"
      return contents.setStatus(.failed(SourceError(code: "lines", message: message)))
    }
    let diagnostic = SourceStatus.Diagnostic(code: "ended", message: "the input has ended")
    contents.setStatus(SourceStatus(list.status.state, diagnostics: [diagnostic]))
  }
}
