#if canImport(Combine)
  package import Combine
  package import ReactiveSignals
  import SwappablePrimitives

  /// A Combine publisher of the values of an observation.
  package struct ObservationPublisher<Item: Mergeable, Output: Sendable>: Publisher, Sendable {
    package typealias Failure = Never

    private let policy: DeliveryPolicy
    private let read: @Sendable () -> @Sendable (Item) -> Output?
    private let observe: @Sendable (QueueSubscription<Item>) -> Disposable

    /// Creates a publisher.
    ///
    /// - Parameters:
    ///   - policy: How items are buffered until the subscriber demands them.
    ///   - observe: A closure that begins an observation, which posts its items to a subscription and
    ///     retains it.
    ///   - read: A closure that returns the reader of one subscription. The reader returns the value for the
    ///     subscriber, or `nil` if an item has none.
    package init(
      _ policy: DeliveryPolicy,
      observe: @escaping @Sendable (QueueSubscription<Item>) -> Disposable,
      read: @escaping @Sendable () -> @Sendable (Item) -> Output?
    ) {
      (self.policy, self.observe, self.read) = (policy, observe, read)
    }

    package func receive<Target: Subscriber<Output, Never>>(subscriber: Target) {
      QueueSubscription<Item>.open(subscriber, policy, read(), observe)
    }
  }

  /// A subscription that connects a Combine subscriber to an observation.
  ///
  /// The observation retains the subscription until it is canceled or has ended, because not every
  /// subscriber retains it.
  package final class QueueSubscription<Item: Mergeable>: Subscription, Sendable {
    private struct State: Sendable {
      var observation: Disposable?
      var isOver = false
    }

    private let queue: DemandQueue<Item>
    private let state = Locked(State())

    private init(_ queue: DemandQueue<Item>) {
      self.queue = queue
    }

    /// Passes a subscription to a subscriber, and then begins the observation.
    ///
    /// - Parameters:
    ///   - subscriber: The subscriber.
    ///   - policy: How items are buffered until the subscriber demands them.
    ///   - value: A closure that returns the value for the subscriber, or `nil` if an item has
    ///     none.
    ///   - observe: A closure that begins an observation, which posts its items to the subscription
    ///     and retains it.
    package static func open<Target: Subscriber>(
      _ subscriber: Target, _ policy: DeliveryPolicy,
      _ value: @escaping @Sendable (Item) -> Target.Input?,
      _ observe: (QueueSubscription<Item>) -> Disposable
    ) where Target.Failure == Never {
      let target = CombineReceiver<Item>(
        take: { item in
          guard let value = value(item) else { return nil }
          return subscriber.receive(value).max ?? .max
        },
        end: { subscriber.receive(completion: .finished) })
      let queue = DemandQueue<Item>(
        policy, DemandQueue.Receiver(take: { target.take($0) }, end: { target.end() }))
      let subscription = QueueSubscription(queue)
      // Call this before any value. The subscriber may demand and cancel inside the call.
      subscriber.receive(subscription: subscription)
      if queue.isOver { return }
      subscription.keep(observe(subscription))
    }

    /// Stores the observation. If the subscription is already over, disposes of the observation
    /// instead.
    private func keep(_ disposable: Disposable) {
      let isKept = state.withLock { state in
        if state.isOver { return false }
        state.observation = disposable
        return true
      }
      if !isKept { disposable.dispose() }
    }

    /// Adds an item, which is delivered when there is demand for it.
    package func post(_ item: Item) {
      queue.post(item)
    }

    /// Ends the subscription after all pending items, and ends the observation.
    package func finish() {
      queue.finish()
      endObservation()
    }

    package func request(_ demand: Subscribers.Demand) {
      queue.request(demand.max ?? .max)
    }

    package func cancel() {
      queue.cancel()
      endObservation()
    }

    private func endObservation() {
      let disposable = state.withLock { state in
        let disposable = state.observation
        state = State(isOver: true)
        return disposable
      }
      disposable?.dispose()
    }
  }

  /// The closures that call a subscriber, on the thread that delivers.
  private final class CombineReceiver<Item>: @unchecked Sendable {
    // Sendable: the queue calls this from one thread at a time, and passes it on under its lock.

    let take: (Item) -> Int?
    let end: () -> Void

    init(take: @escaping (Item) -> Int?, end: @escaping () -> Void) {
      self.take = take
      self.end = end
    }
  }
#endif
