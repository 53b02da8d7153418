import SwappablePrimitives

/// The subscribers of a feed that wait for something to send.
final class FeedNews: Sendable {
  private struct State: Sendable {
    var version = 0
    var lastID = 0
    /// The tasks that wait, and the timers that end the wait.
    var waiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    var observers: [Int: @Sendable () -> Void] = [:]
  }

  private let state = Locked(State())

  /// The number of changes until now.
  var version: Int { state.withLock { $0.version } }

  /// Calls all observers and resumes all tasks that wait.
  func post() {
    let (waiters, observers) = state.withLock { state in
      state.version += 1
      defer { state.waiters = [:] }
      return (state.waiters, state.observers)
    }
    for (_, waiter) in waiters { waiter.resume(returning: true) }
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
  func wait(after version: Int, _ interval: Duration, _ clock: AnyClock) async -> Bool {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    var timer: ScheduledTimer?
    defer { timer?.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard state.version == version, !Task.isCancelled else { return true }
          state.waiters[id] = continuation
          return false
        }
        if isOver { return continuation.resume(returning: true) }
        timer = clock.call(after: interval) { self.endWait(id) }
      }
    } onCancel: {
      endWait(id)
    }
  }

  private func endWait(_ id: Int) {
    state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: false)
  }
}
