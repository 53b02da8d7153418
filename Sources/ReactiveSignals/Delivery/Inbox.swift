import SwappablePrimitives

/// The pending events of an asynchronous loop, or the task that waits for the next event.
///
/// One task reads the events. Posting never blocks. If the reading task is canceled, the inbox is
/// finished: it drops pending events and accepts no more.
package final class Inbox<Event: Mergeable>: Sendable {
  private let state: Locked<State>

  private typealias Reader = CheckedContinuation<Event?, Never>

  private struct State: Sendable {
    var waiting: WaitingEvents<Event>
    var reader: Reader?
    var isOver = false
  }

  /// Creates an inbox.
  ///
  /// - Parameter policy: How pending events are buffered.
  package init(_ policy: DeliveryPolicy) {
    state = Locked(State(waiting: WaitingEvents(policy)))
  }

  /// Resumes the reader with an event, or buffers the event.
  package func post(_ event: Event) {
    let (reader, replaced) = state.withLock { state -> (Reader?, Event.Released?) in
      if let reader = state.reader {
        state.reader = nil
        return (reader, nil)
      }
      return (nil, state.isOver ? nil : state.waiting.append(event))
    }
    reader?.resume(returning: event)
    _ = consume replaced
  }

  /// Waits for the next event. Returns `nil` after the task is canceled.
  package func next(isolation actor: isolated (any Actor)? = #isolation) async -> Event? {
    await withTaskCancellationHandler {
      await take()
    } onCancel: {
      finish()
    }
  }

  private func take(isolation actor: isolated (any Actor)? = #isolation) async -> Event? {
    await withCheckedContinuation { reader in
      let (event, released) = state.withLock { state -> (Event??, [Event]) in
        if state.isOver { return (.some(nil), []) }
        let (event, released) = state.waiting.takeFirst()
        if let event { return (event, released) }
        precondition(state.reader == nil, "two tasks wait for the next event of one iterator")
        state.reader = reader
        return (nil, [])
      }
      _ = consume released
      if let event { reader.resume(returning: event) }
    }
  }

  /// Finishes the inbox. The reader, and any later one, receives `nil`, and pending events are
  /// dropped.
  package func finish() {
    let (reader, dropped) = state.withLock { state -> (Reader?, [Event]) in
      state.isOver = true
      let reader = state.reader
      state.reader = nil
      return (reader, state.waiting.takeAll())
    }
    reader?.resume(returning: nil)
    _ = consume dropped
  }
}

/// The values of an observation as an asynchronous sequence.
///
/// Each iteration is an observation of its own. It begins with `makeAsyncIterator()`, and ends with the
/// source, if the task is canceled, or if the iterator is released.
package struct ObservationSequence<Item: Mergeable, Value: Sendable>: AsyncSequence, Sendable {
  package typealias Element = Value
  package typealias Failure = Never

  /// A pending item, as the loop receives it.
  package struct Step: Sendable {
    /// The value, or `nil` if the item has none.
    let value: Value?
    /// A Boolean value that indicates whether the sequence ends after the item.
    let isEnd: Bool

    package init(_ value: Value?, isEnd: Bool = false) {
      self.value = value
      self.isEnd = isEnd
    }
  }

  private let policy: DeliveryPolicy
  private let read: @Sendable () -> @Sendable (Item) -> Step
  private let observe: @Sendable (Inbox<Item>) -> Disposable

  /// Creates a sequence.
  ///
  /// - Parameters:
  ///   - policy: How items are buffered while the body of the loop is busy.
  ///   - observe: A closure that begins an observation, which posts its items to an inbox.
  ///   - read: A closure that returns the reader of one iteration. The task calls the reader with each item.
  package init(
    _ policy: DeliveryPolicy, observe: @escaping @Sendable (Inbox<Item>) -> Disposable,
    read: @escaping @Sendable () -> @Sendable (Item) -> Step
  ) {
    self.policy = policy
    self.observe = observe
    self.read = read
  }

  package func makeAsyncIterator() -> Iterator {
    let inbox = Inbox<Item>(policy)
    return Iterator(inbox, observe(inbox), read())
  }

  /// One iteration. Copies share it.
  package final class Iterator: AsyncIteratorProtocol, Sendable {
    private let inbox: Inbox<Item>
    private let observation: Disposable
    private let read: @Sendable (Item) -> Step

    fileprivate init(
      _ inbox: Inbox<Item>, _ observation: Disposable, _ read: @escaping @Sendable (Item) -> Step
    ) {
      self.inbox = inbox
      self.observation = observation
      self.read = read
    }

    package func next() async -> Value? {
      await next(isolation: nil)
    }

    package func next(isolation actor: isolated (any Actor)?) async -> Value? {
      while let item = await inbox.next() {
        let step = read(item)
        if step.isEnd { inbox.finish() }
        if let value = step.value { return value }
      }
      observation.dispose()
      return nil
    }
  }
}
