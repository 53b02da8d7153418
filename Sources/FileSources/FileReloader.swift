import Diffing
import Dispatch
import FileWatching
import ObservableCollections
import SwappablePrimitives

/// The working part of a source on a file: watches, reads, decodes and publishes on its own queue.
///
/// What reading is, a subclass says. The watch and the timers hold it weakly, the source strongly, so
/// that letting go of the source ends everything.
class FileReloader<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: `machine`, `identities` and `duplicate` are touched on the serial queue only; the rest is
  // immutable or locked.

  private struct State {
    var hasStarted = false
    var hasStopped = false
    var watch: FileWatch?
    var alarms: [ReloadMachine.Timer: ScheduledTimer] = [:]
  }

  let path: String
  let system: WatchSystem
  let contents: CollectionProperty<Element>
  private let queue: DispatchQueue
  private let state = Locked(State())
  var machine: ReloadMachine
  var identities = IdentityCounts<Element>()
  var duplicate: SourceDiagnostic?

  init(
    path: String, queueLabel: String, system: WatchSystem, timing: ReloadMachine.Timing,
    contents: CollectionProperty<Element>
  ) {
    self.path = path
    self.system = system
    self.contents = contents
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
    Admission.shared.enter(queue) { [weak self] in self?.begin() }
  }

  func stop() {
    let (watch, alarms) = state.withLock { state in
      defer { (state.watch, state.alarms) = (nil, [:]) }
      state.hasStopped = true
      return (state.watch, state.alarms)
    }
    watch?.cancel()
    for alarm in alarms.values { alarm.cancel() }
  }

  var hasStopped: Bool { state.withLock { $0.hasStopped } }

  // MARK: - On the queue

  /// Reads the file, tells the machine what came of it, and publishes.
  func read() {
    preconditionFailure("a reloader that does not say how it reads")
  }

  /// What the file's watch has to say.
  func fileChanged(_ event: FileEvent) -> [ReloadMachine.Action] {
    machine.fileChanged(event.kind)
  }

  /// What a user may want to know of how it works.
  var diagnostics: [SourceDiagnostic] {
    var diagnostics: [SourceDiagnostic] = []
    if let polling = state.withLock({ $0.watch })?.diagnostic {
      diagnostics.append(SourceDiagnostic(code: "polling", message: polling))
    }
    if let duplicate { diagnostics.append(duplicate) }
    return diagnostics
  }

  /// The status that goes with a state.
  func status(_ state: SourceStatus.State) -> SourceStatus {
    SourceStatus(state, diagnostics: diagnostics)
  }

  func perform(_ actions: [ReloadMachine.Action]) {
    for action in actions {
      if hasStopped { return }
      switch action {
      case .read: read()
      case .schedule(let ticket, let delay): schedule(ticket, delay)
      case .show(let state): contents.setStatus(status(state))
      }
    }
  }

  private func begin() {
    // Before the first read, so that no change is between the two.
    let watch = FileWatch(path: path, queue: queue, system: system) { [weak self] event in
      guard let self else { return }
      perform(fileChanged(event))
    }
    let isStopped = state.withLock { state in
      if !state.hasStopped { state.watch = watch }
      return state.hasStopped
    }
    if isStopped { return }
    perform(machine.begin())
  }

  private func schedule(_ ticket: ReloadMachine.Ticket, _ delay: Duration) {
    let alarm = system.timer.call(delay, queue) { [weak self] in
      guard let self else { return }
      perform(machine.timerFired(ticket))
    }
    // Only the newest of a kind counts.
    let unwanted = state.withLock { state in
      state.hasStopped ? alarm : state.alarms.updateValue(alarm, forKey: ticket.timer)
    }
    unwanted?.cancel()
  }
}
