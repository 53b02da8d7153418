/// The rows of an input in their order, and the rows of each key.
///
/// Each element of the input has a row: a number that stays the same as long as the element is in the input. The rows
/// that have one key are counted from 0 in the order of the input: this is the *index* of a row. An owner that needs no
/// indices saves the time to find the place of a row among them.
///
/// A table contains the row of each key that occurs once. The rows of a key that has occurred more than once are a group.
/// With integers as keys, the list takes 40 to 60 bytes per row.
@usableFromInline
struct RowsByKey<Key: Hashable>: ~Copyable, @unchecked Sendable {
  // Sendable: the keys belong to an operator, which sends none of them to other threads.
  // If a hash changes, the table may return the entry of a removed row, so `entry(of:)` checks it.

  /// The rows in the order of the input.
  @usableFromInline var order = RowTree()
  /// The key of each row, or `nil` if the row has none.
  @usableFromInline var keys = RowTable<Key?>()
  @usableFromInline var table: [Key: KeyEntry] = [:]
  /// The rows that are in groups. Those of one group are side by side, in the order of the input if it is kept.
  @usableFromInline var grouped = RowTree()
  @usableFromInline var groups: [RowGroup] = []
  @usableFromInline var freeGroups: [UInt32] = []
  /// The number of the group of each row, or `noGroup`. The array is shorter if later rows are in no group.
  @usableFromInline var groupNumbers: [UInt32] = []
  /// A Boolean value that indicates whether the rows of a key are in the order of the input.
  @usableFromInline let keepsOrder: Bool

  /// Creates a list of rows from their keys in the order of the input. The rows are numbered from 0.
  ///
  /// - Parameters:
  ///   - keys: The keys. A row with `nil` has no key.
  ///   - keepsOrder: Whether the rows of a key stay in the order of the input. Otherwise, they have no indices.
  /// - Complexity: O(*n*)
  @inlinable
  init(_ keys: [Key?] = [], keepsOrder: Bool = true) {
    self.keepsOrder = keepsOrder
    replaceAll(with: keys)
  }

  /// Replaces all rows. The new rows are numbered from 0, in their order.
  ///
  /// - Complexity: O(*n*)
  @inlinable
  mutating func replaceAll(with newKeys: [Key?]) {
    keys = RowTable(newKeys)
    order = RowTree(0..<UInt32(newKeys.count))
    table = [:]
    (groups, freeGroups, groupNumbers) = ([], [], [])
    for row in 0..<UInt32(newKeys.count) {
      guard let key = newKeys[Int(row)] else { continue }
      let (number, other) = register(row, key)
      if let number {
        groups[Int(number)].count += other == nil ? 1 : 2
        setGroup(of: row, number)
        if let other { setGroup(of: other, number) }
      }
    }
    grouped = RowTree(rowsByGroup())
  }

  /// Returns the rows of all groups after a replacement, and stores the first row of each group.
  @inlinable
  mutating func rowsByGroup() -> [UInt32] {
    var (ends, total): ([Int], Int) = ([], 0)
    for group in groups {
      ends.append(total)
      total += Int(group.count)
    }
    let starts = ends
    var rows = Array(repeating: UInt32(0), count: total)
    for (row, number) in groupNumbers.enumerated() where number != KeyEntry.noGroup {
      rows[ends[Int(number)]] = UInt32(row)
      ends[Int(number)] += 1
    }
    for number in groups.indices { groups[number].first = rows[starts[number]] }
    return rows
  }

  // MARK: Reading

  /// The number of rows.
  @inlinable var count: Int { order.count }

  /// Returns the entry of a key. It is valid until the next edit.
  @inlinable
  func entry(of key: Key?) -> KeyEntry {
    guard let key, let entry = table[key], Self.isValid(entry, order, groups) else {
      return .vacant
    }
    return entry
  }

  @inlinable
  static func isValid(
    _ entry: KeyEntry, _ order: borrowing RowTree, _ groups: [RowGroup]
  ) -> Bool {
    if !entry.isGroup { return order.contains(entry.number) }
    return entry.number < groups.count && groups[Int(entry.number)].count > 0
  }

