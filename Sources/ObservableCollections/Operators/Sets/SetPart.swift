public import Diffing

/// The rows of one input of a ``SetOperator``.
@usableFromInline
final class SetPart<Key: Hashable>: @unchecked Sendable {
  // Sendable: an operator owns the part, and only one thread at a time calls an operator.

  @usableFromInline let rows = KeyedRows<Key>()
  /// Indicates for each element of the input whether it is in the output.
  @exclusivity(unchecked) @usableFromInline var included = BitTree()

  @inlinable
  init() {}
}

/// The keys that a change touches.
///
/// Until the whole change is followed, the included elements of a key are a range of all elements that have the key.
@usableFromInline
struct TouchedKeys<Key: Hashable> {
  /// The range of each input: indices among the elements of the input that have the key.
  @usableFromInline var ranges: [Key: [Range<Int>]] = [:]

  @inlinable
  init() {}

  /// Shifts a range because an element is removed.
  @inlinable
  mutating func remove(_ index: Int, _ key: Key, of number: Int) {
    guard let range = ranges[key]?[number], index < range.upperBound else { return }
    let isBefore = index < range.lowerBound
    ranges[key]?[number] = range.lowerBound - (isBefore ? 1 : 0)..<range.upperBound - 1
  }

  /// Shifts a range because an element is inserted, and returns whether the element is inside the range.
  @inlinable
  mutating func insert(_ index: Int, _ key: Key, of number: Int) -> Bool {
    guard let range = ranges[key]?[number], index < range.upperBound else { return false }
    let isInside = index > range.lowerBound
    ranges[key]?[number] = range.lowerBound + (isInside ? 0 : 1)..<range.upperBound + 1
    return isInside
  }
}

extension SetOperator {
  /// Stores which elements are included.
  @inlinable
  func includeAll() {
    for (number, part) in parts.enumerated() {
      let (includesUnmatched, rows) = (includesUnmatched(of: number), part.rows)
      let indices = rows.indices()
      var next = rows.order.rows.makeIterator()
      part.included = BitTree(count: rows.count) { offset in
        guard let row = next.next(), let key = rows.keys[row] else { return includesUnmatched }
        return included(key, of: number).contains(indices[offset])
      }
    }
  }

  /// Follows a change of so many elements that visiting all of them takes less time.
  @inlinable
  func rebuild(_ changes: [KeyChange<Element, Key>?], _ output: CollectionDraft<Element>) {
    let start = output.savepoint
    var oldCount = 0
    /// For each input, the offset in the old output of each element before the change, or -1.
    let ranks = parts.map { part in
      var ranks = Array(repeating: -1, count: part.included.count)
      part.included.forEachSetOffset { offset in
        ranks[offset] = oldCount
        oldCount += 1
      }
      return ranks
    }
    let origins = zip(parts, changes).map { part, change in part.rows.replace(by: change) }
    includeAll()
    var (elements, kept, isUpdated): ([Element], [Int], [Bool]) = ([], [], [])
    for (number, part) in parts.enumerated() {
      let contents = inputs[number].snapshot.array
      part.included.forEachSetOffset { offset in
        let origin = origins[number][offset]
        elements.append(contents[offset])
        kept.append(origin.offset < 0 ? -1 : ranks[number][origin.offset])
        isUpdated.append(origin.isUpdated)
      }
    }
    output.write(
      elements, over: start,
      Changeset(origins: kept, oldCount: oldCount) { _, new in isUpdated[new] })
  }
}
