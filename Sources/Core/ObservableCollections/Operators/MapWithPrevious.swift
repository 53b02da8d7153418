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

  @usableFromInline
  func update(_ output: CollectionDraft<Output>) {
    guard let change = input.change else { return }
    let (changeset, after) = (change.changeset, change.after)
    func result(at offset: Int) -> Output {
      transform(after[offset], offset > 0 ? after[offset - 1] : nil)
    }
    output.apply(valid: changeset) { result(at: $0) }
    // The elements that have another one before them.
    let map = OffsetMap(changeset)
    var followers = Set(changeset.moves.map(\.to))
    for offset in changeset.insertions + changeset.moves.map(\.to) + changeset.updates.map(\.to) {
      followers.insert(offset + 1)
    }
    for offset in changeset.deletions + changeset.moves.map(\.from) {
      if let follower = map[offset + 1] { followers.insert(follower) }
    }
    followers.subtract(changeset.insertions)
    for offset in followers.sorted() where offset < after.count {
      output[offset] = result(at: offset)
    }
  }
}
