import SwappablePrimitives

/// The subscribers of a feed that wait for something to send.
final class FeedNews: Sendable {
  private struct State: Sendable {
    var version = 0
    var lastID = 0
    /// The tasks that wait.
    var waiters: [Int: Waiter] = [:]
    var observers: [Int: @Sendable () -> Void] = [:]
  }

  private struct Waiter: Sendable {
    let continuation: CheckedContinuation<Bool, Never>
    /// The time at which the wait ends, by the alarm's clock.
    let deadline: Duration
    /// The time from which on it ends together with another one.
    let earliest: Duration
  }

  private let state = Locked(State())
  private let clock: AnyClock
  /// The timer that ends the waits of all tasks, as soon as one has waited.
  private let alarm = Locked<Alarm?>(nil)

  init(clock: AnyClock) {
    self.clock = clock
  }

  /// The number of changes until now.
  var version: Int { state.withLock { $0.version } }

  /// Calls all observers and resumes all tasks that wait.
  func post() {
    let (waiters, observers) = state.withLock { state in
      state.version += 1
      defer { state.waiters = [:] }
      return (state.waiters, state.observers)
    }
    for waiter in waiters.values { waiter.continuation.resume(returning: true) }
    for (_, observer) in observers { observer() }
  }

  /// Calls a closure at each change, on any thread. The closure must return soon.
  ///
  /// - Returns: A number that ends the observation.
  func observe(_ observer: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.lastID += 1
      state.observers[state.lastID] = observer
      return state.lastID
    }
  }

  func removeObserver(_ id: Int) {
    // The closure is released outside the lock.
    _ = state.withLock { $0.observers.removeValue(forKey: id) }
  }

  /// Waits until the version differs, the task is canceled, or an interval has passed.
  ///
  /// - Returns: A Boolean value that indicates whether the version differs.
  func wait(after version: Int, _ interval: Duration) async -> Bool {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    let alarm = alarm.withLock { alarm in
      let made = alarm ?? Alarm(clock) { [weak self] in self?.endWaits($0) }
      alarm = made
      return made
    }
    let now = alarm.now
    let deadline = alarm.deadline(after: interval, from: now)
    let earliest = alarm.deadline(after: interval - max(.zero, interval) / 16, from: now)
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard state.version == version, !Task.isCancelled else { return true }
          state.waiters[id] = Waiter(
            continuation: continuation, deadline: deadline, earliest: earliest)
          return false
        }
        if isOver { return continuation.resume(returning: true) }
        alarm.ring(at: deadline)
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: false)
    }
  }

  /// Ends the waits whose time is over or nearly over, and sets the alarm for the next one.
  ///
  /// Each call visits all waits. There are few calls, because waits that end at about the same time end together.
  private func endWaits(_ alarm: Alarm) {
    let now = alarm.now
    let (due, next) = state.withLock { state in
      let due = state.waiters.filter { $0.value.earliest <= now }
      for id in due.keys { state.waiters[id] = nil }
      return (due, state.waiters.values.map(\.deadline).min())
    }
    if let next { alarm.ring(at: next) }
    for waiter in due.values { waiter.continuation.resume(returning: false) }
  }
}
