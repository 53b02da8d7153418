public import Diffing

extension DataSource {
  /// Derives the elements of this collection that have a match in another one.
  ///
  ///     let active = customers.semiJoined(with: orders, on: \.id, equals: \.customerID)
  ///
  /// These lines give the same result:
  ///
  ///     Array(source).filter { left in Array(other).contains { key(left) != nil && key(left) == otherKey($0) } }
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, move, update in this collection | the same, if the element has a match; otherwise as in ``filter(_:)`` |
  /// | the first match of elements appears | insert of these elements |
  /// | their last match disappears | delete of these elements |
  /// | another change of the other collection | nothing |
  ///
  /// The result has loaded once both collections have.
  ///
  /// - Parameters:
  ///   - other: The other collection.
  ///   - key: A key path or closure that returns the key of an element of this collection, or `nil` if it has no match. It
  ///     is called once for each inserted or updated element.
  ///   - otherKey: A key path or closure that returns the key of an element of the other collection.
  /// - Complexity: O(k log n + m log n) for a change of k of n elements, which are matches of m elements.
  @inlinable
  public func semiJoined<Other: Differentiable & Sendable, Key: Hashable & SendableMetatype>(
    with other: some DataSource<Other>, on key: @escaping @Sendable (Element) -> Key?,
    equals otherKey: @escaping @Sendable (Other) -> Key?
  ) -> LiveCollection<Element> {
    filtered(by: other, key, otherKey, showsMatched: true)
  }

  /// Derives the elements of this collection that refer to an element of another one.
  ///
  ///     let known = orders.semiJoined(with: customers, on: \.customerID)
  ///
  /// This is the join of ``semiJoined(with:on:equals:)`` whose second key is the identity.
  @inlinable
  public func semiJoined<Other: Differentiable & Sendable>(
    with other: some DataSource<Other>,
    on key: @escaping @Sendable (Element) -> Other.DifferenceIdentifier?
  ) -> LiveCollection<Element> {
    filtered(by: other, key, { $0.differenceIdentifier }, showsMatched: true)
  }

  /// Derives the elements of this collection that have no match in another one.
  ///
  ///     let idle = customers.antiJoined(with: orders, on: \.id, equals: \.customerID)
  ///
  /// The elements are those that ``semiJoined(with:on:equals:)`` leaves out. An element whose key is `nil`, or not equal to
  /// itself, has no match.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete, move, update in this collection | the same, if the element has no match; otherwise as in ``filter(_:)`` |
  /// | the first match of elements appears | delete of these elements |
  /// | their last match disappears | insert of these elements |
  /// | another change of the other collection | nothing |
  ///
  /// The result has loaded once both collections have.
  ///
  /// - Parameters:
  ///   - other: The other collection.
  ///   - key: A key path or closure that returns the key of an element of this collection, or `nil` if it has no match. It
  ///     is called once for each inserted or updated element.
  ///   - otherKey: A key path or closure that returns the key of an element of the other collection.
  /// - Complexity: O(k log n + m log n) for a change of k of n elements, which are matches of m elements.
  @inlinable
  public func antiJoined<Other: Differentiable & Sendable, Key: Hashable & SendableMetatype>(
    with other: some DataSource<Other>, on key: @escaping @Sendable (Element) -> Key?,
    equals otherKey: @escaping @Sendable (Other) -> Key?
  ) -> LiveCollection<Element> {
    filtered(by: other, key, otherKey, showsMatched: false)
  }

  /// Derives the elements of this collection that refer to no element of another one.
  ///
  ///     let orphans = orders.antiJoined(with: customers, on: \.customerID)
  ///
  /// This is the join of ``antiJoined(with:on:equals:)`` whose second key is the identity.
  @inlinable
  public func antiJoined<Other: Differentiable & Sendable>(
    with other: some DataSource<Other>,
    on key: @escaping @Sendable (Element) -> Other.DifferenceIdentifier?
  ) -> LiveCollection<Element> {
    filtered(by: other, key, { $0.differenceIdentifier }, showsMatched: false)
  }

