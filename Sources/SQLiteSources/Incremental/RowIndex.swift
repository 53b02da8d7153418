import SwappablePrimitives
import SwappableSources

/// The rows of a result, by rowid and in the order of the result.
struct RowIndex: Sendable {
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
  /// The rows in the order of the result, or `nil` if that is the order of the rowids.
  private var places: SortedChunks<Place>?
  private(set) var arena = SortKeyArena()

  init(isByRowid: Bool) {
    places = isByRowid ? nil : SortedChunks()
  }

  var count: Int { rows.count }
  var isByRowid: Bool { places == nil }

  var last: Row? {
    guard let places else { return rows.last }
    return places.last.flatMap { row($0.rowid) }
  }

  func row(_ rowid: Int64) -> Row? {
    guard let found = rows[rows.position { $0.rowid < rowid }], found.rowid == rowid else {
      return nil
    }
    return found
  }

  /// Returns a Boolean value that indicates whether one row precedes another. The arena contains
  /// the keys of both.
  func precedes(_ one: Row, _ other: Row) -> Bool {
    let order = places == nil ? 0 : arena.compare(one.key, other.key)
    return order != 0 ? order < 0 : one.rowid < other.rowid
  }

  /// Returns the number of rows that precede a row. The row need not be in the index.
  ///
  /// - Complexity: O(*n* / 512), some microseconds for a million rows.
  func offset(of row: Row) -> Int {
    guard let places, let position = placePosition(of: row) else {
      return rows.offset(of: rows.position { $0.rowid < row.rowid })
    }
    return places.offset(of: position)
  }

  mutating func makeKey(_ key: borrowing SortKeyWriter) -> SortKey? { arena.add(key) }

  mutating func insert(_ row: Row) {
    arena.use(row.key)
    rows.insert(row, at: rows.position { $0.rowid < row.rowid })
    // No copy of the places is held here, so they are changed in place.
    guard let position = placePosition(of: row) else { return }
    places?.insert(Place(key: row.key, rowid: row.rowid), at: position)
  }

  mutating func apply(_ delta: RowDelta) {
    for row in delta.removed { remove(row) }
    for added in delta.added { insert(added.row) }
  }

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
  /// Creates an index of rows by ascending rowid, whose keys are in the arena of another index.
  ///
  /// - Parameter visit: A closure that receives the position of each row in `rows`, in the order of
  ///   the result.
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

  /// The position of an unsorted place, and eight bytes of its key.
  private struct SortEntry {
    var word: UInt64
    var position: UInt32
  }

  /// Returns the positions of the places, sorted by their keys.
  ///
  /// Most comparisons end with the first word in which any keys differ.
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
        // The positions ascend with the rowids.
        return order != 0 ? order < 0 : one.position < other.position
      }
    }
    return entries
  }

  /// Calls a closure with each rowid, in the order of the result.
  func forEachPlace(_ body: (_ rowid: Int64) -> Void) {
    if let places {
      for place in places { body(place.rowid) }
    } else {
      for row in rows { body(row.rowid) }
    }
  }

  /// Releases the keys of removed rows if they take most of the arena.
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

// MARK: - Sort keys

extension SortKeyWriter {
  /// Writes the columns that order a row.
  mutating func write(_ keys: [IncrementalPlan.Key], of statement: SQLiteStatement) {
    removeAll()
    for key in keys {
      switch statement.storedValue(at: key.position) {
      case .null: addNull()
      case .integer(let number): add(number)
      case .real(let number): add(number)
      case .text(let text): add(text: text, ignoresCase: key.ignoresCase)
      case .blob(let blob): add(blob: blob)
      }
      end(isDescending: key.isDescending)
    }
  }
}
