#if canImport(Combine)
  package import Combine
  import SwappablePrimitives

  /// A subscriber's hold on an observation: it demands, and cancels.
  ///
  /// What is observed holds it, until it is cancelled or ended: not every subscriber does.
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

    /// Gives a subscriber its subscription, and then observes for it.
    ///
    /// - Parameters:
    ///   - subscriber: Who is told.
    ///   - policy: What becomes of items that it has not demanded yet.
    ///   - value: Makes what it is told of an item; nil where that is nothing.
    ///   - observe: Subscribes to what the subscription is to be given, and holds it for that.
    package static func open<Target: Subscriber>(
      _ subscriber: Target, _ policy: DeliveryPolicy,
      _ value: @escaping @Sendable (Item) -> Target.Input?,
      _ observe: (QueueSubscription<Item>) -> Disposable
    ) where Target.Failure == Never {
      let target = Handed<Item>(
        take: { item in
          guard let value = value(item) else { return nil }
          return subscriber.receive(value).max ?? .max
        },
        end: { subscriber.receive(completion: .finished) })
      let queue = DemandQueue<Item>(
        policy, DemandQueue.Receiver(take: { target.take($0) }, end: { target.end() }))
      let subscription = QueueSubscription(queue)
      // Before any value; it may demand and cancel already.
      subscriber.receive(subscription: subscription)
      if queue.isOver { return }
      subscription.keep(observe(subscription))
    }

    /// Keeps the observation, unless all is over meanwhile: then letting it go disposes it.
    private func keep(_ disposable: Disposable) {
      let isKept = state.withLock { state in
        if state.isOver { return false }
        state.observation = disposable
        return true
      }
      if !isKept { disposable.dispose() }
    }

    /// Adds an item, for when it is demanded.
    package func post(_ item: Item) {
      queue.post(item)
    }

    /// Ends it, behind what waits; nothing is to be observed any more.
    package func finish() {
      queue.finish()
      letGo()
    }

    package func request(_ demand: Subscribers.Demand) {
      queue.request(demand.max ?? .max)
    }

    package func cancel() {
      queue.cancel()
      letGo()
    }

    private func letGo() {
      let disposable = state.withLock { state in
        let disposable = state.observation
        state = State(isOver: true)
        return disposable
      }
      disposable?.dispose()
    }
  }

  /// What a subscriber does, called by whichever thread delivers.
  private final class Handed<Item>: @unchecked Sendable {
    // Sendable: the queue calls it by one thread at a time, handed on under the queue's lock.

    let take: (Item) -> Int?
    let end: () -> Void

    init(take: @escaping (Item) -> Int?, end: @escaping () -> Void) {
      self.take = take
      self.end = end
    }
  }
#endif
