import Diffing
import ObservableCollections
import SwappableSources

/// Maintains a result by running the whole query after each change.
///
/// Rows are compared by a hash of their stored values. Only rows with new values are mapped.
final class FullRefetch<Element: Differentiable & Sendable>: ResultMaintainer {
  private struct Rows {
    var columns: SQLiteColumns
    var fingerprints: [RowFingerprint] = []
    /// For each row, its offset in the previous result, or `nil` if it is the next of `newRows`.
    var origins: [Int?] = []
    /// The rows with new values, in order.
    var newRows: RowBatches

    static var bytesPerRow: Int {
      MemoryLayout<RowFingerprint>.stride + MemoryLayout<Int?>.stride
    }
  }

  var reason: RefetchReason
  private let query: SQLiteQuery
  private var pending: Rows?
  private var known: Rows?
  private var elements: [Element] = []

  init(query: SQLiteQuery, reason: RefetchReason) {
    self.query = query
    self.reason = reason
  }

  var diagnostics: [SourceStatus.Diagnostic] {
    [
      SourceStatus.Diagnostic(
        code: "not-incremental", message: "\(reason.sentence) \(reason.suggestion)")
    ]
  }

  var mode: (SQLiteQueryExplanation.Mode, reason: String) {
    (.refetch, "\(reason.sentence) \(reason.suggestion)")
  }

  func read(from database: SQLiteDatabase, schemaVersion: Int64?) throws(SQLiteError) {
    pending = try database.withStatement(query.sql, query.arguments) {
      statement throws(SQLiteError) in
      try query.check(statement)
      var hasRow = try statement.step()
      // Read the columns after the first step: SQLite prepares the statement anew if the schema has
      // changed.
      let columns = statement.columns
      try query.check(columns, path: statement.path)
      var matcher = RowMatcher(known?.columns == columns ? known?.fingerprints ?? [] : [])
      var rows = Rows(columns: columns, newRows: RowBatches(columns: columns))
      rows.fingerprints.reserveCapacity(known?.fingerprints.count ?? 0)
      rows.origins.reserveCapacity(known?.fingerprints.count ?? 0)
      let emptyHasher = RowHasher()
      while hasRow {
        var hasher = emptyHasher
        hasher.combine(statement, 0..<statement.valueCount)
        let fingerprint = hasher.fingerprint
        let origin = matcher.match(fingerprint)
        if origin == nil { _ = rows.newRows.append(statement) }
        rows.origins.append(origin)
        rows.fingerprints.append(fingerprint)
        try rows.newRows.checkSize(
          with: rows.origins.count * Rows.bytesPerRow, limit: query.byteLimit)
        hasRow = try statement.step()
      }
      rows.newRows.seal()
      return rows
    }
  }

  func finishRead(
    _ shown: () -> Snapshot<Element>, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> SourceFeed<Element>.Contents {
    guard let rows = pending.take() else { preconditionFailure("finishRead follows read") }
    let new = try decode(rows, map)
    let isFirst = known == nil
    known = rows
    // Release rows that were mapped.
    known?.newRows = RowBatches(columns: rows.columns)
    guard let new else { return isFirst ? .whole([]) : .same }
    elements = new
    return .whole(new)
  }

  /// Returns the elements of a result, or `nil` if each row is the row that it was.
  private func decode(
    _ rows: Rows, _ map: (SQLiteRow) throws -> Element
  ) throws(SQLiteError) -> [Element]? {
    if rows.newRows.count == 0, rows.origins.count == elements.count,
      rows.origins.enumerated().allSatisfy({ $0.offset == $0.element })
    {
      return nil
    }
    var new: [Element] = []
    new.reserveCapacity(rows.origins.count)
    var newRow = 0
    for (offset, origin) in rows.origins.enumerated() {
      if let origin {
        new.append(elements[origin])
        continue
      }
      defer { newRow += 1 }
      do {
        new.append(try map(rows.newRows[newRow]))
      } catch {
        throw SQLiteError(mapping: error, row: offset)
      }
    }
    return new
  }
}
