import Dispatch
package import SwappablePrimitives

/// A root and everything derived from it: the unit of ordering and of delivery.
///
/// One lock guards the queue of the root's commits, who delivers, and the lists and published values
/// of all nodes. No user code runs while it is held, and locks of two domains are never held together.
///
/// Whoever commits while nobody delivers becomes the *drainer*: it takes one commit after the other
/// through a round, until none is left. In a round the derived nodes compute what they become, all
/// is published at once under the lock, and then observers are called. A commit made meanwhile,
/// inside an observer or by another thread, joins the queue and is delivered by the same drainer.
package final class Domain: Sendable {
  private let pauseHook: PauseHook?
  @usableFromInline package let state = Locked(State())

  package init(pauseHook: PauseHook? = nil) {
    self.pauseHook = pauseHook
  }

  /// What the domain's lock guards; having it at hand proves that the lock is held.
  package struct State: Sendable {
    /// The number of commits ever queued, and of those whose round is over.
    fileprivate(set) package var committed: UInt64 = 0
    fileprivate var delivered: UInt64 = 0
    /// The number of the round published last.
    fileprivate(set) package var round: UInt64 = 0
    fileprivate var drainer: ThreadID?
    /// By height, so that each comes after what it is derived from.
    fileprivate var derived: [any DomainNode] = []
    /// Those of them that have turned live since the round in progress was begun, in that order.
    fileprivate var turnedLive: [any DomainNode] = []
    fileprivate var joining: [any DomainNode] = []
    fileprivate var waiters: [Waiter] = []
    /// The number of the latest subscription with a first event, and those still catching up.
    private var lastJoin: UInt64 = 0
    private var openJoins: [UInt64] = []

    /// Counts a commit that the root has queued.
    ///
    /// - Parameter thread: Who is to deliver it, if nobody does already; nil puts delivery off.
    /// - Returns: whether the caller has become the drainer, and must call `drain` once unlocked.
    package mutating func enqueued(by thread: ThreadID?) -> Bool {
      committed += 1
      return thread.map { claim(as: $0) } ?? false
    }

    /// Makes the caller the drainer if there is none.
    package mutating func claim(as thread: ThreadID) -> Bool {
      guard drainer == nil else { return false }
      drainer = thread
      return true
    }

    /// Notes that an observer is being told what it has missed, on its own thread.
    package mutating func beginJoin() -> UInt64 {
      lastJoin += 1
      openJoins.append(lastJoin)
      return lastJoin
    }

    /// Notes that it has caught up.
    package mutating func endJoin(_ join: UInt64) {
      openJoins.removeAll { $0 == join }
    }

    /// Somebody who waits for all that is committed by now.
    fileprivate func waiter(_ wake: @escaping @Sendable () -> Void) -> Waiter {
      Waiter(delivered: committed, join: lastJoin, wake: wake)
    }

    fileprivate func isDue(_ waiter: Waiter) -> Bool {
      guard delivered >= waiter.delivered else { return false }
      guard let oldest = openJoins.first else { return true }
      return oldest > waiter.join
    }

    /// Takes out those who need wait no longer; to be woken unlocked.
    package mutating func takeDueWaiters() -> [Waiter] {
      if waiters.isEmpty { return [] }
      let due = waiters.filter(isDue)
      waiters.removeAll(where: isDue)
      return due
    }
  }

  /// Somebody who waits until rounds and subscriptions up to a certain one are over.
  package struct Waiter: Sendable {
    fileprivate let delivered: UInt64
    fileprivate let join: UInt64
    package let wake: @Sendable () -> Void
  }

  /// Runs `body` while the domain's lock is held.
  @inlinable package func withLock<Result>(_ body: (inout State) -> Result) -> Result {
    state.withLock(body)
  }

  /// Gives a test the chance to hold the thread here.
  package func pause(at point: PausePoint) {
    pauseHook?(point)
  }

  // MARK: Rounds

  /// Delivers what the root has queued, until nothing is left. The caller has claimed to do so.
  package func drain(_ root: any DomainNode) {
    pause(at: .committed)
    let context = ThreadContext.current
    context.drainDepth += 1
    defer { context.drainDepth -= 1 }
    var finished: UInt64 = 0
    while true {
      let start = withLock { state in begin(root, finishing: finished, &state) }
      for waiter in start.woken { waiter.wake() }
      guard start.popped > 0 else { return }
      run(root, start, context)
      finished = start.popped
    }
  }

  private struct RoundStart {
    var popped: UInt64 = 0
    /// The round's number, where it could be published at once.
    var published: UInt64?
    var derived: [any DomainNode] = []
    var woken: [Waiter] = []
  }

  /// Ends the round before, and takes the next commit; nothing is left: stops draining.
  private func begin(
    _ root: any DomainNode, finishing finished: UInt64, _ state: inout State
  ) -> RoundStart {
    var start = RoundStart()
    state.delivered += finished
    state.turnedLive = []
    start.woken = state.takeDueWaiters()
    start.popped = root.pop(&state)
    if start.popped == 0 {
      state.drainer = nil
    } else if state.derived.isEmpty, root.isComputed {
      start.published = publish(root, [], &state)
    } else {
      start.derived = state.derived
    }
    return start
  }

  private func run(_ root: any DomainNode, _ start: RoundStart, _ context: ThreadContext) {
    var derived = start.derived
    var round = start.published
    if round == nil {
      root.compute()
      var late = derived
      repeat {
        for node in late { node.compute() }
        pause(at: .computed)
        // An operator may have caught up and turned live meanwhile: it is part of this round too.
        (late, round) = withLock { state in
          let late = state.turnedLive
          if late.isEmpty { return ([], publish(root, derived, &state)) }
          state.turnedLive = []
          derived += late
          return (late, nil)
        }
      } while round == nil
    }
    guard let round else { return }
    pause(at: .published)
    root.feed(round)
    for node in derived { node.feed(round) }
    // What observers do in their turn is no part of a transaction that puts deliveries off.
    let deferred = context.deferred
    context.deferred = nil
    root.deliver(round)
    for node in derived { node.deliver(round) }
    context.deferred = deferred
    pause(at: .delivered)
    for node in derived { node.endRound() }
    root.endRound()
  }

  private func publish(
    _ root: any DomainNode, _ derived: [any DomainNode], _ state: inout State
  ) -> UInt64 {
    state.round += 1
    root.publish(&state)
    for node in derived { node.publish(&state) }
    for node in state.joining { node.recordInputs(&state) }
    return state.round
  }

  /// Delivers what a root has queued while delivery was put off, unless another thread does so.
  package func drainQueued(_ root: any DomainNode) {
    // Only for something: who waits for the round of a drainer relies on there being one.
    let isDrainer = withLock { $0.committed > $0.delivered && $0.claim(as: .current) }
    if isDrainer { drain(root) }
  }

  // MARK: Derived nodes

  /// Takes a derived node in: from now on its inputs' rounds are recorded for it.
  package func beginJoining(_ node: any DomainNode, _ state: inout State) {
    state.joining.append(node)
  }

  /// Turns a derived node that has caught up live.
  package func endJoining(_ node: any DomainNode, _ state: inout State) {
    state.joining.remove(node)
    let before = state.derived.lastIndex { $0.height <= node.height }
    state.derived.insert(node, at: before.map { $0 + 1 } ?? 0)
    if state.drainer != nil { state.turnedLive.append(node) }
  }

  /// Lets a derived node go. A round in progress still holds it.
  package func remove(_ node: any DomainNode) {
    withLock { state in
      // The caller holds the node, so that nothing is released here.
      state.derived.remove(node)
      state.turnedLive.remove(node)
      state.joining.remove(node)
    }
  }

  // MARK: Waiting

  /// Waits until all that was committed before has reached the immediate observers.
  package func waitUntilDelivered() {
    wait { $0.waiter($1) }
  }

  /// Waits until the round in progress is over; at once where this very thread delivers it.
  package func waitForRoundInProgress() {
    let thread = ThreadID.current
    wait { state, wake in
      let isElsewhere = state.drainer != nil && state.drainer != thread
      return Waiter(delivered: isElsewhere ? state.delivered + 1 : 0, join: 0, wake: wake)
    }
  }

  private func wait(for waiter: (State, @escaping @Sendable () -> Void) -> Waiter) {
    let semaphore = withLock { state -> DispatchSemaphore? in
      let semaphore = DispatchSemaphore(value: 0)
      let waiter = waiter(state) { semaphore.signal() }
      if state.isDue(waiter) { return nil }
      state.waiters.append(waiter)
      return semaphore
    }
    semaphore?.wait()
  }

  /// Like ``waitUntilDelivered()``, without blocking the thread.
  package func delivered() async {
    await withCheckedContinuation { continuation in
      let waits = withLock { state in
        let waiter = state.waiter { continuation.resume() }
        if state.isDue(waiter) { return false }
        state.waiters.append(waiter)
        return true
      }
      if !waits { continuation.resume() }
    }
  }
}

extension [any DomainNode] {
  /// Takes out a node that is there once at most.
  fileprivate mutating func remove(_ node: any DomainNode) {
    // Not by `removeAll`, which moves all that stay one by one.
    if let index = firstIndex(where: { $0 === node }) { remove(at: index) }
  }
}
