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

// MARK: - Sorted sequences

/// A long sorted sequence, in chunks. Searches and edits touch only a few chunks.
///
/// The user of the sequence knows the order of the entries and passes it in.
struct SortedChunks<Entry: Sendable>: Sendable {
  struct Position {
    fileprivate var chunk: Int
    fileprivate var offset: Int
  }

  private static var limit: Int { 512 }
  /// The initial size of a chunk. It leaves space for insertions.
  private static var fill: Int { limit * 3 / 4 }

  private var chunks: [ContiguousArray<Entry>] = []
  /// The number of entries in each chunk, side by side for fast addition.
  private var counts: [Int] = []
  private(set) var count = 0

  init() {}

  init(_ entries: ContiguousArray<Entry>) {
    count = entries.count
    for start in stride(from: 0, to: entries.count, by: SortedChunks.fill) {
      let end = Swift.min(start + SortedChunks.fill, entries.count)
      chunks.append(ContiguousArray(entries[start..<end]))
    }
    counts = chunks.map(\.count)
  }

  var last: Entry? { chunks.last?.last }

  /// Returns the first position whose entry does not satisfy `isBefore`. No later entry may satisfy it.
  ///
  /// - Complexity: O(log n).
  func position(where isBefore: (Entry) -> Bool) -> Position {
    // No chunk is empty.
    let chunk = chunks.indices.partitioningIndex { !isBefore(chunks[$0][counts[$0] - 1]) }
    guard chunk < chunks.count else { return Position(chunk: chunk, offset: 0) }
    return chunks[chunk].withUnsafeBufferPointer { entries in
      Position(chunk: chunk, offset: entries.partitioningIndex { !isBefore($0) })
    }
  }

  /// Returns the entry at a position, or `nil` at the end.
  subscript(position: Position) -> Entry? {
    position.chunk < chunks.count ? chunks[position.chunk][position.offset] : nil
  }

  /// Returns the number of entries before a position.
  ///
  /// - Complexity: O(*n* / 512), a fraction of a microsecond for a million entries.
  func offset(of position: Position) -> Int {
    var sum = position.offset
    for chunk in 0..<position.chunk { sum &+= counts[chunk] }
    return sum
  }

  /// Appends an entry that follows all others.
  mutating func append(_ entry: Entry) {
    count += 1
    if let last = counts.indices.last, counts[last] < SortedChunks.fill {
      chunks[last].append(entry)
      counts[last] += 1
    } else {
      var chunk = ContiguousArray<Entry>()
      chunk.reserveCapacity(SortedChunks.fill)
      chunk.append(entry)
      chunks.append(chunk)
      counts.append(1)
    }
  }

  mutating func insert(_ entry: Entry, at position: Position) {
    var position = position
    count += 1
    if position.chunk == chunks.count {
      guard let last = chunks.indices.last else {
        chunks = [[entry]]
        counts = [1]
        return
      }
      position = Position(chunk: last, offset: counts[last])
    }
    chunks[position.chunk].insert(entry, at: position.offset)
    counts[position.chunk] += 1
    if counts[position.chunk] > SortedChunks.limit { split(position.chunk) }
  }

  mutating func remove(at position: Position) {
    count -= 1
    chunks[position.chunk].remove(at: position.offset)
    counts[position.chunk] -= 1
    if counts[position.chunk] == 0 {
      chunks.remove(at: position.chunk)
      counts.remove(at: position.chunk)
    } else {
      mergeIfSmall(position.chunk)
    }
  }

  private mutating func split(_ chunk: Int) {
    let middle = counts[chunk] / 2
    let tail = ContiguousArray(chunks[chunk][middle...])
    chunks[chunk].removeSubrange(middle...)
    chunks.insert(tail, at: chunk + 1)
    counts[chunk] = middle
    counts.insert(tail.count, at: chunk + 1)
  }

