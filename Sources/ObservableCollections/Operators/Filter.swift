import Diffing

extension DataSource {
  /// Makes a live collection of those elements that satisfy a predicate.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert, or nothing |
  /// | delete | delete, or nothing |
  /// | update | update; insert where it passes only now; delete where it passed only before; or nothing |
  /// | move | move, or nothing where it passes no other element that is there |
  ///
  /// - Parameter isIncluded: Called once for each inserted or updated element.
  /// - Complexity: O(n) for a change; the predicate runs for what was inserted or updated alone.
  public func filter(
    _ isIncluded: @escaping @Sendable (Element) -> Bool
  ) -> LiveCollection<Element> {
    transformed(by: FilterOperator(isIncluded: isIncluded))
  }
}

struct FilterOperator<Element: Differentiable & Sendable>: CollectionOperator {
  let isIncluded: @Sendable (Element) -> Bool
  /// For each element of the input, whether it is in the output.
  private var passes: [Bool] = []

  init(isIncluded: @escaping @Sendable (Element) -> Bool) {
    self.isIncluded = isIncluded
  }

  mutating func start(with input: Snapshot<Element>) -> [Element] {
    passes = input.map(isIncluded)
    return zip(input, passes).compactMap { $1 ? $0 : nil }
  }

  mutating func apply(
    _ change: CollectionChange<Element>, to output: Snapshot<Element>
  ) -> (output: [Element], changeset: Changeset)? {
    // The offset in the output of each element of the input that was in it.
    var rank = 0
    let ranks = passes.map { passed -> Int in
      defer { if passed { rank += 1 } }
      return passed ? rank : -1
    }
    var updates = change.changeset.updates[...]
    var result: [Element] = []
    result.reserveCapacity(output.count + change.changeset.insertions.count)
    var kept: [Int] = []
    var isUpdated: [Bool] = []
    var newPasses: [Bool] = []
    newPasses.reserveCapacity(change.after.count)
    let origins = change.changeset.origins(oldCount: passes.count)
    for (offset, element) in change.after.enumerated() {
      let origin = origins[offset]
      let isTouched = updates.first?.to == offset
      if isTouched { updates.removeFirst() }
      let isSettled = origin >= 0 && !isTouched
      let isPassing = isSettled ? passes[origin] : isIncluded(element)
      newPasses.append(isPassing)
      guard isPassing else { continue }
      result.append(element)
      kept.append(origin < 0 ? -1 : ranks[origin])
      isUpdated.append(isTouched)
    }
    passes = newPasses
    let changeset = Changeset(origins: kept, oldCount: output.count) { _, new in isUpdated[new] }
    return (result, changeset)
  }
}
