public import Diffing

extension DataSource {
  /// Makes a live collection of transformed elements.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert of the transformed element |
  /// | delete, move | the same |
  /// | update | update, or nothing where the transformed contents are equal |
  ///
  /// - Parameter transform: Called once for each inserted or updated element.
  /// - Complexity: O(n) for a change; the transform runs for what was inserted or updated alone.
  public func map<Output: Differentiable & Sendable>(
    _ transform: @escaping @Sendable (Element) -> Output
  ) -> LiveCollection<Output> {
    transformed(by: MapOperator(transform: transform))
  }
}

struct MapOperator<Input: Differentiable & Sendable, Output: Differentiable & Sendable>:
  CollectionOperator
{
  let transform: @Sendable (Input) -> Output

  func start(with input: Snapshot<Input>) -> [Output] {
    input.map(transform)
  }

  func apply(
    _ change: CollectionChange<Input>, to output: Snapshot<Output>
  ) -> (output: [Output], changeset: Changeset)? {
    // Reads from its second argument what was inserted or updated, each once.
    (
      change.changeset.applying(to: output.array, with: change.after.lazy.map(transform)),
      change.changeset
    )
  }
}