  private mutating func mergeIfSmall(_ chunk: Int) {
    guard chunk + 1 < chunks.count, counts[chunk] + counts[chunk + 1] < SortedChunks.limit / 2
    else { return }
    chunks[chunk].append(contentsOf: chunks[chunk + 1])
    counts[chunk] += counts[chunk + 1]
    chunks.remove(at: chunk + 1)
    counts.remove(at: chunk + 1)
  }
}

extension SortedChunks: Sequence {
  struct Iterator: IteratorProtocol {
    fileprivate let chunks: [ContiguousArray<Entry>]
    fileprivate var chunk = 0
    fileprivate var offset = 0

    mutating func next() -> Entry? {
      guard chunk < chunks.count else { return nil }
      defer {
        offset += 1
        if offset == chunks[chunk].count { (chunk, offset) = (chunk + 1, 0) }
      }
      return chunks[chunk][offset]
    }
  }

  func makeIterator() -> Iterator { Iterator(chunks: chunks) }
  var underestimatedCount: Int { count }
}

// MARK: - Sort keys

/// The ordering values of a row, as bytes that compare as SQLite compares the values.
///
/// The first eight bytes are stored in place, where most comparisons end. An arena stores the rest.
struct SortKey: Sendable {
  var prefix: UInt64 = 0
  /// The offset of the rest in the arena, and in the lower bits its length.
  private var rest: UInt64 = 0

  private static let countBits: UInt64 = 30

  /// Creates the key of a row that only its rowid orders.
  init() {}

  /// Creates a key, or returns `nil` if the rest is too large or too far back.
  init?(prefix: UInt64, restStart: Int, restCount: Int) {
    guard restCount < 1 << SortKey.countBits, restStart < 1 << (64 - SortKey.countBits) else {
      return nil
    }
    self.prefix = prefix
    rest = UInt64(restStart) << SortKey.countBits | UInt64(restCount)
  }

  var restCount: Int { Int(rest & ((1 << SortKey.countBits) - 1)) }
  var restStart: Int { Int(rest >> SortKey.countBits) }
}

struct SortKeyArena: Sendable {
  private(set) var bytes: [UInt8] = []
  /// The number of bytes of the keys that are in use.
  private(set) var usedCount = 0

  /// A Boolean value that indicates whether most of the bytes belong to removed keys.
  var isWasteful: Bool { bytes.count > 2 * usedCount + 1 << 16 }

  /// Adds a key that is not in use yet. Returns `nil` if it is too large.
  mutating func add(_ key: borrowing SortKeyWriter) -> SortKey? {
    guard
      let added = SortKey(
        prefix: key.prefix, restStart: bytes.count, restCount: max(0, key.bytes.count - 8))
    else { return nil }
    key.bytes.withUnsafeBytes { key in
      if key.count > 8 { bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: key[8...])) }
    }
    return added
  }

  /// Adds a key of another arena that is not in use yet.
  mutating func add(_ key: SortKey, of other: SortKeyArena) -> SortKey? {
    guard
      let added = SortKey(
        prefix: key.prefix, restStart: bytes.count, restCount: key.restCount)
    else { return nil }
    bytes.append(contentsOf: other.bytes[key.restStart..<key.restStart + key.restCount])
    return added
  }

  mutating func use(_ key: SortKey) {
    usedCount += key.restCount
  }

  mutating func useNothing() {
    usedCount = 0
  }

  mutating func remove(_ key: SortKey) {
    usedCount -= key.restCount
  }

  /// Compares two keys, and returns a number below, equal to or above 0.
  func compare(_ one: SortKey, _ other: SortKey) -> Int {
    if one.prefix != other.prefix { return one.prefix < other.prefix ? -1 : 1 }
    let (left, right) = (one.restCount, other.restCount)
    guard left > 0, right > 0 else { return left - right }
    return bytes.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return 0 }
      let result = compareBytes(
        base + one.restStart, base + other.restStart, count: min(left, right))
      return result != 0 ? result : left - right
    }
  }

  /// Returns the number of bytes that all keys share at their start, or 0 if their prefixes differ.
  func sharedCount(_ keys: some Collection<SortKey>) -> Int {
    guard let first = keys.first else { return 0 }
    var shared = first.restCount
    for key in keys {
      if key.prefix != first.prefix { return 0 }
      shared = min(shared, key.restCount)
      var count = 0
      while count < shared, bytes[first.restStart + count] == bytes[key.restStart + count] {
        count += 1
      }
      shared = count
    }
    return 8 + shared
  }

  /// Returns eight bytes of a key, padded with zeros. The offset is 0 or at least 8.
  func word(of key: SortKey, at offset: Int) -> UInt64 {
    guard offset >= 8 else { return key.prefix }
    var word: UInt64 = 0
    let start = key.restStart + offset - 8
    let end = key.restStart + key.restCount
    for place in start..<start + 8 { word = word << 8 | (place < end ? UInt64(bytes[place]) : 0) }
    return word
  }
}

