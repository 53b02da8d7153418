public import Diffing
import ReactiveSignals

/// The read-only end of a collection, which a data source gives to its observers.
///
/// It is made by a ``CollectionProperty``, an operator or a container, and has all that a
/// ``DataSource`` has.
public final class LiveCollection<Element: Differentiable & Sendable>: DataSource {
  package let node: CollectionNode<Element>
  /// What it is made from, kept alive.
  private let upstream: [any AnyObject & Sendable]

  package init(_ node: CollectionNode<Element>, upstream: [any AnyObject & Sendable] = []) {
    self.node = node
    self.upstream = upstream
  }

  deinit {
    if node.height > 0 { node.domain.remove(node) }
  }

  /// This collection itself.
  public var collection: LiveCollection<Element> { self }
}
