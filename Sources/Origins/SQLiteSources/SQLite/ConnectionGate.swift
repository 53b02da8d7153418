import Dispatch
import SwappablePrimitives

/// Exclusive access to a handle of a database for one thread at a time.
///
/// The thread that has access may enter again. Other threads wait in order of arrival. Code that
/// runs inside may call user code, for example the body of a transaction.
final class ConnectionGate: Sendable {
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

  /// Waits until the calling thread has access.
  ///
  /// - Returns: How many times the thread has entered, including this time.
  func enter() -> Int {
    let (depth, turn) = begin()
    guard let turn else { return depth }
    turn.wait()
    // The thread sanitizer does not see the semaphore. The lock shows it that the previous owner's
    // writes come first.
    return state.withLock { $0.depth }
  }

  /// Waits until the calling thread has access, but no longer than a limit.
  ///
  /// - Returns: How many times the thread has entered, including this time, or `nil` if the limit
  ///   has passed.
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
    // Access may have been granted at the last moment.
    return isOwner ? 1 : nil
  }

  /// Enters if no thread is inside, not even the calling one.
  ///
  /// - Returns: A Boolean value that indicates whether the thread has entered.
  func enterIfFree() -> Bool {
    state.withLock { state in
      guard state.owner == nil else { return false }
      state.owner = .current
      state.depth = 1
      return true
    }
  }

  var isMine: Bool { state.withLock { $0.owner == .current } }

  /// Runs a closure with access.
  func withAccess<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    _ = enter()
    defer { leave() }
    return try body()
  }

  /// Enters if no other thread is inside. Otherwise, returns a semaphore to wait for.
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
