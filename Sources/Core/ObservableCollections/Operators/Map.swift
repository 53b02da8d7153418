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
  @inlinable
  public func map<Output: Differentiable & Sendable>(
    _ transform: @escaping @Sendable (Element) -> Output
  ) -> LiveCollection<Output> {
    transformed { MapOperator(input: $0, transform: transform) }
  }
}

@usableFromInline
struct MapOperator<Input: Differentiable & Sendable, Output: Differentiable & Sendable>:
  CollectionOperator
{
  @usableFromInline let input: CollectionInput<Input>
  @usableFromInline let transform: @Sendable (Input) -> Output

  @inlinable
  init(input: CollectionInput<Input>, transform: @escaping @Sendable (Input) -> Output) {
    self.input = input
    self.transform = transform
  }

  @inlinable
  func start(_ output: CollectionDraft<Output>) {
    output.append(contentsOf: input.snapshot.map(transform))
  }

  @inlinable
  func update(_ output: CollectionDraft<Output>) {
    guard let change = input.change else { return }
    output.apply(valid: change.changeset) { transform(change.after[$0]) }
  }
}
