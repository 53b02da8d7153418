import Dispatch
import FileSources
import ObservableCollections
import ReactiveSignals
import RemoteSources
import Synchronization

/// A data source that reads the events that another program writes, one event on each line.
///
/// If a line is not valid or an event is missing, the source fails and keeps its last contents. It
/// cannot know the missing changes, so it reads no further events.
final class LinesDataSource: DataSource {
  private let writer = SourceWriter(of: LinesDataSource.self, location: "standard input")
  private let key: String?
  private let isStarted = Atomic(false)

  /// - Parameter key: The field that identifies elements, or `nil` for the whole element.
  init(key: String?) {
    self.key = key
    writer.setMode("streamed", reason: "Each line is applied when it arrives.")
  }

  var collection: LiveCollection<JSONElement> { writer.collection }

  func start() {
    if isStarted.exchange(true, ordering: .sequentiallyConsistent) { return }
    writer.show(.loading)
    // The task reads until the input ends or the program exits.
    Task.detached { [writer, key] in await LinesDataSource.read(key, into: writer) }
  }

  private static func read(_ key: String?, into writer: SourceWriter<JSONElement>) async {
    var list = FoldedList(writer, advice: "pipe the output of livelist watch")
    var failure: String?
    do throws(InputEventError) {
      try await list.apply(LineReader(), key: key)
      if list.revision == nil {
        failure =
          "standard input ended before an initial event; "
          + "pipe the output of livelist watch into this command"
      }
    } catch {
      failure = "\(error.reason); the list no longer changes, start both programs again"
    }
    if let failure {
      return writer.show(.failed(SourceError(code: "lines", message: failure)))
    }
    let diagnostic = SourceStatus.Diagnostic(code: "ended", message: "the input has ended")
    writer.show(list.status.state, diagnostics: [diagnostic])
  }
}