  /// Derives the pairs of elements of this collection and of another one with equal keys, and all other elements of both.
  ///
  ///     let rows = planned.fullJoined(with: actual, on: \.day, equals: \.day)
  ///
  /// The pairs of ``leftJoined(with:on:equals:)`` are first. After them, each element of the other collection that has no
  /// match is in a pair with `nil`, in the order of that collection.
  ///
  /// | in | out |
  /// |---|---|
  /// | a change of this collection | as in `leftJoined`; insert or delete of elements of the other one that have no match now |
  /// | a change of the other collection | as in `leftJoined`, or of the pairs without an element of this one |
  ///
  /// The result has loaded once both collections have.
  ///
  /// - Parameters:
  ///   - other: The other collection.
  ///   - key: A key path or closure that returns the key of an element of this collection, or `nil`.
  ///   - otherKey: A key path or closure that returns the key of an element of the other collection, or `nil`.
  /// - Complexity: O(k log n + m log n) for a change of k of n elements, which are in m pairs.
  @inlinable
  public func fullJoined<Other: Differentiable & Sendable, Key: Hashable & SendableMetatype>(
    with other: some DataSource<Other>, on key: @escaping @Sendable (Element) -> Key?,
    equals otherKey: @escaping @Sendable (Other) -> Key?
  ) -> LiveCollection<JoinedPair<Element?, Other?>> {
    LiveCollection { inputs in
      FullJoinOperator(
        join: JoinOperator(
          left: inputs.collection(self), right: inputs.collection(other), leftKey: key,
          rightKey: otherKey, side: { $0 }, match: { $0 }, missing: .some(nil)))
    }
  }

  @inlinable
  func filtered<Other: Differentiable & Sendable, Key: Hashable>(
    by other: some DataSource<Other>, _ key: @escaping @Sendable (Element) -> Key?,
    _ otherKey: @escaping @Sendable (Other) -> Key?, showsMatched: Bool
  ) -> LiveCollection<Element> {
    LiveCollection { inputs in
      PresenceOperator(
        left: inputs.collection(self), right: inputs.collection(other), leftKey: key,
        rightKey: otherKey, showsMatched: showsMatched)
    }
  }
}

/// An operator that keeps the elements of its left input whose keys the right input has, or has not.
@usableFromInline
struct PresenceOperator<
  Left: Differentiable & Sendable, Right: Differentiable & Sendable, Key: Hashable
>: ~Copyable, CollectionOperator {
  @usableFromInline typealias Output = Left

  @usableFromInline let left: CollectionInput<Left>
  @usableFromInline let right: CollectionInput<Right>
  @usableFromInline let leftKey: @Sendable (Left) -> Key?
  @usableFromInline let rightKey: @Sendable (Right) -> Key?
  /// A Boolean value that indicates whether elements with a match are shown, rather than the others.
  @usableFromInline let showsMatched: Bool
  @usableFromInline var leftRows = RowsByKey<Key>(keepsOrder: false)
  @usableFromInline var rightRows = RowsByKey<Key>(keepsOrder: false)
  @usableFromInline var shown = ShownPart()

  @inlinable
  init(
    left: CollectionInput<Left>, right: CollectionInput<Right>,
    leftKey: @escaping @Sendable (Left) -> Key?, rightKey: @escaping @Sendable (Right) -> Key?,
    showsMatched: Bool
  ) {
    (self.left, self.right, self.leftKey, self.rightKey) = (left, right, leftKey, rightKey)
    self.showsMatched = showsMatched
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Left>) {
    leftRows.replaceAll(with: left.snapshot.map { RowsByKey.matchable(leftKey($0)) })
    rightRows.replaceAll(with: right.snapshot.map { RowsByKey.matchable(rightKey($0)) })
    output.append(contentsOf: showAll().map { left.snapshot[$0] })
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Left>) {
    let leftChange = KeyChange(left.change, key: leftKey)
    let rightChange = KeyChange(right.change, key: rightKey)
    let touched = rightRows.presence(of: rightChange)
    let isLarge =
      leftChange?.isLarge(leftRows) == true || rightChange?.isLarge(rightRows) == true
      || leftRows.count(ofAll: touched.keys) > max(16, leftRows.count / 32)
    if isLarge { return rebuild(leftChange, rightChange, output) }
    if let rightChange { rightRows.follow(rightChange) }
    if let leftChange {
      leftRows.follow(leftChange)
      shown.follow(leftChange, from: 0, in: output) {
        rightRows.has($0) == showsMatched
      } element: {
        $0
      }
    }
    for (key, wasPresent) in touched where rightRows.has(key) != wasPresent {
      for offset in leftRows.offsets(of: key) {
        shown.show(wasPresent != showsMatched, at: offset, from: 0, in: output) {
          left.snapshot[offset]
        }
      }
    }
  }

  /// Stores which elements are shown, and returns their offsets.
  @inlinable
  mutating func showAll() -> [Int] {
    shown = ShownPart(leftRows.orderedKeys().map { rightRows.has($0) == showsMatched })
    return shown.offsets
  }

  /// Follows changes of so many elements that visiting all of them takes less time.
  @inlinable
  mutating func rebuild(
    _ leftChange: KeyChange<Left, Key>?, _ rightChange: KeyChange<Right, Key>?,
    _ output: CollectionDraft<Left>
  ) {
    var ranks = Array(repeating: -1, count: leftRows.count)
    for (rank, offset) in shown.offsets.enumerated() { ranks[offset] = rank }
    let origins = leftRows.replace(by: leftChange).map { $0.origin }
    _ = rightRows.replace(by: rightChange)
    let (offsets, elements) = (showAll(), left.snapshot.array)
    output.replace(
      with: offsets.map { elements[$0] },
      from: offsets.map { offset in
        let origin = origins[offset]
        let rank = origin.offset < 0 ? -1 : ranks[origin.offset]
        return Origin(offset: rank, isUpdated: origin.isUpdated)
      })
  }
}

