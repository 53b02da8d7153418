import Diffing
import ObservableCollections
import SwappableSources

/// The rows of a result, in its order and by primary key.
struct KeyedIndex: Sendable {
  /// A row in the order of the result.
  struct Place: Sendable {
    /// The values that order the row, with the primary key at the end.
    var order: SortKey
    var key: SortKey
    var fingerprint: RowFingerprint
  }

  /// A row by its primary key.
  private struct Entry: Sendable {
    var key: SortKey
    var order: SortKey
  }

  private(set) var places = SortedChunks<Place>()
  private var entries = SortedChunks<Entry>()
  private(set) var arena = SortKeyArena()

  init() {}

  var count: Int { places.count }

  /// Stores a key. Returns `nil` if it is too large.
  mutating func makeKey(_ writer: borrowing SortKeyWriter) -> SortKey? { arena.add(writer) }

  /// Returns the row with a primary key, and its offset in the result.
  func find(_ key: SortKey) -> (place: Place, offset: Int)? {
    let entry = entries[entries.position { arena.compare($0.key, key) < 0 }]
    guard let entry, arena.compare(entry.key, key) == 0 else { return nil }
    let position = places.position { arena.compare($0.order, entry.order) < 0 }
    guard let place = places[position] else { return nil }
    return (place, places.offset(of: position))
  }

  /// Returns the number of rows that precede a row.
  func offset(of place: Place) -> Int {
    places.offset(of: places.position { arena.compare($0.order, place.order) < 0 })
  }

  func precedes(_ one: Place, _ other: Place) -> Bool {
    arena.compare(one.order, other.order) < 0
  }

  func isEqual(_ one: SortKey, _ other: SortKey) -> Bool { arena.compare(one, other) == 0 }

  mutating func insert(_ place: Place) {
    arena.use(place.order)
    arena.use(place.key)
    let arena = arena
    places.insert(place, at: places.position { arena.compare($0.order, place.order) < 0 })
    entries.insert(
      Entry(key: place.key, order: place.order),
      at: entries.position { arena.compare($0.key, place.key) < 0 })
  }

  mutating func remove(_ place: Place) {
    places.remove(at: places.position { arena.compare($0.order, place.order) < 0 })
    entries.remove(at: entries.position { arena.compare($0.key, place.key) < 0 })
    arena.remove(place.order)
    arena.remove(place.key)
  }

  /// Replaces all rows. Their keys are in the arena, and they are in order.
  mutating func replace(with sorted: ContiguousArray<Place>) {
    arena.useNothing()
    for place in sorted {
      arena.use(place.order)
      arena.use(place.key)
    }
    places = SortedChunks(sorted)
    let arena = arena
    var entries = ContiguousArray(sorted.map { Entry(key: $0.key, order: $0.order) })
    entries.sort { arena.compare($0.key, $1.key) < 0 }
    self.entries = SortedChunks(entries)
  }

  /// Releases the keys of removed rows if they take most of the arena.
  mutating func compact() {
    guard arena.isWasteful else { return }
    var compacted = SortKeyArena()
    var sorted = ContiguousArray(places)
    for position in sorted.indices {
      guard let order = compacted.add(sorted[position].order, of: arena),
        let key = compacted.add(sorted[position].key, of: arena)
      else { return }
      (sorted[position].order, sorted[position].key) = (order, key)
    }
    arena = compacted
    replace(with: sorted)
  }
}

/// A change of the rows of a result.
struct KeyedDelta: Sendable {
  /// The offsets of deleted rows, and of changed rows as they were, with the rows.
  var removed: [(offset: Int, place: KeyedIndex.Place)] = []
  /// New rows, and changed rows as they are now. Each is the next of `values`.
  var added: [KeyedIndex.Place] = []
  var values: RowBatches

  var isEmpty: Bool { removed.isEmpty && added.isEmpty }
}

/// Receives the rows of a result, or of some keys, and compares them with the known rows.
final class KeyedReceiver: ResultReceiver, @unchecked Sendable {
  /// The known rows. The keys of new rows are added to its arena.
  private(set) var index: KeyedIndex
  private let query: PostgresQuery
  private let plan: KeyedPlan
  /// The keys that are read, or `nil` if all rows are.
  private let keys: [[PostgresValue]]?
  private let emptyHasher = RowHasher()
  private let knownColumns: PostgresColumns?
  private(set) var delta: KeyedDelta?
  private var isSeen: [Bool] = []
  /// The offsets of the rows that were read, if some keys are read.
  private var seenOffsets: Set<Int> = []
  private var next: SortedChunks<KeyedIndex.Place>.Iterator
  private var nextPlace: KeyedIndex.Place?
  private var nextOffset = 0
  private var hasTooLargeKey = false
  private var hasKeyTwice = false
  private var areColumnsNew = false
  /// Kept for all rows, because its memory is used again.
  private var writer = SortKeyWriter()

