import Diffing
import Dispatch
import FileWatching
import ObservableCollections
import SwappablePrimitives

/// The part of a source that depends on the format of its file. It reads the file, and its reloader does
/// the rest. It is used on the source's queue only.
protocol FileLoader<Element>: AnyObject {
  associatedtype Element: Differentiable & Sendable

  /// Diagnostics of the format, which become part of the status.
  var diagnostics: [SourceStatus.Diagnostic] { get }

  /// Handles an event of the file watch.
  ///
  /// - Returns: A Boolean value that indicates whether the file has only grown, so it is read at once.
  func fileChanged(_ event: FileEvent) -> Bool

  /// Reads the file.
  ///
  /// - Parameters:
  ///   - old: The contents that the source shows.
  ///   - isBeingWritten: A Boolean value that indicates whether a writer was active at the last event.
  ///   - isGraceOver: A Boolean value that indicates whether the grace period has ended.
  func read(
    after old: Snapshot<Element>, isBeingWritten: Bool, isGraceOver: Bool
  ) -> ReadOutcome<Element>
}

extension FileLoader {
  var diagnostics: [SourceStatus.Diagnostic] { [] }
  func fileChanged(_: FileEvent) -> Bool { false }
}

/// The result of reading a file.
enum ReadOutcome<Element: Differentiable & Sendable> {
  /// The contents are valid. If they are not complete, the file is read again after the grace period.
  case loaded(SourceWriter<Element>.Contents, isComplete: Bool = true)
  /// A writer continues, so nothing counts before the grace period has ended.
  case unfinished
  case failed(ReadFailure)
}

/// The implementation of a file source, which watches, reads, decodes and publishes on its own
/// queue.
///
/// A save takes this way: event of the watch → `ReloadMachine.fileChanged` → action `read` →
/// `FileLoader.read` → `publish`.
///
/// The source retains the reloader. The watch and the timers refer to it weakly, so releasing the
/// source ends everything.
final class FileReloader<Element: Differentiable & Sendable>: @unchecked Sendable {
  // Sendable: only the serial queue accesses `machine` and the contents of
  // `loader`. `state` has a lock. All other properties are constant.

  private struct State {
    var hasStarted = false
    var hasStopped = false
    var watch: FileWatch?
    var timers: [ReloadMachine.Timer: ScheduledTimer] = [:]
  }

  let path: ByteString
  private let system: WatchSystem
  private let writer: SourceWriter<Element>
  private let loader: any FileLoader<Element>
  private let queue: DispatchQueue
  private let state = Locked(State())
  private var machine: ReloadMachine

  init(
    path: ByteString, queueLabel: String, system: WatchSystem, timing: ReloadMachine.Timing,
    writer: SourceWriter<Element>, loader: any FileLoader<Element>
  ) {
    self.path = path
    self.system = system
    self.writer = writer
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
    writer.show(.loading)
    StartLimiter.files.start(on: queue) { [weak self] in self?.begin() }
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

  private var hasStopped: Bool { state.withLock { $0.hasStopped } }

  // MARK: - On the queue

  private func begin() {
    // The watch begins before the first read, so no change is missed between them.
    let watch = FileWatch(path: path, queue: queue, system: system) { [weak self] event in
      guard let self else { return }
      let hasGrown = loader.fileChanged(event)
      perform(machine.fileChanged(event.kind, hasGrown: hasGrown))
    }
    let isStopped = state.withLock { state in
      if !state.hasStopped { state.watch = watch }
      return state.hasStopped
    }
    if isStopped { return }
    perform([.read])
  }

  private func perform(_ actions: [ReloadMachine.Action]) {
    for action in actions {
      if hasStopped { return }
      switch action {
      case .read: perform(read())
      case .schedule(let token, let delay): schedule(token, delay)
      case .show(let state): writer.show(state, diagnostics: diagnostics)
      }
    }
  }

  /// Reads the file and publishes its contents.
  ///
  /// - Returns: The actions that follow.
  private func read() -> [ReloadMachine.Action] {
    let start = ContinuousClock.now
    let outcome = loader.read(
      after: writer.collection.snapshot, isBeingWritten: machine.isBeingWritten,
      isGraceOver: machine.isGraceOver)
    switch outcome {
    case .loaded(let new, let isComplete):
      machine.readSucceeded()
      // The source may have been released during the read.
      if hasStopped { return [] }
      let polling = state.withLock { $0.watch }?.diagnostic
      writer.setMode(
        polling == nil ? "notified" : "polling",
        reason: polling ?? "The system reports each change of the file.")
      writer.publish(new, diagnostics: diagnostics, startedAt: start)
      return isComplete ? [] : machine.waitForGrace()
    case .unfinished:
      return machine.waitForGrace()
    case .failed(let failure):
      return machine.readFailed(failure)
    }
  }

  private var diagnostics: [SourceStatus.Diagnostic] {
    let polling = state.withLock { $0.watch }?.diagnostic.map {
      SourceStatus.Diagnostic(code: "polling", message: $0)
    }
    return [polling].compactMap(\.self) + loader.diagnostics
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
