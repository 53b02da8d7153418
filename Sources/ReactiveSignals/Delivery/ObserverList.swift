import Synchronization

/// The observers of one node that get one kind of event, in the order in which they subscribed.
package final class ObserverList<Event: Sendable>: @unchecked Sendable {
  // Sendable: `slots`, `vacant` and `joining` are guarded by the domain's lock; `event` and
  // `captured` are owned by the drainer, which is handed on under that lock.

  package let domain: Domain
  private var slots: [Observation<Event>?] = []
  private var vacant = 0
  private var joining: [Observation<Event>] = []
  private var event: Event?
  private var captured: [Observation<Event>?] = []

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
  ///   - handler: Called on this thread with the first event, and then by the drainers.
  ///   - capture: Reads the first event while the lock is held.
  package func join(
    _ handler: @escaping @Sendable (Event) -> Void, mailbox: (any MailboxFlushing)? = nil,
    capture: (inout Domain.State) -> Event?
  ) -> Observation<Event> {
    let observation = Observation(self, mailbox: mailbox, handler)
    var join: UInt64 = 0
    var first = domain.withLock { state in
      add(observation)
      let first = capture(&state)
      if first == nil {
        observation.turnLive(from: state.round + 1)
      } else {
        joining.append(observation)
        join = state.beginJoin()
      }
      return first
    }
    guard first != nil else { return observation }
    domain.pause(at: .joined)
    let context = ThreadContext.current
    context.drainDepth += 1
    defer { context.drainDepth -= 1 }
    if let event = first { handler(event) }
    first = nil
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
  ) -> Observation<Event> {
    let observation = Observation(self, mailbox: nil, handler)
    add(observation)
    observation.turnLive(from: state.round + 1)
    return observation
  }

  private func add(_ observation: Observation<Event>) {
    observation.slot = slots.count
    slots.append(observation)
  }

  /// Takes an observer out; the list's own references are returned, to be released unlocked.
  fileprivate func remove(_ observation: Observation<Event>) -> [Event] {
    guard observation.slot >= 0 else { return [] }
    slots[observation.slot] = nil
    observation.slot = -1
    vacant += 1
    if !joining.isEmpty { joining.removeAll { $0 === observation } }
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
  package func publish(_ event: @autoclosure () -> Event, _ state: inout Domain.State) {
    guard slots.count > vacant else { return }
    let event = event()
    for observation in joining { observation.addToBacklog(event) }
    self.event = event
    captured = slots
  }

  /// Calls those captured, leaving out who was disposed or has got the event when it joined.
  package func deliver(_ round: UInt64) {
    guard let event else { return }
    let called = captured
    for case let observation? in called where observation.isLive(in: round) {
      observation.handler(event)
    }
  }

  /// Lets go of the round's event and observers.
  package func endRound() {
    guard event != nil else { return }
    event = nil
    captured = []
  }
}

/// An observation as its `Disposable` sees it.
package class AnyObservation: @unchecked Sendable {
  // Sendable: no state of its own; that of the one subclass is described there.

  /// Ends it, without waiting.
  package func dispose() {}

  /// Waits for calls that are under way on other threads; the observation is disposed already.
  package func waitForCalls() {}
}

/// One observer and how far it is.
package final class Observation<Event: Sendable>: AnyObservation, @unchecked Sendable {
  // Sendable: `slot` and `backlog` are guarded by the domain's lock, the rest is constant or atomic.

  fileprivate let handler: @Sendable (Event) -> Void
  fileprivate let mailbox: (any MailboxFlushing)?
  private let list: ObserverList<Event>
  /// The first round that it is called in; greater than any round: still joining, or disposed.
  private let liveFrom = Atomic<UInt64>(UInt64.max - 1)
  fileprivate var slot = -1
  private var backlog: [Event] = []

  private static var disposed: UInt64 { .max }

  fileprivate init(
    _ list: ObserverList<Event>, mailbox: (any MailboxFlushing)?,
    _ handler: @escaping @Sendable (Event) -> Void
  ) {
    self.list = list
    self.mailbox = mailbox
    self.handler = handler
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

  package override func dispose() {
    mailbox?.close()
    let released = list.domain.withLock { _ in
      liveFrom.store(Self.disposed, ordering: .releasing)
      return list.remove(self)
    }
    _ = consume released
  }

  package override func waitForCalls() {
    list.domain.waitForRoundInProgress()
    mailbox?.waitForCall()
  }
}
