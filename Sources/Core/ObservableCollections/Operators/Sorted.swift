public import Diffing
public import ReactiveSignals
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
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func sorted(
    by areInIncreasingOrder: @escaping @Sendable (Element, Element) -> Bool
  ) -> LiveCollection<Element> {
    sorted(by: ElementOrder(by: areInIncreasingOrder))
  }

  /// Derives a collection in ascending order of a key. Elements with equal keys keep the order of the source.
  ///
  ///     let byTitle = todos.sorted(by: \.title)
  ///
  /// - Parameter key: A key path or closure that returns the key of an element. It is called once for each
  ///   inserted or updated element.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func sorted<Key: Comparable & Sendable>(
    by key: @escaping @Sendable (Element) -> Key
  ) -> LiveCollection<Element> {
    transformed {
      SortOperator(input: $0, order: ElementOrder { $0 < $1 }, parameter: nil, key: key)
    }
  }

  /// Derives a collection in an order of its elements.
  ///
  ///     let byDate = todos.sorted(by: .descending(\.date).then(.ascending(\.title)))
  ///
  /// Elements that compare as equal keep the order of the source.
  ///
  /// - Parameter order: The order.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func sorted(by order: ElementOrder<Element>) -> LiveCollection<Element> {
    transformed { SortOperator(input: $0, order: order, parameter: nil, key: { $0 }) }
  }

  /// Derives a collection in an order that may change.
  ///
  ///     let order = Property(ElementOrder<Todo>.ascending(\.title))
  ///     let sorted = todos.sorted(by: order)
  ///     order.value = order.value.reversed
  ///
  /// A change of the order causes at most one event, with as few moves as possible.
  ///
  /// - Parameter order: The order: a property, or a view of one.
  /// - Complexity: O(k log n) for a change of k of n elements. A new order is O(n log n), and less if the elements
  ///   are nearly in order. The reversal of an order is O(n).
  @inlinable
  public func sorted(
    by order: some PropertySource<ElementOrder<Element>>
  ) -> LiveCollection<Element> {
    LiveCollection { inputs in
      let order = inputs.property(order)
      return SortOperator(
        input: inputs.collection(self), order: order.value, parameter: order, key: { $0 })
    }
  }
}

extension DataSource where Element: Comparable {
  /// Derives a collection in ascending order. Elements that compare as equal keep the order of the source.
  ///
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func sorted() -> LiveCollection<Element> {
    sorted { $0 < $1 }
  }
}

