public import Diffing

/// A row of an outline: an element with its place in the tree.
///
/// The identity of a row is the identity of its element.
public struct OutlineRow<Element: Differentiable & Sendable>: Differentiable, Sendable {
  /// The element.
  public let element: Element
  /// The number of ancestors. It is 0 for a root.
  public let depth: Int
  /// A Boolean value that indicates whether the element has children, shown or not.
  public let hasChildren: Bool
  /// A Boolean value that indicates whether the element has children and they are shown.
  public let isExpanded: Bool

  /// Creates a row.
  ///
  /// - Parameters:
  ///   - element: The element.
  ///   - depth: The number of ancestors.
  ///   - hasChildren: A Boolean value that indicates whether the element has children.
  ///   - isExpanded: A Boolean value that indicates whether the children are shown.
  @inlinable
  public init(_ element: Element, depth: Int, hasChildren: Bool, isExpanded: Bool) {
    self.element = element
    self.depth = depth
    self.hasChildren = hasChildren
    self.isExpanded = isExpanded
  }

  /// The identity of the element.
  @inlinable public var differenceIdentifier: Element.DifferenceIdentifier {
    element.differenceIdentifier
  }

  @inlinable
  public func isContentEqual(to source: OutlineRow) -> Bool {
    hasSamePlace(as: source) && source.element.hasSameContent(as: element)
  }

  /// Returns whether everything but the element is equal.
  @inlinable
  func hasSamePlace(as other: OutlineRow) -> Bool {
    depth == other.depth && hasChildren == other.hasChildren && isExpanded == other.isExpanded
  }
}

extension OutlineRow: Equatable where Element: Equatable {}
extension OutlineRow: Hashable where Element: Hashable {}

extension OutlineRow where Element.DifferenceIdentifier: Sendable {
  /// The elements of an outline that are expanded, by their identities.
  ///
  ///     var expansion = OutlineRow<Folder>.Expansion()  // Everything is collapsed.
  ///     expansion["music"] = true
  ///     expansion = .all
  ///     expansion["music"].toggle()
  ///
  /// Identities may be in the set without an element. An element that comes back later is then as it was.
  public struct Expansion: Hashable, Sendable {
    /// The identity of an element.
    public typealias Identifier = Element.DifferenceIdentifier

    /// A Boolean value that indicates whether the elements that are no exceptions are expanded.
    public let isExpandedByDefault: Bool
    /// The elements that are not as the others: the expanded ones, or the collapsed ones.
    public private(set) var exceptions: Set<Identifier>

    /// Creates an expansion of some elements. All others are collapsed.
    ///
    /// - Parameter expanded: The identities of the expanded elements.
    public init(_ expanded: Set<Identifier> = []) {
      (isExpandedByDefault, exceptions) = (false, expanded)
    }

    /// Creates an expansion of all elements except some.
    ///
    /// - Parameter collapsed: The identities of the collapsed elements.
    public init(allExcept collapsed: Set<Identifier>) {
      (isExpandedByDefault, exceptions) = (true, collapsed)
    }

    /// All elements are expanded.
    public static var all: Expansion { Expansion(allExcept: []) }

    /// Accesses whether an element is expanded.
    ///
    /// - Parameter identifier: The identity of the element.
    public subscript(identifier: Identifier) -> Bool {
      get { exceptions.contains(identifier) != isExpandedByDefault }
      set {
        if newValue == isExpandedByDefault {
          exceptions.remove(identifier)
        } else {
          exceptions.insert(identifier)
        }
      }
    }

    /// Returns the identities that are expanded in one of two expansions only, or `nil` if their defaults differ.
    ///
    /// - Complexity: O(*e*) for *e* exceptions in both.
    @usableFromInline
    func difference(from old: Expansion) -> Set<Identifier>? {
      if isExpandedByDefault != old.isExpandedByDefault { return nil }
      return exceptions.symmetricDifference(old.exceptions)
    }
  }
}
