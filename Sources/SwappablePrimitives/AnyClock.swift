/// A clock of any type. Its instants count from the moment at which the clock is wrapped.
package struct AnyClock: TimerClock {
  package struct Instant: InstantProtocol {
    /// The time since the clock was wrapped.
    package var offset: Duration

    package init(offset: Duration) {
      self.offset = offset
    }

    package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    package func duration(to other: Instant) -> Duration { other.offset - offset }
    package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  /// The continuous clock of the system.
  package static let continuous = AnyClock(ContinuousClock())

  /// A Boolean value that indicates whether this is the continuous clock of the system.
  let isContinuous: Bool
  package let minimumResolution: Duration
  private let elapsed: @Sendable () -> Duration
  private let sleepUntil:
    @Sendable (_ offset: Duration, _ tolerance: Duration?) async throws -> Void
  private let callAfter:
    @Sendable (_ interval: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer

  package init(_ clock: some Clock<Duration>) {
    let start = clock.now
    isContinuous = clock is ContinuousClock
    minimumResolution = clock.minimumResolution
    elapsed = { start.duration(to: clock.now) }
    sleepUntil = { try await clock.sleep(until: start.advanced(by: $0), tolerance: $1) }
    callAfter = { callLater(after: $0, on: clock, $1) }
  }

  package var now: Instant { Instant(offset: elapsed()) }

  package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try await sleepUntil(deadline.offset, tolerance)
  }

  package func call(
    after interval: Duration, _ action: @escaping @Sendable () -> Void
  ) -> ScheduledTimer {
    callAfter(interval, action)
  }
}
