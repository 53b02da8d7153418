#if canImport(Combine)
  package import Combine

  /// A subscriber's hold on an observation: it demands, and cancels.
  package final class QueueSubscription<Item: Mergeable>: Subscription, Sendable {
    private let queue: DemandQueue<Item>
    private let observation = Locked<Disposable?>(nil)

    private init(_ queue: DemandQueue<Item>) {
      self.queue = queue
    }

    /// Gives a subscriber its subscription, and then observes for it.
    ///
    /// - Parameters:
    ///   - subscriber: Who is told.
    ///   - policy: What becomes of items that it has not demanded yet.
    ///   - value: Makes what it is told of an item; nil where that is nothing.
    ///   - observe: Subscribes to what the queue is to be given.
    package static func open<Target: Subscriber>(
      _ subscriber: Target, _ policy: DeliveryPolicy,
      _ value: @escaping @Sendable (Item) -> Target.Input?,
      _ observe: (DemandQueue<Item>) -> Disposable
    ) where Target.Failure == Never {
      let target = Handed(subscriber)
      let queue = DemandQueue<Item>(
        policy,
        DemandQueue.Receiver(
          take: { item in
            guard let value = value(item) else { return nil }
            let demand = target.subscriber.receive(value)
            return demand.max ?? .max
          },
          end: { target.subscriber.receive(completion: .finished) }))
      let subscription = QueueSubscription(queue)
      // Before any value; it may demand and cancel already.
      subscriber.receive(subscription: subscription)
      if queue.isOver { return }
      subscription.keep(observe(queue))
    }

    /// Keeps the observation, unless all is over meanwhile: then letting it go disposes it.
    private func keep(_ disposable: Disposable) {
      let isKept = observation.withLock { observation in
        if queue.isOver { return false }
        observation = disposable
        return true
      }
      if !isKept { disposable.dispose() }
    }

    package func request(_ demand: Subscribers.Demand) {
      queue.request(demand.max ?? .max)
    }

    package func cancel() {
      queue.cancel()
      let disposable = observation.withLock { observation in
        let disposable = observation
        observation = nil
        return disposable
      }
      disposable?.dispose()
    }
  }

  /// A subscriber, called by whichever thread delivers.
  private final class Handed<Target: Subscriber>: @unchecked Sendable {
    // Sendable: the queue calls it by one thread at a time, handed on under the queue's lock.

    let subscriber: Target

    init(_ subscriber: Target) {
      self.subscriber = subscriber
    }
  }
#endif
