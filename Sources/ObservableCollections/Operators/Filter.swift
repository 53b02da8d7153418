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
  /// - Complexity: O(n) for a change of the collection's *n* elements.
  @inlinable
  public func filter(
    _ isIncluded: @escaping @Sendable (Element) -> Bool
  ) -> LiveCollection<Element> {
    transformed { FilterOperator(input: $0, isIncluded: isIncluded) }
  }
}

@usableFromInline
struct FilterOperator<Element: Differentiable & Sendable>: CollectionOperator {
  @usableFromInline let input: CollectionInput<Element>
  @usableFromInline let isIncluded: @Sendable (Element) -> Bool
  /// Indicates for each element of the input whether it is in the output.
  @usableFromInline var passes: [Bool] = []

  @inlinable
  init(input: CollectionInput<Element>, isIncluded: @escaping @Sendable (Element) -> Bool) {
    self.input = input
    self.isIncluded = isIncluded
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Element>) {
    let elements = input.snapshot.array
    passes = elements.map(isIncluded)
    var passing: [Element] = []
    for offset in 0..<passes.count where passes[offset] { passing.append(elements[offset]) }
    output.append(contentsOf: passing)
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Element>) {
    guard let change = input.change else { return }
    let changeset = change.changeset
    if changeset.changeCount > 1 {
      rebuild(output, change)
    } else if let update = changeset.updates.first {
      followUpdate(changeset, to: change.after[update.to], output)
    } else if let offset = changeset.insertions.first {
      let element = change.after[offset]
      let isPassing = isIncluded(element)
      if isPassing { output.insert(element, at: rank(of: offset)) }
      passes.insert(isPassing, at: offset)
    } else if let offset = changeset.deletions.first {
      let rank = rank(of: offset)
      if passes.remove(at: offset) { output.removeSubrange(rank..<rank + 1) }
    } else if let move = changeset.moves.first {
      let origin = rank(of: move.from)
      let isPassing = passes.remove(at: move.from)
      if isPassing { output.move(from: origin, to: rank(of: move.to)) }
      passes.insert(isPassing, at: move.to)
    }
  }

  /// Follows the update of one element.
  @inlinable
  mutating func followUpdate(
    _ changeset: Changeset, to element: Element, _ output: CollectionDraft<Element>
  ) {
    let offset = changeset.updates[0].to
    let (passed, isPassing) = (passes[offset], isIncluded(element))
    if !passed && !isPassing { return }
    passes[offset] = isPassing
    let rank = rank(of: offset)
    if !isPassing {
      output.removeSubrange(rank..<rank + 1)
    } else if !passed {
      output.insert(element, at: rank)
    } else if rank == offset {
      // The changeset of the input is the one of the output.
      output.apply(changeset) { _ in element }
    } else {
      output[rank] = element
    }
  }

  /// Returns the number of elements before an offset that pass.
  @inlinable
  func rank(of offset: Int) -> Int {
    var rank = 0
    for position in 0..<offset where passes[position] { rank += 1 }
    return rank
  }

  /// Follows several operations at once.
  @inlinable
  mutating func rebuild(_ output: CollectionDraft<Element>, _ change: CollectionChange<Element>) {
    let (changeset, after) = (change.changeset, change.after)
    // Call the predicate once for each inserted or updated element, even if the output stays the
    // same.
    let updatedPass = changeset.updates.map { isIncluded(after[$0.to]) }
    let hasOnlyUpdates = changeset.changeCount == changeset.updates.count
    if hasOnlyUpdates,
      (0..<updatedPass.count).allSatisfy({ passes[changeset.updates[$0].from] == updatedPass[$0] })
    {
      followUpdates(changeset.updates, after, output)
      return
    }
    // The offsets in the output of the input's elements, or -1 for elements that are not in the
    // output.
    var rank = 0
    let ranks = passes.map { passed -> Int in
      defer { if passed { rank += 1 } }
      return passed ? rank : -1
    }
    let (oldCount, start) = (output.count, output.savepoint)
    var nextUpdate = 0
    var result: [Element] = []
    result.reserveCapacity(oldCount + changeset.insertions.count)
    var kept: [Int] = []
    var isUpdated: [Bool] = []
    var newPasses: [Bool] = []
    newPasses.reserveCapacity(after.count)
    let origins = changeset.origins(oldCount: passes.count)
    for (offset, element) in after.enumerated() {
      let origin = origins[offset]
      let isTouched =
        nextUpdate < changeset.updates.count && changeset.updates[nextUpdate].to == offset
      let isPassing: Bool
      if isTouched {
        isPassing = updatedPass[nextUpdate]
        nextUpdate += 1
      } else {
        isPassing = origin >= 0 ? passes[origin] : isIncluded(element)
      }
      newPasses.append(isPassing)
      guard isPassing else { continue }
      result.append(element)
      kept.append(origin < 0 ? -1 : ranks[origin])
      isUpdated.append(isTouched)
    }
    passes = newPasses
    output.write(
      result, over: start, Changeset(origins: kept, oldCount: oldCount) { _, new in isUpdated[new] }
    )
  }

  /// Follows updates that change nothing in which elements pass.
  @inlinable
  func followUpdates(
    _ updates: [Changeset.Update], _ after: Snapshot<Element>, _ output: CollectionDraft<Element>
  ) {
    var passing: [Changeset.Update] = []
    var elements: [Element] = []
    var (offset, rank) = (0, 0)
    for update in updates where passes[update.to] {
      while offset < update.to {
        if passes[offset] { rank += 1 }
        offset += 1
      }
      passing.append(Changeset.Update(from: rank, to: rank))
      elements.append(after[update.to])
    }
    if passing.isEmpty { return }
    var next = 0
    output.apply(Changeset(updates: passing)) { _ in
      defer { next += 1 }
      return elements[next]
    }
  }
}
