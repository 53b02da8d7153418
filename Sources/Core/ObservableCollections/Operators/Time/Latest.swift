public import Diffing
public import ReactiveSignals

extension DataSource {
  /// Derives a collection of the newest elements by a key, in the order of this collection.
  ///
  ///     let newest = messages.latest(100, by: \.date)
  ///
  /// | in | out |
  /// |---|---|
  /// | insert | insert of a new element, and delete of the oldest one; or nothing |
  /// | delete | delete of a new element, and insert of the next older one; or nothing |
  /// | update | update; insert and delete, if the key changes; or nothing |
  /// | move | move; or nothing |
  ///
  /// Among elements with equal keys, those further back count as newer. To show the newest elements first, use
  /// `sorted(by: .descending(\.date)).prefix(100)`. If the list is in order of time, such as a log, use `suffix`.
  ///
  /// The contents equal the result of this code:
  ///
  ///     let byAge = elements.indices.sorted {
  ///       (key(elements[$0]), $0) < (key(elements[$1]), $1)
  ///     }
  ///     return byAge.suffix(100).sorted().map { elements[$0] }
  ///
  /// - Parameters:
  ///   - maxLength: The maximum number of elements.
  ///   - key: A key path or closure that returns the key of an element. It is called once for each inserted or updated
  ///     element. The newest elements have the greatest keys.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func latest<Key: Comparable & Sendable>(
    _ maxLength: Int, by key: @escaping @Sendable (Element) -> Key
  ) -> LiveCollection<Element> {
    checkLength(maxLength)
    return latest(Property(maxLength), by: key)
  }

  /// Derives a collection of the newest elements by a key, in the order of this collection. Their number may change.
  ///
  /// - Parameters:
  ///   - maxLength: The maximum number of elements: a property, or a view of one. A negative number counts as 0.
  ///   - key: A key path or closure that returns the key of an element. It is called once for each inserted or updated
  ///     element. The newest elements have the greatest keys.
  /// - Complexity: O(k log n) for a change of k of n elements, and O(w log n) for w elements that enter or leave.
  @inlinable
  public func latest<Key: Comparable & Sendable>(
    _ maxLength: some PropertySource<Int>, by key: @escaping @Sendable (Element) -> Key
  ) -> LiveCollection<Element> {
    latest(maxLength, keepsKeys: false) { element, _ in key(element) }
  }

  /// Derives a collection of the elements that were inserted last, in the order of this collection.
  ///
  ///     let newest = messages.latest(100)
  ///
  /// The elements that are there at first count as inserted one after the other. An element stays as old as it is if it is
  /// updated or moved. An update that sets another identity counts as a deletion and an insertion.
  ///
  /// If the list is in order of time, such as a log, use `suffix`. In particular, do not use this method after a filter
  /// with a parameter: elements that the filter lets pass again count as inserted, so they are the newest ones.
  ///
  /// Changes are followed like in `latest(_:by:)`, with the number of the insertion as the key.
  ///
  /// - Parameter maxLength: The maximum number of elements.
  /// - Complexity: O(k log n) for a change of k of n elements.
  @inlinable
  public func latest(_ maxLength: Int) -> LiveCollection<Element> {
    checkLength(maxLength)
    return latest(Property(maxLength))
  }

  /// Derives a collection of the elements that were inserted last, in the order of this collection. Their number may change.
  ///
  /// - Parameter maxLength: The maximum number of elements: a property, or a view of one. A negative number counts as 0.
  /// - Complexity: O(k log n) for a change of k of n elements, and O(w log n) for w elements that enter or leave.
  @inlinable
  public func latest(_ maxLength: some PropertySource<Int>) -> LiveCollection<Element> {
    latest(maxLength, keepsKeys: true) { _, number in number }
  }

  @inlinable
  func latest<Key: Comparable & Sendable>(
    _ maxLength: some PropertySource<Int>, keepsKeys: Bool,
    _ key: @escaping @Sendable (_ element: Element, _ number: Int) -> Key
  ) -> LiveCollection<Element> {
    LiveCollection<MarkedElement<Element>> { inputs in
      LatestOperator(
        input: inputs.collection(self), maxLength: inputs.property(maxLength),
        keepsKeys: keepsKeys, key: key)
    }.shownElements()
  }
}

