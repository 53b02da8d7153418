public import Diffing
public import ReactiveSignals

/// The events of a collection as an asynchronous sequence: `initial` first, then the changes.
///
/// Each iteration is an observation of its own, that begins with `makeAsyncIterator()` and ends when
/// the task is cancelled or the iterator let go. While the loop's body is busy, changes wait by the
/// policy.
public struct CollectionEvents<Element: Differentiable & Sendable>: AsyncSequence, Sendable {
  private let source: any DataSource<Element>
  private let policy: DeliveryPolicy

  init(_ source: any DataSource<Element>, _ policy: DeliveryPolicy) {
    self.source = source
    self.policy = policy
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(EventFeed(source, policy))
  }

  /// Waits for one event after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let feed: EventFeed<Element>

    fileprivate init(_ feed: EventFeed<Element>) {
      self.feed = feed
    }

    /// Waits for the next event; nil once the task is cancelled.
    public mutating func next() async -> CollectionEvent<Element>? {
      await feed.next()
    }

    /// Waits for the next event; nil once the task is cancelled.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async -> CollectionEvent<Element>? {
      await feed.next(isolation: actor)
    }
  }
}

extension DataSource {
  /// The events as an asynchronous sequence.
  ///
  ///     for await event in container.events() { … }
  ///
  /// - Parameter policy: What becomes of changes that wait while the loop's body is busy; by default
  ///   they become one.
  public func events(policy: DeliveryPolicy = .coalesce) -> CollectionEvents<Element> {
    CollectionEvents(self, policy)
  }
}

/// One iteration over the events of a collection.
private final class EventFeed<Element: Differentiable & Sendable>: Sendable {
  private let inbox: Inbox
  private let observation: Disposable

  init(_ source: any DataSource<Element>, _ policy: DeliveryPolicy) {
    let inbox = Inbox(policy)
    self.inbox = inbox
    source.start()
    observation = Disposable(source.collection.node.observe { inbox.post($0) }, keeping: source)
  }

  func next(isolation actor: isolated (any Actor)? = #isolation) async -> CollectionEvent<Element>?
  {
    await withTaskCancellationHandler {
      while true {
        guard let event = await inbox.take() else {
          observation.dispose()
          return nil
        }
        if let resolved = inbox.receiver.receive(event) { return resolved }
      }
    } onCancel: {
      inbox.end()
    }
  }

  /// What waits, or who waits for it.
  private final class Inbox: Sendable {
    let receiver = EventReceiver<Element>()
    private let state: Locked<State>

    private typealias Reader = CheckedContinuation<PendingEvent<Element>?, Never>

    private struct State: Sendable {
      var waiting: WaitingEvents<PendingEvent<Element>>
      var reader: Reader?
      var isOver = false
    }

    init(_ policy: DeliveryPolicy) {
      state = Locked(State(waiting: WaitingEvents(policy)))
    }

    func post(_ event: PendingEvent<Element>) {
      let (reader, replaced) = state.withLock { state -> (Reader?, PendingEvent<Element>?) in
        if let reader = state.reader {
          state.reader = nil
          return (reader, nil)
        }
        return (nil, state.isOver ? nil : state.waiting.append(event))
      }
      reader?.resume(returning: event)
      _ = consume replaced
    }

    func take(
      isolation actor: isolated (any Actor)? = #isolation
    ) async -> PendingEvent<Element>? {
      await withCheckedContinuation { reader in
        let (event, released) = state.withLock {
          state -> (PendingEvent<Element>??, [PendingEvent<Element>]) in
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

    func end() {
      let (reader, dropped) = state.withLock { state -> (Reader?, [PendingEvent<Element>]) in
        state.isOver = true
        let reader = state.reader
        state.reader = nil
        return (reader, state.waiting.takeAll())
      }
      reader?.resume(returning: nil)
      _ = consume dropped
    }
  }
}
