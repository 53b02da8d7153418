/// An order of elements, which can be a value of a property.
///
///     let order = Property(ElementOrder<Todo>.ascending(\.title))
///     let sorted = todos.sorted(by: order)
///     order.value = .descending(\.priority).then(.ascending(\.title))
///     order.value = order.value.reversed
public struct ElementOrder<Element: Sendable>: Sendable {
  @usableFromInline let forward: @Sendable (Element, Element) -> Bool
  // A flag rather than another closure: a program may reverse an order again and again.
  @usableFromInline let isReversed: Bool

  @inlinable
  init(forward: @escaping @Sendable (Element, Element) -> Bool, isReversed: Bool) {
    self.forward = forward
    self.isReversed = isReversed
  }

  /// Creates an order from a comparison.
  ///
  /// - Parameter areInIncreasingOrder: A closure that returns whether one element is before another: a
  ///   strict weak ordering.
  @inlinable
  public init(by areInIncreasingOrder: @escaping @Sendable (Element, Element) -> Bool) {
    self.init(forward: areInIncreasingOrder, isReversed: false)
  }

  /// The ascending order of a key.
  ///
  /// - Parameter key: A key path or closure that returns the key of an element.
  @inlinable
  public static func ascending<Key: Comparable & SendableMetatype>(
    _ key: @escaping @Sendable (Element) -> Key
  ) -> ElementOrder {
    ElementOrder { key($0) < key($1) }
  }

  /// The descending order of a key.
  ///
  /// - Parameter key: A key path or closure that returns the key of an element.
  @inlinable
  public static func descending<Key: Comparable & SendableMetatype>(
    _ key: @escaping @Sendable (Element) -> Key
  ) -> ElementOrder {
    ElementOrder { key($1) < key($0) }
  }

  /// The opposite order. Elements that compare as equal still keep the order of their source.
  @inlinable
  public var reversed: ElementOrder {
    ElementOrder(forward: forward, isReversed: !isReversed)
  }

  /// Returns this order with another one for elements that compare as equal.
  @inlinable
  public func then(_ next: ElementOrder) -> ElementOrder {
    ElementOrder { one, other in
      if precedes(one, other) { return true }
      return !precedes(other, one) && next.precedes(one, other)
    }
  }

  /// Returns whether one element is before another.
  @inlinable
  public func precedes(_ one: Element, _ other: Element) -> Bool {
    isReversed ? forward(other, one) : forward(one, other)
  }
}
