import SwappablePrimitives

/// The node of a signal.
///
/// The update of a pass is stored in the node. It becomes an object only if the node has observers,
/// so a chain of operators costs one allocation for each value, however long the chain is.
package final class SignalNode<Value: Sendable>: GraphNode, @unchecked Sendable {
  // Sendable: `committed`, `isFinished`, `latest`, `latestBox`, `hasEnded` and `lazyBoundaryObservers` are
  // guarded by the domain's lock. Only the delivering thread writes `latest` and `hasEnded`, so it
  // may read them without the lock. It owns all other properties. The creator of a derived node
  // owns everything until the node is live. Access is not checked for exclusivity, as in
  // `NodePlace`.

  package let place: NodePlace
  /// The domain of the place, within easy reach: each commit and each read needs it.
  package let domain: Domain
  package let observers: ObserverList
  @exclusivity(unchecked) private var lazyBoundaryObservers: ObserverList?
  /// The same list during a pass that has something for it. The delivering thread owns this, because
  /// another thread may create the list meanwhile.
  @exclusivity(unchecked) private var boundaryObserversOfPass: ObserverList?
  /// Tracks reads of a property's value. Each pass is a change.
  package let tracking = ObservationTracker()

  /// The newest value of a root, delivered or not. Its static type is `Event`, which can be read
  /// without a lookup of generic metadata.
  @exclusivity(unchecked) private var committed: Event?
  /// A Boolean value that indicates whether the end is committed. Nothing follows it.
  @exclusivity(unchecked) private var isFinished = false
  /// A Boolean value that indicates whether new observers receive the latest value first.
  package let remembers: Bool
  /// The value that a new observer receives first.
  @exclusivity(unchecked) package private(set) var latest: Value?
  /// The same value as an object, if there is one.
  @exclusivity(unchecked) private var latestBox: SignalValue<Value>?
  /// A Boolean value that indicates whether the end is published.
  @exclusivity(unchecked) package private(set) var hasEnded = false

  /// The update of the current pass.
  @exclusivity(unchecked) package var update: Value?
  /// A Boolean value that indicates whether the signal ends in the current pass.
  @exclusivity(unchecked) package var ends = false
  /// The update as an object, if there is one.
  @exclusivity(unchecked) private var box: SignalValue<Value>?
  /// The previous value, which must not be released under the lock.
  @exclusivity(unchecked) private var previous: Value?

  /// Computes the update of a derived node. It is `nil` for a root, and after the end.
  @exclusivity(unchecked) private var kernel: ((SignalNode<Value>) -> Void)?

  /// Creates a root.
  ///
  /// - Parameters:
  ///   - domain: The domain of the root.
  ///   - latest: The value that new observers receive first, or `nil` for a signal without memory.
  package convenience init(domain: Domain, latest: Value?) {
    self.init(domain: domain, remembers: latest != nil)
    setLatest(latest)
  }

  /// Creates a root that has no value yet.
  ///
  /// - Parameters:
  ///   - domain: The domain of the root.
  ///   - remembers: A Boolean value that indicates whether new observers receive the latest value
  ///     first.
  ///   - entrance: The entrance of a boundary, or `nil` for other roots.
  ///   - onStart: A closure that is called once, when the signal is observed for the first time.
  package init(
    domain: Domain, remembers: Bool, entrance: Entrance? = nil,
    onStart: (@Sendable (any GraphNode) -> Void)? = nil
  ) {
    self.domain = domain
    observers = ObserverList(domain: domain)
    self.remembers = remembers
    place = NodePlace(
      domain: domain, composesCommits: remembers, entrance: entrance, onStart: onStart)
  }

  /// Creates a derived node and computes its first value.
  ///
  /// - Parameters:
  ///   - inputs: The inputs of the node. There is at least one, and all are in one domain.
  ///   - remembers: A Boolean value that indicates whether new observers receive the latest value
  ///     first.
  ///   - kernel: A closure that sets the update of the node in a pass in which an input has one.
  package init(
    over inputs: [any NodeInput], remembers: Bool, _ kernel: @escaping (SignalNode<Value>) -> Void
  ) {
    domain = inputs[0].node.domain
    observers = ObserverList(domain: domain)
    self.remembers = remembers
    self.kernel = kernel
    place = NodePlace(domain: domain, inputs: inputs)
    join()
  }

  private func setLatest(_ value: Value?) {
    latest = value
    latestBox = value.map { SignalValue($0) }
    committed = latestBox
  }

  // MARK: Committing

  /// The newest value of a property, delivered or not.
  package var current: Value {
    guard let committed = domain.lock.withLock({ _ in committed }) else {
      preconditionFailure("a signal without memory has no newest value")
    }
    return unsafeDowncast(committed, to: SignalValue<Value>.self).value
  }

  /// The latest value, if no commit is pending that may replace it.
  package var settled: Value? {
    domain.lock.withLock { $0.isSettled ? latest : nil }
  }

  /// Sends a value to the observers, after pending ones. After the end, it does nothing.
  package func send(_ value: Value) {
    withExtendedLifetime(commit(value)) {}
    domain.deliver()
  }

  /// Commits a value. The caller then calls `deliver()`.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - tickets: The ticket of a transaction over several domains.
  /// - Returns: Objects to be released.
  package func commit(_ value: Value, tickets: [Ticket] = []) -> (Event?, Event?) {
    commit(SignalValue(value), tickets: tickets)
  }

  private func commit(_ box: SignalValue<Value>, tickets: [Ticket]) -> (Event?, Event?) {
    domain.lock.withLock { state in
      if isFinished { return (nil, nil) }
      let replaced = committed
      if remembers { committed = box }
      return (replaced, enqueue(box, tickets: tickets, &state))
    }
  }

  /// Ends the signal after all pending values.
  package func finish() {
    let released = domain.lock.withLock { state -> Event? in
      if isFinished { return nil }
      isFinished = true
      // The end must not replace the latest value.
      return enqueue(SignalEnd.shared, composes: false, tickets: [], &state)
    }
    _ = consume released
    domain.deliver()
  }

  package func take(_ commit: Event) -> Bool {
    let event = SignalEvent<Value>(commit)
    if event.isEnd {
      ends = true
    } else {
      box = event.box
      update = event.value
    }
    return true
  }

  package func compose(_ commit: Event, with earlier: inout Event) -> Event {
    let replaced = earlier
    earlier = commit
    return replaced
  }

  package func receive(_ event: Event, tickets: [Ticket]) {
    if event === SignalEnd.shared { return finish() }
    // A signal without memory cannot compose two values, so each has a pass of its own.
    let tickets = place.composesCommits ? tickets : []
    let box = unsafeDowncast(event, to: SignalValue<Value>.self)
    withExtendedLifetime(commit(box, tickets: tickets)) {}
    domain.deliver()
  }

  package func boundaryObservers(_ state: inout Domain.State) -> ObserverList {
    let list = lazyBoundaryObservers ?? ObserverList(domain: domain)
    lazyBoundaryObservers = list
    return list
  }

  package func makeFollower(
    in domain: Domain, _ entrance: Entrance, _ state: inout Domain.State
  ) -> SignalNode<Value> {
    let follower = SignalNode(domain: domain, remembers: remembers, entrance: entrance)
    follower.setLatest(latest)
    follower.hasEnded = hasEnded
    return follower
  }

  // MARK: Passes

  package var isChanged: Bool { update != nil || ends }

  package func compute() {
    kernel?(self)
    if ends { kernel = nil }
  }

  package func computeFirst() { compute() }

  package func settle(_ state: inout Domain.State) {
    if let update, remembers {
      previous = latest
      latest = update
    }
    if ends { publishEnd(&state) }
  }

  package func publish(_ state: inout Domain.State) {
    if let update {
      if remembers {
        previous = latest
        latest = update
        // `previous` holds the value of the object before it, so no value is released here.
        latestBox = box
      }
      if let lazyBoundaryObservers, !lazyBoundaryObservers.isEmpty(&state) {
        if box == nil { box = SignalValue(update) }
        lazyBoundaryObservers.publish(box ?? SignalValue(update), &state)
        boundaryObserversOfPass = lazyBoundaryObservers
      }
      if !observers.isEmpty(&state) { observers.publish(box ?? SignalValue(update), &state) }
    }
    if ends { publishEnd(&state) }
  }

  /// Publishes the end, and captures the observers that receive it.
  private func publishEnd(_ state: inout Domain.State) {
    hasEnded = true
    lazyBoundaryObservers?.finish(SignalEnd.shared, &state)
    boundaryObserversOfPass = lazyBoundaryObservers
    observers.finish(SignalEnd.shared, &state)
  }

  package func deliverToBoundaries(_ pass: UInt64) { boundaryObserversOfPass?.deliver(pass) }

  package func deliver(_ pass: UInt64) {
    tracking.hasChanged()
    observers.deliver(pass)
  }

  package func endPass() {
    boundaryObserversOfPass?.endPass()
    boundaryObserversOfPass = nil
    observers.endPass()
    if ends, place.height > 0 { releaseInputs() }
    box = nil
    update = nil
    ends = false
    previous = nil
  }

  // MARK: Observing

  /// Observes the values. A signal with a memory delivers its latest value first. Nothing is started.
  package func observe(
    on scheduler: Scheduler, policy: DeliveryPolicy, keeping kept: AnyObject,
    _ handler: @escaping @Sendable (Value) -> Void, onCompletion: (@Sendable () -> Void)? = nil
  ) -> Disposable {
    guard let schedule = scheduler.schedule else {
      // Without `SignalEvent`, which would be retained for each call
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

  /// Observes the values and the end as they are delivered.
  package func observeEvents(
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

  /// Returns the value that a new observer receives first, under the lock.
  private func rememberedValue() -> SignalValue<Value>? {
    if latestBox == nil { latestBox = latest.map { SignalValue($0) } }
    return latestBox
  }
}

/// A value on its way to observers.
package final class SignalValue<Value: Sendable>: Sendable {
  package let value: Value

  package init(_ value: Value) {
    self.value = value
  }
}

/// The end of a signal on its way to observers. There is one object of it, known without its type.
package final class SignalEnd: Sendable {
  package static let shared = SignalEnd()

  private init() {}
}

/// A value or the end, as observers of a signal receive it.
///
/// This is not an optional value, because code that is not specialized looks up the type of an optional at
/// every step (`EngineBenchmarks property`, 10,000 observers: 1 ms instead of 0.2 ms).
package struct SignalEvent<Value: Sendable>: Sendable {
  package let event: Event

  package init(_ event: Event) {
    self.event = event
  }

  package var isEnd: Bool { event === SignalEnd.shared }

  /// The value. Do not read it at the end.
  package var value: Value { box.value }

  /// The value as an object. Do not read it at the end.
  package var box: SignalValue<Value> { unsafeDowncast(event, to: SignalValue<Value>.self) }
}

/// The pending events of an observer that is called elsewhere: the latest value, and the end.
package struct WaitingSignal<Value: Sendable>: Mergeable {
  private(set) package var value: SignalValue<Value>?
  private(set) package var isEnd: Bool

  package init(_ event: SignalEvent<Value>) {
    isEnd = event.isEnd
    value = isEnd ? nil : event.box
  }

  package mutating func merge(with later: Self) -> SignalValue<Value>? {
    let replaced = later.value == nil ? nil : value
    value = later.value ?? value
    isEnd = later.isEnd
    return replaced
  }
}
