package import Dispatch
package import SwappablePrimitives

/// A watch that reports the changes of the file at a path, until it is canceled or released.
///
/// If the path leads to a directory, the changes of the names in it are reported.
///
/// If the path does not exist, the nearest existing directory is watched. Symbolic links are followed,
/// and each link on the path is watched. Notifications that arrive during a call of the closure are
/// merged into one event.
package final class FileWatch: Sendable {
  package struct Intervals: Sendable, Hashable {
    /// The shortest interval of checks if the system notifies of changes. It does not notify of all changes.
    var safety: Duration
    /// The interval of checks if the system does not notify of changes.
    var polling: Duration

    package init(safety: Duration = .seconds(1), polling: Duration = .milliseconds(250)) {
      self.safety = safety
      self.polling = polling
    }
  }

  private let core: FileWatchCore

  /// Begins to watch a path. All changes after the initializer returns are reported.
  ///
  /// - Parameters:
  ///   - path: The path: absolute, or relative to the current working directory.
  ///   - queue: A serial queue on which `onEvent` is called, or `nil` for a queue of its own.
  ///   - intervals: The intervals of checks that need no notification, or `nil` if only ``check()`` checks.
  ///   - system: The source of files, time and notifications.
  ///   - onEvent: A closure that is called for each event, one after the other, without any lock.
  ///     It may cancel or release the watch.
  package init(
    path: ByteString, queue: DispatchQueue? = nil, intervals: Intervals? = Intervals(),
    system: WatchSystem = .live, onEvent: @escaping @Sendable (FileEvent) -> Void
  ) {
    core = FileWatchCore(
      path: path.absolutePath,
      queue: queue ?? DispatchQueue(label: "swappable.file-watch"),
      intervals: intervals, system: system, handler: onEvent)
    core.start()
  }

  deinit { core.cancel() }

  /// The state of the file when it was last checked.
  package var state: FileState { core.fileState }

  /// The reason for polling and its interval, or `nil` if the system notifies of changes.
  package var diagnostic: String? { core.diagnostic }

  /// The number of times that the path has led through other directories than before.
  package var turns: Int { core.turns }

  /// Looks for a change now. If there is one, it is reported before the method returns.
  package func check() { core.check() }

  /// Ends the watch. No call of the closure begins afterwards, but a call that another thread has
  /// begun may still finish.
  package func cancel() { core.cancel() }
}

/// The state of a path.
package enum FileState: Sendable, Hashable {
  case file(FileStamp)
  /// There is no file. The error names the first component of the path that is missing.
  case missing(FileError)
  /// The state is unknown, for example because a directory does not permit searching.
  case failed(FileError)

  /// A Boolean value that indicates whether a directory on the path cannot be searched, so others may be unknown, too.
  var isFailed: Bool { if case .failed = self { true } else { false } }

  package var stamp: FileStamp? {
    if case .file(let stamp) = self { stamp } else { nil }
  }
}

/// A change of the file at a watched path.
package struct FileEvent: Sendable, Hashable {
  package enum Kind: Sendable, Hashable {
    /// A writer closed the file, so its contents are complete.
    case written
    /// Bytes changed. The writer may continue.
    case modified
    /// Another file was moved to the path, or a symbolic link on the path was switched. The contents
    /// are complete.
    case replaced
    /// A file was created at the path. Its writer may continue.
    case created
    /// The path no longer leads to a file. The state contains the reason.
    case removed
    /// Only attributes or times changed.
    case touched
    /// The file may have changed without a notification, or the watch has changed to or from polling.
    case check
  }

  package var kind: Kind
  package var state: FileState
  /// A Boolean value that indicates whether the path leads through other directories than before, so other files may have
  /// changed by the same cause.
  package var isElsewhere = false
}

