import SwappablePrimitives

/// When a data source reads what changed: at once, but in a burst of commits by this process only as
/// often as leaves most of the time to the writer.
struct RunSchedule: Sendable {
  /// How many times as long as a run the pause after it is, in a burst.
  private static let share = 8
  private static let longestPause = Duration.milliseconds(100)

  private var isDue = false
  private var looks = false
  /// Commits of this process that no run has begun after.
  private var commits = 0
  private var isBurst = false
  /// When the run began that goes on now.
  private var begun: AnyClock.Instant?
  private var pauseEnd: AnyClock.Instant?

  /// Takes note of a change.
  ///
  /// - Parameter looks: Whether it may be anybody's, and not only this process's.
  /// - Returns: How long to wait until a run; `nil` where nothing is to be done now.
  mutating func ask(looks: Bool, at now: AnyClock.Instant) -> Duration? {
    if looks { self.looks = true } else { commits += 1 }
    if commits > 1 { isBurst = true }
    guard !isDue else { return nil }
    isDue = true
    return begun == nil ? pause(at: now) : nil
  }

  /// Has the next run look, whoever asked for it.
  mutating func mustLook() { looks = true }

  /// Begins a run.
  ///
  /// - Returns: Whether it has to look for changes by anybody.
  mutating func begin(at now: AnyClock.Instant) -> Bool {
    isBurst = commits > 1
    (isDue, commits) = (false, 0)
    begun = now
    defer { looks = false }
    return looks
  }

  /// Ends a run.
  ///
  /// - Returns: How long to wait until the next one, if it was asked for meanwhile.
  mutating func end(at now: AnyClock.Instant) -> Duration? {
    if let begun {
      let pause = min(begun.duration(to: now) * RunSchedule.share, RunSchedule.longestPause)
      pauseEnd = now.advanced(by: pause)
    }
    begun = nil
    return isDue ? pause(at: now) : nil
  }

  private func pause(at now: AnyClock.Instant) -> Duration {
    guard isBurst, let pauseEnd, pauseEnd > now else { return .zero }
    return now.duration(to: pauseEnd)
  }
}
