public import Diffing
import ReactiveSignals

/// A live, ordered, read-only collection.
///
/// A ``CollectionProperty``, an operator or a container creates it. It is the end of a data source that
/// observers see.
public final class LiveCollection<Element: Differentiable & Sendable>: DataSource {
  package let node: CollectionNode<Element>
  /// The objects that it is made from.
  private let upstream: [any AnyObject & Sendable]

  package init(_ node: CollectionNode<Element>, upstream: [any AnyObject & Sendable] = []) {
    self.node = node
    self.upstream = upstream
  }

  deinit {
    node.leave()
  }

  /// This collection.
  public var collection: LiveCollection<Element> { self }
}
