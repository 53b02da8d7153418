/// A section of a collection, which has an identity, content of its own, and elements.
///
/// The content of a section is the state of the section itself, such as a heading. It may depend on
/// the elements, for example if the heading shows their number. In a ``SectionedChangeset``, a section is
/// updated only if `isContentEqual(to:)` returns `false`. The default, `==`, also compares the elements.
/// With it, each change of an element updates the section as well. In a list whose elements are sections,
/// a change of an element updates its section.
///
/// ```swift
/// struct Album: Identifiable, DifferentiableSection {
///   let id: String
///   var title: String
///   var elements: [Track]
///
///   init(id: String, title: String, elements: [Track]) {
///     (self.id, self.title, self.elements) = (id, title, elements)
///   }
///
///   init(source: Album, elements: some Collection<Track>) {
///     self.init(id: source.id, title: source.title, elements: Array(elements))
///   }
///
///   func isContentEqual(to source: Album) -> Bool {
///     title == source.title && elements.count == source.elements.count
///   }
/// }
/// ```
///
/// Use `ArraySection` if you do not need a type of your own.
public protocol DifferentiableSection: Differentiable {
  /// The collection of the elements.
  associatedtype Elements: Collection where Elements.Element: Differentiable

  /// The elements, in order.
  var elements: Elements { get }

  /// Creates a copy of a section with other elements.
  ///
  /// - Parameters:
  ///   - source: The section to copy the identity and the content from.
  ///   - elements: The elements of the new section.
  init(source: Self, elements: some Collection<Elements.Element>)
}

extension DifferentiableSection {
  /// Returns whether the content and the elements are equal.
  ///
  /// - Complexity: O(*n*) for *n* elements, unless the contents differ.
  @inlinable
  public func isWholeContentEqual(to source: Self) -> Bool {
    isContentEqual(to: source)
      && (elements.sharesStorage(with: source.elements)
        || elements.hasSameContents(as: source.elements))
  }
}

/// A section without its elements. A difference of sections updates a section only if its own content has changed.
@usableFromInline
@frozen
struct SectionHeading<Section: DifferentiableSection>: Differentiable {
  @usableFromInline let section: Section

  @inlinable
  init(_ section: Section) {
    self.section = section
  }

  @inlinable
  var differenceIdentifier: Section.DifferenceIdentifier { section.differenceIdentifier }

  @inlinable
  func isContentEqual(to source: SectionHeading) -> Bool {
    section.isContentEqual(to: source.section)
  }
}

/// A section with a model, which has the identity and the content, and an array of elements.
///
/// The content is the content of the model. In a sectioned difference, a change of the elements does not
/// update the section.
///
/// ```swift
/// let fruit = ArraySection(model: "fruit", elements: ["apple", "pear"])
/// ```
public struct ArraySection<Model: Differentiable, Element: Differentiable>: DifferentiableSection {
  /// The value that has the identity and the content of the section.
  public var model: Model

  /// The elements, in order.
  public var elements: [Element]

  /// Creates a section.
  ///
  /// - Parameters:
  ///   - model: The value that has the identity and the content of the section.
  ///   - elements: The elements, in order.
  /// - Complexity: O(*n*), or O(1) if the elements are an array.
  @inlinable
  public init(model: Model, elements: some Collection<Element>) {
    self.model = model
    self.elements = Array(elements)
  }

  /// Creates a section with the model of another section.
  ///
  /// - Parameters:
  ///   - source: The section to copy the model from.
  ///   - elements: The elements, in order.
  /// - Complexity: O(*n*), or O(1) if the elements are an array.
  @inlinable
  public init(source: Self, elements: some Collection<Element>) {
    self.init(model: source.model, elements: elements)
  }

  /// The identity of the model.
  @inlinable
  public var differenceIdentifier: Model.DifferenceIdentifier { model.differenceIdentifier }

  /// Returns a Boolean value that indicates whether the models have equal content.
  @inlinable
  public func isContentEqual(to source: Self) -> Bool { model.hasSameContent(as: source.model) }
}

extension ArraySection: Sendable where Model: Sendable, Element: Sendable {}
extension ArraySection: Equatable where Model: Equatable, Element: Equatable {}
extension ArraySection: Hashable where Model: Hashable, Element: Hashable {}
extension ArraySection: Encodable where Model: Encodable, Element: Encodable {}
extension ArraySection: Decodable where Model: Decodable, Element: Decodable {}

extension ArraySection: CustomStringConvertible {
  /// The model and the elements, for example `fruit: ["apple", "pear"]`.
  public var description: String { "\(model): \(elements)" }
}
