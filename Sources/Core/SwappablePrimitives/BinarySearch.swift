extension RandomAccessCollection where Index == Int {
  /// Returns the index of the first element that satisfies a condition, or the end index if no element
  /// does.
  ///
  /// The elements that satisfy the condition must follow all elements that do not. A range of
  /// positions works, too: `(0..<count).partitioningIndex { names[$0] >= "m" }`.
  ///
  /// - Parameter condition: A closure that returns whether an element satisfies the condition.
  /// - Complexity: O(log *n*) calls of the closure.
  // Inlinable: in other modules, the search is specialized only then.
  @inlinable
  package func partitioningIndex(where condition: (Element) -> Bool) -> Int {
    var (low, high) = (startIndex, endIndex)
    while low < high {
      let middle = low + (high - low) / 2
      if condition(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
