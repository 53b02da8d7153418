import Dispatch
import SwappablePrimitives

/// Exclusive access by thread: one thread at a time has it, and may enter again while it does.
///
/// Threads that wait are let in by their order. It is no lock of the framework's state: what runs
/// inside may call its users' code, such as the body of a transaction.
final class ThreadGate: Sendable {
  private struct Waiter: Sendable {
    let thread: ThreadID
    let turn: DispatchSemaphore
  }

  private struct State: Sendable {
    var owner: ThreadID?
    var depth = 0
    var waiters: [Waiter] = []
  }

  private let state = Locked(State())

  /// Waits until the calling thread has access; returns how often it has entered, this one included.
  func enter() -> Int {
    let (depth, turn) = begin()
    guard let turn else { return depth }
    turn.wait()
    // Orders what the thread before did ahead of what this one does, for the thread sanitizer too,
    // which does not see the semaphore.
    return state.withLock { $0.depth }
  }

  /// Waits for access as `enter` does, but no longer than `limit`; `nil` where that was in vain.
  func enter(within limit: Duration) -> Int? {
    let (depth, turn) = begin()
    guard let turn else { return depth }
    if turn.wait(timeout: .after(limit)) == .success {
      return state.withLock { $0.depth }
    }
    let isOwner = state.withLock { state in
      state.waiters.removeAll { $0.turn === turn }
      return state.owner == .current
    }
    // The turn may have come in the last moment.
    return isOwner ? 1 : nil
  }

  /// Enters where nobody else is inside; else gives what to wait for.
  private func begin() -> (depth: Int, turn: DispatchSemaphore?) {
    let thread = ThreadID.current
    return state.withLock { state in
      if state.owner == nil || state.owner == thread {
        state.owner = thread
        state.depth += 1
        return (state.depth, nil)
      }
      let turn = DispatchSemaphore(value: 0)
      state.waiters.append(Waiter(thread: thread, turn: turn))
      return (1, turn)
    }
  }

  /// Ends what the matching `enter` began.
  func leave() {
    let next = state.withLock { state -> DispatchSemaphore? in
      state.depth -= 1
      guard state.depth == 0 else { return nil }
      guard !state.waiters.isEmpty else {
        state.owner = nil
        return nil
      }
      let waiter = state.waiters.removeFirst()
      state.owner = waiter.thread
      state.depth = 1
      return waiter.turn
    }
    next?.signal()
  }
}
