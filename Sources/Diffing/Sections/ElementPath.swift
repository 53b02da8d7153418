/// Where an element stands in a collection of sections.
///
/// ```swift
/// let path = ElementPath(section: 2, element: 0)
/// let row = sections[path.section].elements[path.element]
/// ```
public struct ElementPath: Sendable, Hashable {
  /// The offset of the section.
  public var section: Int

  /// The offset of the element within its section.
  public var element: Int

  /// Creates a path.
  ///
  /// - Parameters:
  ///   - section: The offset of the section.
  ///   - element: The offset of the element within its section.
  @inlinable
  public init(section: Int, element: Int) {
    self.section = section
    self.element = element
  }
}

extension ElementPath: Comparable {
  /// Tells whether the one path comes before the other, by section, then by element.
  @inlinable
  public static func < (lhs: Self, rhs: Self) -> Bool {
    lhs.section == rhs.section ? lhs.element < rhs.element : lhs.section < rhs.section
  }
}

extension ElementPath: CustomStringConvertible {
  /// Section and element, for example `2.0`.
  public var description: String { "\(section).\(element)" }
}
