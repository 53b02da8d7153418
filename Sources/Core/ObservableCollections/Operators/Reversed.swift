public import Diffing

extension DataSource {
  /// Derives a collection of the elements in the opposite order.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, update, move | the same, counted from the end |
  ///
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func reversed() -> LiveCollection<Element> {
    transformed { ReversalOperator(input: $0) }
  }
}

@usableFromInline
struct ReversalOperator<Element: Differentiable & Sendable>: CollectionOperator {
  @usableFromInline let input: CollectionInput<Element>

  @inlinable
  init(input: CollectionInput<Element>) {
    self.input = input
  }

  @inlinable
  func start(_ output: CollectionDraft<Element>) {
    output.append(contentsOf: input.snapshot.array.reversed())
  }

  @inlinable
  func update(_ output: CollectionDraft<Element>) {
    guard let change = input.change else { return }
    let after = change.after
    let changeset = change.changeset.mirrored(oldCount: change.before.count, newCount: after.count)
    output.apply(valid: changeset) { after[after.count - 1 - $0] }
  }
}
