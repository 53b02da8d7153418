import Dispatch
package import SwappablePrimitives

/// The unit of ordering and delivery: one or more roots and everything derived from them.
///
/// One lock guards the pending commits, the identity of the delivering thread, and the published state
/// and observer lists of all nodes. No user code runs while the lock is held, and a thread never holds
/// the locks of two domains.
///
/// Each thread calls `deliver()` after it has queued a commit. If no other thread delivers, it becomes the
/// *delivering thread*. It runs one propagation pass after another until no commit is pending
/// (`Domain+Pass.swift`). The delivering thread also delivers the commits that an observer or another thread
/// queues meanwhile.
package final class Domain: Sendable {
  /// A closure that lets a test hold a thread, or `nil`.
  let pauseHook: PauseHook?
  package let lock = Locked(State())
  let pass = PassStorage()

  package init(pauseHook: PauseHook? = nil) {
    self.pauseHook = pauseHook
  }

  /// Everything that the domain's lock guards. Access to it proves that the lock is held.
  package struct State: Sendable {
    /// The number of commits ever queued.
    var committed: UInt64 = 0
    /// The number of commits whose pass is published.
    var published: UInt64 = 0
    /// The number of commits whose pass has ended.
    var delivered: UInt64 = 0
    /// The number of the pass that was published last.
    package internal(set) var passNumber: UInt64 = 0

    var pending = PendingCommits()
    /// The nodes through which commits of other domains enter. They decide whether this domain must wait
    /// for a transaction's other participants.
    var entrances: [Entrance] = []
    /// The domains upstream, after a number of changes of the dependency graph.
    var upstream = (changes: UInt64.max, domains: Set<ObjectIdentifier>())

    var deliveringThread: ThreadID?
    /// The numbers of passes that have begun and that have ended. They differ during a pass.
    var passesBegun: UInt64 = 0
    var passesEnded: UInt64 = 0
    /// A Boolean value that indicates whether all pending commits wait for tickets. A further commit to one of
    /// their roots waits too. `recheckTickets()` ends this.
    var waitsForTickets = false
    /// A Boolean value that indicates whether the delivering thread must look for ready tickets again.
    var mustRecheckTickets = false

    /// Nodes that have become live since the current pass began, in that order.
    var turnedLive: [Node] = []
    /// The creator of a node that cannot catch up. It becomes the delivering thread after the
    /// current pass.
    var successor: ThreadID?

    /// Nodes that are computing their first state.
    var joining: [Node] = []

    private var waiters: [Waiter] = []
    /// The number of the latest observer that received a first event, and of those still catching up.
    private var lastJoin: UInt64 = 0
    private var openJoins: [UInt64] = []

    /// A Boolean value that indicates whether every commit is published.
    var isSettled: Bool { committed == published }

    /// Claims delivery for a thread, if no other thread is delivering and a commit may be ready.
    mutating func claim(as thread: ThreadID) -> Bool {
      guard deliveringThread == nil, !waitsForTickets else { return false }
      deliveringThread = thread
      return true
    }

    /// Records that an observer receives its first events on its own thread.
    package mutating func beginJoin() -> UInt64 {
      lastJoin += 1
      openJoins.append(lastJoin)
      return lastJoin
    }

    /// Records that the observer has caught up.
    package mutating func endJoin(_ join: UInt64) {
      openJoins.removeAll { $0 == join }
    }

    /// Creates a waiter for everything committed so far.
    fileprivate func waiterForCommits(_ wake: @escaping @Sendable () -> Void) -> Waiter {
      Waiter(delivered: committed, join: lastJoin, passesEnded: 0, wake: wake)
    }

    fileprivate func waiterForPass(_ wake: @escaping @Sendable () -> Void) -> Waiter {
      Waiter(delivered: 0, join: 0, passesEnded: passesBegun, wake: wake)
    }

    fileprivate mutating func add(_ waiter: Waiter) { waiters.append(waiter) }

    fileprivate func isDue(_ waiter: Waiter) -> Bool {
      guard delivered >= waiter.delivered, passesEnded >= waiter.passesEnded else { return false }
      guard let oldest = openJoins.first else { return true }
      return oldest > waiter.join
    }

    /// Removes the waiters whose condition holds. The caller wakes them after it has unlocked.
    package mutating func takeDueWaiters() -> [Waiter] {
      if waiters.isEmpty { return [] }
      let due = waiters.filter(isDue)
      waiters.removeAll(where: isDue)
      return due
    }
  }

  /// A thread or task that waits until commits, observers or a pass have finished.
  package struct Waiter: Sendable {
    fileprivate let delivered: UInt64
    fileprivate let join: UInt64
    fileprivate let passesEnded: UInt64
    package let wake: @Sendable () -> Void
  }

  /// The number of commits that wait for a pass.
  package var pendingCount: Int { lock.withLock { $0.pending.count } }

  /// Lets a test hold the thread here.
  package func pause(at point: PausePoint) {
    pauseHook?(point)
  }

  // MARK: Waiting

  /// Waits until everything committed so far has reached the immediate observers.
  package func waitUntilDelivered() {
    wait { $0.waiterForCommits($1) }
  }

  /// Waits for the end of the pass that another thread is running.
  package func waitForPassInProgress() {
    let thread = ThreadID.current
    wait { state, wake in
      let isElsewhere = state.passesBegun > state.passesEnded && state.deliveringThread != thread
      return isElsewhere ? state.waiterForPass(wake) : nil
    }
  }

  private func wait(for makeWaiter: (State, @escaping @Sendable () -> Void) -> Waiter?) {
    let semaphore = lock.withLock { state -> DispatchSemaphore? in
      let semaphore = DispatchSemaphore(value: 0)
      guard let waiter = makeWaiter(state, { semaphore.signal() }), !state.isDue(waiter) else {
        return nil
      }
      state.add(waiter)
      return semaphore
    }
    semaphore?.wait()
  }

  /// Waits like ``waitUntilDelivered()``, without blocking the thread.
  package func delivered() async {
    await withCheckedContinuation { continuation in
      let waits = lock.withLock { state in
        let waiter = state.waiterForCommits { continuation.resume() }
        if state.isDue(waiter) { return false }
        state.add(waiter)
        return true
      }
      if !waits { continuation.resume() }
    }
  }
}

/// A place in the engine where a test can hold a thread to provoke a race.
package enum PausePoint: Hashable, Sendable {
  /// An observer is registered, and its first event not yet delivered.
  case joined
  /// A joining observer or node has caught up, but is not live yet.
  case caughtUp
  /// A change is committed, but its pass has not begun yet.
  case committed
  /// Derived nodes are computed, but not published yet.
  case computed
  /// A pass is published, but no observer has been called yet.
  case published
  /// All observers of a pass have been called, but the pass has not ended yet.
  case delivered
  /// A swap has attached its new source, but has not read its contents yet.
  case swapAttached
  /// A swap has frozen the old source, but has not begun to compute the difference.
  case swapFrozen
  /// A swap has computed its difference, but has not committed it yet.
  case swapComputed
}

/// A closure that a test calls at the engine's pause points. No lock is held.
package typealias PauseHook = @Sendable (PausePoint) -> Void
