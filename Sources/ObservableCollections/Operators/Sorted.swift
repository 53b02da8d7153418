public import Diffing
public import SwappablePrimitives

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
    let (changeset, after) = (change.changeset, change.after)
    if changeset.changeCount > 1 {
      rebuild(output, change)
    } else if let offset = changeset.updates.first?.to {
      let rank = remove(offset)
      let place = insert(offset, after)
      output.move(from: rank, to: place)
      output[place] = after[offset]
    } else if let offset = changeset.insertions.first {
      shift(from: offset, by: 1)
      output.insert(after[offset], at: insert(offset, after))
    } else if let offset = changeset.deletions.first {
      let rank = remove(offset)
      shift(from: offset, by: -1)
      output.removeSubrange(rank..<rank + 1)
    } else if let move = changeset.moves.first {
      let rank = remove(move.from)
      shift(from: move.from, by: -1)
      shift(from: move.to, by: 1)
      output.move(from: rank, to: insert(move.to, after))
    }
  }

  /// Removes an offset of the input from the order, and returns the offset in the output that it had.
  @inlinable
  mutating func remove(_ offset: Int) -> Int {
    guard let rank = order.firstIndex(of: offset) else {
      preconditionFailure("the element at \(offset) is not in the sorted collection")
    }
    order.remove(at: rank)
    return rank
  }

  /// Inserts an offset of the input into the order at its place, and returns the place.
  @inlinable
  mutating func insert(_ offset: Int, _ input: Snapshot<Element>) -> Int {
    let place = order.partitioningIndex { !precedes($0, offset, input) }
    order.insert(offset, at: place)
    return place
  }

  /// Changes the offsets of the input that are not less than an offset.
  @inlinable
  mutating func shift(from offset: Int, by distance: Int) {
    for rank in 0..<order.count where order[rank] >= offset { order[rank] += distance }
  }

  /// Follows several operations at once.
  @inlinable
  mutating func rebuild(_ output: CollectionDraft<Element>, _ change: CollectionChange<Element>) {
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

  /// Returns whether one element of the input is before another in the output. Elements that compare as equal
  /// keep the input's order.
  @inlinable
  func precedes<Input: RandomAccessCollection>(
    _ one: Int, _ other: Int, _ input: Input
  ) -> Bool where Input.Element == Element, Input.Index == Int {
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
      let place = rest.partitioningIndex { !precedes($0, offset, input) }
      merged += rest[..<place]
      merged.append(offset)
      rest = rest[place...]
    }
    return merged + rest
  }
}
