import Dispatch
package import SwappablePrimitives

/// The unit of ordering and delivery: one or more roots and everything derived from them.
///
/// One lock guards the pending commits, the identity of the delivering thread, and the published state
/// and observer lists of all nodes. No user code runs while the lock is held, and a thread that holds the lock never
/// waits for that of another domain.
///
/// Each thread calls `deliver()` after it has queued a commit. If no other thread delivers, it becomes the
/// *delivering thread*. It runs one propagation pass after another until no commit is pending. The delivering
/// thread also delivers the commits that an observer or another thread queues meanwhile.
///
/// A commit takes this way: `Node.commit`, `deliver`, `takeNext`, `run`, `propagate` (which computes nodes by
/// height, and then publishes them), the observers in other domains, `ObserverList.deliver`, the observers.
@usableFromInline
package final class Domain: @unchecked Sendable {
  // Sendable: the delivering thread, of which there is one at a time, owns `pass`. Access is not checked for
  // exclusivity at run time: no code that reads a property runs while it is written.

  /// A closure that lets a test hold a thread, or `nil`.
  let pauseHook: PauseHook?
  package let lock = Locked(State())
  @exclusivity(unchecked) var pass = PassState()

  package init(pauseHook: PauseHook? = nil) {
    self.pauseHook = pauseHook
  }

  /// Shows that the domain's lock is held: only the state inside the lock has one.
  struct Key: Sendable {
    fileprivate init() {}
  }

  /// Everything that the domain's lock guards. Access to it proves that the lock is held.
  package struct State: Sendable {
    /// Opens what the lock guards in nodes.
    let key = Key()
    /// The number of commits ever queued.
    var committed: UInt64 = 0
    /// The number of commits whose pass is published.
    var published: UInt64 = 0
    /// The number of commits whose pass has ended.
    var delivered: UInt64 = 0
    /// The number of the pass that was published last.
    package internal(set) var passNumber: UInt64 = 0

    var pending = PendingCommits(key: Key())
    /// The nodes through which commits of other domains enter. They decide whether this domain must wait
    /// for a transaction's other participants.
    var externalInputs: [ExternalInputs] = []
    /// The domains upstream, after a number of changes of the dependency graph.
    var upstream = (changes: UInt64.max, domains: Set<ObjectIdentifier>())

    var deliveringThread: ThreadID?
    /// The numbers of passes that have begun and that have ended. They differ during a pass.
    var passesBegun: UInt64 = 0
    var passesEnded: UInt64 = 0
    /// Tickets that are not ready, if all pending commits wait for one of them. A further commit to one of their
    /// roots waits too. `recheckTickets()` ends this.
    var waitsFor: Set<ObjectIdentifier> = []
    /// A Boolean value that indicates whether the delivering thread must look for ready tickets again.
    var mustRecheckTickets = false

    /// Nodes that have become live since the current pass began, in that order.
    var turnedLive: [Node] = []
    /// The creator of a node that cannot catch up. It becomes the delivering thread after the
    /// current pass.
    var successor: ThreadID?

    /// Nodes that are computing their first state.
    var catchingUp: [Node] = []

    /// Counts the work of passes, if somebody has asked for it.
    var meter: Meter?
    /// The number of times that counting has begun.
    var epoch: UInt64 = 0

    private var waiters: [Waiter] = []
    /// The number of the latest observer that received a first event, and of those still catching up.
    fileprivate private(set) var lastCatchUp: UInt64 = 0
    private var openCatchUps: [UInt64] = []

    /// A Boolean value that indicates whether every commit is published.
    var isSettled: Bool { committed == published }

    /// Claims delivery for a thread, if no other thread is delivering and a commit may be ready.
    mutating func claim(as thread: ThreadID) -> Bool {
      guard deliveringThread == nil, waitsFor.isEmpty else { return false }
      deliveringThread = thread
      return true
    }

    /// Records that an observer receives its first events on its own thread.
    package mutating func beginCatchUp() -> UInt64 {
      lastCatchUp += 1
      openCatchUps.append(lastCatchUp)
      return lastCatchUp
    }

    /// Records that the observer has caught up.
    package mutating func endCatchUp(_ catchUp: UInt64) {
      openCatchUps.removeAll { $0 == catchUp }
    }

    /// Adds a waiter, and returns `true`, unless its condition holds already.
    fileprivate mutating func add(_ waiter: Waiter) -> Bool {
      if isDue(waiter) { return false }
      waiters.append(waiter)
      return true
    }

    private func isDue(_ waiter: Waiter) -> Bool {
      guard delivered >= waiter.delivered, passesEnded >= waiter.passesEnded else { return false }
      guard let oldest = openCatchUps.first else { return true }
      return oldest > waiter.catchUp
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
    fileprivate var delivered: UInt64 = 0
    fileprivate var catchUp: UInt64 = 0
    fileprivate var passesEnded: UInt64 = 0
    package let wake: @Sendable () -> Void
  }

  /// The number of commits that wait for a pass.
  package var pendingCount: Int { lock.withLock { $0.pending.count } }

  /// The number of tickets that these commits carry.
  package var pendingTicketCount: Int { lock.withLock { $0.pending.ticketCount } }

  /// Lets a test hold the thread here.
  package func pause(at point: PausePoint) {
    pauseHook?(point)
  }

  // MARK: Waiting

  /// Waits until everything committed so far has reached the immediate observers.
  package func waitUntilDelivered() {
    let semaphore = Semaphore(value: 0)
    callWhenDelivered { semaphore.signal() }
    semaphore.wait()
  }

  /// Waits like ``waitUntilDelivered()``, without blocking the thread, or until the task is canceled.
  package func delivered() async {
    await awaitCallback { callback in callWhenDelivered { callback(()) } }
  }

  private func callWhenDelivered(_ wake: @escaping @Sendable () -> Void) {
    let waits = lock.withLock { state in
      state.add(Waiter(delivered: state.committed, catchUp: state.lastCatchUp, wake: wake))
    }
    if !waits { wake() }
  }

  /// Waits for the end of the pass that another thread is running.
  func waitForPassInProgress() {
    let (thread, semaphore) = (ThreadID.current, Semaphore(value: 0))
    let waits = lock.withLock { state in
      guard state.passesBegun > state.passesEnded, state.deliveringThread != thread else {
        return false
      }
      return state.add(Waiter(passesEnded: state.passesBegun) { semaphore.signal() })
    }
    if waits { semaphore.wait() }
  }
}

// MARK: Propagation passes

extension Domain {
  /// The number of derived nodes that passes have computed so far.
  package var visits: Int { lock.withLock { _ in pass.visits } }

  /// The number of commits that searches for the next pass have looked at so far.
  package var searchSteps: Int { lock.withLock { $0.pending.steps } }

  /// Delivers pending commits until none is left, unless a thread is delivering already.
  ///
  /// The domains downstream deliver before the observers of a pass are called. They do so in a loop, because a chain of
  /// domains may need more than the stack.
  ///
  /// - Parameter isClaimed: A Boolean value that indicates whether the caller is the delivering thread already.
  @usableFromInline
  package func deliver(isClaimed: Bool = false) {
    let context = ThreadContext.current
    let transaction = context.beginDelivery()
    defer { context.endDelivery(transaction) }
    let (bottom, start) = (context.suspended.count, context.followers.count)
    var delivery = Delivery(domain: self, isClaimed: isClaimed)
    while true {
      delivery.domain.proceed(&delivery, context)
      if context.followers.count > start {
        context.suspended.append(delivery)
        while context.followers.count > start {
          context.suspended.append(Delivery(domain: context.followers.removeLast()))
        }
      }
      if context.suspended.count == bottom { return }
      delivery = context.suspended.removeLast()
    }
  }

  /// Delivers as soon as the boundary observers of the pass that calls this have returned.
  package func deliverNext() { ThreadContext.current.followers.append(self) }

  /// How far a thread has come with the delivery of a domain.
  struct Delivery {
    let domain: Domain
    /// A Boolean value that indicates whether it is the delivering thread.
    var isClaimed = false
    /// A Boolean value that indicates whether a pass is published, and has not called all of its observers.
    var isPublished = false
    /// The number of commits of the pass that has ended.
    var finished: UInt64 = 0
  }

  /// Delivers until nothing is left, or until other domains, which are then in `context.followers`, must deliver first.
  private func proceed(_ delivery: inout Delivery, _ context: ThreadContext) {
    let (thread, start) = (ThreadID.current, context.followers.count)
    if pauseHook != nil, !delivery.isPublished {
      // A thread that a test holds here delivers what other threads commit meanwhile.
      if !delivery.isClaimed { delivery.isClaimed = lock.withLock { $0.claim(as: thread) } }
      if !delivery.isClaimed { return }
      pause(at: .committed)
    }
    while true {
      if delivery.isPublished {
        if !pass.tickets.isEmpty {
          context.followers += finish(pass.tickets)
          pass.tickets = []
          if context.followers.count > start { return }
        }
        callObservers()
        endPass()
        (delivery.isPublished, delivery.finished) = (false, pass.taken)
        if pass.isWaiting {
          pass.isWaiting = false
          DependencyGraph.removeWaiting(self)
        }
      }
      let (step, woken) = lock.withLock { state -> (Step, [Waiter]) in
        if !delivery.isClaimed {
          guard state.claim(as: thread) else { return (.none, []) }
          delivery.isClaimed = true
        }
        if delivery.finished > 0 {
          state.delivered += delivery.finished
          state.passesEnded = state.passesBegun
        }
        // A node is removed here before it is released, so nothing is deinitialized.
        state.turnedLive = []
        let woken = state.takeDueWaiters()
        return (takeNext(&state), woken)
      }
      delivery.finished = 0
      for waiter in woken { waiter.wake() }
      switch step {
      case .none: return
      case .pass:
        run()
        delivery.isPublished = true
        if context.followers.count > start { return }
      case .unknown(let tickets):
        // Wait for one ticket of a group. If the domain is behind, this is the latest: waiting for each
        // of many would search the whole group again for each.
        _ = tickets.first { !pass.checks.check($0, for: self) }
        if !pass.checks.waiting.isEmpty, !pass.isWaiting {
          // Check them again after that: the graph may have changed before.
          pass.isWaiting = true
          DependencyGraph.addWaiting(self)
          pass.checks = TicketCheck()
        }
      }
    }
  }

  /// The tickets that were found to be ready or not.
  struct TicketCheck {
    var ready: Set<ObjectIdentifier> = []
    var waiting: Set<ObjectIdentifier> = []

    /// Returns whether a ticket is ready, and remembers it.
    mutating func check(_ ticket: Ticket, for domain: Domain) -> Bool {
      let isReady = ticket.isReady(for: domain)
      if isReady {
        ready.insert(ObjectIdentifier(ticket))
      } else {
        waiting.insert(ObjectIdentifier(ticket))
      }
      return isReady
    }
  }

  /// The next step of the delivering thread.
  private enum Step {
    /// Run the pass whose commits are taken.
    case pass
    /// Find out whether these tickets are ready.
    case unknown([Ticket])
    /// Nothing: another thread delivers, or nobody.
    case none
  }

  /// Takes the commits of the next pass. If there are none, stops delivering.
  private func takeNext(_ state: inout State) -> Step {
    if state.successor != nil { return stop(&state) }
    if let entry = state.pending.takeFirst(hasExternalInputs: !state.externalInputs.isEmpty) {
      let root = entry.root
      pass.begin(1, &state)
      pass.heldCommit = entry.commit
      pass.roots.append(root)
      pass.isComplete = root.take(entry.commit)
      if !entry.tickets.isEmpty { pass.tickets = Ticket.distinct(entry.tickets) }
      if pass.isComplete, !root.hasChildren(state.key) {
        root.publish(&state)
        pass.number = endPublishing(&state)
      } else if pass.isComplete {
        scheduleChildren(of: root, &state)
      }
      return .pass
    }
    while !state.pending.isEmpty {
      switch state.pending.takeNext(ready: pass.checks.ready, waiting: pass.checks.waiting) {
      case .unknown(let unknown): return .unknown(unknown)
      case .pass(let entries):
        pass.begin(UInt64(entries.count), &state)
        // `compute()` completes the updates without the lock, because composing compares elements.
        (pass.held, pass.isComplete) = (entries, false)
        for entry in entries {
          if !entry.root.isChanged { pass.roots.append(entry.root) }
          _ = entry.root.take(entry.commit)
        }
        pass.tickets = Ticket.distinct(entries.flatMap(\.tickets))
        return .pass
      case .waiting:
        if !state.mustRecheckTickets {
          state.waitsFor = pass.checks.waiting
          return stop(&state)
        }
        state.mustRecheckTickets = false
        pass.checks.waiting = []
      }
    }
    return stop(&state)
  }

  /// Stops delivering, or lets the successor continue.
  private func stop(_ state: inout State) -> Step {
    pass.checks = TicketCheck()
    state.deliveringThread = state.successor.take()
    return .none
  }

  /// Runs a pass, and calls the observers in other domains.
  private func run() {
    pass.meter?.resume()
    propagate()
    pause(at: .published)
    // What leaves the domain on several ways may be joined downstream, and arrives there in one pass.
    if pass.exits > 1, pass.tickets.isEmpty { pass.tickets = [Ticket(self)] }
    if pass.exits > 0 { pass.meter?.pause() }
    for node in pass.changed where node.pass.receivers.contains(.otherDomains) {
      node.boundaryObservers?.deliver(pass.number)
    }
  }

  /// Calls the other observers of a pass.
  private func callObservers() {
    for root in pass.roots { root.reportDroppedChange() }
    if pass.exits > 0 { pass.meter?.resume() }
    pass.exits = 0
    for node in pass.changed where !node.pass.receivers.isEmpty {
      node.reportChange()
      if node.pass.receivers.contains(.observers) { node.observers.deliver(pass.number) }
      if node.pass.receivers.contains(.statusObservers) {
        node.statusObservers.deliver(pass.number)
      }
      pass.meter?.countObservers(of: node)
    }
    pass.meter?.endPass(changed: pass.changed.count)
    pause(at: .delivered)
  }

  /// Releases what belongs to the pass. Arrays keep their memory: allocating one for each pass takes a fifth of a pass over a
  /// chain.
  private func endPass() {
    // The highest first: if this array holds the last references, a chain is not released recursively.
    while let node = pass.changed.popLast() { node.endPass() }
    pass.roots.removeAll(keepingCapacity: pass.roots.count <= 64)
    _ = pass.heldCommit.take()
    let held = pass.held
    pass.held = []
    withExtendedLifetime(held) {}
  }

  /// Computes every node downstream of the changed roots, by height, and publishes the changed ones.
  private func propagate() {
    for root in pass.roots {
      if pass.isComplete {
        pass.meter?.count(root)
        pass.changed.append(root)
      } else {
        compute(root)
      }
    }
    if pass.number > 0 { return }
    var height = 1
    while true {
      while height < pass.scheduled.count {
        // A node schedules only nodes above it.
        var scheduled = pass.scheduled[height].first.take()
        // Moved from variable to variable, because a copy would be counted.
        while let node = scheduled.take() {
          scheduled = node.pass.nextScheduled.take()
          pass.visits += 1
          compute(node)
        }
        height = min(height + 1, pass.lowestLate)
        pass.lowestLate = .max
      }
      pause(at: .computed)
      // A node may have caught up and become live meanwhile. It is part of this pass too.
      let late = lock.withLock { state -> [Node] in
        let late = state.turnedLive
        state.turnedLive = []
        if late.isEmpty {
          for node in pass.changed { node.publish(&state) }
          pass.number = endPublishing(&state)
        }
        return late
      }
      if late.isEmpty { return }
      scheduleLate(late)
      (height, pass.lowestLate) = (1, .max)
    }
  }

  private func compute(_ node: Node) {
    node.compute()
    pass.meter?.count(node)
    guard node.isChanged || node.hasChangedParts(in: pass.mark) else { return }
    lock.withLock { scheduleChildren(of: node, &$0) }
    if node.isChanged { pass.changed.append(node) }
  }

  /// Schedules the nodes that are derived from a changed node or from its changed parts, under the lock.
  ///
  /// Nodes that became live meanwhile are scheduled as well, because a child may be derived from one of them: both
  /// became live in this order.
  private func scheduleChildren(of node: Node, _ state: inout State) {
    if !state.turnedLive.isEmpty {
      scheduleLate(state.turnedLive)
      state.turnedLive = []
    }
    if node.isChanged, let children = node[state.key].children { schedule(children) }
    guard let parts = node.parts else { return }
    for part in node.isStatusStep ? parts.inUse : parts.changed { schedule(part) }
  }

  /// Schedules nodes that became live in this pass. They may be lower than nodes that are computed already.
  private func scheduleLate(_ nodes: [Node]) {
    for node in nodes where node.pass.mark != pass.mark {
      pass.schedule(node)
      pass.lowestLate = min(pass.lowestLate, node.height)
    }
  }

  /// Schedules the nodes of a list, under the lock.
  private func schedule(_ children: Dependents) {
    for index in children.slots.indices {
      if let child = children.slots[index]?.node, child.pass.mark != pass.mark {
        pass.schedule(child)
      }
    }
  }

  private func endPublishing(_ state: inout State) -> UInt64 {
    state.passNumber += 1
    state.published += pass.taken
    for node in state.catchingUp { node.recordInputs(in: state.passesBegun) }
    return state.passNumber
  }

  // MARK: Tickets

  /// Marks tickets whose commits are no longer in progress in this domain, so the domains that
  /// waited for them can continue.
  ///
  /// - Returns: These domains. They must deliver.
  func finish(_ tickets: [Ticket]) -> [Domain] {
    var seen: Set<ObjectIdentifier> = []
    return tickets.flatMap { $0.finish(ObjectIdentifier(self)) }.filter {
      seen.insert(ObjectIdentifier($0)).inserted && $0.mustDeliver()
    }
  }

  /// Looks again which commits are ready, because a ticket has made progress.
  func recheckTickets() { if mustDeliver() { deliver() } }

  /// Returns whether commits are pending. Their tickets are looked at again.
  private func mustDeliver() -> Bool {
    lock.withLock { state in
      state.waitsFor = []
      // The delivering thread looks again before it stops.
      if state.deliveringThread != nil { state.mustRecheckTickets = true }
      return !state.pending.isEmpty
    }
  }
}

/// The pass of the delivering thread, and what is kept from one pass to the next.
struct PassState {
  /// The number of commits that the pass has taken.
  private(set) var taken: UInt64 = 0
  /// The number of the pass, once it is published. 0 before.
  var number: UInt64 = 0
  /// The value of `Node.Pass.mark` for nodes that the pass has scheduled.
  private(set) var mark: UInt64 = 0
  /// A Boolean value that indicates whether there is one root, its update is complete, and its children are scheduled.
  var isComplete = true
  /// The roots to which these commits were made.
  var roots: [Node] = []
  /// The nodes that the pass has changed.
  var changed: [Node] = []
  /// The commits that were taken, to be released outside the lock.
  var held: [PendingCommits.Entry] = []
  /// The commit that was taken, if the pass has only one.
  var heldCommit: (any NodeUpdate)?
  /// Counts the work of the pass, or `nil`.
  private(set) var meter: Meter?
  /// The tickets of the commits that the pass delivers, each once.
  var tickets: [Ticket] = []
  /// The tickets that were looked at since the latest pass.
  var checks = Domain.TicketCheck()
  /// The number of observers in other domains that receive an update of the pass.
  var exits = 0
  /// A Boolean value that indicates whether the domain waits for tickets. If it does, a change of
  /// the dependency graph makes it recheck them.
  var isWaiting = false
  /// The nodes to compute, by height: the first and the last one. Each links to the next, and keeps it alive.
  var scheduled: [(first: Node?, last: Unmanaged<Node>?)] = []
  /// The lowest height of the nodes that became live in this pass and are not computed, or `Int.max`.
  var lowestLate = Int.max
  /// The number of derived nodes that were ever computed by a pass. Tests count them.
  var visits = 0

  /// Begins a pass, under the lock.
  ///
  /// - Parameter commits: The number of commits that it takes.
  mutating func begin(_ commits: UInt64, _ state: inout Domain.State) {
    state.passesBegun += 1
    (taken, number, mark) = (commits, 0, state.passesBegun)
    checks = Domain.TicketCheck()
    meter = state.meter
  }

  /// Adds a node to the nodes to compute.
  mutating func schedule(_ node: Node) {
    node.pass.mark = mark
    while scheduled.count <= node.height { scheduled.append((nil, nil)) }
    if scheduled[node.height].first == nil {
      scheduled[node.height].first = node
    } else {
      scheduled[node.height].last?._withUnsafeGuaranteedRef { $0.pass.nextScheduled = node }
    }
    scheduled[node.height].last = .passUnretained(node)
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
  /// A swap withholds edits of the old source, but has not begun to compute the difference.
  case swapFrozen
  /// A swap has computed its difference, but has not committed it yet.
  case swapComputed
}

/// A closure that a test calls at the engine's pause points. No lock is held.
package typealias PauseHook = @Sendable (PausePoint) -> Void