  /// Returns the number of rows that have a key.
  @inlinable
  func count(of entry: KeyEntry) -> Int {
    if !entry.isGroup { return 1 }
    return entry.number < groups.count ? Int(groups[Int(entry.number)].count) : 0
  }

  /// Returns the row with an index among the rows that have a key, or `nil` if there are fewer.
  @inlinable
  func row(_ index: Int, of entry: KeyEntry) -> UInt32? {
    if index >= count(of: entry) { return nil }
    return entry.isGroup ? grouped[start(of: entry.number) + index] : entry.number
  }

  /// Returns the rows that have a key, in the order of the input if it is kept.
  @inlinable
  func rows(of entry: KeyEntry) -> [UInt32] {
    if !entry.isGroup { return [entry.number] }
    let count = count(of: entry)
    if count == 0 { return [] }
    let start = start(of: entry.number)
    return (start..<start + count).map { grouped[$0] }
  }

  /// Returns the number of rows with the same key that are before a row. The order must be kept.
  @inlinable
  func index(of row: UInt32) -> Int {
    assert(keepsOrder, "rows without an order have no indices")
    let number = group(of: row)
    return number == KeyEntry.noGroup ? 0 : grouped.offset(of: row) - start(of: number)
  }

  /// Returns the index of each row, in the order of the input.
  ///
  /// - Complexity: O(*n*)
  @inlinable
  func indices() -> [Int] {
    var next = Array(repeating: 0, count: groups.count)
    return order.rows.map { row in
      let number = group(of: row)
      if number == KeyEntry.noGroup { return 0 }
      defer { next[Int(number)] += 1 }
      return next[Int(number)]
    }
  }

  /// Returns the keys in the order of the input.
  ///
  /// - Complexity: O(*n*)
  @inlinable
  func orderedKeys() -> [Key?] { order.rows.map { keys[$0] } }

  /// The number of the group of a row, or `noGroup`.
  @inlinable
  func group(of row: UInt32) -> UInt32 {
    row < groupNumbers.count ? groupNumbers[Int(row)] : KeyEntry.noGroup
  }

  /// The offset of the first row of a group in `grouped`.
  @inlinable
  func start(of group: UInt32) -> Int { grouped.offset(of: groups[Int(group)].first) }

  // MARK: Editing

  /// Inserts a row with a key, and returns the row.
  ///
  /// - Complexity: O(log *n*)
  @inlinable
  @discardableResult
  mutating func insert(_ key: Key?, at offset: Int) -> UInt32 {
    let row = keys.insert(key)
    order.insert(row, at: offset)
    if let key { enter(row, key) }
    return row
  }

  /// Removes the row at an offset, and returns its key.
  ///
  /// - Complexity: O(log *n*)
  @inlinable
  @discardableResult
  mutating func remove(at offset: Int) -> Key? {
    let row = order[offset]
    if let key = keys[row] { leave(row, key) }
    order.remove(at: offset)
    return keys.remove(row)
  }

  /// Replaces the key of a row.
  ///
  /// - Complexity: O(log *n*)
  @inlinable
  mutating func setKey(of row: UInt32, to key: Key?) {
    if let old = keys[row] { leave(row, old) }
    keys[row] = key
    if let key { enter(row, key) }
  }

  /// Moves a row.
  ///
  /// - Complexity: O(log *n*)
  @inlinable
  mutating func move(from source: Int, to destination: Int) {
    if !keepsOrder {
      order.insert(order.remove(at: source), at: destination)
      return
    }
    let row = order[source]
    let number = group(of: row)
    if number != KeyEntry.noGroup { take(row, from: number) }
    order.remove(at: source)
    order.insert(row, at: destination)
    if number != KeyEntry.noGroup { place(row, in: number) }
  }

  /// Numbers the rows from 0 if the list has become much shorter.
  @inlinable
  mutating func renumberIfSparse() {
    if keys.isSparse { replaceAll(with: orderedKeys()) }
  }

  // MARK: Groups

  /// Adds a row to the rows of a key.
  @inlinable
  mutating func enter(_ row: UInt32, _ key: Key) {
    let (number, other) = register(row, key)
    guard let number else { return }
    if let other { place(other, in: number) }
    place(row, in: number)
  }

