extension Signal {
  /// Makes a signal of what each value makes of the result before it.
  ///
  ///     numbers.scan(0, +)   // the sum of all numbers so far
  ///
  /// - Parameters:
  ///   - initial: What the first value is given; it is not sent itself.
  ///   - nextResult: Makes a result of the one before and a value; called once for each value, however
  ///     many observe the result.
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
  public func scan<Output: Sendable>(
    _ initial: Output, _ nextResult: @escaping @Sendable (Output, Value) -> Output
  ) -> Signal<Output> {
    var result = initial
    return derived { value in
      result = nextResult(result, value)
      return result
    }
  }
}
