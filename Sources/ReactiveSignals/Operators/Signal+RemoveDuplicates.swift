extension Signal {
  /// Makes a signal that leaves out each value that equals the one it sent last.
  ///
  /// - Parameter areEqual: Whether two values are the same: the one that was sent last, and the next.
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
  public func removeDuplicates(
    by areEqual: @escaping @Sendable (Value, Value) -> Bool
  ) -> Signal<Value> {
    var last: Value?
    return derived { value in
      if let last, areEqual(last, value) { return nil }
      last = value
      return value
    }
  }
}

extension Signal where Value: Equatable {
  /// Makes a signal that leaves out each value that equals the one it sent last.
  ///
  /// - Complexity: O(1) for each value, without an allocation unless the result is observed.
  public func removeDuplicates() -> Signal<Value> {
    removeDuplicates(by: ==)
  }
}
