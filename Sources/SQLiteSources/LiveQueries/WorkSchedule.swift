import Dispatch
import FileWatching
import SwappablePrimitives
import SwappableSQLite3

/// Decides when work runs: the checks of a change monitor, or the reads of a data source.
///
/// This is a pure state machine without a clock or a timer. Its owner guards it with a lock, passes in
/// the time, and performs the actions. `handle(_:at:)` is the table of states and inputs, and
/// `WorkScheduleTests` tests each cell.
struct WorkSchedule: Sendable {
  typealias Instant = AnyClock.Instant

  /// A request for a run.
  struct Request: Hashable, Sendable {
    /// The earliest time of the run.
    var time: Instant
    /// A Boolean value that indicates whether the run also waits until the rest after the previous run
    /// is over.
    var isThrottled = false
  }

  enum State: Hashable, Sendable {
    /// The work has not started, or was stopped.
    case stopped
    /// No run is planned.
    case idle(restUntil: Instant)
    /// No run was requested, but a timer is set for one.
    case waiting(restUntil: Instant)
    /// A run was requested. It is on the queue, or a timer is set for it.
    case requested
    /// The work runs. `next` is the request that has arrived since then.
    case running(since: Instant, next: Request?)
  }

  enum Input: Hashable, Sendable {
    /// Starts the work with a first run.
    case start
    case stop
    case request(Request)
    /// The queue or the timer has reached a planned run.
    case due
    /// The owner is on its queue and wants to run without waiting.
    case force
    /// The work is done. Without a request, it runs again after the interval, if there is one.
    case finished(repeatAfter: Duration?)
  }

  enum Action: Hashable, Sendable {
    case none
    /// Run the work now, and report `finished` afterward.
    case run
    /// Report `due` on the queue after an interval. It replaces the interval that is pending.
    case schedule(after: Duration)
    /// Cancel the pending interval.
    case cancel
  }

  /// The rest after a run, as a multiple of the duration of the run.
  private static let restFactor = 8
  private static let longestRest = Duration.milliseconds(100)

  private(set) var state: State

  init(in state: State = .stopped) {
    self.state = state
  }

  var isStopped: Bool { state == .stopped }

  /// A Boolean value that indicates whether a requested run has not begun.
  var isRequested: Bool {
    switch state {
    case .requested, .running(_, .some): true
    case .stopped, .idle, .waiting, .running(_, nil): false
    }
  }

  /// Moves to the next state, and returns the action to perform.
  mutating func handle(_ input: Input, at now: Instant) -> Action {
    switch (state, input) {
    case (.stopped, .start):
      state = .requested
      return .schedule(after: .zero)
    case (.stopped, _), (_, .start):
      return .none
    case (_, .stop):
      state = .stopped
      return .cancel
    case (.idle(let restUntil), .request(let request)),
      (.waiting(let restUntil), .request(let request)):
      return schedule(request, restUntil: restUntil, at: now)
    case (.running(let start, var next), .request(let request)):
      next = next ?? request
      if request.isThrottled { next?.isThrottled = true }
      state = .running(since: start, next: next)
      return .none
    case (.waiting, .due), (.requested, .due), (.idle, .force), (.waiting, .force),
      (.requested, .force):
      state = .running(since: now, next: nil)
      return .run
    case (.running(let start, let next), .finished(let interval)):
      let rest = min(start.duration(to: now) * Self.restFactor, Self.longestRest)
      return finish(next, restUntil: now.advanced(by: rest), repeatAfter: interval, at: now)
    case (.requested, .request), (.idle, .due), (.running, .due), (.running, .force),
      (.idle, .finished), (.waiting, .finished), (.requested, .finished):
      // The run is planned already, or was replaced, or was stopped.
      return .none
    }
  }

  private mutating func finish(
    _ next: Request?, restUntil: Instant, repeatAfter interval: Duration?, at now: Instant
  ) -> Action {
    if let next { return schedule(next, restUntil: restUntil, at: now) }
    state = interval == nil ? .idle(restUntil: restUntil) : .waiting(restUntil: restUntil)
    return interval.map { .schedule(after: $0) } ?? .none
  }

  private mutating func schedule(
    _ request: Request, restUntil: Instant, at now: Instant
  ) -> Action {
    state = .requested
    let time = request.isThrottled ? max(request.time, restUntil) : request.time
    return .schedule(after: max(now.duration(to: time), .zero))
  }
}

extension WorkSchedule.Action {
  /// Performs the action, except `run`, which the caller performs itself.
  ///
  /// The work runs on the queue when the limiter admits it. Until then, it uses no thread.
  ///
  /// Call this method under the lock that guards the schedule. Otherwise an old interval may replace a
  /// new one.
  func perform(
    on queue: DispatchQueue, _ timer: QueueTimer, _ limiter: StartLimiter,
    _ work: @escaping @Sendable () -> Void
  ) {
    switch self {
    case .none, .run: break
    case .schedule(.zero): limiter.start(on: queue, work)
    case .schedule(let interval):
      timer.schedule(after: interval) { limiter.start(on: queue, work) }
    case .cancel: timer.cancel()
    }
  }
}

// Hundreds of databases need a check at the same time, and hundreds of sources a read. With a thread
// each, they would use up the threads that the system has for queues.
extension StartLimiter {
  /// The limit of the checks of all databases. A check takes some microseconds.
  static let checks = StartLimiter(
    width: 4, limit: 16, patience: .milliseconds(20), callLater: WatchSystem.live.callLater)

