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
  private let feed = SourceFeed(of: LinesDataSource.self, location: "standard input")
  private let descriptor: Int32
  private let key: String?
  private let isStarted = Locked(false)

  /// - Parameters:
  ///   - descriptor: The file descriptor to read from.
  ///   - key: The field that identifies elements, or `nil` for the whole element.
  init(descriptor: Int32, key: String?) {
    self.descriptor = descriptor
    self.key = key
    feed.setMode("streamed", reason: "Each line is applied when it arrives.")
  }

  var collection: LiveCollection<JSONElement> { feed.collection }

  func start() {
    let isFirst = isStarted.withLock { isStarted in
      defer { isStarted = true }
      return !isStarted
    }
    guard isFirst else { return }
    feed.show(.loading)
    // The task reads until the input ends or the program exits.
    Task.detached { [feed, descriptor, key] in
      await LinesDataSource.read(descriptor, key, into: feed)
    }
  }

  private static func read(
    _ descriptor: Int32, _ key: String?, into feed: SourceFeed<JSONElement>
  ) async {
    let input = LineReader(descriptor: descriptor)
    var list = FoldedList(feed, advice: "pipe the output of livelist watch")
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
        return feed.show(.failed(SourceError(code: "lines", message: message)))
      }
    }
    guard list.revision != nil else {
      let message =
        "standard input ended before an initial event; "
        + "pipe the output of livelist watch into this command"
      return feed.show(.failed(SourceError(code: "lines", message: message)))
    }
    let diagnostic = SourceStatus.Diagnostic(code: "ended", message: "the input has ended")
    feed.show(list.status.state, diagnostics: [diagnostic])
  }
}
