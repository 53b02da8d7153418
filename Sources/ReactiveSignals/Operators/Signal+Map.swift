extension Signal {
  /// Creates a signal of transformed values.
  ///
  /// - Parameter transform: A closure that is called once for each value, for any number of
  ///   observers.
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
  public func map<Output: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Output
  ) -> Signal<Output> {
    derived { transform($0) }
  }

  /// Creates a signal that ends with this signal, and has a memory if this signal has one.
  ///
  /// - Parameter step: A closure that returns the value to send for a value, or `nil`. One thread
  ///   at a time calls it.
  func derived<Output: Sendable>(_ step: @escaping (Value) -> Output?) -> Signal<Output> {
    Signal<Output>(SignalNode(node, step), upstream: [self])
  }
}
