/// Decides how often to look for changes that the system reports, because it does not report all of them.
///
/// After a sign of life, checks are frequent for a while, and then rarer and rarer. A change that a check has found counts as
/// reported if a report has come within a second before or after. If that is not so twice in a row, the file system is
/// silent, and checks stay frequent.
///
/// This is a pure state machine, which `CheckPaceTests` tests.
package struct CheckPace: Sendable {
  package typealias Instant = AnyClock.Instant

  /// The longest pause between two checks of anything in this process, or `nil` for the usual one.
  package static let longestPause = Locked<Duration?>(nil)

  /// The time after a sign of life in which checks are frequent.
  private static let lively = Duration.seconds(5)
  /// The longest time between a change and its report.
  private static let delay = Duration.seconds(1)
  /// The pauses on a silent file system.
  private static let silent = (lively: Duration.milliseconds(100), resting: Duration.seconds(1))

  private let shortest: Duration
  private var lastSign: Instant
  private var lastReport: Instant?
  /// The first find whose report may still come.
  private var unreported: Instant?
  /// The number of finds in a row that were not reported.
  private var finds = 0
  private var pause: Duration

  /// A Boolean value that indicates whether the file system does not report changes.
  package private(set) var isSilent = false

  /// - Parameters:
  ///   - shortest: The pause while there are signs of life.
  ///   - now: The time.
  package init(shortest: Duration, at now: Instant) {
    (self.shortest, pause, lastSign) = (shortest, shortest, now)
  }

  /// Notes that the system has reported a change.
  package mutating func noteReport(at now: Instant) {
    (lastReport, lastSign, pause) = (now, now, shortest)
    (unreported, finds, isSilent) = (nil, 0, false)
  }

  /// Notes that a check has found a change.
  package mutating func noteFind(at now: Instant) {
    countFind(at: now)
    (lastSign, pause) = (now, shortest)
    if let lastReport, lastReport.duration(to: now) <= Self.delay {
      finds = 0
    } else {
      unreported = unreported ?? now
    }
  }

  /// Returns the pause before the next check.
  ///
  /// - Parameter isPolled: A Boolean value that indicates whether it is known that nothing is reported.
  package mutating func next(at now: Instant, isPolled: Bool = false) -> Duration {
    countFind(at: now)
    let isLively = lastSign.duration(to: now) < Self.lively
    let longest = Self.longestPause.withLock { $0 } ?? max(.seconds(2), shortest)
    if isSilent || isPolled {
      return min(isLively ? Self.silent.lively : Self.silent.resting, longest)
    }
    pause = min(isLively ? shortest : pause * 2, longest)
    return pause
  }

  /// Counts a find whose report has not come in time.
  private mutating func countFind(at now: Instant) {
    guard let find = unreported, find.duration(to: now) > Self.delay else { return }
    (unreported, finds) = (nil, finds + 1)
    if finds >= 2 { isSilent = true }
  }
}
