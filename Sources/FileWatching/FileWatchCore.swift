import Dispatch
import SwappablePrimitives

/// The implementation of a watch. The system's registrations retain it as well, so only the release
/// of the `FileWatch` ends the watch.
final class FileWatchCore: FileSignalReceiver {
  private struct State {
    /// The closure to call, or `nil` after the end.
    var handler: (@Sendable (FileEvent) -> Void)?
    var pending: FileSignal = []
    /// A Boolean value that indicates whether a delivery is scheduled, or `start()` has not
    /// finished.
    var isScheduled = true
    var resolution: PathResolution
    var tokens: [WatchSystem.Token] = []
    var diagnostic: String?
    /// The timer of the next regular check. `ticks` is the number of checks that were scheduled.
    var alarm: ScheduledTimer?
    var ticks = 0
    /// The doubt about a change that was found without a notification, because it may hide another
    /// change.
    var doubt: WatchDoubt?
  }

  /// The result of resolving the path and registering watches.
  private struct Armed {
    var resolution: PathResolution
    var tokens: [WatchSystem.Token]
    var diagnostic: String?
  }

  private let path: String
  private let queue: DispatchQueue
  private let intervals: FileWatch.Intervals
  private let system: WatchSystem
  private let state: Locked<State>

  init(
    path: String, queue: DispatchQueue, intervals: FileWatch.Intervals, system: WatchSystem,
    handler: @escaping @Sendable (FileEvent) -> Void
  ) {
    self.path = path
    self.queue = queue
    self.intervals = intervals
    self.system = system
    state = Locked(
      State(
        handler: handler,
        resolution: PathResolution(absolutePath: path, in: system.files)))
  }

  var fileState: FileState { state.withLock { $0.resolution.state } }
  var diagnostic: String? { state.withLock { $0.diagnostic } }

  /// Registers the watches. Call this method once, before any other method.
  func start() {
    let armed = arm()
    let (stale, isDue) = state.withLock { state in
      state.resolution = armed.resolution
      state.diagnostic = armed.diagnostic
      if armed.diagnostic != nil { state.doubt = WatchDoubt() }
      // The registrations may have sent signals before they were stored.
      state.isScheduled = !state.pending.isEmpty
      return (Self.swapTokens(armed.tokens, in: &state), state.isScheduled)
    }
    system.unwatch(stale)
    if isDue { queue.async { self.deliver() } }
    scheduleTick()
  }

  func cancel() {
    let (handler, tokens, alarm) = state.withLock { state in
      let taken = (state.handler, state.tokens, state.alarm)
      state.handler = nil
      state.tokens = []
      state.alarm = nil
      return taken
    }
    alarm?.cancel()
    system.unwatch(tokens)
    // Release the values that the handler captured, without the lock.
    withExtendedLifetime(handler) {}
  }

