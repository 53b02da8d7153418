import Diffing
import ObservableCollections
import SwappableSources

/// The rows of a whole result, compared with the rows of the result before.
struct ReadRows: Sendable {
  var columns: PostgresColumns
  var fingerprints: [RowFingerprint] = []
  /// For each row, its offset in the previous result, or `nil` if it is the next of `newRows`.
  var origins: [Int?] = []
  /// The rows with new values, in order.
  var newRows: RowBatches
}

/// Receives a whole result. Only rows with new values are copied.
final class RefetchReceiver: ResultReceiver, @unchecked Sendable {
  private static let bytesPerRow =
    MemoryLayout<RowFingerprint>.stride + MemoryLayout<Int?>.stride

  private let query: PostgresQuery
  private let known: (columns: PostgresColumns, fingerprints: [RowFingerprint])?
  private let emptyHasher = RowHasher()
  private var matcher = RowMatcher([])
  private(set) var rows: ReadRows?

  init(
    query: PostgresQuery, known: (columns: PostgresColumns, fingerprints: [RowFingerprint])?
  ) {
    self.query = query
    self.known = known
  }

  override func receive(_ library: LibPQ, _ result: LibPQ.Result) -> PostgresError? {
    if rows == nil {
      let columns = Self.columns(library, result)
      if let error = query.error(of: columns) { return error }
      matcher = RowMatcher(known?.columns == columns ? known?.fingerprints ?? [] : [])
      var new = ReadRows(columns: columns, newRows: RowBatches(columns: columns))
      new.fingerprints.reserveCapacity(known?.fingerprints.count ?? 0)
      new.origins.reserveCapacity(known?.fingerprints.count ?? 0)
      rows = new
    }
    guard var rows = rows.take() else { return nil }
    for number in 0..<library.rowCount(result) {
      let row = ReceivedRow(library, result, row: number)
      let fingerprint = row.fingerprint(emptyHasher, columns: rows.columns)
      let origin = matcher.match(fingerprint)
      if origin == nil { rows.newRows.append(row) }
      rows.origins.append(origin)
      rows.fingerprints.append(fingerprint)
    }
    let byteCount = rows.newRows.byteCount + rows.origins.count * Self.bytesPerRow
    self.rows = rows
    return byteCount > query.byteLimit ? .tooLarge(query.byteLimit) : nil
  }
}

/// Maintains a result by reading the whole result after each change.
///
/// Rows are compared by a hash of their values. Only rows with new values are mapped.
struct FullRefetch<Element: Differentiable & Sendable> {
  private var columns: PostgresColumns?
  private var fingerprints: [RowFingerprint] = []
  private var elements: [Element] = []

  init() {}

  var known: (columns: PostgresColumns, fingerprints: [RowFingerprint])? {
    columns.map { ($0, fingerprints) }
  }

  /// Maps the new rows of a result, and returns the change. If a row cannot be mapped, everything stays as it was.
  mutating func apply(
    _ rows: ReadRows, _ map: (PostgresRow) throws -> Element
  ) throws(PostgresError) -> SourceFeed<Element>.Contents {
    var rows = rows
    let isFirst = columns == nil
    let new = try decode(&rows, map)
    (columns, fingerprints) = (rows.columns, rows.fingerprints)
    guard let new else { return isFirst ? .whole([]) : .same }
    let old = elements
    elements = new
    let change = change(rows.origins, old: old, new: new)
    // The first result replaces the elements of another plan, if there are any.
    return isFirst ? .whole(new) : change
  }

  /// Returns the elements of a result, or `nil` if each row is the row that it was.
  private func decode(
    _ rows: inout ReadRows, _ map: (PostgresRow) throws -> Element
  ) throws(PostgresError) -> [Element]? {
    if rows.newRows.count == 0, rows.origins.count == elements.count,
      rows.origins.enumerated().allSatisfy({ $0.offset == $0.element })
    {
      return nil
    }
    var new: [Element] = []
    new.reserveCapacity(rows.origins.count)
    var known = rows.origins[...]
    func addKnown() {
      while let origin = known.first, let origin {
        new.append(elements[origin])
        known.removeFirst()
      }
    }
    try rows.newRows.consume { row throws(PostgresError) in
      addKnown()
      do {
        new.append(try map(row))
        known.removeFirst()
      } catch {
        throw PostgresError(mapping: error, row: new.count)
      }
    }
    addKnown()
    return new
  }

  private func change(
    _ origins: [Int?], old: [Element], new: [Element]
  ) -> SourceFeed<Element>.Contents {
    // Rows with equal values can have one origin.
    var isUsed = [Bool](repeating: false, count: old.count)
    var insertions: [Int] = []
    var last = -1
    var isAscending = true
    for (offset, origin) in origins.enumerated() {
      guard let origin, !isUsed[origin] else {
        insertions.append(offset)
        continue
      }
      isUsed[origin] = true
      if origin < last { isAscending = false }
      last = origin
    }
    let deletions = isUsed.indices.filter { !isUsed[$0] }
    // If the known rows have kept their order, the rest is the change. Otherwise, the collection finds the moves.
    guard isAscending, insertions.count + deletions.count <= max(64, new.count / 4) else {
      return .whole(new)
    }
    let changeset = Changeset(deletions: deletions, insertions: insertions)
      .normalForm(from: old, to: new)
    if changeset.isEmpty { return .same }
    return .changed(
      changeset, inserted: changeset.insertions.map { new[$0] },
      updated: changeset.updates.map { new[$0.to] })
  }
}

/// The query of a data source.
struct PostgresQuery: Sendable {
  /// The largest result in bytes. A query without an end exceeds it.
  static let byteLimit = 2_000_000_000

  /// One statement, without a semicolon.
  let sql: String
  let arguments: [PostgresValue]
  /// A Boolean value that indicates whether equal column names are an error.
  let needsUniqueColumnNames: Bool
  var byteLimit = PostgresQuery.byteLimit

  /// Creates a query.
  ///
  /// - Throws: A ``PostgresError`` if the SQL is not one query, or if the number of arguments is wrong. The server finds
  ///   other errors.
  init(
    sql: String, arguments: PostgresArguments, needsUniqueColumnNames: Bool
  ) throws(PostgresError) {
    self.sql = try PostgresText.singleStatement(sql)
    self.arguments = arguments.values
    self.needsUniqueColumnNames = needsUniqueColumnNames
    guard ["SELECT", "WITH", "VALUES", "TABLE"].contains(PostgresText.firstWord(sql)) else {
      throw PostgresError(
        .notAQuery, "the statement is not a query", sql: sql,
        help: "use a SELECT, and write with a PostgresConnection")
    }
    let count = PostgresText.argumentCount(sql)
    guard count == self.arguments.count else {
      throw PostgresError(
        .arguments,
        "the query takes \(count) argument\(count == 1 ? "" : "s"), but \(self.arguments.count) "
          + (self.arguments.count == 1 ? "is given" : "are given"), sql: sql,
        help: "pass one value for each of $1, $2, …")
    }
  }

  /// Returns the error of a result with wrong columns, or `nil`.
  func error(of columns: PostgresColumns) -> PostgresError? {
    if columns.names.isEmpty {
      return PostgresError(
        .notAQuery, "the result has no columns", sql: sql,
        help: "select at least one column, without INTO")
    }
    guard needsUniqueColumnNames, let name = columns.duplicate else { return nil }
    return PostgresError(
      .duplicateColumn, "two columns have the name \"\(name)\"", sql: sql,
      help: "rename one of them with AS")
  }
}
