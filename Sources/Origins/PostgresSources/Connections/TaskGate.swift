import SwappablePrimitives

/// Access for one task at a time, or for some tasks, in order of arrival.
final class TaskGate: Sendable {
  private struct State: Sendable {
    var freePlaces: Int
    var lastWaiter = 0
    var waiters: [(number: Int, continuation: CheckedContinuation<Bool, Never>)] = []
  }

  private let state: Locked<State>

  /// Creates a gate.
  ///
  /// - Parameter places: The number of tasks that have access at the same time.
  init(places: Int = 1) {
    state = Locked(State(freePlaces: places))
  }

  /// Waits for access.
  ///
  /// - Returns: `false` if the task was canceled, and has no access.
  func enter(ignoringCancellation: Bool = false) async -> Bool {
    let number = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer = state.withLock { state -> Bool? in
          // A task that is canceled later finds its waiter below.
          if Task.isCancelled, !ignoringCancellation { return false }
          if state.freePlaces > 0 {
            state.freePlaces -= 1
            return true
          }
          state.waiters.append((number, continuation))
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      if ignoringCancellation { return }
      let waiter = state.withLock { state -> CheckedContinuation<Bool, Never>? in
        let index = state.waiters.firstIndex { $0.number == number }
        return index.map { state.waiters.remove(at: $0).continuation }
      }
      waiter?.resume(returning: false)
    }
  }

  func leave() {
    let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      guard !state.waiters.isEmpty else {
        state.freePlaces += 1
        return nil
      }
      return state.waiters.removeFirst().continuation
    }
    next?.resume(returning: true)
  }
}
