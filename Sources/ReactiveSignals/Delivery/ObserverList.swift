import Synchronization

/// What a round brings to a node, as its observers get it.
///
/// It is an object whose type the node knows: the machinery of delivery is not generic, because generic
/// code that is not specialised looks its types up at every step (`EngineBenchmarks commit`, without
/// observers: 2.9 µs so, 1.1 µs as it is).
package typealias Event = any AnyObject & Sendable

/// The observers of one node that get one kind of event, in the order in which they subscribed.
package final class ObserverList: @unchecked Sendable {
  // Sendable: `slots`, `vacant`, `joining`, `ending` and `hasLetGo` are guarded by the domain's lock;
  // `event`, `end` and `captured` are owned by the drainer, which is handed on under that lock.

  // While one of these is written, no code runs that reaches it: checking that at run time takes a
  // quarter of the instructions of a late subscription (`valgrind --tool=callgrind`).

  package let domain: Domain
  @exclusivity(unchecked) private var slots: [Observation?] = []
  @exclusivity(unchecked) private var vacant = 0
  @exclusivity(unchecked) private var joining: [Observation] = []
  /// The end, once it was published: what late observers are told, and nothing comes after.
  @exclusivity(unchecked) private var ending: Event?
  /// Whether the end was told, and those who were told it are held no more.
  @exclusivity(unchecked) private var hasLetGo = false
  @exclusivity(unchecked) private var event: Event?
  @exclusivity(unchecked) private var end: Event?
  @exclusivity(unchecked) private var captured: [Observation?] = []

  package init(domain: Domain) {
    self.domain = domain
  }

  /// Whether nobody observes.
  package func isEmpty(_ state: inout Domain.State) -> Bool {
    slots.count == vacant
  }

  // MARK: Subscribing

  /// Takes in an observer that is first to be called with something of the moment.
  ///
  /// It is registered under the lock, so that nothing is lost between what `capture` reads and the
  /// next event; the events of rounds that come while the first is being delivered wait for it.
  ///
  /// - Parameters:
  ///   - handler: Called with each event, by the drainers.
  ///   - mailbox: Where the handler puts them, for an observer that is called elsewhere.
  ///   - capture: Reads what comes first while the lock is held; nil for nothing.
  ///   - first: Called on this thread with what was captured.
  package func join(
    _ handler: @escaping @Sendable (Event) -> Void, mailbox: (any MailboxFlushing)? = nil,
    capture: (inout Domain.State) -> Event?, first: (Event) -> Void
  ) -> Observation {
    let observation = Observation(self, mailbox: mailbox, handler)
    var join: UInt64 = 0
    let captured = domain.withLock { state in
      let captured = capture(&state)
      if let ending {
        observation.addToBacklog(ending)
        observation.isHeld = false
      } else {
        add(observation)
      }
      if captured == nil, ending == nil {
        observation.turnLive(from: state.round + 1)
      } else {
        joining.append(observation)
        join = state.beginJoin()
      }
      return captured
    }
    if join == 0 { return observation }
    domain.pause(at: .joined)
    let context = ThreadContext.current
    context.drainDepth += 1
    defer { context.drainDepth -= 1 }
    if let captured { first(captured) }
    while true {
      domain.pause(at: .caughtUp)
      let (backlog, due) = domain.withLock { state -> ([Event], [Domain.Waiter]) in
        let backlog = observation.takeBacklog()
        guard backlog.isEmpty else { return (backlog, []) }
        joining.removeAll { $0 === observation }
        observation.turnLive(from: state.round + 1)
        state.endJoin(join)
        return (backlog, state.takeDueWaiters())
      }
      for waiter in due { waiter.wake() }
      if backlog.isEmpty { return observation }
      for event in backlog where !observation.isDisposed { handler(event) }
    }
  }

  /// Registers an observer that needs no first event, and is live from the next round on.
  package func attach(
    _ handler: @escaping @Sendable (Event) -> Void, _ state: inout Domain.State
  ) -> Observation {
    let observation = Observation(self, mailbox: nil, handler)
    add(observation)
    observation.turnLive(from: state.round + 1)
    return observation
  }

  private func add(_ observation: Observation) {
    observation.slot = slots.count
    slots.append(observation)
  }

  /// An observation that its list holds, without holding it.
  ///
  /// So what an observer captured is released when it has been told the end, though its disposable
  /// lives on. A weak reference would do, if it did not make each retain of its target slow
  /// (`EngineBenchmarks property`, 10,000 observers: 0.6 ms so, 0.2 ms as it is).
  struct Reference {
    private let list: ObserverList
    /// Valid until the list has let go, or the reference was disposed.
    private let observation: Unmanaged<Observation>

    fileprivate init(_ observation: Observation, in list: ObserverList) {
      self.list = list
      self.observation = .passUnretained(observation)
    }

    /// Ends the observation, without waiting; to be called once.
    func dispose() {
      let released = list.domain.withLock { _ -> (Observation, [Event])? in
        if list.hasLetGo { return nil }
        let observation = observation.takeUnretainedValue()
        observation.endPhase()
        return (observation, list.remove(observation))
      }
      _ = consume released
    }
  }

  /// Takes an observer out; the list's own references are returned, to be released unlocked.
  fileprivate func remove(_ observation: Observation) -> [Event] {
    if !joining.isEmpty { joining.removeAll { $0 === observation } }
    guard observation.slot >= 0 else { return observation.takeBacklog() }
    slots[observation.slot] = nil
    observation.slot = -1
    vacant += 1
    if vacant > 16, vacant > slots.count / 2 {
      slots.removeAll { $0 == nil }
      vacant = 0
      for (index, survivor) in slots.enumerated() { survivor?.slot = index }
    }
    return observation.takeBacklog()
  }

  /// The mailboxes of the observers that are called elsewhere.
  package func mailboxes(_ state: inout Domain.State) -> [any MailboxFlushing] {
    slots.compactMap { $0?.mailbox }
  }

  // MARK: Delivering

  /// Captures who is to be told of `event` in this round.
  package func publish(_ event: Event, _ state: inout Domain.State) {
    guard slots.count > vacant else { return }
    for observation in joining { observation.addToBacklog(event) }
    self.event = event
    captured = slots
  }

  /// Captures who is to be told of the end, after the round's event if it has one, and lets go of all.
  package func finish(_ end: Event, _ state: inout Domain.State) {
    ending = end
    for observation in joining { observation.addToBacklog(end) }
    guard slots.count > vacant else { return }
    self.end = end
    captured = slots
    for observation in slots { observation?.slot = -1 }
    slots = []
    vacant = 0
  }

  /// Calls those captured, leaving out who was disposed or has got the event when it joined.
  package func deliver(_ round: UInt64) {
    if let event { call(event, round) }
    if let end { call(end, round) }
  }

  private func call(_ event: Event, _ round: UInt64) {
    let called = captured
    called.withUnsafeBufferPointer { called in
      // `captured` keeps them alive: retaining each for its call would be half of what the call costs.
      for index in called.indices {
        guard let observation = called[index] else { continue }
        Unmanaged.passUnretained(observation)._withUnsafeGuaranteedRef { observation in
          if observation.isLive(in: round) { observation.handler(event) }
        }
      }
    }
  }

  /// Lets go of the round's event and observers.
  package func endRound() {
    guard event != nil || end != nil else { return }
    // Who subscribes or goes once this storage is let go of may write into it: the lock puts what was
    // read of it here before that.
    domain.withLock { _ in if end != nil { hasLetGo = true } }
    event = nil
    end = nil
    captured = []
  }
}

