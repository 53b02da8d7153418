import Dispatch
import SwappablePrimitives
import Synchronization

/// An event that can be merged with a later one while it is pending.
package protocol Mergeable: Sendable {
  /// The objects that merging drops.
  associatedtype Released: Sendable

  /// Merges the next event into this one.
  ///
  /// This method is called under a lock. It runs no user code and takes O(1) on average.
  ///
  /// - Returns: All dropped objects, to be released after the lock is left.
  mutating func merge(with later: Self) -> Released
}

extension Mergeable where Released == Self {
  /// Replaces this event by the later one.
  package mutating func merge(with later: Self) -> Self {
    let earlier = self
    self = later
    return earlier
  }
}

/// The pending events of one observer, at most as many as its policy allows.
package struct PendingBuffer<Event: Mergeable>: Sendable {
  private let limit: Int
  /// The events from `head` on. Events before `head` are already taken.
  private var events: [Event] = []
  private var head = 0

  package init(_ policy: DeliveryPolicy) {
    limit = policy.limit
  }

  package var isEmpty: Bool { head == events.count }

  /// The latest event, including the events that were merged into it.
  package var newest: Event? { isEmpty ? nil : events.last }

  /// Adds an event. If the limit is reached, the event is merged into the latest one.
  ///
  /// - Returns: The objects that merging dropped, to be released after the lock is left.
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

  /// Takes the oldest event.
  ///
  /// The storage keeps taken events until they are more than half of it. It is then replaced and
  /// returned, to be released after the lock is left.
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

/// A value that waits until there is a newer one.
package struct LatestValue<Value: Sendable>: Mergeable {
  package typealias Released = Self

  package let value: Value

  package init(value: Value) {
    self.value = value
  }
}

/// The interface of a mailbox for its observation.
package protocol MailboxFlushing: AnyObject, Sendable {
  /// Drops the pending events. No further call of the observer begins.
  func close()
  /// A Boolean value that indicates whether the calling thread is inside the observer.
  var isCalling: Bool { get }
  /// Waits for a call of the observer in progress on another thread.
  func waitForCall()
  /// Waits until all events that are pending now are delivered.
  func settled() async
}

/// The pending events of one observer that is called on a scheduler.
///
/// The mailbox limits the number of pending events, and merges the rest according to its policy.
/// The scheduler runs *turns*, each of which delivers all pending events. At most one turn is
/// scheduled at a time, so the observer is called in order and never concurrently with itself.
package final class Mailbox<Event: Mergeable>: MailboxFlushing, @unchecked Sendable {
  // Sendable: the current turn owns `handler` and `isRetired`. There is one turn at a time, and it
  // hands them over to the next turn under the lock of `state`.

  private let scheduler: @Sendable (@escaping @Sendable () -> Void) -> Void
  /// The observer, or `nil` after it has received the end.
  private var handler: (@Sendable (Event, Mailbox<Event>) -> Void)?
  private var isRetired = false
  private let isClosed = Atomic<Bool>(false)
  private let state: Locked<State>

  private struct State: Sendable {
    var waiting: PendingBuffer<Event>
    var isScheduled = false
    var caller: ThreadID?
    /// The threads that wait for the call in progress.
    var callWaiters: [Semaphore] = []
    /// The number of events posted so far. `delivered` is the number of these that were delivered,
    /// merged or not.
    var posted: UInt64 = 0
    var delivered: UInt64 = 0
    /// The tasks that wait until a given number of events is delivered.
    var settling: [(count: UInt64, callback: @Sendable (()) -> Void)] = []
  }

  /// Creates a mailbox.
  ///
  /// - Parameters:
  ///   - scheduler: A closure that runs work where the handler is to be called.
  ///   - policy: How pending events are buffered.
  ///   - handler: A closure that is called with each event, merged or not, and this mailbox.
  package init(
    on scheduler: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void,
    policy: DeliveryPolicy, _ handler: @escaping @Sendable (Event, Mailbox<Event>) -> Void
  ) {
    self.scheduler = scheduler
    state = Locked(State(waiting: PendingBuffer(policy)))
    self.handler = handler
  }

  /// A Boolean value that indicates whether the observer was disposed of, and is not called again.
  package var isOver: Bool {
    schedulePoint()
    return isClosed.load(ordering: .acquiring)
  }

  /// Adds an event. This method never blocks.
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
    // Weak: after disposal, the observer is released even if its turn has not begun.
    scheduler { [weak self] in self?.takeTurn() }
  }

  /// Delivers all pending events. Events that arrive meanwhile are delivered in another turn.
  private func takeTurn() {
    let context = ThreadContext.current
    // If the scheduler runs turns immediately, run them in a loop. Nested turns could overflow the
    // stack.
    if context.rescheduling === self {
      context.rescheduling = nil
      return
    }
    while deliverTurn(context), isNextRunAtOnce(context) {}
  }

  /// Schedules the next turn, and returns `true` if the scheduler ran it inside this call.
  ///
  /// Such a turn delivers nothing. The caller delivers the events instead, in its loop.
  private func isNextRunAtOnce(_ context: ThreadContext) -> Bool {
    let outer = context.rescheduling
    defer { context.rescheduling = outer }
    context.rescheduling = self
    scheduleTurn()
    return context.rescheduling == nil
  }

  /// - Returns: `true` if more events have arrived meanwhile.
  private func deliverTurn(_ context: ThreadContext) -> Bool {
    let thread = ThreadID.current
    let (events, posted) = state.withLock { state in
      let events = state.waiting.takeAll()
      state.caller = thread
      return (events, state.posted)
    }
    let transaction = context.beginDelivery()
    for event in events where !isOver { handler?(event, self) }
    context.endDelivery(transaction)
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
    for waiter in settled { waiter.callback(()) }
    return again
  }

  /// Releases the handler after the current call. No events may be posted afterwards.
  func retire() {
    isRetired = true
  }

  package func close() {
    schedulePoint()
    isClosed.store(true, ordering: .releasing)
    let dropped = state.withLock { state in
      defer { state.settling = [] }
      return (state.waiting.takeAll(), state.settling)
    }
    for waiter in dropped.1 { waiter.callback(()) }
  }

  package var isCalling: Bool {
    let thread = ThreadID.current
    return state.withLock { $0.caller == thread }
  }

  package func waitForCall() {
    let thread = ThreadID.current
    let semaphore = state.withLock { state -> Semaphore? in
      guard let caller = state.caller, caller != thread else { return nil }
      let semaphore = Semaphore(value: 0)
      state.callWaiters.append(semaphore)
      return semaphore
    }
    semaphore?.wait()
  }

  package func settled() async {
    await awaitCallback { callback in
      let isSettled = state.withLock { state in
        if state.delivered >= state.posted || isOver { return true }
        state.settling.append((state.posted, callback))
        return false
      }
      if isSettled { callback(()) }
    }
  }
}
