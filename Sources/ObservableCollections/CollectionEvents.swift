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
  private let inbox: Inbox<PendingEvent<Element>>
  private let receiver = EventReceiver<Element>()
  private let observation: Disposable

  init(_ source: any DataSource<Element>, _ policy: DeliveryPolicy) {
    let inbox = Inbox<PendingEvent<Element>>(policy)
    self.inbox = inbox
    source.start()
    observation = Disposable(source.collection.node.observe { inbox.post($0) }, keeping: source)
  }

  func next(isolation actor: isolated (any Actor)? = #isolation) async -> CollectionEvent<Element>?
  {
    while let event = await inbox.next() {
      if let resolved = receiver.receive(event) { return resolved }
    }
    observation.dispose()
    return nil
  }
}
