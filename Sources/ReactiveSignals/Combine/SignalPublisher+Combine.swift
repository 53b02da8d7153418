#if canImport(Combine)
  public import Combine

  /// The values of a signal or a property, for Combine.
  ///
  /// Each subscription is an observation of its own: told the newest value first where there is a
  /// memory, then each that comes, on the thread that brings it, and the end. It lasts until the
  /// subscriber cancels. Values that were not demanded yet wait by the policy.
  public struct SignalPublisher<Output: Sendable>: Publisher, Sendable {
    public typealias Failure = Never

    private let signal: Signal<Output>
    private let policy: DeliveryPolicy

    init(_ signal: Signal<Output>, _ policy: DeliveryPolicy) {
      self.signal = signal
      self.policy = policy
    }

    public func receive<Target: Subscriber<Output, Never>>(subscriber: Target) {
      QueueSubscription<WaitingValue<Output>>.open(subscriber, policy, { $0.value }) {
        subscription in
        signal.observe {
          subscription.post(WaitingValue(value: $0))
        } onCompletion: {
          subscription.finish()
        }
      }
    }
  }

  extension SignalSource {
    /// The values for Combine.
    ///
    ///     let label = name.publisher().receive(on: RunLoop.main).sink { print($0) }
    ///
    /// - Parameter policy: What becomes of values that the subscriber has not demanded yet; by default
    ///   the newest alone waits.
    public func publisher(policy: DeliveryPolicy = .coalesce) -> SignalPublisher<Value> {
      SignalPublisher(signal, policy)
    }
  }
#endif
