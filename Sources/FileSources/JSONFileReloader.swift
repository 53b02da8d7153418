import Diffing
import Dispatch
import FileWatching
import ObservableCollections
import ReactiveSignals

/// The working part of a source on a file: watches, reads, decodes and publishes on its own queue.
///
/// The watch and the timers hold it weakly, the source strongly, so that letting go of the source ends
/// everything.
final class JSONFileReloader<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: `machine`, `loaded`, `identities` and `duplicate` are touched on the serial queue only;
  // the rest is immutable or locked.

  private struct State {
    var hasStarted = false
    var hasStopped = false
    var watch: FileWatch?
  }

  let path: String
  private let key: String?
  private let decoding: ElementDecoding<Element>
  private let system: WatchSystem
  private let contents: CollectionProperty<Element>
  private let queue = DispatchQueue(label: "swappable.json-file")
  private let state = Locked(State())
  private var machine: ReloadMachine
  private var loaded: JSONFileContents?
  private var identities = IdentityCounts<Element>()
  private var duplicate: SourceDiagnostic?

  init(
    path: String, key: String?, decoding: ElementDecoding<Element>, system: WatchSystem,
    timing: ReloadMachine.Timing, contents: CollectionProperty<Element>
  ) {
    self.path = path
    self.key = key
    self.decoding = decoding
    self.system = system
    self.contents = contents
    machine = ReloadMachine(timing: timing)
  }

  func start() {
    let isFirst = state.withLock { state in
      defer { state.hasStarted = true }
      return !state.hasStarted
    }
    guard isFirst else { return }
    contents.setStatus(.loading)
    queue.async { [weak self] in self?.begin() }
  }

  func stop() {
    let watch = state.withLock { state in
      defer { state.watch = nil }
      state.hasStopped = true
      return state.watch
    }
    watch?.cancel()
  }

  private var hasStopped: Bool { state.withLock { $0.hasStopped } }

  // MARK: - On the queue

  private func begin() {
    // Before the first read, so that no change is between the two.
    let watch = FileWatch(path: path, queue: queue, system: system) { [weak self] event in
      guard let self else { return }
      perform(machine.fileChanged(event.kind))
    }
    let isStopped = state.withLock { state in
      if !state.hasStopped { state.watch = watch }
      return state.hasStopped
    }
    if isStopped { return }
    perform(machine.begin())
  }

  private func perform(_ actions: [ReloadMachine.Action]) {
    for action in actions {
      if hasStopped { return }
      switch action {
      case .read:
        read()
      case .schedule(let ticket, let delay):
        system.timer.call(delay, queue) { [weak self] in
          guard let self else { return }
          perform(machine.timerFired(ticket))
        }
      case .show(let state):
        contents.setStatus(status(state))
      }
    }
  }

  private func read() {
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

  private func status(_ state: SourceStatus.State) -> SourceStatus {
    var diagnostics: [SourceDiagnostic] = []
    if let polling = self.state.withLock({ $0.watch })?.diagnostic {
      diagnostics.append(SourceDiagnostic(code: "polling", message: polling))
    }
    if let duplicate { diagnostics.append(duplicate) }
    return SourceStatus(state, diagnostics: diagnostics)
  }
}

extension FileFailure {
  fileprivate func trouble(path: String) -> ReloadMachine.Trouble {
    let (code, help): (String, String) =
      switch cause {
      case .missing: ("file-missing", "it is read as soon as it appears")
      case .denied: ("file-denied", "let this process read it")
      case .loop: ("file-loop", "mend the symbolic links on the way to it")
      case .isDirectory, .isSpecial: ("file-not-regular", "")
      case .limit: ("file-limit", "raise the system's limit, or open fewer files")
      case .unstable: ("file-unstable", "it is read again when its writer rests")
      case .other: ("file-unreadable", "it is tried again every second")
      }
    let error = SourceError(
      code: code, message: description + (help.isEmpty ? "" : "; " + help), underlying: self)
    let retries = cause == .limit || cause == .unstable || cause == .other
    return ReloadMachine.Trouble(
      state: cause == .missing ? .missing(error) : .failed(error),
      isTransient: cause == .unstable, needsRetry: retries)
  }
}

extension JSONError {
  fileprivate func trouble(path: String) -> ReloadMachine.Trouble {
    ReloadMachine.Trouble(
      state: .failed(
        SourceError(
          code: "json-\(code.rawValue)", message: "cannot read \(path): \(self)",
          underlying: self)),
      isTransient: true, needsRetry: false)
  }
}