  init(
    query: PostgresQuery, plan: KeyedPlan, index: consuming KeyedIndex, columns: PostgresColumns?,
    keys: [[PostgresValue]]?
  ) {
    self.query = query
    self.plan = plan
    self.keys = keys
    index.compact()
    self.index = index
    knownColumns = columns
    next = SortedChunks<KeyedIndex.Place>().makeIterator()
    super.init()
    guard keys == nil else { return }
    next = self.index.places.makeIterator()
    nextPlace = next.next()
    isSeen = [Bool](repeating: false, count: self.index.count)
  }

  /// Returns the index and forgets it, so its owner can change it without copying it.
  func takeIndex() -> KeyedIndex {
    next = SortedChunks<KeyedIndex.Place>().makeIterator()
    defer { index = KeyedIndex() }
    return index
  }

  override func receive(_ library: LibPQ, _ result: LibPQ.Result) -> PostgresError? {
    if delta == nil {
      let columns = Self.columns(library, result)
      if let error = query.error(of: columns) { return error }
      if columns != knownColumns {
        // Nothing is known of rows with other columns, except their places.
        if keys != nil { return .columnsChanged(query) }
        areColumnsNew = true
      }
      delta = KeyedDelta(values: RowBatches(columns: columns))
    }
    guard var delta = delta.take() else { return nil }
    let columns = delta.values.columns
    for number in 0..<library.rowCount(result) {
      receive(ReceivedRow(library, result, row: number), columns, &delta)
    }
    let byteCount = delta.values.byteCount + index.arena.bytes.count
    self.delta = delta
    if hasKeyTwice { return .keyTwice(query) }
    return byteCount > query.byteLimit || hasTooLargeKey ? .tooLarge(query.byteLimit) : nil
  }

  private func receive(
    _ row: ReceivedRow, _ columns: PostgresColumns, _ delta: inout KeyedDelta
  ) {
    let fingerprint = row.fingerprint(emptyHasher, columns: columns)
    plan.writeKey(of: row, &writer)
    // Most rows are where they were.
    if keys == nil, let place = nextPlace, index.arena.isEqual(place.key, writer) {
      if see(place, nextOffset, fingerprint, &delta) { return advance() }
      advance()
    } else {
      guard let key = index.makeKey(writer) else { return hasTooLargeKey = true }
      if let found = index.find(key) {
        if keys == nil, found.offset >= nextOffset { skip(to: found.offset + 1) }
        if see(found.place, found.offset, fingerprint, &delta) { return }
      }
    }
    guard let key = index.makeKey(writer) else { return hasTooLargeKey = true }
    plan.writeOrder(of: row, &writer)
    guard let order = index.makeKey(writer) else { return hasTooLargeKey = true }
    delta.added.append(KeyedIndex.Place(order: order, key: key, fingerprint: fingerprint))
    delta.values.append(row)
  }

  private func advance() {
    nextPlace = next.next()
    nextOffset += 1
  }

  private func skip(to offset: Int) {
    while nextOffset < offset, nextPlace != nil { advance() }
  }

  /// Notes that a known row is still there. Returns `false` if it has other values.
  private func see(
    _ place: KeyedIndex.Place, _ offset: Int, _ fingerprint: RowFingerprint,
    _ delta: inout KeyedDelta
  ) -> Bool {
    if keys == nil {
      if isSeen[offset] { hasKeyTwice = true }
      isSeen[offset] = true
    } else {
      if !seenOffsets.insert(offset).inserted { hasKeyTwice = true }
    }
    if place.fingerprint == fingerprint, !areColumnsNew { return true }
    delta.removed.append((offset, place))
    return false
  }

  /// Ends the read, and adds the rows that were not found to the deleted rows.
  func finish() -> KeyedDelta? {
    guard var delta = delta.take() else { return nil }
    delta.values.seal()
    if let keys {
      var gone: Set<Int> = []
      for key in keys {
        KeyedPlan.writeKey(key, &writer)
        guard let key = index.makeKey(writer), let found = index.find(key),
          !seenOffsets.contains(found.offset), gone.insert(found.offset).inserted
        else { continue }
        delta.removed.append((found.offset, found.place))
      }
    } else if isSeen.contains(false) {
      for (offset, place) in index.places.enumerated() where !isSeen[offset] {
        delta.removed.append((offset, place))
      }
    }
    delta.removed.sort { $0.offset < $1.offset }
    return delta
  }
}

extension PostgresError {
  static func keyTwice(_ query: PostgresQuery) -> PostgresError {
    PostgresError(
      .other, "two rows of the result have the same primary key", sql: query.sql,
      help: "check the index of the primary key, for example with pg_amcheck, and run REINDEX")
  }

