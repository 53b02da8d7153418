import Diffing

extension DataSource {
  /// Makes a live collection in sorted order; elements that compare as equal keep the source's order.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert where it belongs |
  /// | delete | delete |
  /// | update | update, with a move where it now belongs elsewhere |
  /// | move | nothing; a move where it passes one that compares as equal |
  ///
  /// - Parameter areInIncreasingOrder: Whether one element belongs before another: a strict weak
  ///   ordering.
  /// - Complexity: O(n + k log k) for a change of k elements.
  public func sorted(
    by areInIncreasingOrder: @escaping @Sendable (Element, Element) -> Bool
  ) -> LiveCollection<Element> {
    transformed(by: SortOperator(areInIncreasingOrder: areInIncreasingOrder))
  }
}

extension DataSource where Element: Comparable {
  /// Makes a live collection in ascending order; elements that compare as equal keep the source's order.
  ///
  /// - Complexity: O(n + k log k) for a change of k elements.
  public func sorted() -> LiveCollection<Element> {
    sorted { $0 < $1 }
  }
}

struct SortOperator<Element: Differentiable & Sendable>: CollectionOperator {
  let areInIncreasingOrder: @Sendable (Element, Element) -> Bool
  /// For each element of the output its offset in the input.
  private var order: [Int] = []

  init(areInIncreasingOrder: @escaping @Sendable (Element, Element) -> Bool) {
    self.areInIncreasingOrder = areInIncreasingOrder
  }

  mutating func start(with input: Snapshot<Element>) -> [Element] {
    let input = input.array
    order = Array(input.indices)
    sort(&order, input)
    return order.map { input[$0] }
  }

  mutating func apply(
    _ change: CollectionChange<Element>, to output: Snapshot<Element>
  ) -> (output: [Element], changeset: Changeset)? {
    let changeset = change.changeset
    let input = change.after.array
    let origins = changeset.origins(oldCount: change.before.count)

    // What was neither inserted, updated nor moved is in order among itself, as before.
    var isTouched = Array(repeating: false, count: input.count)
    for offset in changeset.insertions { isTouched[offset] = true }
    for update in changeset.updates { isTouched[update.to] = true }
    let isUpdated = isTouched
    for move in changeset.moves { isTouched[move.to] = true }
    var destinations = Array(repeating: -1, count: change.before.count)
    for (offset, origin) in origins.enumerated() where origin >= 0 { destinations[origin] = offset }
    let settled = order.lazy.map { destinations[$0] }.filter { $0 >= 0 && !isTouched[$0] }
    var touched = input.indices.filter { isTouched[$0] }
    sort(&touched, input)

    var ranks = Array(repeating: -1, count: change.before.count)
    for (rank, offset) in order.enumerated() { ranks[offset] = rank }
    order = merge(Array(settled), touched, input)
    return (
      order.map { input[$0] },
      Changeset(
        origins: order.map { origins[$0] < 0 ? -1 : ranks[origins[$0]] }, oldCount: output.count
      ) { _, new in isUpdated[order[new]] }
    )
  }

  /// Whether the element at one offset belongs before that at another; ties in the input's order.
  private func precedes(_ one: Int, _ other: Int, _ input: [Element]) -> Bool {
    if areInIncreasingOrder(input[one], input[other]) { return true }
    return one < other && !areInIncreasingOrder(input[other], input[one])
  }

  private func sort(_ offsets: inout [Int], _ input: [Element]) {
    offsets.sort { precedes($0, $1, input) }
  }

  private func merge(_ one: [Int], _ other: [Int], _ input: [Element]) -> [Int] {
    var merged: [Int] = []
    merged.reserveCapacity(one.count + other.count)
    var rest = one[...]
    for offset in other {
      // Few are merged into many: search for the place of each.
      var low = rest.startIndex
      var high = rest.endIndex
      while low < high {
        let middle = low + (high - low) / 2
        if precedes(rest[middle], offset, input) { low = middle + 1 } else { high = middle }
      }
      merged += rest[..<low]
      merged.append(offset)
      rest = rest[low...]
    }
    return merged + rest
  }
}