/// The implementation of a watch.
///
/// A notification takes this way: `WatchCenter.take` → `receive` → on the queue, `deliver` → `report` →
/// the handler.
///
/// The system's registrations retain it, too. Therefore, the release of the `FileWatch` ends the watch,
/// not the release of this object.
private final class FileWatchCore: Sendable {
  private struct State {
    /// The closure to call, or `nil` after the end.
    var handler: (@Sendable (FileEvent) -> Void)?
    var pending: FileSignal = []
    /// A Boolean value that indicates whether a delivery is scheduled, or `start()` has not
    /// finished.
    var isScheduled = true
    var resolution: PathResolution
    var tokens: [WatchSystem.Token] = []
    /// The reason for polling, or `nil` if the system notifies of changes.
    var polling: String?
    /// The timer of the next regular check.
    var timer: ScheduledTimer?
    /// The number of regular checks that were scheduled.
    var ticks = 0
    /// The pace of the regular checks while the system notifies of changes.
    var pace: CheckPace
    /// The number of times that the path has led through other directories than before.
    var turns = 0
    /// The schedule for reading the file again after a change that was found without a notification,
    /// or `nil` if no such change is recent.
    var recheck: RecheckBackoff?
  }

  /// A resolved path and the registrations of its watches.
  private struct Armed {
    var resolution: PathResolution
    /// New registrations, or `nil` to keep those that exist.
    var tokens: [WatchSystem.Token]?
    var diagnostic: String?
  }

  private let path: ByteString
  private let queue: DispatchQueue
  private let intervals: FileWatch.Intervals?
  private let system: WatchSystem
  private let state: Locked<State>

  init(
    path: ByteString, queue: DispatchQueue, intervals: FileWatch.Intervals?, system: WatchSystem,
    handler: @escaping @Sendable (FileEvent) -> Void
  ) {
    self.path = path
    self.queue = queue
    self.intervals = intervals
    self.system = system
    state = Locked(
      State(
        handler: handler,
        resolution: PathResolution(absolutePath: path, in: system.files),
        pace: CheckPace(shortest: intervals?.safety ?? .zero, at: system.now())))
  }

  var fileState: FileState { state.withLock { $0.resolution.state } }
  var diagnostic: String? {
    let (polling, isSilent) = state.withLock { ($0.polling, $0.pace.isSilent) }
    return polling ?? (isSilent ? explanation("its file system reports no changes") : nil)
  }
  var turns: Int { state.withLock { $0.turns } }

  func check() {
    queue.sync {
      state.withLock { $0.pending.formUnion(.poll) }
      deliver()
    }
  }

  /// Registers the watches. Call this method once, before any other method.
  func start() {
    let armed = arm(state.withLock { $0.resolution })
    let (stale, isDue) = state.withLock { state in
      state.resolution = armed.resolution
      state.polling = armed.diagnostic
      if armed.diagnostic != nil { state.recheck = RecheckBackoff() }
      // The registrations may have sent signals before they were stored.
      state.isScheduled = !state.pending.isEmpty
      return (swapTokens(armed.tokens, in: &state), state.isScheduled)
    }
    system.unwatch(stale)
    if isDue { queue.async { self.deliver() } }
    scheduleTick()
  }

  func cancel() {
    let (handler, tokens, timer) = state.withLock { state in
      defer { state.tokens = [] }
      return (state.handler.take(), state.tokens, state.timer.take())
    }
    timer?.cancel()
    system.unwatch(tokens)
    // Release the values that the handler captured, without the lock.
    withExtendedLifetime(handler) {}
  }

