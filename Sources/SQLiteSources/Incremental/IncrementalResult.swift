import Diffing
import ObservableCollections
import SwappablePrimitives

/// Maintains a result row by row: only rows that have changed are mapped and moved.
///
/// It keeps an index of the rows, but no elements. The collection that shows the elements keeps them.
final class IncrementalResult<Element: Differentiable & Sendable>: ResultMaintainer {
  let plan: IncrementalPlan
  private let tracking: ChangeTracking
  private let scan: RowScan
  private var index: RowIndex
  /// The counted identities, or `nil` as long as the identity of each element is its rowid.
  private var identities: KnownIdentities<Element>?
  private var isLoaded = false
  /// The state of the writer at the last read, or `nil` if the next update must read the whole result.
  private var checkpoint: WriteCheckpoint?
  /// The checkpoint that precedes the current read.
  private var nextCheckpoint: WriteCheckpoint?
  private var pending: RowDelta?

  init(query: SQLiteQuery, plan: IncrementalPlan, tracking: ChangeTracking) {
    self.plan = plan
    self.tracking = tracking
    scan = RowScan(query, plan)
    index = RowIndex(isByRowid: plan.keys.isEmpty)
  }

  var diagnostics: [SourceDiagnostic] { identities?.diagnostic.map { [$0] } ?? [] }

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
  ) throws(SQLiteError) -> ResultChange<Element> {
    guard let delta = pending.take() else { preconditionFailure("finishRead follows read") }
    let change = try apply(delta, shown, map)
    // Without a new checkpoint, the old one is still valid if only its writer has written.
    if let next = nextCheckpoint.take() { checkpoint = next }
    return change
  }

  // MARK: Reading written rows

  func hasWriter(at path: String?) -> Bool {
    guard let checkpoint else { return false }
    guard let path else { return true }
    return checkpoint.identity.map { FileLookup(path) == .file($0) } ?? false
  }

  func forgetWriter() {
    checkpoint = nil
  }

  func readWrittenRows(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> ResultChange<Element>? {
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
  ) throws(SQLiteError) -> ResultChange<Element> {
    if delta.isEmpty, isLoaded { return .unchanged }
    let shown = shown()
    let change: ResultChange<Element> =
      if let rows = delta.loaded {
        .replaced(try load(rows, delta.values, map))
      } else if isLoaded, delta.count <= max(256, index.count / 16) {
        try applyFew(delta, shown, map)
      } else {
        try applyMany(delta, shown, map)
      }
    isLoaded = true
    return change
  }

  // MARK: All rows, if none was known

  private func load(
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
      (index, identities) = (loaded, nil)
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
              && rowids.next().map { KnownIdentities.isRowid($0.rowid, of: element) } ?? false
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
    identities = areRowids ? nil : KnownIdentities(of: elements)
    return elements
  }

  // MARK: A few rows

  private func applyFew(
    _ delta: RowDelta, _ shown: Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> ResultChange<Element> {
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
    let new = SparseElements(count: index.count, offsets: insertions, elements: elements)
    let changeset = Changeset(deletions: deletions, insertions: insertions)
      .normalForm(from: shown, to: new)
    if changeset.isEmpty { return .unchanged }
    let inserted = changeset.insertions.map { new[$0] }
    if identities == nil,
      !added.indices.allSatisfy({ KnownIdentities.isRowid(added[$0].row.rowid, of: elements[$0]) })
    {
      identities = KnownIdentities(of: shown)
    }
    identities?.update(removed: changeset.deletions.map { shown[$0] }, added: inserted)
    return .changed(
      changeset, inserted: inserted, updated: changeset.updates.map { new[$0.to] })
  }

  // MARK: Many rows

  private func applyMany(
    _ delta: RowDelta, _ shown: Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> ResultChange<Element> {
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
    var areRowids = identities == nil
    var elements: [Element] = []
    elements.reserveCapacity(order.count)
    for (offset, source) in order.enumerated() {
      if source < shown.count {
        elements.append(shown[source])
      } else {
        do {
          let added = delta.added[source - shown.count]
          let element = try map(delta.values[added.number])
          areRowids = areRowids && KnownIdentities.isRowid(added.row.rowid, of: element)
          elements.append(element)
        } catch {
          throw SQLiteError(mapping: error, row: offset)
        }
      }
    }
    index = newIndex
    identities = areRowids ? nil : KnownIdentities(of: elements)
    return .replaced(elements)
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

/// A collection of which only some elements are known.
private struct SparseElements<Element>: RandomAccessCollection {
  let count: Int
  private let offsets: [Int]
  private let elements: [Element]

  /// - Parameters:
  ///   - count: The number of all elements.
  ///   - offsets: The ascending offsets of the known elements.
  ///   - elements: The known elements.
  init(count: Int, offsets: [Int], elements: [Element]) {
    self.count = count
    self.offsets = offsets
    self.elements = elements
  }

  var startIndex: Int { 0 }
  var endIndex: Int { count }

  subscript(offset: Int) -> Element {
    let position = offsets.partitioningIndex { $0 >= offset }
    precondition(
      position < offsets.count && offsets[position] == offset,
      "the element at offset \(offset) is not known")
    return elements[position]
  }
}
