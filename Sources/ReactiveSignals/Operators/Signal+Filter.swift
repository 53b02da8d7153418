extension Signal {
  /// Makes a signal of those values that satisfy a predicate.
  ///
  /// - Parameter isIncluded: Called once for each value, however many observe the result.
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
  public func filter(_ isIncluded: @escaping @Sendable (Value) -> Bool) -> Signal<Value> {
    derived { isIncluded($0) ? $0 : nil }
  }
}
