public import Diffing

extension DataSource {
  /// Derives a collection of the elements that satisfy a predicate.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert, or nothing |
  /// | delete | delete, or nothing |
  /// | update | update; insert if only the new element passes; delete if only the old one did; or nothing |
  /// | move | move, or nothing if it passes no other element of the output |
  ///
  /// - Parameter isIncluded: A closure that is called once for each inserted or updated element.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func filter(
    _ isIncluded: @escaping @Sendable (Element) -> Bool
  ) -> LiveCollection<Element> {
    compactMap { isIncluded($0) ? $0 : nil }
  }

  /// Derives a collection of the transformed elements for which a closure returns a value.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert of the transformed element, or nothing |
  /// | delete | delete, or nothing |
  /// | update | update; insert if only the new element has a value; delete if only the old one had; or nothing |
  /// | move | move, or nothing if it passes no other element of the output |
  ///
  /// - Parameter transform: A closure that is called once for each inserted or updated element.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func compactMap<Output: Differentiable & Sendable>(
    _ transform: @escaping @Sendable (Element) -> Output?
  ) -> LiveCollection<Output> {
    transformed { FilterOperator(input: $0, transform: transform) }
  }
}

/// An operator that keeps the transformed elements for which a closure returns a value.
@usableFromInline
struct FilterOperator<Input: Differentiable & Sendable, Output: Differentiable & Sendable>:
  ~Copyable, CollectionOperator
{
  @usableFromInline let input: CollectionInput<Input>
  @usableFromInline var transform: @Sendable (Input) -> Output?
  /// Indicates for each element of the input whether it is in the output.
  @usableFromInline var passes = BitTree()

  @inlinable
  init(input: CollectionInput<Input>, transform: @escaping @Sendable (Input) -> Output?) {
    self.input = input
    self.transform = transform
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Output>) {
    let elements = input.snapshot.array
    var passing: [Output] = []
    passes = BitTree(count: elements.count) { offset in
      guard let element = transform(elements[offset]) else { return false }
      passing.append(element)
      return true
    }
    output.append(contentsOf: passing)
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Output>) {
    guard let change = input.change else { return }
    if change.changeset.isLarge(forCount: passes.count) {
      rebuild(change, output)
    } else {
      follow(change, output)
    }
  }

  /// Follows a change of a few elements.
  @inlinable
  mutating func follow(_ change: CollectionChange<Input>, _ output: CollectionDraft<Output>) {
    let (changeset, after) = (change.changeset, change.after)
    // First the offsets in the output before the change, then the change of `passes`, then the offsets after it.
    var deletions: [Int] = []
    for offset in changeset.deletions {
      let (passed, rank) = passes.find(offset)
      if passed { deletions.append(rank) }
    }
    let moves = changeset.moves.map { (old: passes.find($0.from), to: $0.to) }
    var updates = changeset.updates.map {
      (old: passes.find($0.from), to: $0.to, element: Output?.none)
    }

    /// The new elements, each with its offset in the input.
    var arrived: [(offset: Int, element: Output)] = []
    changeset.rearrange { offset, _ in
      passes.remove(at: offset)
    } arrive: { offset, move in
      if let move { return passes.insert(moves[move].old.isSet, at: offset) }
      let element = transform(after[offset])
      passes.insert(element != nil, at: offset)
      if let element { arrived.append((offset, element)) }
    }
    for position in updates.indices {
      let (old, offset) = (updates[position].old, updates[position].to)
      let element = transform(after[offset])
      passes.set(element != nil, at: offset)
      if old.isSet, element == nil { deletions.append(old.rank) }
      if let element, !old.isSet { arrived.append((offset, element)) }
      if old.isSet { updates[position].element = element }
    }

    if deletions.count > 1 { deletions.sort() }
    if arrived.count > 1 { arrived.sort { $0.offset < $1.offset } }
    let shown = updates.lazy.filter { $0.element != nil }
    let changesetOfOutput = Changeset(
      deletions: deletions, insertions: arrived.map { passes.rank(of: $0.offset) },
      moves: moves.filter { $0.old.isSet && passes[$0.to] }.map {
        Changeset.Move(from: $0.old.rank, to: passes.rank(of: $0.to))
      },
      updates: shown.map { Changeset.Update(from: $0.old.rank, to: passes.rank(of: $0.to)) })
    if changesetOfOutput.isEmpty { return }
    output.apply(
      valid: changesetOfOutput.withLeastMoves, inserted: arrived.map { $0.element },
      updated: shown.compactMap { $0.element })
  }

  /// Follows a change of so many elements that visiting all of them takes less time.
  @inlinable
  mutating func rebuild(_ change: CollectionChange<Input>, _ output: CollectionDraft<Output>) {
    let (elements, old) = (change.after.array, output.elements)
    let origins = change.changeset.elementOrigins(oldCount: passes.count)
    /// The offset in the old output of each element of the old input, or -1.
    var ranks = Array(repeating: -1, count: passes.count)
    var rank = 0
    passes.forEachSetOffset { offset in
      ranks[offset] = rank
      rank += 1
    }
    var (result, kept): ([Output], [Origin]) = ([], [])
    passes = BitTree(count: elements.count) { offset in
      let origin = origins[offset]
      let rank = origin.offset < 0 ? -1 : ranks[origin.offset]
      if origin.offset < 0 || origin.isUpdated {
        guard let element = transform(elements[offset]) else { return false }
        result.append(element)
      } else {
        if rank < 0 { return false }
        result.append(old[rank])
      }
      kept.append(Origin(offset: rank, isUpdated: origin.isUpdated))
      return true
    }
    output.replace(with: result, from: kept)
  }
}
