/// The rows of a result, by their identity and in the order of the result.
package struct ResultIndex: Sendable {
  package struct Row: Sendable {
    /// The primary key.
    package var identity: SortKey
    /// The values that order the row. The identity orders rows with equal values.
    var order: SortKey
    package var fingerprint: RowFingerprint

    package init(identity: SortKey, order: SortKey, fingerprint: RowFingerprint) {
      (self.identity, self.order, self.fingerprint) = (identity, order, fingerprint)
    }
  }

  /// A row in the order of the result.
  private struct Place: Sendable {
    var order: SortKey
    var identity: SortKey

    init(_ row: Row) { (order, identity) = (row.order, row.identity) }
  }

  /// The rows by ascending identity.
  package private(set) var rows = SortedChunks<Row>()
  /// The rows in the order of the result, or `nil` if that is the order of the identities.
  private var places: SortedChunks<Place>?
  package private(set) var arena = SortKeyArena()

  package init(isByIdentity: Bool) {
    places = isByIdentity ? nil : SortedChunks()
  }

  package var count: Int { rows.count }

  package var last: Row? {
    guard let places else { return rows.last }
    return places.last.flatMap { row($0.identity) }
  }

  package func row(_ identity: SortKey) -> Row? {
    guard let row = rows[position(of: identity)], arena.compare(row.identity, identity) == 0 else {
      return nil
    }
    return row
  }

  /// Returns the number of rows with lower identities.
  ///
  /// - Complexity: O(*n* / 512), a fraction of a microsecond for a million rows.
  package func number(of identity: SortKey) -> Int { rows.offset(of: position(of: identity)) }

  /// Returns the number of rows that precede a row. The row need not be in the index.
  ///
  /// - Complexity: O(*n* / 512), a fraction of a microsecond for a million rows.
  package func offset(of row: Row) -> Int {
    guard let places else { return number(of: row.identity) }
    return places.offset(of: position(of: Place(row), in: places))
  }

  /// Returns a Boolean value that indicates whether one row precedes another. The arena contains the keys of both.
  package func precedes(_ one: Row, _ other: Row) -> Bool {
    places == nil
      ? arena.compare(one.identity, other.identity) < 0 : precedes(Place(one), Place(other))
  }

  private func precedes(_ one: Place, _ other: Place) -> Bool {
    let order = arena.compare(one.order, other.order)
    return (order != 0 ? order : arena.compare(one.identity, other.identity)) < 0
  }

  private func position(of identity: SortKey) -> SortedChunks<Row>.Position {
    rows.position { arena.compare($0.identity, identity) < 0 }
  }

  private func position(
    of place: Place, in places: SortedChunks<Place>
  ) -> SortedChunks<Place>.Position {
    places.position { precedes($0, place) }
  }
}

// MARK: - Keys

extension ResultIndex {
  /// Stores a key. Returns `nil` if it is too large.
  package mutating func makeKey(_ writer: borrowing SortKeyWriter) -> SortKey? { arena.add(writer) }

  /// Forgets the key that was stored last.
  package mutating func removeLastKey(_ key: SortKey) { arena.removeLast(key) }

  /// Releases the keys of removed rows, and keys that a read has stored in vain, if they take most of the arena.
  package mutating func compact() {
    guard arena.isWasteful else { return }
    var compacted = ResultIndex(isByIdentity: places == nil)
    var all = ContiguousArray(rows)
    for position in all.indices {
      guard let identity = compacted.arena.add(all[position].identity, of: arena),
        let order = compacted.arena.add(all[position].order, of: arena)
      else { return }
      (all[position].identity, all[position].order) = (identity, order)
    }
    let rows = Array(all)
    self = compacted.merging(removed: [], added: rows, order: compacted.sorted(rows))
  }
}

// MARK: - Changes

extension ResultIndex {
  package mutating func insert(_ row: Row) {
    arena.use(row.identity)
    arena.use(row.order)
    rows.insert(row, at: position(of: row.identity))
    guard let position = places.map({ position(of: Place(row), in: $0) }) else { return }
    places?.insert(Place(row), at: position)
  }

  package mutating func remove(_ row: Row) {
    rows.remove(at: position(of: row.identity))
    if let position = places.map({ position(of: Place(row), in: $0) }) {
      places?.remove(at: position)
    }
    arena.remove(row.identity)
    arena.remove(row.order)
  }

  /// Returns the positions of rows, sorted by the order of the result.
  ///
  /// Most comparisons end with the first word in which any keys differ.
  package func sorted(_ rows: [Row]) -> [Int] {
    let keys = rows.map { places == nil ? $0.identity : $0.order }
    let shared = arena.sharedCount(keys)
    var entries = keys.indices.map { (word: arena.word(of: keys[$0], at: shared), position: $0) }
    entries.sort { one, other in
      if one.word != other.word { return one.word < other.word }
      let order = arena.compare(keys[one.position], keys[other.position])
      if order != 0 { return order < 0 }
      return arena.compare(rows[one.position].identity, rows[other.position].identity) < 0
    }
    return entries.map(\.position)
  }

  /// Returns the index after a change of many rows.
  ///
  /// - Parameters:
  ///   - removed: Rows of the index, in any order.
  ///   - added: New rows, in any order. Their keys are in the arena.
  ///   - order: The positions of the added rows, sorted by the order of the result.
  ///   - visit: A closure that receives, for each row in the order of the result, its offset in the result before, or
  ///     `nil` if it is the next added row.
  /// - Complexity: O(*n* + *k* log *k*) for *k* rows that are removed or added.
  package func merging(
    removed: [Row], added: [Row], order: [Int], visit: (_ oldOffset: Int?) -> Void = { _ in }
  ) -> ResultIndex {
    var next = self
    for row in removed {
      next.arena.remove(row.identity)
      next.arena.remove(row.order)
    }
    for row in added {
      next.arena.use(row.identity)
      next.arena.use(row.order)
    }
    func isLower(_ one: Row, _ other: Row) -> Bool {
      arena.compare(one.identity, other.identity) < 0
    }
    let isByIdentity = places == nil
    next.rows = rows.merging(
      removed: removed.sorted(by: isLower), added: added.sorted(by: isLower), by: isLower
    ) { if isByIdentity { visit($0) } }
    next.places = places?.merging(
      removed: removed.map { Place($0) }.sorted { precedes($0, $1) },
      added: order.map { Place(added[$0]) }, by: { precedes($0, $1) }, visit)
    return next
  }
}

extension SortedChunks {
  /// Returns a sequence without some of its entries, and with others. All are sorted.
  ///
  /// - Parameter visit: A closure that receives the old offset of each entry, or `nil` if it is the next added one.
  fileprivate func merging(
    removed: [Entry], added: [Entry], by precedes: (Entry, Entry) -> Bool,
    _ visit: (_ oldOffset: Int?) -> Void
  ) -> SortedChunks {
    if count == 0 {
      for _ in added { visit(nil) }
      return SortedChunks(ContiguousArray(added))
    }
    var merged = ContiguousArray<Entry>()
    merged.reserveCapacity(count - removed.count + added.count)
    var (removed, added) = (removed[...], added[...])
    for (offset, entry) in self.enumerated() {
      if let next = removed.first, !precedes(entry, next) {
        removed.removeFirst()
        continue
      }
      while let next = added.first, precedes(next, entry) {
        merged.append(next)
        visit(nil)
        added.removeFirst()
      }
      merged.append(entry)
      visit(offset)
    }
    for entry in added {
      merged.append(entry)
      visit(nil)
    }
    return SortedChunks(merged)
  }
}
