import Diffing
public import ReactiveSignals

extension LiveAggregates {
  /// Returns the element with the least key, or `nil` if there are no elements.
  ///
  ///     let next = events.live.min(by: \.date)
  ///
  /// Of several elements with the least key, this is the first. An element whose key is not equal to
  /// itself, such as NaN, counts only if all keys are like this. A value is sent if the identity or the
  /// content of the least element has changed.
  ///
  /// - Parameter key: A key path or closure that returns the key of an element. It is called once for each
  ///   inserted or updated element.
  /// - Complexity: O(log n) comparisons for each changed element.
  @inlinable
  public func min<Key: Comparable & Sendable>(
    by key: @escaping @Sendable (Element) -> Key
  ) -> ReadOnlyProperty<Element?> {
    extreme(by: key) { $0 < $1 }
  }

  /// Returns the element with the greatest key, or `nil` if there are no elements.
  ///
  ///     let latest = events.live.max(by: \.date)
  ///
  /// Of several elements with the greatest key, this is the first. An element whose key is not equal to
  /// itself, such as NaN, counts only if all keys are like this. A value is sent if the identity or the
  /// content of the greatest element has changed.
  ///
  /// - Parameter key: A key path or closure that returns the key of an element. It is called once for each
  ///   inserted or updated element.
  /// - Complexity: O(log n) comparisons for each changed element.
  @inlinable
  public func max<Key: Comparable & Sendable>(
    by key: @escaping @Sendable (Element) -> Key
  ) -> ReadOnlyProperty<Element?> {
    extreme(by: key) { $0 > $1 }
  }

  /// Returns the least element, or `nil` if there are no elements.
  ///
  /// Of several elements that compare as equal, this is the first. A value is sent if the identity or the
  /// content of the least element has changed.
  ///
  /// - Parameter areInIncreasingOrder: A closure that returns whether one element is before another: a
  ///   strict weak ordering.
  /// - Complexity: O(log n) comparisons for each changed element.
  @inlinable
  public func min(
    by areInIncreasingOrder: @escaping @Sendable (Element, Element) -> Bool
  ) -> ReadOnlyProperty<Element?> {
    extreme { areInIncreasingOrder($0, $1) }
  }

  /// Returns the greatest element, or `nil` if there are no elements.
  ///
  /// Of several elements that compare as equal, this is the first. A value is sent if the identity or the
  /// content of the greatest element has changed.
  ///
  /// - Parameter areInIncreasingOrder: A closure that returns whether one element is before another: a
  ///   strict weak ordering.
  /// - Complexity: O(log n) comparisons for each changed element.
  @inlinable
  public func max(
    by areInIncreasingOrder: @escaping @Sendable (Element, Element) -> Bool
  ) -> ReadOnlyProperty<Element?> {
    extreme { areInIncreasingOrder($1, $0) }
  }

  /// Derives the first element that no other element precedes.
  @inlinable
  func extreme(
    _ precedes: @escaping @Sendable (Element, Element) -> Bool
  ) -> ReadOnlyProperty<Element?> {
    summary(
      empty: Element?.none, { $0 },
      { one, other in
        guard let one else { return other }
        guard let other else { return one }
        return precedes(other, one) ? other : one
      }, result: { elements, _ in elements.total }, areEqual: Self.areSame)
  }

  /// Derives the first element whose key no other key precedes.
  ///
  /// Only the keys are kept, which are smaller than elements and faster to combine (`EngineBenchmarks
  /// aggregate`).
  @inlinable
  func extreme<Key: Comparable & Sendable>(
    by key: @escaping @Sendable (Element) -> Key,
    _ precedes: @escaping @Sendable (Key, Key) -> Bool
  ) -> ReadOnlyProperty<Element?> {
    // Only a NaN differs from itself. All other keys precede it.
    let isBefore: @Sendable (Key, Key) -> Bool = { one, other in
      other == other ? precedes(one, other) : one == one
    }
    return summary(
      empty: Key?.none, { key($0) },
      { one, other in
        guard let one else { return other }
        guard let other else { return one }
        return isBefore(other, one) ? other : one
      },
      result: { keys, snapshot in
        guard let extreme = keys.total else { return nil }
        let offset = keys.firstOffset { key in key.map { !isBefore(extreme, $0) } ?? false }
        return offset.map { snapshot[$0] }
      }, areEqual: Self.areSame)
  }
}

extension LiveAggregates where Element: Comparable {
  /// Returns the least element, or `nil` if there are no elements.
  ///
  /// Of several elements that compare as equal, this is the first.
  ///
  /// - Complexity: O(log n) comparisons for each changed element.
  @inlinable
  public func min() -> ReadOnlyProperty<Element?> { min { $0 < $1 } }

  /// Returns the greatest element, or `nil` if there are no elements.
  ///
  /// Of several elements that compare as equal, this is the first.
  ///
  /// - Complexity: O(log n) comparisons for each changed element.
  @inlinable
  public func max() -> ReadOnlyProperty<Element?> { max { $0 < $1 } }
}