  func receive(_ signal: FileSignal) {
    let isFirst = state.withLock { state in
      guard state.handler != nil else { return false }
      state.pending.formUnion(signal)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if isFirst { queue.async { self.deliver() } }
  }

  /// Schedules the next regular check.
  ///
  /// If the system notifies of changes, the checks of all watches share one queue, because they
  /// rarely find a change. Otherwise, each watch uses its own queue: its checks find more changes,
  /// and the file system of another machine may be slow.
  private func scheduleTick() {
    let (interval, isTold, number) = state.withLock { state in
      state.ticks += 1
      let isTold = state.diagnostic == nil
      return (isTold ? intervals.safety : intervals.polling, isTold, state.ticks)
    }
    let alarm = system.timer.call(interval, isTold ? Self.safetyQueue : queue) { [weak self] in
      guard let self, isLive else { return }
      let isDoubtful = state.withLock { WatchDoubt.pass(interval, of: &$0.doubt) }
      if !isTold {
        state.withLock { $0.pending.formUnion(isDoubtful ? [.poll, .doubt] : .poll) }
        deliver()
      } else if PathResolution(absolutePath: path, in: system.files)
        != state.withLock({ $0.resolution })
      {
        receive(.poll)
      } else if isDoubtful {
        receive(.doubt)
      }
      scheduleTick()
    }
    let unwanted = state.withLock { state -> ScheduledTimer? in
      // This timer may have fired already, and the next one may be set.
      guard state.ticks == number, state.handler != nil else { return alarm }
      defer { state.alarm = alarm }
      return state.alarm
    }
    unwanted?.cancel()
  }

  private static let safetyQueue = DispatchQueue(label: "swappable.file-watch.safety")

  private var isLive: Bool { state.withLock { $0.handler != nil } }

  /// Checks the file and reports an event. The queue runs one call at a time.
  private func deliver() {
    let (signal, before, diagnostic) = state.withLock { state in
      let taken = (state.pending, state.resolution, state.diagnostic)
      state.pending = []
      state.isScheduled = false
      return taken
    }
    if signal.isEmpty { return }
    if let target = before.target, signal.keepsPlaces,
      let stamp = try? system.files.stamp(target).get(),
      stamp.identity == before.state.stamp?.identity
    {
      var after = before
      after.state = .file(stamp)
      let armed = Armed(resolution: after, tokens: [], diagnostic: diagnostic)
      report(signal, before: before, after: armed, keepsTokens: true)
      return
    }
    if signal == .poll, diagnostic == nil,
      PathResolution(absolutePath: path, in: system.files) == before
    {
      return
    }
    report(signal, before: before, after: arm(), keepsTokens: false)
  }

  private func report(
    _ signal: FileSignal, before: PathResolution, after: Armed, keepsTokens: Bool
  ) {
    let (handler, stale, sayMore) = state.withLock { state in
      let sayMore = state.diagnostic != after.diagnostic
      let isTold = after.diagnostic == nil && !signal.isSubset(of: [.poll, .doubt])
      if !isTold, sayMore || before.state != after.resolution.state { state.doubt = WatchDoubt() }
      state.resolution = after.resolution
      state.diagnostic = after.diagnostic
      let stale = keepsTokens ? [] : Self.swapTokens(after.tokens, in: &state)
      return (state.handler, stale, sayMore)
    }
    system.unwatch(stale)
    let kind = signal.eventKind(from: before.state, to: after.resolution.state)
    if let handler, let kind = kind ?? (sayMore ? .check : nil) {
      handler(FileEvent(kind: kind, state: after.resolution.state))
    }
  }

  /// Stores new registrations and returns the registrations to remove. After the end, these are the
  /// new ones.
  private static func swapTokens(
    _ tokens: [WatchSystem.Token], in state: inout State
  ) -> [WatchSystem.Token] {
    guard state.handler != nil else { return tokens }
    defer { state.tokens = tokens }
    return state.tokens
  }

  /// Watches every directory and file that the path depends on, and then resolves the path again.
  /// The resolution includes all earlier changes, and the watches notify of all later ones.
  private func arm() -> Armed {
    var resolution = PathResolution(absolutePath: path, in: system.files)
    var failure: FileFailure?
    // A program that renames files in a loop must not keep this method busy forever.
    for _ in 0..<8 {
      var tokens: [WatchSystem.Token] = []
      failure = nil
      func watch(_ path: String, name: String?) {
        switch system.watch(path, name, self) {
        case .success(let token): tokens.append(token)
        case .failure(let reason): failure = reason
        }
      }
      for place in resolution.places { watch(place.directory, name: place.name) }
      if let target = resolution.target { watch(target, name: nil) }
      let again = PathResolution(absolutePath: path, in: system.files)
      if again.needsSameWatches(as: resolution) {
        return Armed(
          resolution: again, tokens: tokens,
          diagnostic: failure.map(explanation) ?? remoteExplanation(again))
      }
      system.unwatch(tokens)
      resolution = again
    }
    let reason = "the way to it changes faster than it can be followed"
    return Armed(resolution: resolution, tokens: [], diagnostic: explanation(reason))
  }

  private func explanation(_ failure: FileFailure) -> String {
    let help =
      failure.cause == .limit ? " Raise the system's limit on watches, or watch fewer files." : ""
    return explanation(failure.description) + help
  }

  private func explanation(_ reason: String) -> String {
    "Looks at \(path) every \(intervals.polling) instead of being told of changes: \(reason)."
  }

  private func remoteExplanation(_ resolution: PathResolution) -> String? {
    guard let place = resolution.places.last, let device = place.identity?.device,
      system.isRemote(place.directory, device)
    else { return nil }
    return explanation("its file system does not tell of changes made by other machines")
  }
}
