import SwappablePrimitives
import SwappableSQLite3

extension BlockingThreads {
  /// The threads of the checks of all databases. A check takes some microseconds.
  static let checking = BlockingThreads(width: 4, limit: 16)
}

/// The changes of a database that a data source has not read.
struct DatabaseChange: Sendable {
  enum Extent: Hashable, Sendable {
    /// Only commits of this process.
    case ownCommits
    /// Only changes that the change monitor has found.
    case found
    /// All changes, including changes that nobody has found yet.
    case all
  }

  private(set) var extent: Extent
  private var ownCommits: Int

  init(_ extent: Extent) {
    self.extent = extent
    ownCommits = extent == .ownCommits ? 1 : 0
  }

  mutating func merge(_ other: DatabaseChange) {
    if extent != other.extent { extent = .all }
    ownCommits += other.ownCommits
  }

  /// A Boolean value that indicates whether this process commits faster than the source reads.
  var isBurst: Bool { ownCommits > 1 }
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
