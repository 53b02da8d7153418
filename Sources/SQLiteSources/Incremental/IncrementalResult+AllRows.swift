import Diffing
import ObservableCollections
import SwappableSources

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

  /// Returns all elements after a change of many rows.
  func applyMany(
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
