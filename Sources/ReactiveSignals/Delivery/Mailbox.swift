import Dispatch
import SwappablePrimitives
import Synchronization

/// An event that can wait for a slow observer.
package protocol Mergeable: Sendable {
  /// What is let go of by merging.
  associatedtype Released: Sendable

  /// Takes in the event after it. Called under a lock: it runs no user code, and takes O(1) on average.
  ///
  /// - Returns: All that it let go of, to be released unlocked.
  mutating func merge(with later: Self) -> Released
}

extension Mergeable where Released == Self {
  /// The later one stands for both.
  package mutating func merge(with later: Self) -> Self {
    let earlier = self
    self = later
    return earlier
  }
}

/// The events that wait for one observer, no more of them than its policy allows.
package struct WaitingEvents<Event: Mergeable>: Sendable {
  private let limit: Int
  /// The events from `head` on; those before are taken.
  private var events: [Event] = []
  private var head = 0

  package init(_ policy: DeliveryPolicy) {
    limit = policy.limit
  }

  package var isEmpty: Bool { head == events.count }

  /// The event that came last, with what was merged into it.
  package var newest: Event? { isEmpty ? nil : events.last }

  /// Adds an event, merging it into the newest where no more may wait.
  ///
  /// - Returns: What merging let go of, to be released unlocked.
  package mutating func append(_ event: Event) -> Event.Released? {
    guard events.count - head >= limit, !isEmpty else {
      events.append(event)
      return nil
    }
    return events[events.count - 1].merge(with: event)
  }

  package mutating func takeAll() -> [Event] {
    let taken = head == 0 ? events : Array(events[head...])
    events = []
    head = 0
    return taken
  }

  /// Takes the oldest event. Its copies here are let go with the queue's storage, which is returned
  /// once half of it is taken: to be released unlocked.
  package mutating func takeFirst() -> (event: Event?, released: [Event]) {
    guard head < events.count else { return (nil, []) }
    let first = events[head]
    head += 1
    guard head > events.count / 2 else { return (first, []) }
    let released = events
    events = Array(events[head...])
    head = 0
    return (first, released)
  }
}

/// A mailbox as its observation sees it.
package protocol MailboxFlushing: AnyObject, Sendable {
  /// Drops what waits, and calls no more.
  func close()
  /// Whether the observer is being called on this very thread.
  var isCalling: Bool { get }
  /// Waits for a call under way on another thread.
  func waitForCall()
  /// Waits until what waits now was delivered.
  func settled() async
}

/// Holds the events of one observer that is called elsewhere.
///
/// It decides how many wait, and merges the rest by its policy; one piece of work at a time is with
/// the scheduler, so that the observer is called in order and never concurrently with itself.
package final class Mailbox<Event: Mergeable>: MailboxFlushing, @unchecked Sendable {
  // Sendable: `handler` and `isRetired` are owned by the turn, of which there is one at a time, handed
  // on under the lock of `state`.

  private let scheduler: @Sendable (@escaping @Sendable () -> Void) -> Void
  /// Nil once it has told the end.
  private var handler: (@Sendable (Event, Mailbox<Event>) -> Void)?
  private var isRetired = false
  private let isClosed = Atomic<Bool>(false)
  private let state: Locked<State>

  private struct State: Sendable {
    var waiting: WaitingEvents<Event>
    var isScheduled = false
    var caller: ThreadID?
    /// Who waits for the call under way.
    var callWaiters: [DispatchSemaphore] = []
    /// How many events were ever posted, and how many of these were delivered, merged or not.
    var posted: UInt64 = 0
    var delivered: UInt64 = 0
    /// Who waits until so many were delivered.
    var settling: [(count: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
  }

  /// - Parameters:
  ///   - scheduler: Where the handler is called; not immediate.
  ///   - policy: What becomes of events that wait.
  ///   - handler: Called with each event or merged events, and this mailbox.
  package init(
    on scheduler: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    policy: DeliveryPolicy, _ handler: @escaping @Sendable (Event, Mailbox<Event>) -> Void
  ) {
    self.scheduler = scheduler
    state = Locked(State(waiting: WaitingEvents(policy)))
    self.handler = handler
  }

  /// Whether the observer was disposed: nothing is to be called any more.
  package var isOver: Bool { isClosed.load(ordering: .acquiring) }

  /// Adds an event; it never waits.
  package func post(_ event: Event) {
    if isOver { return }
    let (isFirst, replaced) = state.withLock { state -> (Bool, Event.Released?) in
      state.posted += 1
      let replaced = state.waiting.append(event)
      let isFirst = !state.isScheduled
      state.isScheduled = true
      return (isFirst, replaced)
    }
    _ = consume replaced
    if isFirst { scheduleTurn() }
  }

  private func scheduleTurn() {
    // Weakly: once disposed, the observer is let go though its turn has not come.
    scheduler { [weak self] in self?.takeTurn() }
  }

  /// Delivers what waits by now; what comes meanwhile gets a turn of its own.
  private func takeTurn() {
    let context = ThreadContext.current
    // Turns that are run at once follow each other: nested, they would fill the stack.
    if context.rescheduling === self {
      context.rescheduling = nil
      return
    }
    while deliverTurn(context), isNextRunAtOnce(context) {}
  }

  /// Asks for the next turn, unless the scheduler would run it at once.
  private func isNextRunAtOnce(_ context: ThreadContext) -> Bool {
    let outer = context.rescheduling
    defer { context.rescheduling = outer }
    context.rescheduling = self
    scheduleTurn()
    return context.rescheduling == nil
  }

  /// - Returns: Whether something has come meanwhile.
  private func deliverTurn(_ context: ThreadContext) -> Bool {
    let thread = ThreadID.current
    let (events, posted) = state.withLock { state in
      let events = state.waiting.takeAll()
      state.caller = thread
      return (events, state.posted)
    }
    context.deliveryDepth += 1
    for event in events where !isOver { handler?(event, self) }
    context.deliveryDepth -= 1
    if isRetired { handler = nil }
    let (again, waiters, settled) = state.withLock { state in
      let waiters = state.callWaiters
      state.caller = nil
      state.callWaiters = []
      state.delivered = posted
      let settled = state.settling.filter { $0.count <= posted }
      state.settling.removeAll { $0.count <= posted }
      state.isScheduled = !state.waiting.isEmpty
      return (state.isScheduled, waiters, settled)
    }
    for waiter in waiters { waiter.signal() }
    for waiter in settled { waiter.continuation.resume() }
    return again
  }

  /// Lets go of the handler when this call of it is over; nothing is to be posted any more.
  package func retire() {
    isRetired = true
  }

  package func close() {
    isClosed.store(true, ordering: .releasing)
    let dropped = state.withLock { state in
      let dropped = (state.waiting.takeAll(), state.settling)
      state.settling = []
      return dropped
    }
    for waiter in dropped.1 { waiter.continuation.resume() }
  }

  package var isCalling: Bool {
    let thread = ThreadID.current
    return state.withLock { $0.caller == thread }
  }

  package func waitForCall() {
    let thread = ThreadID.current
    let semaphore = state.withLock { state -> DispatchSemaphore? in
      guard let caller = state.caller, caller != thread else { return nil }
      let semaphore = DispatchSemaphore(value: 0)
      state.callWaiters.append(semaphore)
      return semaphore
    }
    semaphore?.wait()
  }

  package func settled() async {
    await withCheckedContinuation { continuation in
      let isSettled = state.withLock { state in
        if state.delivered >= state.posted || isOver { return true }
        state.settling.append((state.posted, continuation))
        return false
      }
      if isSettled { continuation.resume() }
    }
  }
}
