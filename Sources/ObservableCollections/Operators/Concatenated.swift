import Diffing

extension DataSource {
  /// Makes a live collection of this one's elements, followed by those of others.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, update, move in one | the same, behind what stands before it |
  /// | deleted in one and inserted in another by one change | a move |
  ///
  /// Where all are made from one root, a change of the root gives one event. Over several roots it
  /// begins a domain of its own: a transaction over them gives one event, unless another thread is
  /// delivering at the same time.
  ///
  /// - Parameter others: What follows, in order.
  /// - Complexity: O(n) for a change.
  public func concatenated(
    with others: any DataSource<Element>...
  ) -> LiveCollection<Element> {
    concatenated(with: others)
  }

  /// Makes a live collection of this one's elements, followed by those of any number of others.
  ///
  /// What comes in and goes out is the same as where they are named one by one.
  ///
  /// - Parameter others: What follows, in order.
  /// - Complexity: O(n) for a change.
  public func concatenated(
    with others: [any DataSource<Element>]
  ) -> LiveCollection<Element> {
    let sources = [self as any DataSource<Element>] + others
    for source in sources { source.start() }
    let nodes = sources.map { $0.collection.node }
    guard nodes.allSatisfy({ $0.domain === nodes[0].domain }) else {
      return BoundaryNode.make(sources, ConcatenationKernel<Element>())
    }
    return LiveCollection(OperatorNode(nodes, ConcatenationKernel<Element>()), upstream: sources)
  }
}

struct ConcatenationKernel<Element: Differentiable & Sendable>: OperatorKernel {
  private var parts: [Snapshot<Element>] = []

  private var elements: [Element] { parts.flatMap(\.array) }

  mutating func start(_ inputs: [Snapshot<Element>]) -> [Element] {
    parts = inputs
    return elements
  }

  mutating func apply(
    _ changes: [CollectionChange<Element>?], to output: Snapshot<Element>
  ) -> (output: [Element], changeset: Changeset)? {
    var changeset = Changeset.empty
    var oldCount = 0
    var newCount = 0
    for (index, change) in changes.enumerated() {
      let old = parts[index]
      if let change {
        parts[index] = change.after
        changeset = .concatenated(
          changeset, oldCount: oldCount, newCount: newCount, change.changeset)
      }
      oldCount += old.count
      newCount += parts[index].count
    }
    return (elements, changeset)
  }
}
