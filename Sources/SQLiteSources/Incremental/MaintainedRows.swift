import Diffing
import ObservableCollections

/// The rows of a result that is maintained row by row, and how a change of them changes the elements.
///
/// It holds no elements: those are in the collection that shows them.
struct MaintainedRows<Element: Differentiable & Sendable> {
  typealias Map = (SQLiteRow) throws -> Element

  /// What a change of rows comes to.
  enum Step {
    case unchanged
    /// These are the elements now.
    case replaced([Element])
    /// The elements change by these.
    case changed(Changeset, inserted: [Element], updated: [Element])
  }

  let plan: TablePlan
  var index: RowIndex
  /// `nil` as long as the identity of each element is its rowid.
  private var identities: KnownIdentities<Element>?
  private var isLoaded = false

  init(plan: TablePlan) {
    self.plan = plan
    index = RowIndex(isByRowid: plan.keys.isEmpty)
  }

  /// Names an identity that several elements have, if there is one.
  var duplicate: SourceDiagnostic? { identities?.diagnostic }

  /// Takes a change of rows. Where a row cannot be mapped, all stays as it was.
  ///
  /// - Parameters:
  ///   - shown: Gives the elements before.
  ///   - map: Makes an element of a row.
  mutating func take(
    _ delta: RowDelta, shown: () -> Snapshot<Element>, map: Map
  ) throws(MappingError) -> Step {
    if delta.isEmpty, isLoaded { return .unchanged }
    let shown = shown()
    let step: Step =
      if let rows = delta.loaded {
        .replaced(try load(rows, delta.values, map))
      } else if isLoaded, delta.count <= max(256, index.count / 16) {
        try takeFew(delta, shown, map)
      } else {
        try takeMany(delta, shown, map)
      }
    isLoaded = true
    return step
  }

  // MARK: All rows, where none was known

  private mutating func load(
    _ rows: SortedChunks<RowIndex.Row>, _ values: RowBatches, _ map: Map
  ) throws(MappingError) -> [Element] {
    // Rows are mapped as they were read, which is how they lie in memory; each element is then put where
    // it stands in the result.
    var offsets = [Int](repeating: 0, count: rows.count)
    var next = 0
    let loaded = RowIndex(rows, keysOf: index) { position in
      offsets[position] = next
      next += 1
    }
    // An array made of no memory writes to the empty one, which all threads share.
    if rows.count == 0 {
      (index, identities) = (loaded, nil)
      return []
    }
    var values = values
    var number = 0
    var rowids = rows.makeIterator()
    var areRowids = true
    var failure: MappingError?
    let elements = [Element](unsafeUninitializedCapacity: rows.count) { memory, count in
      do throws(MappingError) {
        try values.consume { row throws(MappingError) in
          do {
            let element = try map(row)
            areRowids =
              areRowids
              && rowids.next().map { KnownIdentities.isRowid($0.rowid, of: element) } ?? false
            memory.initializeElement(at: offsets[number], to: element)
          } catch {
            throw MappingError(underlying: error, offset: offsets[number])
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

  private mutating func takeFew(
    _ delta: RowDelta, _ shown: Snapshot<Element>, _ map: Map
  ) throws(MappingError) -> Step {
    // In the order of the result, so that offsets ascend.
    let added = delta.added.sorted { index.precedes($0.row, $1.row) }
    var elements: [Element] = []
    elements.reserveCapacity(added.count)
    for addition in added {
      do {
        elements.append(try map(delta.values[addition.number]))
      } catch {
        var next = index
        next.apply(delta)
        throw MappingError(underlying: error, offset: next.offset(of: addition.row))
      }
    }
    let deletions = delta.removed.map { index.offset(of: $0) }.sorted()
    index.apply(delta)
    let insertions = added.map { index.offset(of: $0.row) }
    // As if all that was touched went and came: what has the same identity is paired, and what is out
    // of order among the rest is moved, as little as possible.
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

  private mutating func takeMany(
    _ delta: RowDelta, _ shown: Snapshot<Element>, _ map: Map
  ) throws(MappingError) -> Step {
    var rows = ContiguousArray<RowIndex.Row>()
    rows.reserveCapacity(index.count + delta.added.count)
    /// Where each row's element comes from: its offset before, or behind those the row that came.
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
          throw MappingError(underlying: error, offset: offset)
        }
      }
    }
    index = newIndex
    identities = areRowids ? nil : KnownIdentities(of: elements)
    return .replaced(elements)
  }

  /// The offsets of the elements by ascending rowid; `nil` where that is their order.
  private func oldOffsets() -> [Int]? {
    guard !index.isByRowid, index.count > 0 else { return nil }
    var places: [(rowid: Int64, offset: Int)] = []
    places.reserveCapacity(index.count)
    index.forEachPlace { places.append(($0, places.count)) }
    places.sort { $0.rowid < $1.rowid }
    return places.map(\.offset)
  }
}
