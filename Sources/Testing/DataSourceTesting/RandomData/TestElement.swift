public import Diffing

/// An element for tests, with an identity and a content.
public struct TestElement: Differentiable, Hashable, Sendable {
  /// The identity.
  public var id: Int
  /// The content.
  public var content: Int

  /// Creates an element.
  public init(_ id: Int, _ content: Int = 0) {
    self.id = id
    self.content = content
  }

  public var differenceIdentifier: Int { id }

  public func isContentEqual(to source: TestElement) -> Bool { content == source.content }
}

extension TestElement: CustomStringConvertible {
  /// The identity and the content, for example `3.1`, or the identity alone if the content is zero.
  public var description: String { content == 0 ? "\(id)" : "\(id).\(content)" }
}

extension TestElement: ExpressibleByIntegerLiteral {
  public init(integerLiteral id: Int) {
    self.init(id)
  }
}

/// A section for tests, whose model and elements are test elements.
public typealias TestSection = ArraySection<TestElement, TestElement>