/// An operator that marks the elements with the greatest keys as shown.
@usableFromInline
struct LatestOperator<Element: Differentiable & Sendable, Key: Comparable & Sendable>:
  ~Copyable, CollectionOperator
{
  @usableFromInline typealias Output = MarkedElement<Element>

  @usableFromInline let input: CollectionInput<Element>
  @usableFromInline let maxLength: PropertyInput<Int>
  /// A Boolean value that indicates whether an update keeps the key of an element.
  @usableFromInline let keepsKeys: Bool
  /// Returns the key of an element, which may be the number of this call.
  @usableFromInline let key: @Sendable (_ element: Element, _ number: Int) -> Key
  @usableFromInline var keyCount = 0
  /// The elements, each with its key.
  @usableFromInline var rows = InputRows<Key>()
  /// The rows from the newest to the oldest.
  @usableFromInline var ranking = RowTree()
  /// The number of rows at the beginning of the ranking that are shown.
  @usableFromInline var shownCount = 0

  @inlinable
  init(
    input: CollectionInput<Element>, maxLength: PropertyInput<Int>, keepsKeys: Bool,
    key: @escaping @Sendable (_ element: Element, _ number: Int) -> Key
  ) {
    self.input = input
    self.maxLength = maxLength
    self.keepsKeys = keepsKeys
    self.key = key
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Output>) {
    let elements = input.snapshot.array
    let keys = elements.enumerated().map { key($1, $0) }
    keyCount = keys.count
    rows = InputRows(keys)
    let marks = rank()
    output.append(contentsOf: elements.indices.map { Output(elements[$0], isShown: marks[$0]) })
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Output>) {
    guard let change = input.change else {
      let crossing = resize()
      return mark(crossing, output)
    }
    if change.changeset.isLarge(forCount: rows.count) {
      rebuild(change, output)
    } else {
      follow(change, output)
    }
    if let numbers = rows.renumberIfSparse() {
      ranking = RowTree(ranking.rows.map { numbers[Int($0)] })
    }
  }

  @inlinable var limit: Int { min(max(0, maxLength.value), rows.count) }

  // MARK: A few changes

  @inlinable
  mutating func follow(_ change: CollectionChange<Element>, _ output: CollectionDraft<Output>) {
    let (changeset, after) = (change.changeset, change.after)
    // Rows leave the ranking before any row looks for its place. Rows that are moved do, too: if keys are equal, the
    // order of the input decides.
    for offset in changeset.deletions { leave(rows.order[offset]) }
    var placed = changeset.moves.map { rows.order[$0.from] }
    for row in placed { leave(row) }
    followKeys(change)
    let moved = placed
    placed += changeset.insertions.map { rows.order[$0] }
    for update in changeset.updates {
      let row = rows.order[update.to]
      guard let key = newKey(update, change) else { continue }
      if ranking.contains(row) {
        leave(row)
        placed.append(row)
      }
      rows[row] = key
    }
    for row in placed { enter(row) }
    let crossing = resize()
    output.apply(valid: changeset) { Output(after[$0], isShown: isShown(rows.order[$0])) }
    mark(moved + crossing, output)
  }

  /// Follows a change with the rows of the input, and gives inserted rows their keys.
  @inlinable
  mutating func followKeys(_ change: CollectionChange<Element>) {
    var number = keyCount
    let (after, key) = (change.after, key)
    rows.follow(change.changeset) { offset in
      number += 1
      return key(after[offset], number - 1)
    }
    keyCount = number
  }

  /// Returns the new key of an updated element, or `nil` if it keeps its key.
  @inlinable
  mutating func newKey(_ update: Changeset.Update, _ change: CollectionChange<Element>) -> Key? {
    let element = change.after[update.to]
    if keepsKeys, change.before[update.from].hasSameIdentity(as: element) { return nil }
    keyCount += 1
    return key(element, keyCount - 1)
  }

  @inlinable
  mutating func leave(_ row: UInt32) {
    if ranking.remove(row) < shownCount { shownCount -= 1 }
  }

  @inlinable
  mutating func enter(_ row: UInt32) {
    let key = rows[row]
    let place = ranking.place { other in
      let otherKey = rows[other]
      return otherKey == key ? rows.order.isBefore(other, row) : otherKey < key
    }
    ranking.insert(row, at: place)
    if place.offset < shownCount { shownCount += 1 }
  }

  @inlinable
  func isShown(_ row: UInt32) -> Bool { ranking.offset(of: row) < shownCount }

  /// Shows or hides rows, until as many are shown as the limit allows.
  ///
  /// - Returns: The rows that are shown or hidden by this.
  @inlinable
  mutating func resize() -> [UInt32] {
    let old = shownCount
    shownCount = limit
    return (min(old, limit)..<max(old, limit)).map { ranking[$0] }
  }

  /// Marks rows by their places in the ranking.
  @inlinable
  func mark(_ changed: [UInt32], _ output: CollectionDraft<Output>) {
    for row in changed {
      let offset = rows.order.offset(of: row)
      output[offset] = Output(output[offset].element, isShown: isShown(row))
    }
  }

  // MARK: Many changes

  /// Follows a change of so many elements that visiting all of them takes less time.
  @inlinable
  mutating func rebuild(_ change: CollectionChange<Element>, _ output: CollectionDraft<Output>) {
    let (changeset, old, after) = (change.changeset, output.elements, change.after.array)
    followKeys(change)
    for update in changeset.updates {
      if let key = newKey(update, change) { rows[rows.order[update.to]] = key }
    }
    let marks = rank()
    let origins = changeset.elementOrigins(oldCount: old.count).enumerated().map { offset, origin in
      let isMarked = origin.offset >= 0 && old[origin.offset].isShown != marks[offset]
      return Origin(offset: origin.offset, isUpdated: origin.isUpdated || isMarked)
    }
    output.replace(
      with: after.indices.map { Output(after[$0], isShown: marks[$0]) }, from: origins)
  }

  /// Ranks all rows again, and returns for each offset whether the element is shown.
  @inlinable
  mutating func rank() -> [Bool] {
    var sorted = rows.order.rows.enumerated().map { (key: rows[$1], offset: $0, row: $1) }
    sorted.sort { $1.key == $0.key ? $1.offset < $0.offset : $1.key < $0.key }
    ranking = RowTree(sorted.map(\.row))
    shownCount = limit
    var marks = Array(repeating: false, count: sorted.count)
    for entry in sorted.prefix(shownCount) { marks[entry.offset] = true }
    return marks
  }
}
