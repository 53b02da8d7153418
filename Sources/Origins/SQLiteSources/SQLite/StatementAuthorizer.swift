import SQLSources

import SwappableSQLite3

/// Decides what the statements of a handle may do, when SQLite prepares them.
///
/// The SQL of a data source and the schema of its file may come from anyone. On a reader of data sources,
/// the authorizer refuses what is more than a query, and SQLite refuses huge values and statements.
final class StatementAuthorizer {
  /// The functions that make SQLite follow a pointer, or run the code of a file.
  private static let dangerousFunctions = ["fts3_tokenizer", "load_extension"]

  /// The PRAGMAs that only read, even with an argument. Functions such as `pragma_table_info` use them.
  private static let readingPragmas = [
    "table_info", "table_xinfo", "table_list", "index_info", "index_xinfo", "index_list",
    "foreign_key_list", "foreign_key_check", "integrity_check", "quick_check",
  ]

  /// The limits for untrusted SQL. No lower limit of the system is raised.
  private static let limits: [(limit: Int32, value: Int32)] = [
    (SQLITE_LIMIT_LENGTH, 100_000_000), (SQLITE_LIMIT_SQL_LENGTH, 1_000_000),
    (SQLITE_LIMIT_EXPR_DEPTH, 250), (SQLITE_LIMIT_COMPOUND_SELECT, 250),
    (SQLITE_LIMIT_VDBE_OP, 1_000_000), (SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1_000),
    (SQLITE_LIMIT_TRIGGER_DEPTH, 10), (SQLITE_LIMIT_ATTACHED, 0),
    (SQLITE_LIMIT_WORKER_THREADS, 0),
  ]

  /// A Boolean value that indicates whether the SQL of the handle comes from the application.
  private let isTrusted: Bool
  /// Collects the reads of the statement that is prepared now.
  private var reads: StatementReads?

  init(isTrusted: Bool) {
    self.isTrusted = isTrusted
  }

  /// Protects a new handle. The handle must not prepare statements after the authorizer is released.
  ///
  /// - Parameter isReadOnly: A Boolean value that indicates whether the file is only read. Such a file may
  ///   come from anyone, so its schema is not trusted.
  func protect(_ handle: OpaquePointer, isReadOnly: Bool) {
    func set(_ option: Int32, _ isOn: Bool) {
      // A version of SQLite that does not know an option refuses it.
      _ = swappable_sqlite3_set_option(handle, option, isOn ? 1 : 0)
    }
    set(SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, false)
    if isReadOnly {
      set(SQLITE_DBCONFIG_DEFENSIVE, true)
      set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
    }
    if !isTrusted {
      for (limit, value) in Self.limits where sqlite3_limit(handle, limit, -1) > value {
        sqlite3_limit(handle, limit, value)
      }
    }
    // Unretained: the owner of the handle closes it before it releases this object.
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_set_authorizer(
      handle,
      { context, action, first, second, database, _ in
        context.object(StatementAuthorizer.self)?.decide(action, first, second, database)
          ?? SQLITE_DENY
      }, context)
  }

  /// Runs a closure that prepares a statement, and collects the reads of the statement.
  func collect(in reads: StatementReads, _ prepare: () -> Void) {
    self.reads = reads
    defer { self.reads = nil }
    prepare()
  }

  private func decide(
    _ action: Int32, _ first: UnsafePointer<CChar>?, _ second: UnsafePointer<CChar>?,
    _ database: UnsafePointer<CChar>?
  ) -> Int32 {
    func text(_ pointer: UnsafePointer<CChar>?) -> String {
      pointer.map { String(cString: $0) } ?? ""
    }
    let isAllowed =
      switch action {
      case SQLITE_FUNCTION:
        !Self.dangerousFunctions.contains { SQLText.isSameName($0, text(second)) }
      case SQLITE_ATTACH, SQLITE_DETACH: isTrusted
      case SQLITE_PRAGMA:
        isTrusted || second == nil
          || Self.readingPragmas.contains { SQLText.isSameName($0, text(first)) }
      default: true
      }
    guard isAllowed else { return SQLITE_DENY }
    reads?.note(action, text(first), text(second), text(database))
    return SQLITE_OK
  }
}
