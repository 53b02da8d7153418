import Diffing
import ObservableCollections
import SwappablePrimitives
import SwappableSources

/// Maintains a result row by row: only rows that have changed are mapped and moved.
///
/// It keeps an index of the rows, but no elements. The collection that shows the elements keeps them.
final class IncrementalResult<Element: Differentiable & Sendable>: ResultMaintainer {
  private let scan: RowScan
  private let tracking: ChangeTracking
  var index: RowIndex
  /// A Boolean value that indicates whether the identity of each element is its rowid, so no two elements have one.
  private(set) var areIdentitiesUnique = true
  private var isLoaded = false
  /// The state of the writer at the last read, or `nil` if the next update must read the whole result.
  private var checkpoint: WriteCheckpoint?
  /// The checkpoint that precedes the current read.
  private var nextCheckpoint: WriteCheckpoint?
  private var pending: RowDelta?

  init(query: SQLiteQuery, plan: IncrementalPlan, tracking: ChangeTracking) {
    scan = RowScan(query, plan)
    self.tracking = tracking
    index = RowIndex(isByRowid: plan.keys.isEmpty)
  }

  var plan: IncrementalPlan { scan.plan }

  var diagnostics: [SourceStatus.Diagnostic] { [] }

  var mode: (SQLiteQueryExplanation.Mode, reason: String) { (.incremental, plan.reason) }

  // MARK: Reading the whole result

  func prepareRead(writer: SQLiteConnection?) {
    // If this fails, the users of the writer receive the error.
    nextCheckpoint = try? writer.flatMap { writer throws(SQLiteError) in
      try WriteCheckpoint.begin(at: writer, table: plan.table, tracking: tracking)
    }
  }

  func read(from database: SQLiteDatabase, schemaVersion: Int64?) throws(SQLiteError) {
    pending =
      if let sql = plan.windowSQL {
        try scan.delta(toWindow: &index, sql, on: database)
      } else {
        try scan.delta(to: &index, on: database)
      }
    if let next = nextCheckpoint,
      !next.hasSchemaVersion(schemaVersion) || next.identity != database.identity
    {
      nextCheckpoint = nil
    }
  }