  /// The limit of the reads of all data sources. A read may run a slow query, and the closure that maps
  /// its rows.
  static let reads = StartLimiter(
    width: 8, limit: 64, patience: .milliseconds(20), callLater: WatchSystem.live.callLater)
}

extension QueueTimer {
  /// The queue on which all timers fire. They only start work on other queues.
  private static let queue = DispatchQueue(label: "swappable.sqlite.timers")

  /// Creates a timer that starts the work of a schedule.
  convenience init(clock: AnyClock) {
    self.init(queue: QueueTimer.queue, clock: clock)
  }
}

/// The changes that a data source has not read yet.
struct UnreadChanges: Sendable {
  /// The changes that a read must include.
  enum Extent: Hashable, Sendable {
    /// Only commits of this process.
    case ownCommits
    /// Only changes that the change monitor has found.
    case found
    /// All changes, including changes that nobody has found yet.
    case all
  }

  private var extent: Extent?
  /// The number of commits of this process.
  private var ownCommits = 0
  /// A Boolean value that indicates whether this process commits faster than the source reads.
  private(set) var isBurst = false

  /// Notes changes that the next read must include.
  mutating func note(_ changes: Extent) {
    extent = extent == nil || extent == changes ? changes : .all
    if changes == .ownCommits { ownCommits += 1 }
    if ownCommits > 1 { isBurst = true }
  }

  /// Forgets the changes, because a read begins.
  ///
  /// - Returns: The changes that the read must include. If no change was noted, these are all changes.
  mutating func beginRead() -> Extent {
    defer { (extent, ownCommits) = (nil, 0) }
    isBurst = ownCommits > 1
    return extent ?? .all
  }
}

/// The intervals between the checks of a database: short ones after a hint, and a steady one.
///
/// In WAL mode, the file system reports a write before the commit is visible. Therefore, checks follow
/// 0.1, 0.3, 1, 3, 10, 30 and 100 ms after a hint. With a rollback journal, checks follow after 3, 10, 30
/// and 100 ms. The steady check finds everything else.
struct CheckIntervals: Sendable {
  private static let afterHint: [Duration] = [
    .microseconds(100), .microseconds(200), .microseconds(700), .milliseconds(2),
    .milliseconds(7), .milliseconds(20), .milliseconds(70),
  ]

  /// The interval between two steady checks.
  let steady: Duration
  private var position = CheckIntervals.afterHint.count
  /// A Boolean value that indicates whether no check has ended since the last hint.
  private(set) var isRestarted = false

  init(steady: Duration) {
    self.steady = steady
  }

  /// Returns the interval from a hint to the first check.
  ///
  /// In WAL mode, a check never delays a writer, and it comes at once. While this process commits, most
  /// hints report its own commits. The check then waits for more hints. With a rollback journal, a check
  /// can delay a writer by a whole busy wait. It comes later, and later still within a burst.
  ///
  /// - Parameters:
  ///   - sinceCommit: The time since the last commit of this process, or `nil` if there was none.
  ///   - sinceChange: The time since a check has found a change, or `nil` if no check has.
  static func first(isWAL: Bool, sinceCommit: Duration?, sinceChange: Duration?) -> Duration {
    if isWAL {
      return sinceCommit.map { $0 < .milliseconds(1) } ?? false ? .milliseconds(1) : .zero
    }
    return sinceChange.map { $0 < .milliseconds(100) } ?? false
      ? .milliseconds(30) : .milliseconds(3)
  }

  /// Begins the short intervals again, after a hint.
  mutating func restart(isWAL: Bool) {
    position = isWAL ? 0 : 4
    isRestarted = true
  }

  /// Returns the interval to the next check. Call this method once after each check.
  mutating func next() -> Duration {
    isRestarted = false
    guard position < CheckIntervals.afterHint.count else { return steady }
    defer { position += 1 }
    return CheckIntervals.afterHint[position]
  }
}

/// The intervals after which a data source tries again to read, for example while another connection
/// holds a lock.
struct RetryBackoff: Sendable {
  private static let milliseconds = [1, 2, 5, 10, 20, 50, 100]

  /// Failures that are shorter than this are not reported.
  private static let patience = Duration.seconds(1)

  private var attempts = 0
  private var firstFailure: AnyClock.Instant?

  /// Returns a Boolean value that indicates whether reads have failed for so long that the failure is
  /// reported.
  func isReported(at now: AnyClock.Instant) -> Bool {
    guard let firstFailure else { return false }
    return firstFailure.duration(to: now) >= RetryBackoff.patience
  }

  /// Counts a failure and returns the interval before the next attempt.
  mutating func failed(at now: AnyClock.Instant) -> Duration {
    defer { attempts += 1 }
    firstFailure = firstFailure ?? now
    let milliseconds = RetryBackoff.milliseconds
    return .milliseconds(attempts < milliseconds.count ? milliseconds[attempts] : 250)
  }

  mutating func succeeded() {
    attempts = 0
    firstFailure = nil
  }

  /// Returns a Boolean value that indicates whether an error may pass without a visible change of the
  /// database.
  static func applies(to error: SQLiteError) -> Bool {
    switch error.code {
    // A value that is too big stays too big.
    case .other: error.primaryResultCode != SQLITE_TOOBIG
    case .busy, .inputOutput, .cannotOpen, .readOnly, .full: true
    default: false
    }
  }
}
