import Diffing
import FileWatching
import ObservableCollections

/// The working part of a source on a file that holds one JSON array.
final class JSONFileReloader<Element: Differentiable & Sendable>: FileReloader<Element>,
  @unchecked Sendable
{
  // Sendable: `loaded` is touched on the queue only.

  private let key: String?
  private let decoding: ElementDecoding<Element>
  private var loaded: JSONFileContents<Element>?

  init(
    path: String, key: String?, decoding: ElementDecoding<Element>, system: WatchSystem,
    timing: ReloadMachine.Timing, contents: CollectionProperty<Element>
  ) {
    self.key = key
    self.decoding = decoding
    super.init(
      path: path, queueLabel: "swappable.json-file", system: system, timing: timing,
      contents: contents)
  }

  override func read() {
    switch system.files.read(path) {
    case .failure(let failure):
      perform(machine.readFailed(failure.trouble(path: path)))
    case .success(let file):
      if let loaded, loaded.document.hasBytes(file.bytes) {
        machine.readSucceeded()
        contents.setStatus(status(.loaded))
        return
      }
      do throws(JSONError) {
        let next = try JSONFileContents(
          file.bytes, key: key, after: loaded, decoding: decoding)
        loaded = next
        identities.update(removed: next.difference.removed, added: next.difference.added)
        duplicate = identities.diagnostic(for: next.elements)
        machine.readSucceeded()
        // What reading took may be the time in which the source was let go.
        if !hasStopped { contents.publish(next.elements, status: status(.loaded)) }
      } catch {
        perform(machine.readFailed(error.trouble(path: path)))
      }
    }
  }
}
