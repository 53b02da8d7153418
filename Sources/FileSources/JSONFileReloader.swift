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
  private var loaded: JSONFileContents?

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
    switch system.files.read(path, comparingWith: loaded?.document.bytes) {
    case .failure(let failure):
      perform(machine.readFailed(failure.trouble(path: path)))
    case .success(let file):
      do throws(JSONError) {
        let publish = try load(file.bytes)
        machine.readSucceeded()
        // What reading took may be the time in which the source was let go.
        if !hasStopped { publish() }
      } catch {
        perform(machine.readFailed(error.trouble(path: path)))
      }
    }
  }

  /// - Returns: What tells of the new contents.
  private func load(_ bytes: FileDifference.Bytes) throws(JSONError) -> () -> Void {
    if case .whole(let bytes) = bytes, loaded == nil {
      var elements: [Element] = []
      loaded = try JSONFileContents(bytes, key: key, decoding: decoding, into: &elements)
      identities.update(removed: [], added: elements)
      return { [self] in publish { $0.replace(with: elements) } }
    }
    guard var change = try loaded?.update(for: bytes, decoding: decoding) else {
      return { [self] in contents.setStatus(status(.loaded)) }
    }
    let old = contents.collection.snapshot
    change.pairUpdates(of: old)
    identities.update(
      removed: change.changeset.deletions.map { old[$0] }, added: change.inserted)
    return { [self, change] in
      publish {
        $0.apply(change.changeset, inserted: change.inserted, updated: change.updated)
      }
    }
  }

  private func publish(_ edit: (CollectionDraft<Element>) -> Void) {
    contents.edit { draft in
      edit(draft)
      duplicate = identities.diagnostic(for: draft.snapshot)
      draft.newStatus = status(.loaded)
    }
  }
}
