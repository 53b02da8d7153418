extension Signal {
  /// Makes a signal of transformed values, without those that become nil.
  ///
  /// - Parameter transform: Called once for each value, however many observe the result.
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
  public func compactMap<Output: Sendable>(
    _ transform: @escaping @Sendable (Value) -> Output?
  ) -> Signal<Output> {
    derived { transform($0) }
  }
}
