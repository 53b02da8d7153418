import Foundation
import SwappableSQLite3

@testable import SQLiteSources

/// A connection of SQLite's own, of which the framework knows nothing.
final class RawHandle: @unchecked Sendable {
  // Sendable: used by one thread at a time, as each test does.
  private var handle: OpaquePointer?

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Opens the database at `path`, which is created where it is missing.
  init(_ path: String) throws {
    guard sqlite3_open(path, &handle) == SQLITE_OK else { throw failure("open \(path)") }
    sqlite3_busy_timeout(handle, 60_000)
  }

  deinit { sqlite3_close_v2(handle) }

  /// Runs all statements of `sql` in turn.
  func execute(_ sql: String) throws {
    guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
  }

  /// Whether a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  private func failure(_ what: String) -> Failure {
    Failure(description: "\(what): \(String(cString: sqlite3_errmsg(handle)))")
  }
}
