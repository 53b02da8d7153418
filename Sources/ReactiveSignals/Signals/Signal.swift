/// A stream of values that can be observed.
///
/// All immediate observers get the same values in the same order, and none is called concurrently
/// with itself. A signal that comes from a ``Property`` tells a new observer the newest value first.
public final class Signal<Value: Sendable>: Sendable {
  package let node: SignalNode<Value>
  private let upstream: (any AnyObject & Sendable)?

  package init(_ node: SignalNode<Value>, upstream: (any AnyObject & Sendable)?) {
    self.node = node
    self.upstream = upstream
  }

  deinit {
    if node.height > 0 { node.domain.remove(node) }
  }

  /// Subscribes to the values.
  ///
  /// - Parameters:
  ///   - scheduler: Where the observer is called.
  ///   - policy: What becomes of values that wait; of merged ones the latest is delivered. It
  ///     matters only where the observer is called elsewhere.
  ///   - handler: Called with each value.
  /// - Returns: What keeps the observation and this signal alive; letting it go ends it.
  /// - Complexity: O(1), and not more with many observers.
  public func observe(
    on scheduler: Scheduler = .immediate, policy: DeliveryPolicy = .coalesce,
    _ handler: @escaping @Sendable (Value) -> Void
  ) -> Disposable {
    node.observe(on: scheduler, policy: policy, keeping: self, handler)
  }

  /// Makes a signal of transformed values.
  ///
  /// - Parameter transform: Called once for each value, however many observe the result.
  public func map<Output: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Output
  ) -> Signal<Output> {
    Signal<Output>(DerivedSignalNode(node) { transform($0) }, upstream: self)
  }

  /// Makes a signal of those values that satisfy a predicate.
  ///
  /// - Parameter isIncluded: Called once for each value, however many observe the result.
  public func filter(_ isIncluded: @escaping @Sendable (Value) -> Bool) -> Signal<Value> {
    Signal(DerivedSignalNode(node) { isIncluded($0) ? $0 : nil }, upstream: self)
  }

  /// Makes a signal that leaves out each value that equals the one before it.
  ///
  /// - Parameter areEqual: Whether two values that follow each other are the same.
  public func removeDuplicates(
    by areEqual: @escaping @Sendable (Value, Value) -> Bool
  ) -> Signal<Value> {
    var last: Value?
    let node = DerivedSignalNode<Value, Value>(node) { value in
      if let last, areEqual(last, value) { return nil }
      last = value
      return value
    }
    return Signal(node, upstream: self)
  }
}

extension Signal where Value: Equatable {
  /// Makes a signal that leaves out each value that equals the one before it.
  public func removeDuplicates() -> Signal<Value> {
    removeDuplicates(by: ==)
  }
}
