extension Signal {
  /// Makes a signal of transformed values.
  ///
  /// - Parameter transform: Called once for each value, however many observe the result.
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
  public func map<Output: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Output
  ) -> Signal<Output> {
    derived { transform($0) }
  }

  /// Makes a signal that ends with this one and has a memory if this one has.
  ///
  /// - Parameter step: Makes a value or none of each; called by one thread at a time.
  func derived<Output: Sendable>(_ step: @escaping (Value) -> Output?) -> Signal<Output> {
    Signal<Output>(SignalNode(node, step), upstream: [self])
  }
}
