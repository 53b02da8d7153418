public import Diffing

extension DataSource {
  /// Derives a collection of the elements of this collection, followed by the elements of others.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, update, move in one part | the same, after the elements of the parts before it |
  /// | deleted in one part and inserted in another by one change | a move |
  ///
  /// If all are derived from one root, a change of the root causes one event. Otherwise, the result
  /// has a domain of its own, and a transaction over several roots causes one event.
  ///
  /// The result has loaded once each collection has loaded or failed, and at least one has loaded.
  ///
  /// - Parameter others: The collections that follow, in order.
  /// - Complexity: O(p + k log n) for a change of k elements in p collections.
  @inlinable
  public func concatenated(
    with others: any DataSource<Element>...
  ) -> LiveCollection<Element> {
    concatenated(with: others)
  }

  /// Derives a collection of the elements of this collection, followed by the elements of others.
  ///
  /// This method takes an array, and otherwise does the same as the variadic method.
  ///
  /// - Parameter others: The collections that follow, in order.
  /// - Complexity: O(p + k log n) for a change of k elements in p collections.
  @inlinable
  public func concatenated(
    with others: [any DataSource<Element>]
  ) -> LiveCollection<Element> {
    let sources = [self as any DataSource<Element>] + others
    return LiveCollection { inputs in
      ConcatenationOperator(parts: sources.map { inputs.collection($0, isRequired: false) })
    }
  }
}

@usableFromInline
struct ConcatenationOperator<Element: Differentiable & Sendable>: CollectionOperator {
  @usableFromInline let parts: [CollectionInput<Element>]

  @inlinable
  init(parts: [CollectionInput<Element>]) {
    self.parts = parts
  }

  @inlinable
  func start(_ output: CollectionDraft<Element>) {
    for part in parts { output.append(contentsOf: part.snapshot) }
  }

  @inlinable
  func update(_ output: CollectionDraft<Element>) {
    var start = 0
    for part in parts {
      if let change = part.change {
        let (after, offset) = (change.after, start)
        output.apply(valid: change.changeset.shifted(oldBy: offset, newBy: offset)) {
          after[$0 - offset]
        }
      }
      start += part.snapshot.count
    }
  }
}
