import SwappableSQLite3

/// The columns that a statement reads and the functions that it calls, as SQLite reports them.
final class StatementReads {
  /// The columns for each table of the database "main".
  private(set) var columns: [String: Set<String>] = [:]
  private(set) var functions: Set<String> = []
  private var tables: Set<String> = []
  private var doesMore = false
  /// A Boolean value that indicates whether the statement may read another database, or may do more
  /// than read.
  var isOther: Bool { doesMore || !tables.isSubset(of: columns.keys) }

  private func note(_ action: Int32, _ first: String, _ second: String, _ database: String) {
    switch action {
    case SQLITE_SELECT: break
    case SQLITE_READ:
      if second.isEmpty {
        // The table as a whole. SQLite names its database only if the statement does.
        tables.insert(first)
      } else if database == "main" {
        columns[first, default: []].insert(second)
      } else {
        doesMore = true
      }
    case SQLITE_FUNCTION: functions.insert(second.lowercased())
    default: doesMore = true
    }
  }

  /// Prepares a statement and collects its reads.
  ///
  /// - Returns: The reads, or `nil` if the statement cannot be prepared.
  static func of(_ sql: String, on handle: OpaquePointer) -> StatementReads? {
    let reads = StatementReads()
    // Unretained: the authorizer is removed before this function returns.
    let context = Unmanaged.passUnretained(reads).toOpaque()
    sqlite3_set_authorizer(
      handle,
      { context, action, first, second, database, _ in
        guard let context else { return SQLITE_OK }
        func text(_ pointer: UnsafePointer<CChar>?) -> String {
          pointer.map { String(cString: $0) } ?? ""
        }
        Unmanaged<StatementReads>.fromOpaque(context).takeUnretainedValue()
          .note(action, text(first), text(second), text(database))
        return SQLITE_OK
      }, context)
    defer { sqlite3_set_authorizer(handle, nil, nil) }
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    return sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK ? reads : nil
  }
}

extension SQLiteDatabase {
  /// Returns the reads of a statement, or `nil` if it cannot be prepared.
  func reads(of sql: String) -> StatementReads? { StatementReads.of(sql, on: handle) }

  func collation(of column: String, in table: String) -> String? {
    var collation: UnsafePointer<CChar>?
    guard
      sqlite3_table_column_metadata(
        handle, "main", table, column, nil, &collation, nil, nil, nil) == SQLITE_OK
    else { return nil }
    return collation.map { String(cString: $0) }
  }
}
