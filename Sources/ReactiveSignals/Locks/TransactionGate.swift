import Dispatch
import Synchronization

/// Lets one thread at a time into the transactions of one collection.
///
/// An uncontended pass costs one atomic exchange each way. Waiting threads are known to one registry
/// of the process, so that two gates taken in opposite orders are found out instead of hanging.
package final class TransactionGate: Sendable {
  /// The owner's `ThreadID`, or zero; the lowest bit says that somebody waits.
  private let owner = Atomic<UInt>(0)

  private static let waitingBit: UInt = 1
  private static let registry = Locked(GateRegistry())

  package init() {}

  /// Whether `thread` is inside.
  package func isOwned(by thread: ThreadID) -> Bool {
    // Relaxed: only `thread` itself ever stores its own id here, or takes it away.
    owner.load(ordering: .relaxed) & ~Self.waitingBit == thread.raw
  }

  /// Waits until no other thread is inside, and enters.
  package func enter(as thread: ThreadID) {
    if tryEnter(thread) { return }
    let semaphore = DispatchSemaphore(value: 0)
    while true {
      let entered = Self.registry.withLock { registry in
        if tryEnter(thread) { return true }
        // Once it is marked as waited for, nobody leaves without this lock: whoever is inside now
        // finds this thread in the registry.
        owner.bitwiseOr(Self.waitingBit, ordering: .relaxed)
        if tryEnter(thread) { return true }
        registry.wait(thread, at: self, semaphore)
        registry.trapOnCycle(from: thread)
        return false
      }
      if entered { return }
      semaphore.wait()
      if tryEnter(thread) { return }
    }
  }

  /// Leaves, and wakes the thread that has waited longest.
  package func leave(as thread: ThreadID) {
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

  private func tryEnter(_ thread: ThreadID) -> Bool {
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

/// Who waits at which gate.
private struct GateRegistry: Sendable {
  struct Waiter: Sendable {
    let thread: ThreadID
    let gate: TransactionGate
    let semaphore: DispatchSemaphore
  }

  private var waiters: [Waiter] = []

  func hasWaiters(at gate: TransactionGate) -> Bool {
    waiters.contains { $0.gate === gate }
  }

  mutating func wait(
    _ thread: ThreadID, at gate: TransactionGate, _ semaphore: DispatchSemaphore
  ) {
    waiters.append(Waiter(thread: thread, gate: gate, semaphore: semaphore))
  }

  mutating func takeFirstWaiter(at gate: TransactionGate) -> DispatchSemaphore? {
    guard let index = waiters.firstIndex(where: { $0.gate === gate }) else { return nil }
    return waiters.remove(at: index).semaphore
  }

  /// Follows thread to gate to owner to gate; coming back to `thread` means that none can go on.
  ///
  /// A thread in this registry stays blocked while the registry is locked, so each step is stable.
  func trapOnCycle(from thread: ThreadID) {
    var current = thread
    for _ in waiters {
      guard let waiting = waiters.first(where: { $0.thread == current }) else { return }
      current = waiting.gate.ownerThread
      precondition(
        current != thread,
        """
        two threads have opened transactions on the same collections in opposite orders, and wait \
        for each other: open them in one order, or all at once by withTransaction
        """)
    }
  }
}