/// The elements of an input that are shown in a part of an output, which begins at an offset.
@usableFromInline
struct ShownPart: ~Copyable, Sendable {
  /// Indicates for each element of the input whether it is shown.
  @usableFromInline var bits = BitTree()

  @inlinable
  init(_ isShown: [Bool] = []) {
    bits = BitTree(count: isShown.count) { isShown[$0] }
  }

  /// The offsets of the shown elements in the input.
  @inlinable var offsets: [Int] {
    var offsets: [Int] = []
    bits.forEachSetOffset { offsets.append($0) }
    return offsets
  }

  /// Shows or hides an element.
  @inlinable
  mutating func show<Output>(
    _ isShown: Bool, at offset: Int, from start: Int, in output: CollectionDraft<Output>,
    element: () -> Output
  ) {
    let (wasShown, rank) = bits.find(offset)
    if isShown == wasShown { return }
    bits.set(isShown, at: offset)
    if isShown {
      output.insert(element(), at: start + rank)
    } else {
      output.remove(at: start + rank)
    }
  }

  /// Follows a change of a few elements of the input.
  ///
  /// - Parameters:
  ///   - isShown: A closure that returns whether an element with a key is shown.
  ///   - element: A closure that returns the element of the output for one of the input.
  /// - Complexity: O(*k* log *n*)
  @inlinable
  mutating func follow<Input, Key, Output>(
    _ change: KeyChange<Input, Key>, from start: Int, in output: CollectionDraft<Output>,
    isShown: (Key?) -> Bool, element: (Input) -> Output
  ) {
    let changeset = change.changeset
    for offset in changeset.deletions.reversed() {
      let (wasShown, rank) = bits.find(offset)
      bits.remove(at: offset)
      if wasShown { output.remove(at: start + rank) }
    }
    for move in changeset.sequentialMoves {
      let (wasShown, rank) = bits.find(move.from)
      bits.remove(at: move.from)
      bits.insert(wasShown, at: move.to)
      if wasShown { output.move(from: start + rank, to: start + bits.rank(of: move.to)) }
    }
    for (offset, key) in zip(changeset.insertions, change.inserted) {
      bits.insert(false, at: offset)
      show(isShown(key), at: offset, from: start, in: output) { element(change.after[offset]) }
    }
    for (update, key) in zip(changeset.updates, change.updated) {
      let (wasShown, rank) = bits.find(update.to)
      let (isShown, new) = (isShown(key), change.after[update.to])
      if isShown, wasShown {
        output[start + rank] = element(new)
      } else {
        show(isShown, at: update.to, from: start, in: output) { element(new) }
      }
    }
  }
}

extension RowsByKey {
  @inlinable
  func has(_ key: Key?) -> Bool { count(of: entry(of: key)) > 0 }

  /// Returns the number of rows that have one of some keys.
  @inlinable
  func count(ofAll keys: some Sequence<Key>) -> Int {
    keys.reduce(0) { $0 + count(of: entry(of: $1)) }
  }

  @inlinable
  func offsets(of key: Key) -> [Int] {
    rows(of: entry(of: key)).map { order.offset(of: $0) }
  }

  /// Returns the keys that the input may gain or lose by a change, and whether it has them before.
  @inlinable
  func presence<Element>(of change: KeyChange<Element, Key>?) -> [Key: Bool] {
    guard let change else { return [:] }
    let places = change.changeset.deletions + change.changeset.updates.map { $0.from }
    let old = places.map { keys[order[$0]] }
    var presence: [Key: Bool] = [:]
    for case let key? in old + change.inserted + change.updated { presence[key] = has(key) }
    return presence
  }

  /// Follows a change of the input.
  ///
  /// - Complexity: O(*k* log *n*) for *k* of *n* elements, and never more than O(*n* + *k*)
  @inlinable
  mutating func follow<Element>(_ change: KeyChange<Element, Key>) {
    if change.isLarge(self) {
      _ = replace(by: change)
      return
    }
    for offset in change.changeset.deletions.reversed() { remove(at: offset) }
    for move in change.changeset.sequentialMoves { self.move(from: move.from, to: move.to) }
    for (offset, key) in zip(change.changeset.insertions, change.inserted) {
      insert(key, at: offset)
    }
    for (update, key) in zip(change.changeset.updates, change.updated) {
      let row = order[update.to]
      if keys[row] != key { setKey(of: row, to: key) }
    }
    renumberIfSparse()
  }
}
