public import Diffing

/// An operator that includes as many elements of each key as an operation says.
///
/// The output has the included elements of the first input in their order, then the elements of the second input, and so on.
/// Of the elements of one input that have one key, a range is included: see ``SetOperation/included(of:count:)``. A change
/// of a few elements shifts the ends of the range by as many elements at most.
@usableFromInline
struct SetOperator<Element: Differentiable & Sendable, Key: Hashable>: ~Copyable, CollectionOperator
{
  @usableFromInline let inputs: [CollectionInput<Element>]
  @usableFromInline let operation: SetOperation
  @usableFromInline let key: @Sendable (Element) -> Key
  @usableFromInline var parts: [SetPart<Key>]

  @inlinable
  init(
    inputs: [CollectionInput<Element>], operation: SetOperation,
    key: @escaping @Sendable (Element) -> Key
  ) {
    self.inputs = inputs
    self.operation = operation
    self.key = key
    parts = inputs.map { _ in SetPart() }
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Element>) {
    for (part, input) in zip(parts, inputs) {
      part.rows.replaceAll(with: input.snapshot.map { RowsByKey.matchable(key($0)) })
    }
    includeAll()
    for (part, input) in zip(parts, inputs) {
      let elements = input.snapshot.array
      var included: [Element] = []
      included.reserveCapacity(part.included.setCount)
      part.included.forEachSetOffset { included.append(elements[$0]) }
      output.append(contentsOf: included)
    }
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Element>) {
    let changes = inputs.map { KeyChange($0.change, key: key) }
    if zip(changes, parts).contains(where: { $0?.isLarge($1.rows) == true }) {
      return rebuild(changes, output)
    }
    var touched = TouchedKeys<Key>()
    for (number, change) in changes.enumerated() {
      if let change { follow(change, of: number, &touched, output) }
    }
    for (key, old) in touched.ranges { include(key, instead: old, output) }
    for element in touched.kept { replaceKept(element, output) }
    for part in parts { part.rows.renumberIfSparse() }
  }

  /// Returns the offset in the output of an element that is included.
  @inlinable
  func rank(of offset: Int, in number: Int) -> Int {
    parts[..<number].reduce(parts[number].included.rank(of: offset)) { $0 + $1.included.setCount }
  }

  /// Returns the range of the elements of one input that are included if they have a key.
  @inlinable
  func included(_ key: Key, of number: Int) -> Range<Int> {
    operation.included(of: number) { parts[$0].rows.count(of: parts[$0].rows.entry(of: key)) }
  }

  /// Returns whether the elements of one input that have no key are included. Each of them differs from all others.
  @inlinable
  func includesUnmatched(of number: Int) -> Bool {
    !operation.included(of: number) { $0 == number ? 1 : 0 }.isEmpty
  }

  // MARK: A few changes

  /// Follows a change of one input.
  ///
  /// Included elements that are deleted leave the output. Moved and updated ones stay there for the time being. Of the
  /// other elements, only the ones between two included ones of the same key enter the output:
  /// ``include(_:instead:_:)`` and ``replaceKept(_:_:)`` do the rest.
  @inlinable
  func follow(
    _ change: KeyChange<Element, Key>, of number: Int, _ touched: inout TouchedKeys<Key>,
    _ output: CollectionDraft<Element>
  ) {
    let (changeset, after, part) = (change.changeset, change.after, parts[number])
    for offset in changeset.deletions.reversed() {
      leave(at: offset, of: number, &touched)
      exclude(at: offset, of: number, output)
      part.rows.remove(at: offset)
      part.included.remove(at: offset)
    }
    for (step, move) in zip(changeset.sequentialMoves, changeset.moves) {
      followMove(step, to: move.to, after, of: number, &touched, output)
    }
    for (offset, key) in zip(changeset.insertions, change.inserted) {
      touch(key, &touched)
      part.rows.insert(key, at: offset)
      part.included.insert(false, at: offset)
      if isInside(at: offset, of: number, &touched) {
        include(after[offset], at: offset, of: number, output)
      }
    }
    for (update, key) in zip(changeset.updates, change.updated) {
      let row = part.rows.order[update.to]
      let isIncluded = part.included[update.to]
      if part.rows.keys[row] == key {
        if isIncluded { output[rank(of: update.to, in: number)] = after[update.to] }
      } else {
        leave(at: update.to, of: number, &touched)
        touch(key, &touched)
        part.rows.setKey(of: row, to: key)
        let isInside = isInside(at: update.to, of: number, &touched)
        if isIncluded {
          touched.kept.append((number, update.to))
        } else if isInside {
          include(after[update.to], at: update.to, of: number, output)
        }
      }
    }
  }

  /// Follows the move of an element.
  ///
  /// - Parameters:
  ///   - move: The offsets at the moment of the move.
  ///   - offset: The offset after the whole change.
  ///   - after: The elements after the whole change.
  @inlinable
  func followMove(
    _ move: Changeset.Move, to offset: Int, _ after: Snapshot<Element>, of number: Int,
    _ touched: inout TouchedKeys<Key>, _ output: CollectionDraft<Element>
  ) {
    let part = parts[number]
    // Without other elements of its key, the element stays the only one in the ranges.
    let hasTwins = part.rows.group(of: part.rows.order[move.from]) != KeyEntry.noGroup
    if hasTwins { leave(at: move.from, of: number, &touched) }
    let source = rank(of: move.from, in: number)
    part.rows.move(from: move.from, to: move.to)
    let isIncluded = part.included.remove(at: move.from)
    part.included.insert(isIncluded, at: move.to)
    if isIncluded { output.move(from: source, to: rank(of: move.to, in: number)) }
    guard hasTwins else { return }
    let isInside = isInside(at: move.to, of: number, &touched)
    if isIncluded {
      touched.kept.append((number, offset))
    } else if isInside {
      include(after[offset], at: move.to, of: number, output)
    }
  }

