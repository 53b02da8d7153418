/// A section made of a model, which identifies it and holds its content, and an array of elements.
///
/// Its content is that of the model: a change of the elements alone does not update the section.
///
/// ```swift
/// let fruit = ArraySection(model: "fruit", elements: ["apple", "pear"])
/// ```
public struct ArraySection<Model: Differentiable, Element: Differentiable>: DifferentiableSection {
  /// What identifies the section, and what is shown of it.
  public var model: Model

  /// The elements, in order.
  public var elements: [Element]

  /// Creates a section.
  ///
  /// - Parameters:
  ///   - model: What identifies the section, and what is shown of it.
  ///   - elements: The elements, in order.
  /// - Complexity: O(*n*), or O(1) where the elements are an array.
  @inlinable
  public init(model: Model, elements: some Collection<Element>) {
    self.model = model
    self.elements = Array(elements)
  }

  /// Creates a section of the same model with other elements.
  ///
  /// - Parameters:
  ///   - source: The section that it takes the model from.
  ///   - elements: The elements, in order.
  /// - Complexity: O(*n*), or O(1) where the elements are an array.
  @inlinable
  public init(source: Self, elements: some Collection<Element>) {
    self.init(model: source.model, elements: elements)
  }

  /// The model's identity.
  @inlinable
  public var differenceIdentifier: Model.DifferenceIdentifier { model.differenceIdentifier }

  /// Tells whether the models are of equal content.
  @inlinable
  public func isContentEqual(to source: Self) -> Bool { sameContent(source.model, model) }
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
