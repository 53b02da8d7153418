import Diffing
import Dispatch
import FileWatching
import ObservableCollections
import SwappablePrimitives

/// The part of a source that depends on the format of its file. It is used on the source's queue only.
protocol FileLoader<Element>: AnyObject {
  associatedtype Element: Differentiable & Sendable

  /// Diagnostics of the format, which become part of the status.
  var diagnostics: [SourceDiagnostic] { get }

  /// Handles an event of the file watch.
  ///
  /// - Returns: The actions that the machine returned.
  func fileChanged(_ event: FileEvent, _ machine: inout ReloadMachine) -> [ReloadMachine.Action]

  /// Reads the file, reports the result to the machine, and publishes new contents.
  ///
  /// - Returns: The actions that the machine returned.
  func read(for reloader: FileReloader<Element>) -> [ReloadMachine.Action]
}

extension FileLoader {
  var diagnostics: [SourceDiagnostic] { [] }

  func fileChanged(_ event: FileEvent, _ machine: inout ReloadMachine) -> [ReloadMachine.Action] {
    machine.fileChanged(event.kind)
  }
}

/// The implementation of a file source, which watches, reads, decodes and publishes on its own
/// queue.
///
/// The source retains the reloader. The watch and the timers refer to it weakly, so releasing the
/// source ends everything.
final class FileReloader<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: only the serial queue accesses `machine`, `identities`, `duplicate` and the contents
  // of `loader`. `state` has a lock. All other properties are constant.

  private struct State {
    var hasStarted = false
    var hasStopped = false
    var watch: FileWatch?
    var timers: [ReloadMachine.Timer: ScheduledTimer] = [:]
  }

  let path: String
  let system: WatchSystem
  let contents: CollectionProperty<Element>
  private let loader: any FileLoader<Element>
  private let queue: DispatchQueue
  private let state = Locked(State())
  var machine: ReloadMachine
  var identities = IdentityCounts<Element>()
  var duplicate: SourceDiagnostic?

  init(
    path: String, queueLabel: String, system: WatchSystem, timing: ReloadMachine.Timing,
    contents: CollectionProperty<Element>, loader: any FileLoader<Element>
  ) {
    self.path = path
    self.system = system
    self.contents = contents
    self.loader = loader
    queue = DispatchQueue(label: queueLabel)
    machine = ReloadMachine(timing: timing)
  }

  func start() {
    let isFirst = state.withLock { state in
      defer { state.hasStarted = true }
      return !state.hasStarted
    }
    guard isFirst else { return }
    contents.setStatus(.loading)
    StartLimiter.shared.start(on: queue) { [weak self] in self?.begin() }
  }

  func stop() {
    let (watch, timers) = state.withLock { state in
      defer { (state.watch, state.timers) = (nil, [:]) }
      state.hasStopped = true
      return (state.watch, state.timers)
    }
    watch?.cancel()
    for timer in timers.values { timer.cancel() }
  }

  var hasStopped: Bool { state.withLock { $0.hasStopped } }

  // MARK: - On the queue

  /// Returns the status for a state, with the current diagnostics.
  func status(_ state: SourceStatus.State) -> SourceStatus {
    var diagnostics: [SourceDiagnostic] = []
    if let polling = self.state.withLock({ $0.watch })?.diagnostic {
      diagnostics.append(SourceDiagnostic(code: "polling", message: polling))
    }
    if let duplicate { diagnostics.append(duplicate) }
    return SourceStatus(state, diagnostics: diagnostics + loader.diagnostics)
  }

  private func perform(_ actions: [ReloadMachine.Action]) {
    for action in actions {
      if hasStopped { return }
      switch action {
      case .read: perform(loader.read(for: self))
      case .schedule(let token, let delay): schedule(token, delay)
      case .show(let state): contents.setStatus(status(state))
      }
    }
  }

  private func begin() {
    // The watch begins before the first read, so no change is missed between them.
    let watch = FileWatch(path: path, queue: queue, system: system) { [weak self] event in
      guard let self else { return }
      perform(loader.fileChanged(event, &machine))
    }
    let isStopped = state.withLock { state in
      if !state.hasStopped { state.watch = watch }
      return state.hasStopped
    }
    if isStopped { return }
    perform(machine.read())
  }

  private func schedule(_ token: ReloadMachine.TimerToken, _ delay: Duration) {
    let timer = system.callLater(delay, queue) { [weak self] in
      guard let self else { return }
      perform(machine.timerFired(token))
    }
    // Only the newest timer of a kind counts.
    let unwanted = state.withLock { state in
      state.hasStopped ? timer : state.timers.updateValue(timer, forKey: token.timer)
    }
    unwanted?.cancel()
  }
}
