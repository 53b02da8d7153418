/// The rows of a result: by rowid what is known of each, and where it stands in the result.
struct RowIndex: Sendable {
  /// What is known of a row.
  struct Row: Sendable {
    var rowid: Int64
    var fingerprint: RowFingerprint
    var key: SortKey
  }

  /// A row in the order of the result.
  private struct Place: Sendable {
    var key: SortKey
    var rowid: Int64
  }

  private(set) var rows = SortedChunks<Row>()
  /// `nil` where the result is in the order of the rowids.
  private var places: SortedChunks<Place>?
  private(set) var arena = SortKeyArena()

  /// An index of no rows.
  init(isByRowid: Bool) {
    places = isByRowid ? nil : SortedChunks()
  }

  var count: Int { rows.count }
  var isByRowid: Bool { places == nil }

  /// The last row of the result.
  var last: Row? {
    guard let places else { return rows.last }
    return places.last.flatMap { row($0.rowid) }
  }

  /// The row of a rowid.
  func row(_ rowid: Int64) -> Row? {
    guard let found = rows[rows.position { $0.rowid < rowid }], found.rowid == rowid else {
      return nil
    }
    return found
  }

  /// Whether one row stands before another one; keys of both are in the arena.
  func precedes(_ one: Row, _ other: Row) -> Bool {
    let order = places == nil ? 0 : arena.compare(one.key, other.key)
    return order != 0 ? order < 0 : one.rowid < other.rowid
  }

  /// How many rows stand before a row, which may be in the index or not.
  ///
  /// - Complexity: some microseconds for a million rows.
  func offset(of row: Row) -> Int {
    guard let places, let position = placePosition(of: row) else {
      return rows.offset(of: rows.position { $0.rowid < row.rowid })
    }
    return places.offset(of: position)
  }

  /// Keeps a key for a row that may be inserted.
  mutating func makeKey(_ key: borrowing SortKeyWriter) -> SortKey? { arena.add(key) }

  /// Inserts a row that is not there.
  mutating func insert(_ row: Row) {
    arena.use(row.key)
    rows.insert(row, at: rows.position { $0.rowid < row.rowid })
    // No copy of the places is held here: they are changed in place.
    guard let position = placePosition(of: row) else { return }
    places?.insert(Place(key: row.key, rowid: row.rowid), at: position)
  }

  /// Removes and inserts the rows of a change.
  mutating func apply(_ delta: RowDelta) {
    for row in delta.removed { remove(row) }
    for added in delta.added { insert(added.row) }
  }

  /// Removes a row that is there.
  mutating func remove(_ row: Row) {
    rows.remove(at: rows.position { $0.rowid < row.rowid })
    if let position = placePosition(of: row) { places?.remove(at: position) }
    arena.remove(row.key)
  }

  private func placePosition(of row: Row) -> SortedChunks<Place>.Position? {
    places?.position { place in
      let order = arena.compare(place.key, row.key)
      return order != 0 ? order < 0 : place.rowid < row.rowid
    }
  }
}

// MARK: - All rows

extension RowIndex {
  /// An index of rows by ascending rowid, whose keys are in the arena of `other`.
  ///
  /// - Parameter visit: is given the position of each row in `rows`, in the order of the result.
  init(
    _ rows: SortedChunks<Row>, keysOf other: RowIndex, visit: (_ position: Int) -> Void
  ) {
    self.init(isByRowid: other.isByRowid)
    self.rows = rows
    guard !isByRowid else {
      (0..<rows.count).forEach(visit)
      return
    }
    arena = other.arena
    arena.useNothing()
    var unsorted = ContiguousArray<Place>()
    unsorted.reserveCapacity(rows.count)
    for row in rows {
      arena.use(row.key)
      unsorted.append(Place(key: row.key, rowid: row.rowid))
    }
    var sorted = SortedChunks<Place>()
    for entry in RowIndex.sorted(unsorted, arena) {
      let position = Int(entry.position)
      visit(position)
      sorted.append(unsorted[position])
    }
    places = sorted
  }

  /// A place among unsorted ones, and eight bytes of its key.
  private struct SortEntry {
    var word: UInt64
    var position: UInt32
  }

  /// The positions of places in the order of their keys.
  ///
  /// Most comparisons end with the first word in which the keys differ at all.
  private static func sorted(
    _ places: ContiguousArray<Place>, _ arena: SortKeyArena
  ) -> [SortEntry] {
    let shared = arena.sharedCount(places.lazy.map(\.key))
    var entries = places.indices.map { position in
      SortEntry(
        word: arena.word(of: places[position].key, at: shared),
        position: UInt32(truncatingIfNeeded: position))
    }
    places.withUnsafeBufferPointer { places in
      entries.sort { one, other in
        if one.word != other.word { return one.word < other.word }
        let order = arena.compare(places[Int(one.position)].key, places[Int(other.position)].key)
        // Positions ascend as rowids do.
        return order != 0 ? order < 0 : one.position < other.position
      }
    }
    return entries
  }

  /// Rowids in the order of the result.
  func forEachPlace(_ body: (_ rowid: Int64) -> Void) {
    if let places {
      for place in places { body(place.rowid) }
    } else {
      for row in rows { body(row.rowid) }
    }
  }

  /// Lets go of the keys of rows that are gone, once they are most of all.
  mutating func compact() {
    guard arena.isWasteful, !isByRowid else { return }
    var compacted = self
    compacted.arena = SortKeyArena()
    var rows = ContiguousArray(self.rows)
    for position in rows.indices {
      guard let key = compacted.arena.add(rows[position].key, of: arena) else { return }
      rows[position].key = key
    }
    self = RowIndex(SortedChunks(rows), keysOf: compacted) { _ in }
  }
}