  private func receive(_ signal: FileSignal) {
    let now = signal.isSubset(of: [.poll, .recheck]) ? nil : system.now()
    let isFirst = state.withLock { state in
      guard state.handler != nil else { return false }
      if let now { state.pace.noteReport(at: now) }
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
    guard let intervals else { return }
    let now = system.now()
    let (interval, isNotified, becameSilent, number) = state.withLock { state in
      state.ticks += 1
      let wasSilent = state.pace.isSilent
      let interval = state.polling == nil ? state.pace.next(at: now) : intervals.polling
      return (interval, state.polling == nil, state.pace.isSilent && !wasSilent, state.ticks)
    }
    // A read shows the diagnostic.
    if becameSilent { receive(.recheck) }
    let later = isNotified ? system.checkLater : system.callLater
    let timer = later(interval, isNotified ? Self.safetyQueue : queue) { [weak self] in
      guard let self, isLive else { return }
      let isRecheckDue = state.withLock { RecheckBackoff.isDue(after: interval, &$0.recheck) }
      if !isNotified {
        state.withLock { $0.pending.formUnion(isRecheckDue ? [.poll, .recheck] : .poll) }
        deliver()
      } else if PathResolution(absolutePath: path, in: system.files)
        != state.withLock({ $0.resolution })
      {
        let now = system.now()
        state.withLock { $0.pace.noteFind(at: now) }
        receive(.poll)
      } else if isRecheckDue {
        receive(.recheck)
      }
      scheduleTick()
    }
    let unwanted = state.withLock { state -> ScheduledTimer? in
      // This timer may have fired already, and the next one may be set.
      guard state.ticks == number, state.handler != nil else { return timer }
      defer { state.timer = timer }
      return state.timer
    }
    unwanted?.cancel()
  }

  private static let safetyQueue = DispatchQueue(label: "swappable.file-watch.safety")

  private var isLive: Bool { state.withLock { $0.handler != nil } }

  /// Checks the file and reports an event. The queue runs one call at a time.
  private func deliver() {
    let (signal, before, diagnostic) = state.withLock { state in
      defer { (state.pending, state.isScheduled) = ([], false) }
      return (state.pending, state.resolution, state.polling)
    }
    if signal.isEmpty { return }
    if let target = before.target, signal.keepsPlaces,
      let stamp = try? system.files.stamp(target).get(),
      stamp.identity == before.state.stamp?.identity
    {
      var after = before
      after.state = .file(stamp)
      report(
        signal, before: before,
        after: Armed(resolution: after, tokens: nil, diagnostic: diagnostic))
      return
    }
    let resolution = PathResolution(absolutePath: path, in: system.files)
    if signal == .poll, diagnostic == nil, resolution == before { return }
    report(signal, before: before, after: arm(resolution))
  }

  private func report(_ signal: FileSignal, before: PathResolution, after: Armed) {
    let isElsewhere = !after.resolution.leadsThroughSameDirectories(as: before)
    let (handler, stale, isDiagnosticNew) = state.withLock { state in
      if isElsewhere { state.turns += 1 }
      let isDiagnosticNew = state.polling != after.diagnostic
      let isNotified = after.diagnostic == nil && !signal.isSubset(of: [.poll, .recheck])
      if !isNotified, isDiagnosticNew || before.state != after.resolution.state {
        state.recheck = RecheckBackoff()
      }
      state.resolution = after.resolution
      state.polling = after.diagnostic
      let stale = swapTokens(after.tokens, in: &state)
      return (state.handler, stale, isDiagnosticNew)
    }
    system.unwatch(stale)
    let kind = signal.eventKind(from: before.state, to: after.resolution.state)
    if let handler, let kind = kind ?? (isDiagnosticNew ? .check : nil) {
      handler(
        FileEvent(kind: kind, state: after.resolution.state, isElsewhere: isElsewhere))
    }
  }

  /// Stores new registrations and returns the registrations to remove. After the end, these are the
  /// new ones.
  private func swapTokens(
    _ tokens: [WatchSystem.Token]?, in state: inout State
  ) -> [WatchSystem.Token] {
    guard let tokens else { return [] }
    guard state.handler != nil else { return tokens }
    defer { state.tokens = tokens }
    return state.tokens
  }

  /// Watches every directory and file that the path depends on, and then resolves the path again.
  /// The resolution includes all earlier changes, and the watches notify of all later ones.
  ///
  /// - Parameter resolution: A recent resolution of the path.
  private func arm(_ resolution: PathResolution) -> Armed {
    var resolution = resolution
    var failure: FileError?
    // A program that renames files in a loop must not keep this method busy forever.
    for _ in 0..<8 {
      var tokens: [WatchSystem.Token] = []
      failure = nil
      func watch(_ path: ByteString, name: ByteString?) {
        switch system.watch(path, name, { self.receive($0) }) {
        case .success(let token): tokens.append(token)
        case .failure(let error): failure = error
        }
      }
      for place in resolution.places { watch(place.directory, name: place.name) }
      if let target = resolution.target {
        let isDirectory = resolution.state.stamp?.kind == .directory
        watch(target, name: isDirectory ? WatchSystem.anyName : nil)
      }
      let again = PathResolution(absolutePath: path, in: system.files)
      if again.needsSameWatches(as: resolution) {
        return Armed(
          resolution: again, tokens: tokens,
          diagnostic: failure.map(explanation) ?? remoteExplanation(again))
      }
      system.unwatch(tokens)
      resolution = again
    }
    let reason = "the directories and links on its path change faster than they can be watched"
    return Armed(resolution: resolution, tokens: [], diagnostic: explanation(reason))
  }

  private func explanation(_ error: FileError) -> String {
    let help =
      error.cause == .limit ? " Raise the system's limit on watches, or watch fewer files." : ""
    return explanation(error.description) + help
  }

  private func explanation(_ reason: String) -> String {
    let interval = intervals.map { " every \($0.polling)" } ?? ""
    return "Polls \(path)\(interval), because changes are not reported: \(reason)."
  }

  private func remoteExplanation(_ resolution: PathResolution) -> String? {
    guard let place = resolution.places.last, let device = place.identity?.device,
      system.isRemote(place.directory, device)
    else { return nil }
    return explanation("its file system does not report changes that other machines make")
  }
}

extension FileSignal {
  /// Returns the kind of the event that leads from one state of the path to another, or `nil` if
  /// nothing has changed.
  ///
  /// Notifications of names count more than stamps. A file system may reuse the inode of a deleted
  /// file, and its clock may not tick between two writes.
  func eventKind(from old: FileState, to new: FileState) -> FileEvent.Kind? {
    guard case .file(let newStamp) = new else {
      if case .file = old { return .removed }
      return old == new ? nil : .check
    }
    guard case .file(let oldStamp) = old else {
      return isDisjoint(with: [.movedIn, .names]) ? .created : .replaced
    }
    if contains(.movedIn) { return .replaced }
    if contains(.created) { return .created }
    // The time of a directory may be the same after two changes of its names.
    if newStamp.kind == .directory, !isDisjoint(with: [.movedOut, .names]) { return .modified }
    // The new file may have the inode of the deleted one. The notification of its creation follows.
    let differs = newStamp.differsInContents(from: oldStamp)
    if contains(.movedOut), differs { return .created }
    if oldStamp.identity != newStamp.identity { return contains(.names) ? .replaced : .created }
    if contains(.written) { return .written }
    if contains(.modified) { return .modified }
    // The writer may continue.
    if contains(.lost) { return differs ? .modified : .check }
    if oldStamp == newStamp { return contains(.recheck) ? .check : nil }
    if oldStamp.size != newStamp.size { return .modified }
    if contains(.attributes) || oldStamp.modified == newStamp.modified { return .touched }
    return .modified
  }
}

/// A schedule for reading a file again whose change was found by checking its stamp.
///
/// The stamp may hide a second change. The clock of a file system may tick only every two seconds. A
/// write to a mapped page changes the times only if the page was clean, and a page may stay dirty for
/// half a minute. Therefore, the file is read after 2, 4, 8, 16, 32 and 64 seconds.
private struct RecheckBackoff: Sendable {
  private var age = Duration.zero
  private var next = Duration.seconds(2)

  private static let end = Duration.seconds(64)

  /// Advances a schedule, and ends it after its last read.
  ///
  /// - Returns: A Boolean value that indicates whether the file is due to be read.
  static func isDue(after time: Duration, _ recheck: inout RecheckBackoff?) -> Bool {
    guard var advanced = recheck else { return false }
    advanced.age += time
    let isDue = advanced.age >= advanced.next
    if isDue { advanced.next *= 2 }
    recheck = advanced.next > end ? nil : advanced
    return isDue
  }
}
