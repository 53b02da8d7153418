import Dispatch
import Synchronization

/// Exclusive access for one thread at a time, for longer work that may call user code.
///
/// A thread that is inside finds out with ``isOwned(by:)`` and then does not enter again.
///
/// An uncontended pass costs one atomic exchange in each direction. One registry of the process knows
/// all waiting threads. Therefore, two gates that are entered in opposite orders trap instead of hanging.
@usableFromInline
package final class RecursiveGate: Sendable {
  /// The raw `ThreadID` of the owner, or 0. The lowest bit indicates that a thread waits.
  private let owner = Atomic<UInt>(0)

  private static let waitingBit: UInt = 1
  private static let registry = Locked(GateRegistry())

  /// Creates an open gate.
  package init() {}

  /// Returns a Boolean value that indicates whether a thread is inside.
  @usableFromInline
  package func isOwned(by thread: ThreadID) -> Bool {
    // Relaxed: only `thread` itself ever stores or removes its own identity here.
    owner.load(ordering: .relaxed) & ~Self.waitingBit == thread.raw
  }

  /// Waits until no other thread is inside, and enters.
  @usableFromInline
  package func enter(as thread: ThreadID) {
    if tryEnter(as: thread) { return }
    let semaphore = Semaphore(value: 0)
    while true {
      let entered = Self.registry.withLock { registry in
        if tryEnter(as: thread) { return true }
        // After the waiting bit is set, the owner needs the lock of the registry to leave. The owner
        // therefore finds this thread in the registry.
        owner.bitwiseOr(Self.waitingBit, ordering: .relaxed)
        if tryEnter(as: thread) { return true }
        registry.wait(thread, at: self, semaphore)
        registry.trapOnCycle(from: thread)
        return false
      }
      if entered { return }
      semaphore.wait()
      if tryEnter(as: thread) { return }
    }
  }

  /// Leaves, and wakes the thread that has waited longest.
  @usableFromInline
  package func leave(as thread: ThreadID) {
    schedulePoint()
    let left = owner.compareExchange(
      expected: thread.raw, desired: 0, successOrdering: .releasing, failureOrdering: .relaxed)
    if left.exchanged { return }
    let woken = Self.registry.withLock { registry in
      let woken = registry.takeFirstWaiter(at: self)
      owner.store(
        registry.hasWaiters(at: self) ? Self.waitingBit : 0, ordering: .releasing)
      return woken
    }
    woken?.signal()
  }

  /// Enters if no other thread is inside.
  ///
  /// - Returns: `true` if this thread is inside now; otherwise, `false`.
  @usableFromInline
  package func tryEnter(as thread: ThreadID) -> Bool {
    schedulePoint()
    let seen = owner.load(ordering: .relaxed)
    guard seen & ~Self.waitingBit == 0 else { return false }
    return owner.compareExchange(
      expected: seen, desired: thread.raw | seen, successOrdering: .acquiring,
      failureOrdering: .relaxed
    ).exchanged
  }

  fileprivate var ownerThread: ThreadID {
    ThreadID(raw: owner.load(ordering: .relaxed) & ~Self.waitingBit)
  }
}

/// The threads that wait, each with its gate.
private struct GateRegistry: Sendable {
  struct Waiter: Sendable {
    let thread: ThreadID
    let gate: RecursiveGate
    let semaphore: Semaphore
  }

  private var waiters: [Waiter] = []

  func hasWaiters(at gate: RecursiveGate) -> Bool {
    waiters.contains { $0.gate === gate }
  }

  mutating func wait(
    _ thread: ThreadID, at gate: RecursiveGate, _ semaphore: Semaphore
  ) {
    waiters.append(Waiter(thread: thread, gate: gate, semaphore: semaphore))
  }

  mutating func takeFirstWaiter(at gate: RecursiveGate) -> Semaphore? {
    guard let index = waiters.firstIndex(where: { $0.gate === gate }) else { return nil }
    return waiters.remove(at: index).semaphore
  }

  /// Traps if `thread` waits, through a chain of gates and owners, for itself.
  ///
  /// A thread in the registry stays blocked while the registry is locked. Each step is therefore stable.
  func trapOnCycle(from thread: ThreadID) {
    var current = thread
    for _ in waiters {
      guard let waiting = waiters.first(where: { $0.thread == current }) else { return }
      current = waiting.gate.ownerThread
      precondition(
        current != thread,
        """
        two threads have opened transactions on the same collections in opposite orders, and each \
        waits for the other: open them in the same order, or open them together with withTransaction
        """)
    }
  }
}