  func finishRead(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> SourceFeed<Element>.Contents {
    guard let delta = pending.take() else { preconditionFailure("finishRead follows read") }
    let change = try apply(delta, shown, map)
    // Without a new checkpoint, the old one is still valid if only its writer has written.
    if let next = nextCheckpoint.take() { checkpoint = next }
    return change
  }

  // MARK: Reading written rows

  func hasWriter(at path: ByteString?) -> Bool {
    guard let checkpoint else { return false }
    guard let path else { return true }
    return checkpoint.identity.map { FileLookup(path) == .file($0) } ?? false
  }

  func forgetWriter() {
    checkpoint = nil
  }

  func readWrittenRows(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> SourceFeed<Element>.Contents? {
    guard let checkpoint else { return nil }
    let found: WriteCheckpoint.Finding<RowDelta>
    do throws(SQLiteError) {
      found = try checkpoint.read(limit: max(64, index.count / 20), tracking: tracking) {
        rowids, database throws(SQLiteError) in
        try scan.delta(of: rowids, to: &index, on: database)
      }
    } catch {
      // Reading the whole result reports the error, if it lasts.
      if error.code != .busy { self.checkpoint = nil }
      return nil
    }
    switch found {
    case .isOccupied: return nil
    case .isOver:
      self.checkpoint = nil
      return nil
    case .rows(var delta, let next):
      if let limit = plan.limit {
        guard let windowed = delta.windowed(index, limit: limit) else { return nil }
        delta = windowed
      }
      let change = try apply(delta, shown, map)
      self.checkpoint = next
      return change
    }
  }

  /// Applies a change of rows. If a row cannot be mapped, everything stays as it was.
  private func apply(
    _ delta: RowDelta, _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> SourceFeed<Element>.Contents {
    if delta.isEmpty, isLoaded { return .same }
    let shown = shown()
    let change: SourceFeed<Element>.Contents =
      if let rows = delta.loaded {
        .whole(try load(rows, delta.values, map))
      } else if isLoaded, delta.count <= max(256, index.count / 16) {
        try applyFew(delta, shown, map)
      } else {
        try applyMany(delta, shown, map)
      }
    isLoaded = true
    return change
  }

  // MARK: A few rows

  private func applyFew(
    _ delta: RowDelta, _ shown: Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> SourceFeed<Element>.Contents {
    // Sort by the order of the result, so the offsets ascend.
    let added = delta.added.sorted { index.precedes($0.row, $1.row) }
    var elements: [Element] = []
    elements.reserveCapacity(added.count)
    for addition in added {
      do {
        elements.append(try map(delta.values[addition.number]))
      } catch {
        var next = index
        next.apply(delta)
        throw SQLiteError(mapping: error, row: next.offset(of: addition.row))
      }
    }
    let deletions = delta.removed.map { index.offset(of: $0) }.sorted()
    index.apply(delta)
    let insertions = added.map { index.offset(of: $0.row) }
    // Treat all touched rows as deleted and inserted. The normal form pairs equal identities and
    // finds the fewest moves.
    func new(_ offset: Int) -> Element {
      elements[insertions.partitioningIndex { $0 >= offset }]
    }
    let changeset = Changeset(deletions: deletions, insertions: insertions)
      .normalForm(old: { shown[$0] }, new: new)
    if changeset.isEmpty { return .same }
    let inserted = changeset.insertions.map(new)
    areIdentitiesUnique =
      areIdentitiesUnique
      && added.indices.allSatisfy { elements[$0].isIdentified(by: added[$0].row.rowid) }
    return .changed(
      changeset, inserted: inserted, updated: changeset.updates.map { new($0.to) })
  }
}

// MARK: - Reading rows

/// A change of the rows of a result.
struct RowDelta {
  struct Added {
    var row: RowIndex.Row
    /// The number of the row in `values`.
    var number: Int
  }

  /// Deleted rows, and changed rows as they were.
  var removed: [RowIndex.Row] = []
  /// New rows, and changed rows as they are now. Each rowid occurs once.
  var added: [Added] = []
  /// All rows by ascending rowid, if none was known. They replace `added`.
  var loaded: SortedChunks<RowIndex.Row>?
  var values: RowBatches

  init(values: RowBatches) {
    self.values = values
  }

  var isEmpty: Bool { count == 0 }
  var count: Int { removed.count + added.count + (loaded?.count ?? 0) }
}

/// Reads the change of rows, in a transaction.
struct RowScan {
  let plan: IncrementalPlan
  private let columns: SQLiteColumns
  private let arguments: SQLiteArguments
  private let byteLimit: Int
  private let noValues = RowHasher()

  init(_ query: SQLiteQuery, _ plan: IncrementalPlan) {
    self.plan = plan
    columns = plan.columns
    arguments = query.arguments
    byteLimit = query.byteLimit
  }

  /// Reads all rows of the result and compares them with the known rows.
  ///
  /// - Parameter index: The known rows. The keys of new rows are added to its arena.
  func delta(
    to index: inout RowIndex, on database: SQLiteDatabase
  ) throws(SQLiteError) -> RowDelta {
    var found = begin(&index)
    if index.count == 0 { return try load(&index, on: database) }
    var writer = SortKeyWriter()
    var known = index.rows.makeIterator()
    var next = known.next()
    var lastRowid: Int64?
    try run(plan.scanSQL, on: database) { statement throws(SQLiteError) in
      while try statement.step() {
        let rowid = try rowid(statement)
        if let lastRowid, lastRowid >= rowid { throw wrongOrder(statement) }
        lastRowid = rowid
        while let row = next, row.rowid < rowid {
          found.removed.append(row)
          next = known.next()
        }
        let fingerprint = fingerprint(statement)
        if let row = next, row.rowid == rowid {
          next = known.next()
          if row.fingerprint == fingerprint { continue }
          found.removed.append(row)
        }
        try add(rowid, fingerprint, statement, to: &found, &index, &writer)
      }
    }
    while let row = next {
      found.removed.append(row)
      next = known.next()
    }
    found.values.seal()
    return found
  }

  private func load(
    _ index: inout RowIndex, on database: SQLiteDatabase
  ) throws(SQLiteError) -> RowDelta {
    var found = RowDelta(values: RowBatches(columns: columns))
    var rows = SortedChunks<RowIndex.Row>()
    var writer = SortKeyWriter()
    var lastRowid: Int64?
    let otherValues = columns.names.count..<plan.valueCount
    try run(plan.scanSQL, on: database) { statement throws(SQLiteError) in
      while try statement.step() {
        let rowid = try rowid(statement)
        if let lastRowid, lastRowid >= rowid { throw wrongOrder(statement) }
        lastRowid = rowid
        var hasher = noValues
        found.values.append(statement) { hasher.combine($0) }
        try found.values.checkSize(limit: byteLimit)
        hasher.combine(statement, otherValues)
        let key = try key(statement, &index, &writer)
        rows.append(RowIndex.Row(rowid: rowid, fingerprint: hasher.fingerprint, key: key))
      }
    }
    found.loaded = rows
    found.values.seal()
    return found
  }

  /// Reads the rows of a result with a limit and compares them with the known rows.
  func delta(
    toWindow index: inout RowIndex, _ sql: String, on database: SQLiteDatabase
  ) throws(SQLiteError) -> RowDelta {
    var found = begin(&index)
    var writer = SortKeyWriter()
    var kept: Set<Int64> = []
    var seen: Set<Int64> = []
    try run(sql, on: database) { statement throws(SQLiteError) in
      while try statement.step() {
        let rowid = try rowid(statement)
        guard seen.insert(rowid).inserted else { throw wrongOrder(statement) }
        let fingerprint = fingerprint(statement)
        if index.row(rowid)?.fingerprint == fingerprint {
          kept.insert(rowid)
        } else {
          try add(rowid, fingerprint, statement, to: &found, &index, &writer)
        }
      }
    }
    for row in index.rows where !kept.contains(row.rowid) { found.removed.append(row) }
    // Sort by ascending rowid, as a scan of all rows does.
    found.added.sort { $0.row.rowid < $1.row.rowid }
    found.values.seal()
    return found
  }

  func delta(
    of rowids: [Int64], to index: inout RowIndex, on database: SQLiteDatabase
  ) throws(SQLiteError) -> RowDelta {
    var found = begin(&index)
    guard let first = rowids.first else { return found }
    var writer = SortKeyWriter()
    try run(plan.rowSQL, rowid: first, on: database) { statement throws(SQLiteError) in
      for (number, rowid) in rowids.enumerated() {
        if number > 0 { try statement.restart(rowid: rowid) }
        let known = index.row(rowid)
        if try statement.step() {
          let fingerprint = fingerprint(statement)
          if known?.fingerprint == fingerprint { continue }
          try add(rowid, fingerprint, statement, to: &found, &index, &writer)
        }
        if let known { found.removed.append(known) }
      }
    }
    found.values.seal()
    return found
  }

  /// Begins a read, and releases keys that an earlier read has added in vain.
  private func begin(_ index: inout RowIndex) -> RowDelta {
    index.compact()
    return RowDelta(values: RowBatches(columns: columns))
  }

  private func run(
    _ sql: String, rowid: Int64? = nil, on database: SQLiteDatabase,
    _ body: (SQLiteStatement) throws(SQLiteError) -> Void
  ) throws(SQLiteError) {
    try database.withStatement(sql, argumentsFrom: arguments, rowid: rowid, body)
  }

  private func rowid(_ statement: SQLiteStatement) throws(SQLiteError) -> Int64 {
    guard let rowid = statement.integer(at: plan.rowidPosition) else { throw wrongOrder(statement) }
    return rowid
  }

  private func fingerprint(_ statement: SQLiteStatement) -> RowFingerprint {
    var hasher = noValues
    hasher.combine(statement, 0..<plan.valueCount)
    return hasher.fingerprint
  }

  private func add(
    _ rowid: Int64, _ fingerprint: RowFingerprint, _ statement: SQLiteStatement,
    to delta: inout RowDelta, _ index: inout RowIndex, _ writer: inout SortKeyWriter
  ) throws(SQLiteError) {
    let key = try key(statement, &index, &writer)
    delta.added.append(
      RowDelta.Added(
        row: RowIndex.Row(rowid: rowid, fingerprint: fingerprint, key: key),
        number: delta.values.append(statement)))
    try delta.values.checkSize(limit: byteLimit)
  }

  /// Adds the sort key of a statement's current row to the arena.
  private func key(
    _ statement: SQLiteStatement, _ index: inout RowIndex, _ writer: inout SortKeyWriter
  ) throws(SQLiteError) -> SortKey {
    if plan.keys.isEmpty { return SortKey() }
    writer.write(plan.keys, of: statement)
    guard let key = index.makeKey(writer) else {
      throw SQLiteError(
        .other, "the values that order a row are too large", path: statement.path,
        sql: statement.sql, help: "order by shorter columns")
    }
    return key
  }

  private func wrongOrder(_ statement: SQLiteStatement) -> SQLiteError {
    SQLiteError(
      .corrupt, "rows ordered by rowid are not in ascending order", path: statement.path,
      sql: statement.sql, help: "check the database with PRAGMA integrity_check")
  }
}

extension RowDelta {
  /// Restricts the change to a result with a limit, of which only the first rows are known.
  ///
  /// - Parameters:
  ///   - index: The known rows.
  ///   - limit: The maximal number of rows in the result.
  /// - Returns: The restricted change, or `nil` if unknown rows move into the result.
  func windowed(_ index: RowIndex, limit: Int) -> RowDelta? {
    var delta = self
    if index.count >= limit {
      // All unknown rows follow the last known row. A new row behind it is not in the result.
      guard let last = index.last else { return RowDelta(values: values) }
      delta.added.removeAll { index.precedes(last, $0.row) }
      if index.count - delta.removed.count + delta.added.count < limit { return nil }
    }
    guard index.count - delta.removed.count + delta.added.count > limit else { return delta }
    var next = index
    next.apply(delta)
    var pushedOut: Set<Int64> = []
    while next.count > limit, let last = next.last {
      next.remove(last)
      pushedOut.insert(last.rowid)
    }
    let removed = Set(delta.removed.map(\.rowid))
    delta.added.removeAll { pushedOut.contains($0.row.rowid) }
    for rowid in pushedOut.sorted() where !removed.contains(rowid) {
      if let row = index.row(rowid) { delta.removed.append(row) }
    }
    return delta
  }
}

extension IncrementalResult {
  /// Returns the elements of all rows, if no row was known.
  func load(
    _ rows: SortedChunks<RowIndex.Row>, _ values: RowBatches, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> [Element] {
    // Map the rows in the order in which they were read and lie in memory. Each element is stored
    // at its offset in the result.
    var offsets = [Int](repeating: 0, count: rows.count)
    var next = 0
    let loaded = RowIndex(rows, keysOf: index) { position in
      offsets[position] = next
      next += 1
    }
    // An array of zero capacity would write to the empty array that all threads share.
    if rows.count == 0 {
      (index, areIdentitiesUnique) = (loaded, true)
      return []
    }
    var values = values
    var number = 0
    var rowids = rows.makeIterator()
    var areRowids = true
    var failure: SQLiteError?
    let elements = [Element](unsafeUninitializedCapacity: rows.count) { memory, count in
      do throws(SQLiteError) {
        try values.consume { row throws(SQLiteError) in
          do {
            let element = try map(row)
            areRowids =
              areRowids
              && rowids.next().map { element.isIdentified(by: $0.rowid) } ?? false
            memory.initializeElement(at: offsets[number], to: element)
          } catch {
            throw SQLiteError(mapping: error, row: offsets[number])
          }
          number += 1
        }
        count = number
      } catch {
        for offset in offsets[..<number] { memory.deinitializeElement(at: offset) }
        failure = error
      }
    }
    if let failure { throw failure }
    index = loaded
    areIdentitiesUnique = areRowids
    return elements
  }

  /// Returns all elements after a change of many rows.
  func applyMany(
    _ delta: RowDelta, _ shown: Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> SourceFeed<Element>.Contents {
    var rows = ContiguousArray<RowIndex.Row>()
    rows.reserveCapacity(index.count + delta.added.count)
    /// The source of each element: an offset in the previous result, or that result's count plus
    /// the offset of an added row.
    var sources: [Int] = []
    sources.reserveCapacity(rows.capacity)
    let removed = Set(delta.removed.map(\.rowid))
    let oldOffsets = oldOffsets()
    var next = 0
    func add(below rowid: Int64?) {
      while next < delta.added.count, rowid.map({ delta.added[next].row.rowid < $0 }) ?? true {
        rows.append(delta.added[next].row)
        sources.append(shown.count + next)
        next += 1
      }
    }
    for (position, row) in index.rows.enumerated() where !removed.contains(row.rowid) {
      add(below: row.rowid)
      rows.append(row)
      sources.append(oldOffsets?[position] ?? position)
    }
    add(below: nil)

    var order: [Int] = []
    order.reserveCapacity(rows.count)
    let newIndex = RowIndex(SortedChunks(rows), keysOf: index) { order.append(sources[$0]) }
    var areRowids = areIdentitiesUnique
    var elements: [Element] = []
    elements.reserveCapacity(order.count)
    for (offset, source) in order.enumerated() {
      if source < shown.count {
        elements.append(shown[source])
      } else {
        do {
          let added = delta.added[source - shown.count]
          let element = try map(delta.values[added.number])
          areRowids = areRowids && element.isIdentified(by: added.row.rowid)
          elements.append(element)
        } catch {
          throw SQLiteError(mapping: error, row: offset)
        }
      }
    }
    index = newIndex
    areIdentitiesUnique = areRowids
    return .whole(elements)
  }

  /// Returns the offsets of the elements by ascending rowid, or `nil` if that is their order.
  private func oldOffsets() -> [Int]? {
    guard !index.isByRowid, index.count > 0 else { return nil }
    var places: [(rowid: Int64, offset: Int)] = []
    places.reserveCapacity(index.count)
    index.forEachPlace { places.append(($0, places.count)) }
    places.sort { $0.rowid < $1.rowid }
    return places.map(\.offset)
  }
}

extension Differentiable {
  /// Returns a Boolean value that indicates whether the identity consists of eight bytes, which are those of a rowid.
  fileprivate func isIdentified(by rowid: Int64) -> Bool {
    MemoryLayout<DifferenceIdentifier>.size == 8 && Self.hasBitwiseIdentity
      && withUnsafeBytes(of: differenceIdentifier) {
        $0.loadUnaligned(as: UInt64.self) == UInt64(bitPattern: rowid)
      }
  }
}
