public import Diffing

extension DataSource {
  /// Derives a collection in sorted order. Elements that compare as equal keep the order of the source.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert at its place |
  /// | delete | delete |
  /// | update | update, with a move if its place changes |
  /// | move | nothing, or a move if it passes an element that compares as equal |
  ///
  /// - Parameter areInIncreasingOrder: A closure that returns whether one element is before another: a
  ///   strict weak ordering.
  /// - Complexity: O(n + k log k) for a change of k elements.
  @inlinable
  public func sorted(
    by areInIncreasingOrder: @escaping @Sendable (Element, Element) -> Bool
  ) -> LiveCollection<Element> {
    transformed { SortOperator(input: $0, areInIncreasingOrder: areInIncreasingOrder) }
  }
}

extension DataSource {
  /// Derives a collection in ascending order of a key. Elements with equal keys keep the order of the source.
  ///
  ///     let byTitle = todos.sorted(by: \.title)
  ///
  /// - Parameter key: A key path or closure that returns the key of an element.
  /// - Complexity: O(n + k log k) for a change of k elements.
  @inlinable
  public func sorted<Key: Comparable & SendableMetatype>(
    by key: @escaping @Sendable (Element) -> Key
  ) -> LiveCollection<Element> {
    sorted { key($0) < key($1) }
  }
}

extension DataSource where Element: Comparable {
  /// Derives a collection in ascending order. Elements that compare as equal keep the order of the source.
  ///
  /// - Complexity: O(n + k log k) for a change of k elements.
  @inlinable
  public func sorted() -> LiveCollection<Element> {
    sorted { $0 < $1 }
  }
}

@usableFromInline
struct SortOperator<Element: Differentiable & Sendable>: CollectionOperator {
  @usableFromInline let input: CollectionInput<Element>
  @usableFromInline let areInIncreasingOrder: @Sendable (Element, Element) -> Bool
  /// The offset in the input of each element of the output.
  @usableFromInline var order: [Int] = []

  @inlinable
  init(
    input: CollectionInput<Element>,
    areInIncreasingOrder: @escaping @Sendable (Element, Element) -> Bool
  ) {
    self.input = input
    self.areInIncreasingOrder = areInIncreasingOrder
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Element>) {
    let elements = input.snapshot.array
    order = Array(elements.indices)
    sort(&order, elements)
    output.append(contentsOf: order.map { elements[$0] })
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Element>) {
    guard let change = input.change else { return }
    let (oldCount, start) = (output.count, output.savepoint)
    let changeset = change.changeset
    let input = change.after.array
    let origins = changeset.origins(oldCount: change.before.count)

    // The elements that were not inserted, updated or moved are still in order.
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
    output.write(
      order.map { input[$0] }, over: start,
      Changeset(
        origins: order.map { origins[$0] < 0 ? -1 : ranks[origins[$0]] }, oldCount: oldCount
      ) { _, new in isUpdated[order[new]] })
  }

  /// Returns whether one element is before another. Elements that compare as equal keep the input's
  /// order.
  @inlinable
  func precedes(_ one: Int, _ other: Int, _ input: [Element]) -> Bool {
    if areInIncreasingOrder(input[one], input[other]) { return true }
    return one < other && !areInIncreasingOrder(input[other], input[one])
  }

  @inlinable
  func sort(_ offsets: inout [Int], _ input: [Element]) {
    offsets.sort { precedes($0, $1, input) }
  }

  @inlinable
  func merge(_ one: [Int], _ other: [Int], _ input: [Element]) -> [Int] {
    var merged: [Int] = []
    merged.reserveCapacity(one.count + other.count)
    var rest = one[...]
    for offset in other {
      // A few elements are merged into many, so find each place by binary search.
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
