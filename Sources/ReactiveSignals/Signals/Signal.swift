/// A stream of values that can be observed.
///
/// All immediate observers receive the same values in the same order. An observer is never called
/// concurrently with itself. A signal that comes from a ``Property`` has a *memory*: a new observer
/// first receives the latest value. A signal may end. No values follow the end.
///
/// A derived signal computes each value once, for any number of observers, and also without
/// observers. You do not need an operator to share a signal.
public final class Signal<Value: Sendable>: Sendable {
  package let node: SignalNode<Value>
  /// The signals and observations that this signal depends on.
  private let upstream: [any AnyObject & Sendable]

  package init(_ node: SignalNode<Value>, upstream: [any AnyObject & Sendable] = []) {
    self.node = node
    self.upstream = upstream
  }

  deinit {
    node.leave()
  }

  /// Observes the values.
  ///
  /// - Parameters:
  ///   - scheduler: Where to call the observer.
  ///   - policy: How to buffer values for an observer that is not called immediately. The default
  ///     keeps only the latest value.
  ///   - handler: The observer.
  /// - Returns: A handle that keeps the observation, and this signal, alive.
  /// - Complexity: O(1) in the number of observers.
  public func observe(
    on scheduler: Scheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (Value) -> Void
  ) -> Disposable {
    defer { node.start() }
    return node.observe(on: scheduler, policy: policy, keeping: self, handler)
  }

  /// Observes the values and the end.
  ///
  /// After the end, a new observer receives the latest value, if the signal has a memory, and the
  /// end. Values captured by both closures are released after the end is delivered.
  ///
  /// - Parameters:
  ///   - scheduler: Where to call the observer.
  ///   - policy: How to buffer values for an observer that is not called immediately. The default
  ///     keeps only the latest value.
  ///   - handler: The observer.
  ///   - onCompletion: A closure that is called once, after the last value.
  /// - Returns: A handle that keeps the observation, and this signal, alive.
  /// - Complexity: O(1) in the number of observers.
  public func observe(
    on scheduler: Scheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (Value) -> Void, onCompletion: @escaping @Sendable () -> Void
  ) -> Disposable {
    defer { node.start() }
    return node.observe(
      on: scheduler, policy: policy, keeping: self, handler, onCompletion: onCompletion)
  }
}

extension Signal: SignalSource {
  /// This signal itself.
  public var signal: Signal<Value> { self }
}
