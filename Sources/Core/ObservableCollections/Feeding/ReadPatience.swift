package import SwappablePrimitives

/// Decides when a failure is shown: it may come from a writer that has not finished.
///
/// This is a pure state machine. `ReadPatienceTests` tests each cell.
package struct ReadPatience: Sendable {
  package typealias Instant = AnyClock.Instant

  /// The number of times that a wait can begin again.
  private static let maximumRestarts = 50

  /// The time since which the result is not final, or `nil` if it is.
  private var start: Instant?
  private var restarts = 0
  /// The number of reads since the last one that had contents.
  package private(set) var failures = 0

  package init() {}

  /// Returns the time for which the result has not been final.
  package func waited(at now: Instant) -> Duration { start.map { $0.duration(to: now) } ?? .zero }

  /// Notes the result of a read.
  ///
  /// - Parameter shown: The state that the status shows.
  /// - Returns: A Boolean value that indicates whether to show the failure, and the pause before the next read.
  package mutating func handle<Source>(
    _ result: PolledDataSource<Source>.ReadResult, shown: SourceStatus.State, at now: Instant
  ) -> (isShown: Bool, pause: Duration?) {
    let pause = result.pause
    switch result.outcome {
    case .contents(_, let wait):
      self = ReadPatience()
      return (false, wait.map { rest(of: $0, pause, at: now) } ?? pause)
    case .nothing(let wait):
      if result.isBeingWritten { restart(at: now) }
      return (false, wait.map { rest(of: $0, pause, at: now) } ?? pause)
    case .failure(let state, let wait):
      failures += 1
      if state != shown, waited(at: now) < wait {
        if result.isBeingWritten { restart(at: now) }
        return (false, rest(of: wait, pause, at: now))
      }
      (start, restarts) = (nil, 0)
      return (true, pause)
    }
  }

  private mutating func restart(at now: Instant) {
    guard start != nil, restarts < Self.maximumRestarts else { return }
    restarts += 1
    start = now
  }

  /// Returns the pause before the next read, at which the wait is over at the latest.
  private mutating func rest(of wait: Duration, _ pause: Duration?, at now: Instant) -> Duration {
    let start = start ?? now
    self.start = start
    let waited = start.duration(to: now)
    let rest = waited < wait ? wait - waited : wait
    return min(rest, pause ?? rest)
  }
}
