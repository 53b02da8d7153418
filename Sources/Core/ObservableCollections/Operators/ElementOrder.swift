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

  /// The end of a list where elements without a key are.
  public enum MissingKeys: Sendable, Hashable {
    /// They are before all others.
    case first
    /// They are after all others.
    case last
  }

  /// The ascending order of a key that an element may not have.
  ///
  ///     let byDate = todos.sorted(by: .ascending(\.due, missing: .last))
  ///
  /// - Parameters:
  ///   - key: A key path or closure that returns the key of an element, or `nil`.
  ///   - missing: The end of the list where elements without a key are. ``reversed`` exchanges the ends.
  @inlinable
  public static func ascending<Key: Comparable & SendableMetatype>(
    _ key: @escaping @Sendable (Element) -> Key?, missing: MissingKeys
  ) -> ElementOrder {
    optional(key, missing) { $0 < $1 }
  }

  /// The descending order of a key that an element may not have.
  ///
  /// - Parameters:
  ///   - key: A key path or closure that returns the key of an element, or `nil`.
  ///   - missing: The end of the list where elements without a key are. ``reversed`` exchanges the ends.
  @inlinable
  public static func descending<Key: Comparable & SendableMetatype>(
    _ key: @escaping @Sendable (Element) -> Key?, missing: MissingKeys
  ) -> ElementOrder {
    optional(key, missing) { $0 > $1 }
  }

  @inlinable
  static func optional<Key: Comparable & SendableMetatype>(
    _ key: @escaping @Sendable (Element) -> Key?, _ missing: MissingKeys,
    _ precedes: @escaping @Sendable (Key, Key) -> Bool
  ) -> ElementOrder {
    ElementOrder { one, other in
      switch (key(one), key(other)) {
      case (let one?, let other?): precedes(one, other)
      case (nil, nil): false
      case (nil, _): missing == .first
      case (_, nil): missing == .last
      }
    }
  }

  /// The order of a text for people: without regard to case, and with numbers by their values.
  ///
  ///     let byName = files.sorted(by: .natural(\.name))  // "img2", "IMG10", "img010"
  ///
  /// Digits are before other characters. The rest are compared by their Unicode scalars, not by the rules of a language.
  /// Texts that differ only in case or in zeros before a number follow each other in the order of `String`, so the order
  /// of different texts is always the same.
  ///
  /// - Parameter text: A key path or closure that returns the text of an element.
  @inlinable
  public static func natural(_ text: @escaping @Sendable (Element) -> String) -> ElementOrder {
    ElementOrder { NaturalText.areInIncreasingOrder(text($0), text($1)) }
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

/// The comparison of texts for people.
@usableFromInline
enum NaturalText {
  private enum Part: Equatable {
    /// The digits of a number, without zeros before them.
    case number([UInt8])
    /// A character in lowercase.
    case character(String)

    func precedes(_ other: Part) -> Bool {
      switch (self, other) {
      case (.number(let one), .number(let other)):
        one.count != other.count ? one.count < other.count : one.lexicographicallyPrecedes(other)
      case (.number, .character): true
      case (.character, .number): false
      case (.character(let one), .character(let other)): one < other
      }
    }
  }

  @usableFromInline
  static func areInIncreasingOrder(_ one: String, _ other: String) -> Bool {
    var (left, right) = (one[...], other[...])
    while true {
      guard let first = nextPart(&left) else { return !right.isEmpty || one < other }
      guard let second = nextPart(&right) else { return false }
      if first != second { return first.precedes(second) }
    }
  }

  private static func nextPart(_ text: inout Substring) -> Part? {
    guard let character = text.popFirst() else { return nil }
    guard var digit = digit(character) else { return .character(character.lowercased()) }
    var digits: [UInt8] = []
    while true {
      if digit > 0 || !digits.isEmpty { digits.append(digit) }
      guard let next = text.first.flatMap(self.digit) else { break }
      digit = next
      text.removeFirst()
    }
    return .number(digits)
  }

  private static func digit(_ character: Character) -> UInt8? {
    guard let scalar = character.unicodeScalars.first, character.unicodeScalars.count == 1,
      scalar.properties.numericType == .decimal
    else { return nil }
    return scalar.properties.numericValue.map { UInt8($0) }
  }
}
