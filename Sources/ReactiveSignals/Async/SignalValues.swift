/// The values of a signal as an asynchronous sequence.
///
/// Each iteration is an observation of its own, that begins with `makeAsyncIterator()` and ends with the
/// signal, when the task is cancelled, or when the iterator is let go. If the signal has a memory, the
/// newest value comes first. While the loop's body is busy, values wait by the policy.
public struct SignalValues<Value: Sendable>: AsyncSequence, Sendable {
  private let signal: Signal<Value>
  private let policy: DeliveryPolicy

  init(_ signal: Signal<Value>, _ policy: DeliveryPolicy) {
    self.signal = signal
    self.policy = policy
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(signal, policy)
  }

  /// Waits for one value after the other.
  public struct Iterator: AsyncIteratorProtocol {
    private let inbox: Inbox<WaitingSignal<Value>>
    private var observation: Disposable?

    fileprivate init(_ signal: Signal<Value>, _ policy: DeliveryPolicy) {
      let inbox = Inbox<WaitingSignal<Value>>(policy)
      self.inbox = inbox
      observation = signal.node.observeEvents(keeping: signal) { inbox.post(WaitingSignal($0)) }
      signal.node.start()
    }

    /// Waits for the next value; nil once the signal has ended or the task is cancelled.
    public mutating func next() async -> Value? {
      await next(isolation: nil)
    }

    /// Waits for the next value; nil once the signal has ended or the task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Value? {
      guard observation != nil else { return nil }
      let next = await inbox.next()
      if next?.isEnd ?? true {
        observation = nil
        // There may be copies of the iterator.
        inbox.finish()
      }
      return next?.value?.value
    }
  }
}

extension SignalSource {
  /// The values as an asynchronous sequence, that ends with the signal.
  ///
  ///     for await name in names.values() { … }
  ///
  /// - Parameter policy: What becomes of values that wait while the loop's body is busy; by default the
  ///   newest alone waits.
  public func values(policy: DeliveryPolicy = .coalesce) -> SignalValues<Value> {
    SignalValues(signal, policy)
  }
}