  static func columnsChanged(_ query: PostgresQuery) -> PostgresError {
    PostgresError(
      .other, "the columns of the result have changed", sql: query.sql, help: "read it again")
  }
}

extension SortKeyArena {
  /// Returns a Boolean value that indicates whether a stored key equals a written one.
  func isEqual(_ key: SortKey, _ writer: borrowing SortKeyWriter) -> Bool {
    guard key.prefix == writer.prefix, key.restCount == max(0, writer.bytes.count - 8) else {
      return false
    }
    return writer.bytes.dropFirst(8).elementsEqual(
      bytes[key.restStart..<key.restStart + key.restCount])
  }
}

/// Maintains a result row by row: only rows that have changed are mapped and moved.
///
/// It keeps an index of the rows, but no elements. The collection that shows the elements keeps them.
struct KeyedResult<Element: Differentiable & Sendable> {
  /// The known rows. While a receiver reads, it has them.
  var index = KeyedIndex()
  private(set) var columns: PostgresColumns?

  init() {}

  /// Returns the index and forgets it, so the receiver can change it without copying it.
  mutating func takeIndex() -> KeyedIndex {
    defer { index = KeyedIndex() }
    return index
  }

  /// Applies a change of rows. If a row cannot be mapped, everything stays as it was.
  ///
  /// - Parameters:
  ///   - delta: The change. The keys of the added rows are in the arena of `index`.
  ///   - shown: A closure that returns the current elements.
  mutating func apply(
    _ delta: KeyedDelta, _ shown: () -> Snapshot<Element>,
    _ map: (PostgresRow) throws -> Element
  ) throws(PostgresError) -> SourceFeed<Element>.Contents {
    let isFirst = columns == nil
    var values = delta.values
    if delta.isEmpty {
      columns = values.columns
      return isFirst ? .whole([]) : .same
    }
    var added: [(place: KeyedIndex.Place, element: Element)] = []
    added.reserveCapacity(delta.added.count)
    var next = 0
    try values.consume { row throws(PostgresError) in
      do {
        added.append((delta.added[next], try map(row)))
      } catch {
        throw PostgresError(mapping: error, row: next)
      }
      next += 1
    }
    added.sort { index.precedes($0.place, $1.place) }
    let shown = isFirst ? Snapshot([]) : shown()
    columns = values.columns
    // The first result replaces the elements of another plan, if there are any.
    if !isFirst, delta.removed.count + added.count <= max(256, index.count / 16) {
      return applyFew(delta, added, shown)
    }
    return applyMany(delta, added, shown)
  }

  private mutating func applyFew(
    _ delta: KeyedDelta, _ added: [(place: KeyedIndex.Place, element: Element)],
    _ shown: Snapshot<Element>
  ) -> SourceFeed<Element>.Contents {
    for row in delta.removed { index.remove(row.place) }
    for row in added { index.insert(row.place) }
    let insertions = added.map { index.offset(of: $0.place) }
    var elements: [Int: Element] = [:]
    for (offset, row) in zip(insertions, added) { elements[offset] = row.element }
    func new(_ offset: Int) -> Element {
      guard let element = elements[offset] else {
        preconditionFailure("offset \(offset) is not one of the insertions")
      }
      return element
    }
    // Treat all touched rows as deleted and inserted. The normal form pairs equal identities and finds the fewest moves.
    let changeset = Changeset(deletions: delta.removed.map(\.offset), insertions: insertions)
      .normalForm(old: { shown[$0] }, new: new)
    if changeset.isEmpty { return .same }
    return .changed(
      changeset, inserted: changeset.insertions.map(new),
      updated: changeset.updates.map { new($0.to) })
  }

  private mutating func applyMany(
    _ delta: KeyedDelta, _ added: [(place: KeyedIndex.Place, element: Element)],
    _ shown: Snapshot<Element>
  ) -> SourceFeed<Element>.Contents {
    var places = ContiguousArray<KeyedIndex.Place>()
    var elements: [Element] = []
    let count = index.count - delta.removed.count + added.count
    places.reserveCapacity(count)
    elements.reserveCapacity(count)
    var removed = delta.removed[...]
    var rest = added[...]
    for (offset, place) in index.places.enumerated() {
      if removed.first?.offset == offset {
        removed.removeFirst()
        continue
      }
      while let row = rest.first, index.precedes(row.place, place) {
        places.append(row.place)
        elements.append(row.element)
        rest.removeFirst()
      }
      places.append(place)
      elements.append(shown[offset])
    }
    places.append(contentsOf: rest.lazy.map(\.place))
    elements.append(contentsOf: rest.lazy.map(\.element))
    index.replace(with: places)
    return .whole(elements)
  }
}
