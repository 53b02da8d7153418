#if canImport(Combine)
  public import Combine
  public import Diffing
  import ReactiveSignals

  /// The events of a collection, for Combine: `initial` first, then the changes.
  ///
  /// Each subscription is an observation of its own, on the threads that edit, and lasts until the
  /// subscriber cancels. Changes that were not demanded yet wait by the policy.
  public struct CollectionPublisher<Element: Differentiable & Sendable>: Publisher, Sendable {
    public typealias Output = CollectionEvent<Element>
    public typealias Failure = Never

    private let source: any DataSource<Element>
    private let policy: DeliveryPolicy

    init(_ source: any DataSource<Element>, _ policy: DeliveryPolicy) {
      self.source = source
      self.policy = policy
    }

    public func receive<Target: Subscriber<CollectionEvent<Element>, Never>>(subscriber: Target) {
      let receiver = EventReceiver<Element>()
      QueueSubscription<PendingEvent<Element>>.open(subscriber, policy, receiver.receive) {
        subscription in
        source.start()
        return Disposable(source.collection.node.observe { subscription.post($0) }, keeping: source)
      }
    }
  }
#endif