/// An operator that keeps its output sorted by keys of the elements.
@usableFromInline
struct SortOperator<Element: Differentiable & Sendable, Key: Sendable>: ~Copyable,
  CollectionOperator
{
  @usableFromInline let input: CollectionInput<Element>
  /// The order of the keys.
  @usableFromInline var order: ElementOrder<Key>
  @usableFromInline let parameter: PropertyInput<ElementOrder<Key>>?
  @usableFromInline let key: @Sendable (Element) -> Key
  /// The elements, each with its key.
  @usableFromInline var rows = InputRows<Key>()
  /// The rows in the order of the output.
  @usableFromInline var sorted = RowTree()

  @inlinable
  init(
    input: CollectionInput<Element>, order: ElementOrder<Key>,
    parameter: PropertyInput<ElementOrder<Key>>?, key: @escaping @Sendable (Element) -> Key
  ) {
    self.input = input
    self.order = order
    self.parameter = parameter
    self.key = key
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Element>) {
    if let parameter { order = parameter.value }
    let elements = input.snapshot.array
    rows = InputRows(elements.map(key))
    let positions = Array(0..<UInt32(elements.count))
    let order = sort(positions, positions: positions)
    sorted = RowTree(order)
    output.append(contentsOf: order.map { elements[Int($0)] })
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Element>) {
    if let change = input.change {
      if change.changeset.isLarge(forCount: rows.count) {
        rebuild(change, output)
      } else {
        follow(change, output)
      }
      if let numbers = rows.renumberIfSparse() {
        sorted = RowTree(sorted.rows.map { numbers[Int($0)] })
      }
    }
    if let parameter, parameter.isSet {
      order = parameter.value
      reorder(output)
    }
  }

  // MARK: A few changes

  /// A row, with its offset in the output before the change.
  @usableFromInline typealias RankedRow = (row: UInt32, rank: Int)

  /// Follows a change.
  @inlinable
  mutating func follow(_ change: CollectionChange<Element>, _ output: CollectionDraft<Element>) {
    let (changeset, after) = (change.changeset, change.after)
    let deleted = changeset.deletions.map { ranked(at: $0) }
    var placed = changeset.moves.map { ranked(at: $0.from) }
    let updated = changeset.updates.map { ranked(at: $0.from) }

    // Rows leave their places before any row looks for one. Comparing with a key that has changed, or with a
    // row that is about to move, would lead astray.
    for row in deleted { sorted.remove(row.row) }
    for row in placed { sorted.remove(row.row) }
    for (position, row) in updated.enumerated() {
      let new = key(after[changeset.updates[position].to])
      if sorted.contains(row.row), !isEquivalent(new, rows[row.row]) {
        sorted.remove(row.row)
        placed.append(row)
      }
      rows[row.row] = new
    }
    let key = key
    rows.follow(changeset) { key(after[$0]) }
    let inserted = changeset.insertions.map { rows.order[$0] }
    for row in inserted { place(row) }
    for row in placed { place(row.row) }

    var moves = placed.map { Changeset.Move(from: $0.rank, to: sorted.offset(of: $0.row)) }
    var updates = updated.map { Changeset.Update(from: $0.rank, to: sorted.offset(of: $0.row)) }
    if moves.count > 1 { moves.sort { $0.to < $1.to } }
    if updates.count > 1 { updates.sort { $0.to < $1.to } }
    let result = Changeset(
      deletions: deleted.map { $0.rank }.sorted(),
      insertions: inserted.map { sorted.offset(of: $0) }.sorted(), moves: moves, updates: updates)
    output.apply(valid: result.withLeastMoves) { after[rows.order.offset(of: sorted[$0])] }
  }

  @inlinable
  func ranked(at offset: Int) -> RankedRow {
    let row = rows.order[offset]
    return (row, sorted.offset(of: row))
  }

  /// Inserts a row at its place in the output.
  @inlinable
  mutating func place(_ row: UInt32) {
    let new = rows[row]
    let place = sorted.place { other in
      let key = rows[other]
      if order.precedes(new, key) { return true }
      if order.precedes(key, new) { return false }
      return rows.order.isBefore(row, other)
    }
    sorted.insert(row, at: place)
  }

  @inlinable
  func isEquivalent(_ one: Key, _ other: Key) -> Bool {
    !order.precedes(one, other) && !order.precedes(other, one)
  }

  // MARK: Many changes

  /// Follows a change of so many elements that visiting all of them takes less time.
  @inlinable
  mutating func rebuild(_ change: CollectionChange<Element>, _ output: CollectionDraft<Element>) {
    let (changeset, after, key) = (change.changeset, change.after.array, key)
    let oldRows = Array(rows.order.rows)
    var ranks = Array(repeating: -1, count: rows.values.rowCount)
    for (rank, row) in sorted.rows.enumerated() { ranks[Int(row)] = rank }
    for update in changeset.updates { rows[oldRows[update.from]] = key(after[update.to]) }
    rows.follow(changeset) { key(after[$0]) }

    let (origins, new) = (changeset.elementOrigins(oldCount: oldRows.count), Array(rows.order.rows))
    var positions = Array(repeating: UInt32.max, count: rows.values.rowCount)
    for (offset, row) in new.enumerated() { positions[Int(row)] = UInt32(offset) }
    var isTouched = origins.map { $0.offset < 0 || $0.isUpdated }
    for move in changeset.moves { isTouched[move.to] = true }
    // The rows that were not inserted, updated or moved are still in order.
    let settled = sorted.rows.filter { row in
      let position = positions[Int(row)]
      return position != .max && !isTouched[Int(position)]
    }
    let touched = sort(new.indices.filter { isTouched[$0] }.map { new[$0] }, positions: positions)
    let merged = merge(settled, touched, positions)
    sorted = RowTree(merged)
    let offsets = merged.map { Int(positions[Int($0)]) }
    output.replace(
      with: offsets.map { after[$0] },
      from: offsets.map { offset in
        let origin = origins[offset]
        let rank = origin.offset < 0 ? -1 : ranks[Int(oldRows[origin.offset])]
        return Origin(offset: rank, isUpdated: origin.isUpdated)
      })
  }

  /// Follows a change of the order.
  @inlinable
  mutating func reorder(_ output: CollectionDraft<Element>) {
    let old = output.elements
    var positions = Array(repeating: UInt32(0), count: rows.values.rowCount)
    for (offset, row) in rows.order.rows.enumerated() { positions[Int(row)] = UInt32(offset) }
    var ranks = positions
    for (rank, row) in sorted.rows.enumerated() { ranks[Int(row)] = UInt32(rank) }
    // Begin with the old order: sorting is faster if parts are in order, or in the opposite order.
    let new = sort(Array(sorted.rows), positions: positions)
    sorted = RowTree(new)
    let origins = new.map { Int(ranks[Int($0)]) }
    output.replace(
      with: Snapshot(origins.map { old[$0] }),
      by: Changeset(origins: origins, oldCount: old.count) { _, _ in false })
  }

  /// Returns rows in the order of their keys, and rows with equivalent keys in the order of the input.
  @inlinable
  func sort(_ unsorted: [UInt32], positions: [UInt32]) -> [UInt32] {
    // With the key beside the row, sorting reads memory in its order.
    var sorted = unsorted.map { (row: $0, key: rows[$0]) }
    positions.withUnsafeBufferPointer { positions in
      sorted.sort { one, other in
        order.precedes(one.key, other.key)
          || positions[Int(one.row)] < positions[Int(other.row)]
            && !order.precedes(other.key, one.key)
      }
    }
    return sorted.map { $0.row }
  }

  /// Merges rows that are sorted, few into many.
  @inlinable
  func merge(_ many: [UInt32], _ few: [UInt32], _ positions: [UInt32]) -> [UInt32] {
    var merged: [UInt32] = []
    merged.reserveCapacity(many.count + few.count)
    positions.withUnsafeBufferPointer { positions in
      var rest = many[...]
      for row in few {
        let place = rest.partitioningIndex { precedes(row, $0, positions) }
        merged += rest[..<place]
        merged.append(row)
        rest = rest[place...]
      }
      merged += rest
    }
    return merged
  }

  /// Returns whether a row is before another one in the output, by the positions of the rows in the input.
  @inlinable
  func precedes(
    _ one: UInt32, _ other: UInt32, _ positions: UnsafeBufferPointer<UInt32>
  ) -> Bool {
    let (key, otherKey) = (rows[one], rows[other])
    if order.precedes(key, otherKey) { return true }
    return positions[Int(one)] < positions[Int(other)] && !order.precedes(otherKey, key)
  }
}
