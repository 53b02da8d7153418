public import Diffing

extension PersistentArray {
  /// Applies a changeset.
  ///
  /// - Parameters:
  ///   - changeset: The changeset. Its offsets must fit this list.
  ///   - inserted: The elements for its insertions, in their order.
  ///   - updated: The new elements for its updates, in their order.
  ///   - limits: The sizes of nodes.
  /// - Complexity: O(*k* log *n*) for *k* operations on *n* elements, and at most O(*n* + *k*). The first edit
  ///   of a list that was created from an array is O(*n*).
  @inlinable
  package mutating func apply(
    _ changeset: Changeset, inserted: [Element], updated: [Element],
    limits: NodeLimits = .standard(for: Element.self)
  ) {
    if changeset.isOfOneElement {
      applySingle(changeset, inserted: inserted, updated: updated, limits)
      return
    }
    if array != nil && count <= limits.flat || limits.bulk * changeset.changeCount >= count {
      self = PersistentArray(
        changeset.applying(to: flattened(), inserted: inserted, updated: updated))
      return
    }
    if changeset.changeCount > changeset.updates.count {
      rearrange(changeset, inserted: inserted, limits: limits)
    }
    for position in updated.indices {
      _ = exchangeElement(
        at: changeset.updates[position].to, with: updated[position], limits: limits)
    }
  }

  /// Applies a changeset that inserts, deletes, moves or updates one element, or moves and updates it.
  @inlinable
  mutating func applySingle(
    _ changeset: Changeset, inserted: [Element], updated: [Element], _ limits: NodeLimits
  ) {
    if let move = changeset.moves.first {
      self.move(from: move.from, to: move.to, as: updated.first, limits: limits)
    } else if let update = changeset.updates.first {
      _ = exchangeElement(at: update.to, with: updated[0], limits: limits)
    } else if let offset = changeset.insertions.first {
      insert(inserted[0], at: offset, limits: limits)
    } else if let offset = changeset.deletions.first {
      _ = remove(at: offset, limits: limits)
    }
  }

  /// Applies the deletions, insertions and moves of a changeset.
  @inlinable
  mutating func rearrange(
    _ changeset: Changeset, inserted: [Element], limits: NodeLimits
  ) {
    let moved = changeset.moves.map { self[$0.from] }
    for range in changeset.removals.runs.reversed() {
      replaceSubrange(range, with: [], limits: limits)
    }
    var arrivals: [(offset: Int, element: Element)] = []
    arrivals.reserveCapacity(changeset.insertions.count + changeset.moves.count)
    var insertion = 0
    changeset.forEachArrival { offset, move in
      arrivals.append((offset, move.map { moved[$0] } ?? inserted[insertion]))
      insertion += move == nil ? 1 : 0
    }
    var next = 0
    for range in arrivals.map({ $0.offset }).runs {
      let elements = arrivals[next..<next + range.count].map { $0.element }
      replaceSubrange(range.lowerBound..<range.lowerBound, with: elements, limits: limits)
      next += range.count
    }
  }
}

extension [Int] {
  /// These ascending offsets, as ranges without gaps.
  @usableFromInline var runs: [Range<Int>] {
    var runs: [Range<Int>] = []
    for offset in self {
      if let last = runs.last, last.upperBound == offset {
        runs[runs.count - 1] = last.lowerBound..<offset + 1
      } else {
        runs.append(offset..<offset + 1)
      }
    }
    return runs
  }
}
