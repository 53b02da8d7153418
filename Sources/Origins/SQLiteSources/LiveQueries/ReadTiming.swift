import Dispatch
import FileWatching
import ObservableCollections
import SwappablePrimitives
import SwappableSQLite3

// Hundreds of databases need a check at the same time, and hundreds of sources a read. With a thread
// each, they would use up the threads that the system has for queues.
extension StartLimiter {
  /// The limit of the checks of all databases. A check takes some microseconds.
  static let checks = StartLimiter(width: 4, limit: 16, patience: .milliseconds(20))

  /// The limit of the reads of all data sources. A read may run a slow query, and the closure that maps
  /// its rows.
  static let reads = StartLimiter(width: 8, limit: 64, patience: .milliseconds(20))
}

extension QueueTimer {
  /// The queue on which all timers fire. They only start work on other queues.
  private static let queue = DispatchQueue(label: "swappable.sqlite.timers")

  /// Creates a timer that starts reads.
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

/// The reads of a data source that have failed one after another, for example while another connection holds a lock.
struct ReadFailures: Sendable {
  private static let backoff = Backoff(first: .milliseconds(1), longest: .milliseconds(250))

  /// Failures that are shorter than this are not reported.
  private static let patience = Duration.seconds(1)

  private var count = 0
  private var first: AnyClock.Instant?

  /// Returns a Boolean value that indicates whether reads have failed for so long that the failure is
  /// reported.
  func isReported(at now: AnyClock.Instant) -> Bool {
    first.map { $0.duration(to: now) >= ReadFailures.patience } ?? false
  }

  /// Counts a failure and returns the interval before the next attempt.
  mutating func add(at now: AnyClock.Instant) -> Duration {
    count += 1
    first = first ?? now
    return ReadFailures.backoff.pause(after: count)
  }
}

extension SQLiteError {
  /// A Boolean value that indicates whether the error may pass without a visible change of the database.
  var mayPass: Bool {
    switch code {
    // A value that is too big stays too big.
    case .other: primaryResultCode != SQLITE_TOOBIG
    case .busy, .inputOutput, .cannotOpen, .readOnly, .full: true
    default: false
    }
  }
}
