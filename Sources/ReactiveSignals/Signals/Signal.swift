/// A stream of values that can be observed.
///
/// All immediate observers get the same values in the same order, and none is called concurrently
/// with itself. A signal that comes from a ``Property`` tells a new observer the newest value first: it
/// has a *memory*. A signal may end; nothing comes after that.
///
/// What operators make is computed once for each value, however many observe the result, and also while
/// nobody does: to share a signal among observers needs no operator.
public final class Signal<Value: Sendable>: Sendable {
  package let node: SignalNode<Value>
  /// The signals and observations that feed this signal.
  private let upstream: [any AnyObject & Sendable]

  package init(_ node: SignalNode<Value>, upstream: [any AnyObject & Sendable] = []) {
    self.node = node
    self.upstream = upstream
  }

  deinit {
    node.leave()
  }

  /// Subscribes to the values.
  ///
  /// - Parameters:
  ///   - scheduler: Where the observer is called.
  ///   - policy: What becomes of values that wait; of merged ones the latest is delivered. It
  ///     matters only where the observer is called elsewhere.
  ///   - handler: Called with each value.
  /// - Returns: What keeps the observation and this signal alive; letting it go ends it.
  /// - Complexity: O(1) in the number of observers.
  public func observe(
    on scheduler: Scheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (Value) -> Void
  ) -> Disposable {
    defer { node.start() }
    return node.observe(on: scheduler, policy: policy, keeping: self, handler)
  }

  /// Subscribes to the values and the end.
  ///
  /// An observer that comes after the end is told the newest value, if the signal has a memory, and the
  /// end. What both closures captured is released once the end is told.
  ///
  /// - Parameters:
  ///   - scheduler: Where the observer is called.
  ///   - policy: What becomes of values that wait; of merged ones the latest is delivered. It
  ///     matters only where the observer is called elsewhere.
  ///   - handler: Called with each value.
  ///   - onCompletion: Called once, after the last value.
  /// - Returns: What keeps the observation and this signal alive; letting it go ends it.
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
