public import Diffing

extension DataSource {
  /// Derives a collection of elements that are made from an element and the one before it.
  ///
  ///     let rows = messages.map(withPrevious: { message, previous in
  ///       MessageRow(message, showsDay: message.day != previous?.day)
  ///     })
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, move | the same, and an update of each element that has another one before it, if it differs |
  /// | update | update, also of the next element, or nothing if the results are equal |
  ///
  /// - Parameter transform: A closure that receives an element and the one before it, or `nil` for the first one. It is
  ///   called for each inserted or updated element, and for each element that has another one before it.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func map<Output: Differentiable & Sendable>(
    withPrevious transform: @escaping @Sendable (Element, _ previous: Element?) -> Output
  ) -> LiveCollection<Output> {
    transformed { PreviousOperator(input: $0, transform: transform) }
  }
}

@usableFromInline
struct PreviousOperator<Input: Differentiable & Sendable, Output: Differentiable & Sendable>:
  CollectionOperator
{
  @usableFromInline let input: CollectionInput<Input>
  @usableFromInline let transform: @Sendable (Input, Input?) -> Output

  @inlinable
  init(input: CollectionInput<Input>, transform: @escaping @Sendable (Input, Input?) -> Output) {
    self.input = input
    self.transform = transform
  }

  @inlinable
  func start(_ output: CollectionDraft<Output>) {
    var previous: Input?
    output.append(
      contentsOf: input.snapshot.map { element in
        defer { previous = element }
        return transform(element, previous)
      })
  }

  @inlinable
  func update(_ output: CollectionDraft<Output>) {
    guard let change = input.change else { return }
    let after = change.after
    output.apply(valid: change.changeset) { result(at: $0, after) }
    for offset in change.changeset.followers(count: after.count) {
      output[offset] = result(at: offset, after)
    }
  }

  @inlinable
  func result(at offset: Int, _ elements: Snapshot<Input>) -> Output {
    transform(elements[offset], offset > 0 ? elements[offset - 1] : nil)
  }
}

extension Changeset {
  /// Returns the offsets of the elements that were not inserted and that follow another element than before, or an updated
  /// one.
  ///
  /// - Parameter count: The number of elements after the change.
  @usableFromInline
  func followers(count: Int) -> [Int] {
    let map = OffsetMap(self)
    var followers = Set(moves.map(\.to))
    for offset in insertions + moves.map(\.to) + updates.map(\.to) { followers.insert(offset + 1) }
    for offset in deletions + moves.map(\.from) {
      if let follower = map[offset + 1] { followers.insert(follower) }
    }
    followers.subtract(insertions)
    return followers.filter { $0 < count }.sorted()
  }
}
