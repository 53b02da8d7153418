/// A value on its way to observers; merged, the later one stands for both.
package final class SignalValue<Value: Sendable>: Mergeable {
  package typealias Released = SignalValue

  package let value: Value

  init(_ value: Value) {
    self.value = value
  }

  /// What observers of a node of this type of values are given.
  static func read(_ event: Event) -> SignalValue<Value> {
    unsafeDowncast(event, to: SignalValue<Value>.self)
  }
}

/// The node of a signal: its root, unless it is derived.
package class SignalNode<Value: Sendable>: DomainNode, @unchecked Sendable {
  // Sendable: `queue`, `committed` and `latest` are guarded by the domain's lock; `update` and
  // `previous` are owned by the drainer.

  package let domain: Domain
  package let height: Int
  package let observers: ObserverList
  /// The values not yet delivered, oldest first.
  private var queue = EventQueue()
  private var committed: SignalValue<Value>?
  /// Whether new observers are told the newest value first.
  fileprivate let remembers: Bool
  /// The value that a new observer is told first; nil for a signal without memory.
  fileprivate var latest: SignalValue<Value>?
  /// What the round in progress brings.
  fileprivate var update: SignalValue<Value>?
  /// Kept until the round is over, so that no value is released under the lock.
  private var previous: SignalValue<Value>?

  package convenience init(domain: Domain, latest: Value?) {
    self.init(domain: domain, height: 0, latest: latest, remembers: latest != nil)
  }

  fileprivate init(domain: Domain, height: Int, latest: Value?, remembers: Bool) {
    observers = ObserverList(domain: domain)
    self.latest = latest.map { SignalValue($0) }
    self.remembers = remembers
    committed = self.latest
    self.domain = domain
    self.height = height
  }

  package var upstream: [any DomainNode] { [] }

  /// The newest value, delivered or not; nil for a signal without memory.
  package var current: Value? {
    domain.withLock { _ in committed }?.value
  }

  /// Sends a value to the observers, behind those already on their way.
  package func send(_ value: Value) {
    commit(value) {}
  }

  /// Sends a value, and calls `unlocked` between its commit and its delivery.
  package func commit(_ value: Value, unlocked: () -> Void) {
    let thread = ThreadID.current
    let event = SignalValue(value)
    let (isDrainer, replaced) = domain.withLock { state in
      queue.append(event)
      let replaced = committed
      if remembers { committed = event }
      return (state.enqueued(by: thread), replaced)
    }
    unlocked()
    // Another thread may have delivered meanwhile, and this be the last reference.
    _ = consume replaced
    if isDrainer { domain.drain(self) }
  }

  package func pop(_ state: inout Domain.State) -> UInt64 {
    guard let next = queue.popFirst() else { return 0 }
    update = .read(next)
    return 1
  }

  package func recordInputs(_ state: inout Domain.State) {}

  package var isComputed: Bool { true }

  package func compute() {}

  package func feed(_ round: UInt64) {}

  package func publish(_ state: inout Domain.State) {
    guard let update else { return }
    if remembers {
      previous = latest
      latest = update
    }
    observers.publish(update, &state)
  }

  package func deliver(_ round: UInt64) {
    observers.deliver(round)
  }

  package func endRound() {
    observers.endRound()
    update = nil
    previous = nil
  }

  /// Subscribes; with a memory, the newest published value comes first.
  package func observe(
    on scheduler: Scheduler, policy: DeliveryPolicy, keeping kept: AnyObject,
    _ handler: @escaping @Sendable (Value) -> Void
  ) -> Disposable {
    let observation: Observation
    if let schedule = scheduler.schedule {
      let mailbox = Mailbox<SignalValue<Value>>(on: schedule, policy: policy) { value, _ in
        handler(value.value)
      }
      observation = observers.join(
        { mailbox.post(.read($0)) }, mailbox: mailbox, capture: { _ in latest },
        first: { mailbox.post(.read($0)) })
    } else {
      observation = observers.join(
        { handler(SignalValue<Value>.read($0).value) }, capture: { _ in latest },
        first: { handler(SignalValue<Value>.read($0).value) })
    }
    return Disposable(observation, keeping: kept)
  }
}

/// A node that makes its values from those of another signal of the domain.
package final class DerivedSignalNode<Input: Sendable, Value: Sendable>: SignalNode<Value>,
  @unchecked Sendable
{
  // Sendable: `step` is called by whoever creates the node, until it is live, and by the drainer
  // from then on; `missed` is guarded by the domain's lock.

  private let input: SignalNode<Input>
  private let step: (Input) -> Value?
  private var missed: [SignalValue<Input>] = []

  /// Derives a signal; the closure runs once for each value, whoever observes.
  ///
  /// - Parameters:
  ///   - input: What it is derived from.
  ///   - step: Makes a value, or nil for none.
  package init(_ input: SignalNode<Input>, _ step: @escaping (Input) -> Value?) {
    self.input = input
    self.step = step
    super.init(
      domain: input.domain, height: input.height + 1, latest: nil, remembers: input.remembers)
    var inputs = domain.withLock { state in
      domain.beginJoining(self, &state)
      return input.latest.map { [$0] } ?? []
    }
    while true {
      for value in inputs {
        if let made = step(value.value) { latest = SignalValue(made) }
      }
      domain.pause(at: .caughtUp)
      inputs = domain.withLock { state in
        let inputs = missed
        missed = []
        if inputs.isEmpty { domain.endJoining(self, &state) }
        return inputs
      }
      if inputs.isEmpty { return }
    }
  }

  package override var upstream: [any DomainNode] { [input] }

  package override func recordInputs(_ state: inout Domain.State) {
    if let value = input.update { missed.append(value) }
  }

  package override func compute() {
    update = input.update.flatMap { step($0.value) }.map { SignalValue($0) }
  }
}
