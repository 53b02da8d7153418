package import SwappablePrimitives
import Synchronization

/// The node of a signal of whatever values.
package protocol AnySignalNode: DomainNode {
  /// Sets going what waits for the first observer, here and upstream.
  func start()
}

/// The node of a signal: its root, unless it is derived.
///
/// What a round brings is kept in the nodes themselves; an object is made of it only where somebody
/// observes. So a chain of operators costs one allocation for each value, however long it is.
package class SignalNode<Value: Sendable>: AnySignalNode, @unchecked Sendable {
  // Sendable: `sources`, `queue`, `committed`, `isFinished`, `latest`, `latestBox` and `hasEnded` are
  // guarded by the domain's lock; the rest that changes is owned by the drainer.

  package let domain: Domain
  package let height: Int
  package let observers: ObserverList
  /// Those who have read a property's value, whose rounds all bring one; told before the observers.
  package let tracking = Tracking()
  /// What this is derived from, in whatever domain.
  private var sources: [any AnySignalNode]
  /// So that what is reached by many ways is not gone through for each of them.
  private let isStarted = Atomic<Bool>(false)
  /// What is not yet delivered, oldest first.
  private var queue = EventQueue()
  /// The newest value as an object, delivered or not. It is read where its type need not be looked up.
  private var committed: Event?
  /// Whether the end is committed: nothing follows it.
  private var isFinished = false
  /// Whether new observers are told the newest value first.
  package let remembers: Bool
  /// The value that a new observer is told first; nil for a signal without memory.
  package final var latest: Value?
  /// The same as an object, where there is one already.
  private var latestBox: SignalValue<Value>?
  /// Whether the end is published.
  private(set) package final var hasEnded = false

  /// What the round in progress brings, and whether it is the last.
  package final var update: Value?
  package final var ends = false
  /// The same as an object, where there is one already.
  private var box: SignalValue<Value>?
  /// Kept until the round is over, so that no value is released under the lock.
  private var previous: Value?

  /// Makes a root.
  ///
  /// - Parameter latest: What it remembers; nil for a signal without memory.
  package convenience init(domain: Domain, latest: Value?) {
    self.init(domain: domain, remembers: latest != nil)
    self.latest = latest
    latestBox = latest.map { SignalValue($0) }
    committed = latestBox
  }

  package init(
    domain: Domain, height: Int = 0, remembers: Bool, sources: [any AnySignalNode] = []
  ) {
    observers = ObserverList(domain: domain)
    self.remembers = remembers
    self.domain = domain
    self.height = height
    self.sources = sources
  }

  package final var upstream: [any DomainNode] { domain.withLock { _ in sources } }

  /// Lets go of what this is derived from: it has ended, though that goes on.
  package final func letGoOfSources() {
    let released = domain.withLock { _ in
      let released = sources
      sources = []
      return released
    }
    _ = consume released
  }

  package final func start() {
    if isStarted.exchange(true, ordering: .relaxed) { return }
    for source in domain.withLock({ _ in sources }) { source.start() }
    begin()
  }

  /// Sets going what waits here; called once.
  package func begin() {}

  // MARK: Committing

  /// The newest value, delivered or not; only of a signal with a memory.
  package final var current: Value {
    guard let committed = domain.withLock({ _ in committed }) else {
      preconditionFailure("the newest value of a signal without memory")
    }
    return unsafeDowncast(committed, to: SignalValue<Value>.self).value
  }

  /// The newest value, if nothing is on its way that may replace it.
  package final var settled: Value? {
    // Each commit of a signal's root is a round.
    domain.withLock { $0.committed == $0.round ? latest : nil }
  }

  /// Sends a value to the observers, behind those already on their way; nothing after the end.
  package final func send(_ value: Value) {
    commit(value) {}
  }

  /// Sends a value, and calls `unlocked` between its commit and its delivery.
  package final func commit(_ value: Value, unlocked: () -> Void) {
    let box = SignalValue(value)
    let thread = ThreadID.current
    let (isDrainer, replaced) = domain.withLock { state -> (Bool, Event?) in
      if isFinished { return (false, nil) }
      let replaced = committed
      if remembers { committed = box }
      return (enqueue(box, by: thread, &state), replaced)
    }
    unlocked()
    // Another thread may have delivered meanwhile, and this be the last reference.
    _ = consume replaced
    if isDrainer { domain.drain(self) }
  }

  /// Ends the signal, behind the values already on their way.
  package final func finish() {
    let thread = ThreadID.current
    let isDrainer = domain.withLock { state in
      if isFinished { return false }
      isFinished = true
      return enqueue(SignalEnd.shared, by: thread, &state)
    }
    if isDrainer { domain.drain(self) }
  }

  /// Puts something into the queue, for `take(_:)`.
  ///
  /// - Returns: Whether the caller must drain.
  package final func enqueue(
    _ event: Event, by thread: ThreadID, _ state: inout Domain.State
  ) -> Bool {
    queue.append(event)
    return state.enqueued(by: thread)
  }

  // MARK: Rounds

  package final func pop(_ state: inout Domain.State) -> UInt64 {
    guard let next = queue.popFirst() else { return 0 }
    take(next)
    return 1
  }

  /// Takes what the queue began with, under the lock.
  package func take(_ next: Event) {
    let event = SignalEvent<Value>(next)
    ends = event.isEnd
    if ends { return }
    box = event.box
    update = event.value
  }

  package func recordInputs(_ state: inout Domain.State) {}

  package var isComputed: Bool { true }

  package func compute() {}

  package final func feed(_ round: UInt64) {}

  package final func publish(_ state: inout Domain.State) {
    if let update {
      if remembers {
        previous = latest
        latest = update
        // What the one before it held is in `previous` too: no value is released here.
        latestBox = box
      }
      if !observers.isEmpty(&state) { observers.publish(box ?? SignalValue(update), &state) }
    }
    if ends { publishEnd(&state) }
  }

  /// Notes the end, and captures who is to be told.
  package final func publishEnd(_ state: inout Domain.State) {
    hasEnded = true
    observers.finish(SignalEnd.shared, &state)
  }

  package final func deliver(_ round: UInt64) {
    tracking.hasChanged()
    observers.deliver(round)
  }

  package func endRound() {
    observers.endRound()
    box = nil
    update = nil
    ends = false
    previous = nil
  }

  // MARK: Observing

  /// Subscribes; with a memory, the newest published value comes first. Nothing is set going.
  package final func observe(
    on scheduler: Scheduler, policy: DeliveryPolicy, keeping kept: AnyObject,
    _ handler: @escaping @Sendable (Value) -> Void, onCompletion: (@Sendable () -> Void)? = nil
  ) -> Disposable {
    guard let schedule = scheduler.schedule else {
      // As it is and not by `SignalEvent`, which would be retained for each call
      // (`EngineBenchmarks property`, 10,000 observers).
      return join(keeping: kept) { event in
        if event === SignalEnd.shared {
          onCompletion?()
        } else {
          handler(unsafeDowncast(event, to: SignalValue<Value>.self).value)
        }
      }
    }
    let mailbox = Mailbox<WaitingSignal<Value>>(on: schedule, policy: policy) { waiting, mailbox in
      if let box = waiting.value { handler(box.value) }
      guard waiting.isEnd else { return }
      if !mailbox.isOver { onCompletion?() }
      mailbox.retire()
    }
    return join(keeping: kept, mailbox: mailbox) { mailbox.post(WaitingSignal(SignalEvent($0))) }
  }

  /// Subscribes to values and the end, as they are delivered.
  package final func observeEvents(
    keeping kept: AnyObject, _ handler: @escaping @Sendable (SignalEvent<Value>) -> Void
  ) -> Disposable {
    join(keeping: kept) { handler(SignalEvent($0)) }
  }

  private func join(
    keeping kept: AnyObject, mailbox: (any MailboxFlushing)? = nil,
    _ handler: @escaping @Sendable (Event) -> Void
  ) -> Disposable {
    let observation = observers.join(
      handler, mailbox: mailbox,
      capture: { _ in rememberedValue() }, first: handler)
    return Disposable(observation, keeping: kept)
  }

  /// What a new observer is told first; under the lock.
  private func rememberedValue() -> SignalValue<Value>? {
    if latestBox == nil { latestBox = latest.map { SignalValue($0) } }
    return latestBox
  }
}