/// Writes the values of a row as a sort key.
///
/// A column begins with a byte for its class: NULL, numbers, text, and blobs, in this order. The
/// value follows:
/// - A number is written as the bits of the largest `Double` that is not greater, changed to
///   compare as unsigned. The remainder of an integer follows, so integers and reals compare
///   exactly.
/// - Text and blobs are written as bytes, with 0 as 0 255, and end with 0 0. If case is ignored,
///   text ends at its first NUL character, as in SQLite, and its length follows.
///
/// No column is a prefix of another, so several columns compare in order. All bits of a descending
/// column are inverted.
struct SortKeyWriter: ~Copyable {
  private(set) var bytes: [UInt8] = []
  private var columnStart = 0

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  /// The first eight bytes, padded with zeros.
  var prefix: UInt64 {
    bytes.withUnsafeBytes { bytes in
      if bytes.count >= 8 { return UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) }
      var word: UInt64 = 0
      for offset in 0..<8 {
        word = word << 8 | (offset < bytes.count ? UInt64(bytes[offset]) : 0)
      }
      return word
    }
  }

  mutating func addNull() {
    begin(class: 1)
  }

  mutating func add(_ number: Int64) {
    begin(class: 2)
    var floor = Double(number)
    // The conversion may have rounded up, even to a number that no integer has.
    if floor >= 0x1p63 || Int64(floor) > number { floor = floor.nextDown }
    add(bitsOf: floor, rest: UInt16(number - Int64(floor)))
  }

  mutating func add(_ number: Double) {
    begin(class: 2)
    add(bitsOf: number, rest: 0)
  }

  mutating func add(blob: UnsafeRawBufferPointer) {
    begin(class: 4)
    addEscaped(blob)
  }

  mutating func add(text: UnsafeRawBufferPointer, ignoresCase: Bool) {
    begin(class: 3)
    if !ignoresCase { return addEscaped(text) }
    for byte in text {
      guard byte != 0 else {
        bytes += [0, 255]
        return add(word: UInt64(text.count))
      }
      bytes.append((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte)
    }
    bytes += [0, 0]
  }

  /// Writes the columns that order a row.
  mutating func write(_ keys: [IncrementalPlan.Key], of statement: SQLiteStatement) {
    bytes.removeAll(keepingCapacity: true)
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

  mutating func end(isDescending: Bool) {
    guard isDescending else { return }
    for offset in columnStart..<bytes.count { bytes[offset] = ~bytes[offset] }
  }

  private mutating func begin(class kind: UInt8) {
    columnStart = bytes.count
    bytes.append(kind)
  }

  private mutating func addEscaped(_ content: UnsafeRawBufferPointer) {
    if contains(0, in: content) {
      for byte in content {
        bytes.append(byte)
        if byte == 0 { bytes.append(255) }
      }
    } else {
      bytes.append(contentsOf: content)
    }
    bytes.append(0)
    bytes.append(0)
  }

  private mutating func add(bitsOf number: Double, rest: UInt16) {
    // The two zeros are equal numbers.
    let bits = (number == 0 ? 0.0 : number).bitPattern
    add(word: bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
    bytes.append(UInt8(rest >> 8))
    bytes.append(UInt8(rest & 255))
  }

  private mutating func add(word: UInt64) {
    withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
  }
}