  /// Stores the ranges of a key before its first change.
  @inlinable
  func touch(_ key: Key?, _ touched: inout TouchedKeys<Key>) {
    if let key, touched.ranges[key] == nil {
      touched.ranges[key] = parts.indices.map { included(key, of: $0) }
    }
  }

  /// Removes an element from the ranges before its row or its key is removed.
  @inlinable
  func leave(at offset: Int, of number: Int, _ touched: inout TouchedKeys<Key>) {
    let part = parts[number]
    let row = part.rows.order[offset]
    if let key = part.rows.keys[row] {
      touch(key, &touched)
      touched.remove(part.rows.index(of: row), key, of: number)
    }
  }

  /// Adds an element to the ranges, and returns whether it is between included elements of its key, or needs none.
  @inlinable
  func isInside(at offset: Int, of number: Int, _ touched: inout TouchedKeys<Key>) -> Bool {
    let part = parts[number]
    let row = part.rows.order[offset]
    guard let key = part.rows.keys[row] else { return includesUnmatched(of: number) }
    return touched.insert(part.rows.index(of: row), key, of: number)
  }

  /// Replaces an element that has another place or another key now, or removes it from the output.
  @inlinable
  func replaceKept(_ element: (number: Int, offset: Int), _ output: CollectionDraft<Element>) {
    let (number, offset) = element
    let part = parts[number]
    let row = part.rows.order[offset]
    let isIncluded =
      if let key = part.rows.keys[row] {
        included(key, of: number).contains(part.rows.index(of: row))
      } else {
        includesUnmatched(of: number)
      }
    if !isIncluded {
      exclude(at: offset, of: number, output)
    } else if part.included[offset] {
      output[rank(of: offset, in: number)] = inputs[number].snapshot[offset]
    }
  }

  @inlinable
  func include(
    _ element: Element, at offset: Int, of number: Int, _ output: CollectionDraft<Element>
  ) {
    parts[number].included.set(true, at: offset)
    output.insert(element, at: rank(of: offset, in: number))
  }

  /// Removes an element from the output if it is included.
  @inlinable
  func exclude(at offset: Int, of number: Int, _ output: CollectionDraft<Element>) {
    guard parts[number].included[offset] else { return }
    let rank = rank(of: offset, in: number)
    parts[number].included.set(false, at: offset)
    output.removeSubrange(rank..<rank + 1)
  }

  /// Includes the right elements of a key after all changes.
  ///
  /// - Parameters:
  ///   - key: The key.
  ///   - old: For each input, the range of the elements that are included now.
  @inlinable
  func include(_ key: Key, instead old: [Range<Int>], _ output: CollectionDraft<Element>) {
    for (number, part) in parts.enumerated() {
      let (old, new) = (old[number], included(key, of: number))
      if old == new { continue }
      let entry = part.rows.entry(of: key)
      for index in old.subtracting(new) {
        guard let row = part.rows.row(index, of: entry) else { continue }
        exclude(at: part.rows.order.offset(of: row), of: number, output)
      }
      for index in new.subtracting(old) {
        guard let row = part.rows.row(index, of: entry) else { continue }
        let offset = part.rows.order.offset(of: row)
        if part.included[offset] { continue }
        include(inputs[number].snapshot[offset], at: offset, of: number, output)
      }
    }
  }
}

extension Range<Int> {
  /// Returns the numbers of this range that another range does not contain.
  @inlinable
  func subtracting(_ other: Range<Int>) -> [Int] {
    let before = lowerBound..<Swift.max(lowerBound, Swift.min(upperBound, other.lowerBound))
    let after = Swift.min(upperBound, Swift.max(lowerBound, other.upperBound))..<upperBound
    return Array(before) + Array(after)
  }
}

/// The rows of one input of a ``SetOperator``.
@usableFromInline
final class SetPart<Key: Hashable>: @unchecked Sendable {
  // Sendable: an operator owns the part, and only one thread at a time calls an operator.
  // A class: the parts of an operator are in an array.

  @exclusivity(unchecked) @usableFromInline var rows = RowsByKey<Key>()
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
  /// The elements that have another place or another key now, and stay in the output for the time being.
  @usableFromInline var kept: [(number: Int, offset: Int)] = []

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
      let includesUnmatched = includesUnmatched(of: number)
      let indices = part.rows.indices()
      var next = part.rows.order.rows.makeIterator()
      part.included = BitTree(count: part.rows.count) { offset in
        guard let row = next.next(), let key = part.rows.keys[row] else { return includesUnmatched }
        return included(key, of: number).contains(indices[offset])
      }
    }
  }

  /// Follows a change of so many elements that visiting all of them takes less time.
  @inlinable
  func rebuild(_ changes: [KeyChange<Element, Key>?], _ output: CollectionDraft<Element>) {
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
    var (elements, kept): ([Element], [Origin]) = ([], [])
    for (number, part) in parts.enumerated() {
      let contents = inputs[number].snapshot.array
      part.included.forEachSetOffset { offset in
        let origin = origins[number][offset].origin
        elements.append(contents[offset])
        let rank = origin.offset < 0 ? -1 : ranks[number][origin.offset]
        kept.append(Origin(offset: rank, isUpdated: origin.isUpdated))
      }
    }
    output.replace(with: elements, from: kept)
  }
}
