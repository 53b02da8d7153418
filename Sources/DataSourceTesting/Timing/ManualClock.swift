import Dispatch
package import SwappablePrimitives

/// A clock that stands still until it is advanced, to test with instead of waiting.
///
///     let clock = ManualClock()
///     let task = Task { try await clock.sleep(for: .seconds(5)) }
///     try await clock.waitForSleepers(1)
///     clock.advance(by: .seconds(5))   // the task goes on
public final class ManualClock: Clock {
  /// A moment of the clock: the time since it was made.
  public struct Instant: InstantProtocol {
    /// The time since the clock was made.
    public let offset: Duration

    /// Makes a moment.
    ///
    /// - Parameter offset: The time since the clock was made.
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
    /// Called unlocked: without an error when its time has come.
    let wake: @Sendable ((any Error)?) -> Void
  }

  private struct State: Sendable {
    var now = Instant(.zero)
    var lastID = 0
    /// By deadline; those of one deadline in the order in which they went to sleep.
    var sleepers: [Sleeper] = []
    /// Those who were cancelled before they went to sleep.
    var cancelled: Set<Int> = []

    mutating func insert(_ sleeper: Sleeper) {
      let index = sleepers.firstIndex { $0.deadline > sleeper.deadline } ?? sleepers.endIndex
      sleepers.insert(sleeper, at: index)
    }

    mutating func remove(_ id: Int) -> Sleeper? {
      sleepers.firstIndex { $0.id == id }.map { sleepers.remove(at: $0) }
    }
  }

  /// Makes a clock that stands at zero.
  public init() {}

  public var now: Instant { state.withLock { $0.now } }

  public var minimumResolution: Duration { .nanoseconds(1) }

  /// How many tasks sleep by this clock.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// When the next sleeper wakes; nil where nobody sleeps.
  public var nextDeadline: Instant? { state.withLock { $0.sleepers.first?.deadline } }

  /// Moves on, and wakes each whose time comes, by time and then in the order of going to sleep.
  ///
  /// The clock stands at a sleeper's own deadline when that is woken. A task that is to sleep again
  /// within the same stretch needs ``advanceToNextDeadline()``.
  ///
  /// - Parameter duration: How far; not negative.
  public func advance(by duration: Duration) {
    precondition(duration >= .zero, "a clock is advanced by \(duration)")
    let end = now.advanced(by: duration)
    while let due = takeFirst(until: end) { due.wake(nil) }
    state.withLock { $0.now = max($0.now, end) }
  }

  /// Moves on to the next sleeper's deadline, and wakes all who sleep until then.
  ///
  /// - Returns: That moment; nil where nobody sleeps.
  @discardableResult
  public func advanceToNextDeadline() -> Instant? {
    guard let deadline = nextDeadline else { return nil }
    while let due = takeFirst(until: deadline) { due.wake(nil) }
    return deadline
  }

  /// Waits, without the clock moving on, until at least so many tasks sleep by it.
  ///
  /// - Throws: ``WaitTimeout`` after a real minute, or what else is told.
  public func waitForSleepers(_ count: Int, timeout: Duration = .seconds(60)) async throws {
    let limit = DispatchTime.after(timeout)
    while true {
      let seen = notice.count
      if sleeperCount >= count { return }
      guard await notice.wait(after: seen, until: limit) else {
        try Task.checkCancellation()
        // On a busy machine the answer may come long after what was waited for.
        if sleeperCount >= count { return }
        throw WaitTimeout(
          "waited \(timeout) for \(count) tasks to sleep by a manual clock; \(sleeperCount) do")
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
    // A cancellation that came after the time was up has left its mark.
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

/// Operators that are timed by this clock go on inside ``ManualClock/advance(by:)``, on its thread.
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
