import Diffing
import ObservableCollections

/// Maintains the result of a query that is run as a whole: rows whose stored values are known are not
/// mapped again.
struct QueryRefetch<Element: Differentiable & Sendable> {
  private var known: SQLiteQuery.Result?
  private var elements: [Element] = []
  private var identities = KnownIdentities<Element>()

  init() {}

  /// Names an identity that several elements have, if there is one.
  var duplicate: SourceDiagnostic? { identities.diagnostic }

  /// Runs the query, inside a transaction.
  func read(
    _ query: SQLiteQuery, on database: SQLiteDatabase
  ) throws(SQLiteError) -> SQLiteQuery.Result {
    try query.run(on: database, known: known)
  }

  /// Takes what the query gave. Where a row cannot be mapped, all stays as it was.
  ///
  /// - Returns: The elements; `nil` where they are what they were.
  mutating func take(
    _ found: SQLiteQuery.Result, map: (SQLiteRow) throws -> Element
  ) throws(MappingError) -> [Element]? {
    let new = try decode(found, map)
    let isFirst = known == nil
    known = found
    // Rows that were mapped are not needed again.
    known?.newRows = RowBatches(columns: found.columns)
    guard let new else { return isFirst ? [] : nil }
    let old = elements
    elements = new
    count(found, old: old, new: new)
    return new
  }

  /// The elements of a result, those of known rows as they were; `nil` where all stayed in place.
  private func decode(
    _ result: SQLiteQuery.Result, _ map: (SQLiteRow) throws -> Element
  ) throws(MappingError) -> [Element]? {
    if result.newRows.count == 0, result.origins.count == elements.count,
      result.origins.enumerated().allSatisfy({ $0.offset == $0.element })
    {
      return nil
    }
    var new: [Element] = []
    new.reserveCapacity(result.origins.count)
    var newRow = 0
    for (offset, origin) in result.origins.enumerated() {
      if let origin {
        new.append(elements[origin])
        continue
      }
      defer { newRow += 1 }
      do {
        new.append(try map(result.newRows[newRow]))
      } catch {
        throw MappingError(underlying: error, offset: offset)
      }
    }
    return new
  }

  /// Counts the identities of what went and what came.
  private mutating func count(_ result: SQLiteQuery.Result, old: [Element], new: [Element]) {
    var uses = [Int](repeating: 0, count: old.count)
    var added: [Element] = []
    for (offset, origin) in result.origins.enumerated() {
      // Rows of the same values, such as a query may give, can have one origin.
      if let origin { uses[origin] += 1 }
      if origin.map({ uses[$0] > 1 }) ?? true { added.append(new[offset]) }
    }
    let removed = uses.indices.filter { uses[$0] == 0 }.map { old[$0] }
    identities.update(removed: removed, added: added)
  }
}

/// A row could not be mapped.
struct MappingError: Error {
  let underlying: any Error
  /// Where its element would stand.
  let offset: Int
}
