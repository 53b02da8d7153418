package import Dispatch
import SwappablePrimitives

/// A counter of notifications that wakes waiting threads and tasks.
package final class ChangeNotice: Sendable {
  private let state = Locked(State())

  private struct State: Sendable {
    var count = 0
    var lastWaiter = 0
    var waiters: [Int: @Sendable (Bool) -> Void] = [:]
  }

  package init() {}

  /// The number of notifications.
  package var count: Int { state.withLock { $0.count } }

  /// Adds a notification and wakes all waiters.
  package func notify() {
    let woken = state.withLock { state in
      state.count += 1
      let woken = state.waiters
      state.waiters = [:]
      return woken
    }
    for wake in woken.values { wake(true) }
  }

  /// Blocks until there are more than `seen` notifications, or the deadline has passed.
  ///
  /// - Returns: `true` if there are more.
  package func waitBlocking(after seen: Int, until deadline: DispatchTime) -> Bool {
    let semaphore = DispatchSemaphore(value: 0)
    guard let waiter = register(after: seen, { _ in semaphore.signal() }) else { return true }
    if semaphore.wait(timeout: deadline) == .success { return true }
    return take(waiter) == nil
  }

  /// Waits until there are more than `seen` notifications, the deadline has passed, or the task is
  /// canceled.
  ///
  /// - Returns: `true` if there are more.
  func wait(after seen: Int, until deadline: DispatchTime) async -> Bool {
    let handle = Locked<(waiter: Int?, isCancelled: Bool)>((nil, false))
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard let waiter = register(after: seen, { continuation.resume(returning: $0) }) else {
          return continuation.resume(returning: true)
        }
        DispatchQueue.global().asyncAfter(deadline: deadline) { [weak self] in
          self?.take(waiter)?(false)
        }
        let isCancelled = handle.withLock { handle in
          handle.waiter = waiter
          return handle.isCancelled
        }
        if isCancelled { take(waiter)?(false) }
      }
    } onCancel: {
      let waiter = handle.withLock { handle in
        handle.isCancelled = true
        return handle.waiter
      }
      if let waiter { take(waiter)?(false) }
    }
  }

  private func register(after seen: Int, _ wake: @escaping @Sendable (Bool) -> Void) -> Int? {
    state.withLock { state in
      guard state.count <= seen else { return nil }
      state.lastWaiter += 1
      state.waiters[state.lastWaiter] = wake
      return state.lastWaiter
    }
  }

  private func take(_ waiter: Int) -> (@Sendable (Bool) -> Void)? {
    state.withLock { $0.waiters.removeValue(forKey: waiter) }
  }
}