  /// Adds a row to the table.
  ///
  /// - Returns: The group that the row belongs to, or `nil` if the key occurs once. If the group is a new one, also the
  ///   other row that has the key. Both rows are not in the group yet.
  @inlinable
  mutating func register(_ row: UInt32, _ key: Key) -> (group: UInt32?, other: UInt32?) {
    let newGroup = freeGroups.last ?? UInt32(groups.count)
    // One search for reading and writing.
    let old = Self.add(row, to: &table[key, default: .vacant], newGroup, order, groups)
    if old.isVacant { return (nil, nil) }
    return old.isGroup ? (old.number, nil) : (makeGroup(), old.number)
  }

  /// Stores a row in an entry: the row itself, or a new group if the entry is another row.
  ///
  /// - Returns: The old entry, which is vacant if it is not valid.
  @inlinable
  static func add(
    _ row: UInt32, to entry: inout KeyEntry, _ newGroup: UInt32, _ order: borrowing RowTree,
    _ groups: [RowGroup]
  ) -> KeyEntry {
    let old = isValid(entry, order, groups) ? entry : .vacant
    if old.isVacant {
      entry = KeyEntry(row: row)
    } else if !old.isGroup {
      entry = KeyEntry(group: newGroup)
    }
    return old
  }

  @inlinable
  mutating func makeGroup() -> UInt32 {
    if let number = freeGroups.popLast() { return number }
    groups.append((first: 0, count: 0))
    return UInt32(groups.count - 1)
  }

  /// Removes a row from the rows of its key.
  @inlinable
  mutating func leave(_ row: UInt32, _ key: Key) {
    let number = group(of: row)
    if number != KeyEntry.noGroup {
      take(row, from: number)
      if groups[Int(number)].count > 0 { return }
      freeGroups.append(number)
    }
    table[key] = nil
  }

  /// Removes a row from a group, which may be empty then.
  @inlinable
  mutating func take(_ row: UInt32, from number: UInt32) {
    let offset = grouped.remove(row)
    groupNumbers[Int(row)] = KeyEntry.noGroup
    groups[Int(number)].count -= 1
    if groups[Int(number)].count > 0, groups[Int(number)].first == row {
      groups[Int(number)].first = grouped[offset]
    }
  }

  /// Inserts a row into a group, at its place in the order of the input if it is kept, otherwise at the end.
  @inlinable
  mutating func place(_ row: UInt32, in number: UInt32) {
    let count = Int(groups[Int(number)].count)
    // The rows of an empty group can be at any place.
    let start = count == 0 ? grouped.count : start(of: number)
    let end = start + count
    var offset = end
    if keepsOrder {
      let place = grouped.place(in: start..<end) { order.isBefore(row, $0) }
      grouped.insert(row, at: place)
      offset = place.offset
    } else {
      grouped.insert(row, at: end)
    }
    setGroup(of: row, number)
    if offset == start { groups[Int(number)].first = row }
    groups[Int(number)].count += 1
  }

  @inlinable
  mutating func setGroup(of row: UInt32, _ number: UInt32) {
    if row >= groupNumbers.count {
      groupNumbers += repeatElement(KeyEntry.noGroup, count: keys.rowCount - groupNumbers.count)
    }
    groupNumbers[Int(row)] = number
  }
}

/// An entry of a table of keys: a row, a group, or nothing.
@usableFromInline
struct KeyEntry {
  /// The number of a row, or the number of a group with the highest bit.
  @usableFromInline let bits: UInt32

  /// The entry of a key that does not occur.
  @inlinable static var vacant: KeyEntry { KeyEntry(bits: .max) }
  /// The number of no group.
  @inlinable static var noGroup: UInt32 { .max >> 1 }

  @inlinable
  init(bits: UInt32) {
    self.bits = bits
  }

  @inlinable
  init(row: UInt32) {
    self.init(bits: row)
  }

  @inlinable
  init(group: UInt32) {
    self.init(bits: group | (1 << 31))
  }

  @inlinable var isVacant: Bool { bits == .max }
  @inlinable var isGroup: Bool { bits >= 1 << 31 }
  /// The number of the row or the group.
  @inlinable var number: UInt32 { bits & KeyEntry.noGroup }
}

/// A group of rows that have one key: its first row, and their number.
@usableFromInline typealias RowGroup = (first: UInt32, count: Int32)
