#if canImport(Combine)
  public import Combine
  public import ReactiveSignals

  extension SignalSource {
    /// Returns the values for Combine.
    ///
    ///     let label = name.publisher().receive(on: RunLoop.main).sink { print($0) }
    ///
    /// Each subscription is an observation of its own. If the signal has a memory, it begins with the latest
    /// value. The subscriber receives values on the thread that sends them. The subscription ends with the
    /// signal, or if the subscriber cancels.
    ///
    /// - Parameter policy: How to buffer values that the subscriber has not demanded yet. The default keeps
    ///   only the latest value.
    public func publisher(
      policy: DeliveryPolicy = .coalesce
    ) -> some Publisher<Value, Never> & Sendable {
      ObservationPublisher<LatestValue<Value>, Value>(policy) { [signal] subscription in
        signal.observe {
          subscription.post(LatestValue(value: $0))
        } onCompletion: {
          subscription.finish()
        }
      } read: {
        { $0.value }
      }
    }
  }
#endif
