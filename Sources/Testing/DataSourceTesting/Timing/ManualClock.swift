import Dispatch
package import SwappablePrimitives

/// A clock that advances only on request, for tests that do not wait.
///
///     let clock = ManualClock()
///     let task = Task { try await clock.sleep(for: .seconds(5)) }
///     try await clock.waitForSleepers(1)
///     clock.advance(by: .seconds(5))   // the task continues
public final class ManualClock: Clock {
  /// A moment of the clock: the time since the clock was created.
  public struct Instant: InstantProtocol {
    /// The time since the clock was created.
    public let offset: Duration

    /// Creates a moment.
    ///
    /// - Parameter offset: The time since the clock was created.
    public init(_ offset: Duration) {
      self.offset = offset
    }

    public func advanced(by duration: Duration) -> Instant { Instant(offset + duration) }
    public func duration(to other: Instant) -> Duration { other.offset - offset }
    public static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
  }

  private let state = Locked(State())
  private let notice = ChangeNotice()

  private struct Sleeper: Sendable {
    let id: Int
    let deadline: Instant
    /// A closure that is called without the lock. It receives an error if the sleep was canceled.
    let wake: @Sendable ((any Error)?) -> Void
  }

  private struct State: Sendable {
    var now = Instant(.zero)
    var lastID = 0
    /// The sleepers by deadline. Sleepers with the same deadline are in the order in which they
    /// began to sleep.
    var sleepers: [Sleeper] = []
    /// The identifiers of tasks that were canceled before they began to sleep.
    var cancelled: Set<Int> = []

    mutating func insert(_ sleeper: Sleeper) {
      let index = sleepers.firstIndex { $0.deadline > sleeper.deadline } ?? sleepers.endIndex
      sleepers.insert(sleeper, at: index)
    }

    mutating func remove(_ id: Int) -> Sleeper? {
      sleepers.firstIndex { $0.id == id }.map { sleepers.remove(at: $0) }
    }
  }

  /// Creates a clock at zero.
  public init() {}

  public var now: Instant { state.withLock { $0.now } }

  public var minimumResolution: Duration { .nanoseconds(1) }

  /// The number of sleepers of this clock.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// The deadline of the next sleeper, or `nil` if there is none.
  public var nextDeadline: Instant? { state.withLock { $0.sleepers.first?.deadline } }

  /// Advances the clock and wakes all sleepers that are due.
  ///
  /// Sleepers are woken by deadline, and then in the order in which they began to sleep. While a sleeper is woken, the time of the clock is the sleeper's deadline. If a task must
  /// sleep again within the same interval, use ``advanceToNextDeadline()``.
  ///
  /// - Parameter duration: The time to advance by, which must not be negative.
  public func advance(by duration: Duration) {
    precondition(duration >= .zero, "duration must be at least zero, but is \(duration)")
    let end = now.advanced(by: duration)
    while let due = takeFirst(until: end) { due.wake(nil) }
    state.withLock { $0.now = max($0.now, end) }
  }

  /// Advances the clock to the next deadline, and wakes all sleepers that are due.
  ///
  /// - Returns: The deadline, or `nil` if there is no sleeper.
  @discardableResult
  public func advanceToNextDeadline() -> Instant? {
    guard let deadline = nextDeadline else { return nil }
    while let due = takeFirst(until: deadline) { due.wake(nil) }
    return deadline
  }

  /// Waits until the clock has at least a number of sleepers. The clock does not advance.
  ///
  /// - Throws: A ``TimeoutError`` if there are fewer sleepers after `timeout` of real time.
  public func waitForSleepers(_ count: Int, timeout: Duration = .seconds(60)) async throws {
    let limit = DispatchTime.after(timeout)
    while true {
      let seen = notice.count
      if sleeperCount >= count { return }
      guard await notice.wait(after: seen, until: limit) else {
        try Task.checkCancellation()
        // On a busy machine, the timeout may be noticed long after the tasks began to sleep.
        if sleeperCount >= count { return }
        throw TimeoutError(
          "waited \(timeout) for \(count) sleepers of a manual clock, but there are \(sleeperCount)"
        )
      }
    }
  }

  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome = state.withLock { state -> Result<Void, any Error>? in
          if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
          if deadline <= state.now { return .success(()) }
          state.insert(
            Sleeper(id: id, deadline: deadline) { error in
              continuation.resume(with: error.map { .failure($0) } ?? .success(()))
            })
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
        notice.notify()
      }
    } onCancel: {
      let sleeper = state.withLock { state -> Sleeper? in
        let sleeper = state.remove(id)
        if sleeper == nil { state.cancelled.insert(id) }
        return sleeper
      }
      sleeper?.wake(CancellationError())
    }
    // Remove the mark of a cancellation that came after the deadline.
    state.withLock { _ = $0.cancelled.remove(id) }
  }

  private func takeFirst(until end: Instant) -> Sleeper? {
    state.withLock { state in
      guard let first = state.sleepers.first, first.deadline <= end else { return nil }
      state.now = max(state.now, first.deadline)
      return state.sleepers.removeFirst()
    }
  }
}

/// Operators with this clock run inside ``ManualClock/advance(by:)``, on the thread that calls it.
extension ManualClock: TimerClock {
  package func call(
    after interval: Duration, _ action: @escaping @Sendable () -> Void
  ) -> ScheduledTimer {
    let id = state.withLock { state in
      state.lastID += 1
      state.insert(
        Sleeper(id: state.lastID, deadline: state.now.advanced(by: interval)) { error in
          if error == nil { action() }
        })
      return state.lastID
    }
    notice.notify()
    return ScheduledTimer { [weak self] in _ = self?.state.withLock { $0.remove(id) } }
  }
}
