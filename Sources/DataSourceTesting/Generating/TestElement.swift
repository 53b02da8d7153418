public import Diffing

/// An element of an identity and a content, to test with.
public struct TestElement: Differentiable, Hashable, Sendable {
  /// Its identity.
  public var id: Int
  /// Its content.
  public var content: Int

  /// Makes an element.
  public init(_ id: Int, _ content: Int = 0) {
    self.id = id
    self.content = content
  }

  public var differenceIdentifier: Int { id }

  public func isContentEqual(to source: TestElement) -> Bool { content == source.content }
}

extension TestElement: CustomStringConvertible {
  /// Identity and content, for example `3.1`; without the content where it is zero.
  public var description: String { content == 0 ? "\(id)" : "\(id).\(content)" }
}

extension TestElement: ExpressibleByIntegerLiteral {
  public init(integerLiteral id: Int) {
    self.init(id)
  }
}