/// One observer and how far it is.
///
/// Its list alone holds it, until it is disposed or the list has told the end.
package final class Observation: @unchecked Sendable {
  // Sendable: `slot` and `backlog` are guarded by the domain's lock, `isHeld` is the subscriber's
  // alone, the rest is constant or atomic.

  fileprivate let handler: @Sendable (Event) -> Void
  package let mailbox: (any MailboxFlushing)?
  private let list: ObserverList
  /// The first round that it is called in; greater than any round: still joining, or disposed.
  private let liveFrom = Atomic<UInt64>(UInt64.max - 1)
  @exclusivity(unchecked) fileprivate var slot = -1
  /// Whether its list holds it or has let all go: not where it came after the end.
  @exclusivity(unchecked) fileprivate var isHeld = true
  @exclusivity(unchecked) private var backlog: [Event] = []

  private static var disposed: UInt64 { .max }

  fileprivate init(
    _ list: ObserverList, mailbox: (any MailboxFlushing)?,
    _ handler: @escaping @Sendable (Event) -> Void
  ) {
    self.list = list
    self.mailbox = mailbox
    self.handler = handler
  }

  package var domain: Domain { list.domain }

  /// What disposes it; nil where nothing is left to dispose.
  var reference: ObserverList.Reference? {
    isHeld ? ObserverList.Reference(self, in: list) : nil
  }

  fileprivate var isDisposed: Bool { liveFrom.load(ordering: .acquiring) == Self.disposed }

  fileprivate func isLive(in round: UInt64) -> Bool {
    liveFrom.load(ordering: .acquiring) <= round
  }

  /// Under the lock: only there does the phase change.
  fileprivate func turnLive(from round: UInt64) {
    if liveFrom.load(ordering: .relaxed) != Self.disposed {
      liveFrom.store(round, ordering: .releasing)
    }
  }

  fileprivate func addToBacklog(_ event: Event) { backlog.append(event) }

  fileprivate func takeBacklog() -> [Event] {
    let taken = backlog
    backlog = []
    return taken
  }

  /// Under the lock: nothing is to be called any more.
  fileprivate func endPhase() {
    liveFrom.store(Self.disposed, ordering: .releasing)
  }
}
