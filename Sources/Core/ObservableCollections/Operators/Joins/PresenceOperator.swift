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
    marked(by: other, key, otherKey, showsMatched: true).shownElements()
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
    marked(by: other, key, { $0.differenceIdentifier }, showsMatched: true).shownElements()
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
    marked(by: other, key, otherKey, showsMatched: false).shownElements()
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
    marked(by: other, key, { $0.differenceIdentifier }, showsMatched: false).shownElements()
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
    typealias Pair = JoinedPair<Element?, Other?>
    // One list of both, so the parts of the result change together.
    let both = self.map { (element: Element) in Pair(left: element, right: nil) }
      .concatenated(with: other.map { (element: Other) in Pair(left: nil, right: element) })
    let left = both.compactMap { $0.left }
    let right = both.compactMap { $0.right }
    let unmatched = right.antiJoined(with: left, on: otherKey, equals: key)
    return left.leftJoined(with: right, on: key, equals: otherKey)
      .map { Pair(left: $0.left, right: $0.right) }
      .concatenated(with: unmatched.map { Pair(left: nil, right: $0) })
  }

  @inlinable
  func marked<Other: Differentiable & Sendable, Key: Hashable>(
    by other: some DataSource<Other>, _ key: @escaping @Sendable (Element) -> Key?,
    _ otherKey: @escaping @Sendable (Other) -> Key?, showsMatched: Bool
  ) -> LiveCollection<MarkedElement<Element>> {
    LiveCollection { inputs in
      PresenceOperator(
        left: inputs.collection(self), right: inputs.collection(other), leftKey: key,
        rightKey: otherKey, showsMatched: showsMatched)
    }
  }
}

/// An operator that marks the elements of its left input by whether the right input has their keys.
@usableFromInline
struct PresenceOperator<
  Left: Differentiable & Sendable, Right: Differentiable & Sendable, Key: Hashable
>: ~Copyable, CollectionOperator {
  @usableFromInline typealias Output = MarkedElement<Left>

  @usableFromInline let left: CollectionInput<Left>
  @usableFromInline let right: CollectionInput<Right>
  @usableFromInline let leftKey: @Sendable (Left) -> Key?
  @usableFromInline let rightKey: @Sendable (Right) -> Key?
  /// A Boolean value that indicates whether elements with a match are shown, rather than the others.
  @usableFromInline let showsMatched: Bool
  @usableFromInline var leftRows = RowsByKey<Key>(keepsOrder: false)
  @usableFromInline var rightRows = RowsByKey<Key>(keepsOrder: false)

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
  mutating func start(_ output: CollectionDraft<Output>) {
    let keys = left.snapshot.map { RowsByKey.matchable(leftKey($0)) }
    leftRows.replaceAll(with: keys)
    rightRows.replaceAll(with: right.snapshot.map { RowsByKey.matchable(rightKey($0)) })
    output.append(contentsOf: zip(left.snapshot, keys).map { mark($0, $1) })
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Output>) {
    /// The keys that the right input may have gained or lost, and whether it had them.
    var touched: [Key: Bool] = [:]
    if let change = KeyChange(right.change, key: rightKey) {
      let changeset = change.changeset
      let places = changeset.deletions + changeset.updates.map(\.from)
      let old = places.map { rightRows.keys[rightRows.order[$0]] }
      for case let key? in old + change.inserted + change.updated {
        touched[key] = rightRows.has(key)
      }
      rightRows.follow(change)
    }
    if let change = KeyChange(left.change, key: leftKey) {
      leftRows.follow(change)
      output.apply(valid: change.changeset) { mark(change.after[$0], leftRows.key(at: $0)) }
    }
    for (key, wasPresent) in touched where rightRows.has(key) != wasPresent {
      for offset in leftRows.offsets(of: key) { output[offset] = mark(left.snapshot[offset], key) }
    }
  }

  @inlinable
  func mark(_ element: Left, _ key: Key?) -> Output {
    MarkedElement(element, isShown: rightRows.has(key) == showsMatched)
  }
}

extension RowsByKey {
  @inlinable
  func has(_ key: Key?) -> Bool { count(of: entry(of: key)) > 0 }

  @inlinable
  func key(at offset: Int) -> Key? { keys[order[offset]] }

  @inlinable
  func offsets(of key: Key) -> [Int] {
    rows(of: entry(of: key)).map { order.offset(of: $0) }
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
