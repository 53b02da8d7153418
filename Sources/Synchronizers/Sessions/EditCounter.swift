import SwappablePrimitives

/// Counts edits, and wakes the one who waits for more.
final class EditCounter: Sendable {
  private struct State {
    var count = 0
    var waiter: CheckedContinuation<Void, Never>?
    var isCancelled = false
  }

  private let state = Locked(State())

  /// How many there were.
  var count: Int { state.withLock { $0.count } }

  /// Counts one.
  func increment() {
    wake { $0.count += 1 }
  }

  /// Waits until there were more than so many, or the task is cancelled. One task waits at a time.
  ///
  /// - Returns: How many there were.
  func wait(after seen: Int) async -> Int {
    state.withLock { $0.isCancelled = false }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.count > seen || state.isCancelled { return true }
          state.waiter = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
      return count
    } onCancel: {
      wake { $0.isCancelled = true }
    }
  }

  private func wake(_ change: (inout State) -> Void) {
    let waiter = state.withLock { state in
      change(&state)
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }
}
