public import Diffing

extension DataSource {
  /// Derives a collection of transformed elements.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert of the transformed element |
  /// | delete, move | the same |
  /// | update | update, or nothing if the transformed contents are equal |
  ///
  /// - Parameter transform: A closure that is called once for each inserted or updated element.
  /// - Complexity: O(k log n) for a change of k elements.
  public func map<Output: Differentiable & Sendable>(
    _ transform: @escaping @Sendable (Element) -> Output
  ) -> LiveCollection<Output> {
    transformed { MapOperator(input: $0, transform: transform) }
  }
}

private struct MapOperator<Input: Differentiable & Sendable, Output: Differentiable & Sendable>:
  CollectionOperator
{
  let input: CollectionInput<Input>
  let transform: @Sendable (Input) -> Output

  func start(_ output: CollectionDraft<Output>) {
    output.append(contentsOf: input.snapshot.map(transform))
  }

  func update(_ output: CollectionDraft<Output>) {
    guard let change = input.change else { return }
    let after = change.after
    output.apply(
      change.changeset, inserted: change.changeset.insertions.map { transform(after[$0]) },
      updated: change.changeset.updates.map { transform(after[$0.to]) })
  }
}
