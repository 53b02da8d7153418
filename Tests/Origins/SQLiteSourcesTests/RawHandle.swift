import Foundation
import SQLiteSources
import SwappableSQLite3

/// A connection of SQLite's own, which the framework does not know.
final class RawHandle: @unchecked Sendable {
  // Sendable: each test uses it on one thread at a time.
  private var handle: OpaquePointer?

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Opens the database at a path, or creates it.
  init(_ path: String) throws {
    guard sqlite3_open(path, &handle) == SQLITE_OK else { throw failure("open \(path)") }
    sqlite3_busy_timeout(handle, 60_000)
  }

  deinit { sqlite3_close_v2(handle) }

  /// Runs all statements of a script.
  func execute(_ sql: String) throws {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
  }

  /// A Boolean value that indicates whether a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  private func failure(_ what: String) -> Failure {
    Failure(description: "\(what): \(String(cString: sqlite3_errmsg(handle)))")
  }
}
