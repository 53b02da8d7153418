import SwappableSQLite3

extension SQLiteError {
  /// The error that `result` of SQLite stands for, with the message of `database`.
  init(
    result: Int32, database: OpaquePointer?, path: String?, sql: String? = nil
  ) {
    let (code, help) = SQLiteError.meaning(of: result)
    // The connection's message belongs to its last call only where that call's code is its own.
    let message: String
    var offset: Int?
    if let database, sqlite3_extended_errcode(database) & 0xff == result & 0xff,
      let text = sqlite3_errmsg(database)
    {
      message = String(cString: text)
      let byte = sqlite3_error_offset(database)
      offset = byte >= 0 ? Int(byte) : nil
    } else {
      message = sqlite3_errstr(result).map { String(cString: $0) } ?? "unknown error"
    }
    self.init(
      code, message, resultCode: result, path: path, sql: sql,
      offset: sql == nil ? nil : offset, help: help)
  }

  private static func meaning(of result: Int32) -> (Code, String) {
    switch result & 0xff {
    case SQLITE_BUSY, SQLITE_LOCKED:
      (
        .busy,
        "another connection holds a lock: end its transaction, or wait longer (busyTimeout)"
      )
    case SQLITE_NOTADB:
      (.notADatabase, "give the path of a SQLite database; an encrypted one is not readable")
    case SQLITE_CORRUPT:
      (.corrupt, "check it by PRAGMA integrity_check, and restore it from a copy")
    case SQLITE_READONLY where result == readOnlyRollback || result == readOnlyRecovery:
      (
        .readOnly,
        "a write was interrupted: open the database once for writing, which repairs it"
      )
    case SQLITE_READONLY where result == databaseMoved:
      (.moved, "close this connection and open the path again")
    case SQLITE_READONLY:
      (.readOnly, "open the connection for writing, and check who may write the file")
    case SQLITE_CANTOPEN:
      (
        .cannotOpen,
        "check the path and who may read it; a database in WAL mode also needs a directory in "
          + "which its -wal and -shm files can be made"
      )
    case SQLITE_IOERR: (.inputOutput, "check the disk and who may read the file")
    case SQLITE_FULL: (.full, "free some space")
    case SQLITE_CONSTRAINT: (.constraint, "change the values so that they keep the constraint")
    case SQLITE_PERM, SQLITE_AUTH: (.cannotOpen, "check who may read the file")
    case SQLITE_ERROR: (.sql, "check the SQL and the names in it against the schema")
    case SQLITE_TOOBIG: (.other, "make the SQL or the value smaller")
    case SQLITE_INTERRUPT: (.other, "run it again")
    default: (.other, "look up the result code in SQLite's documentation")
    }
  }

  // The importer does not see these, which SQLite's header computes: code | (number << 8).
  private static let readOnlyRecovery = SQLITE_READONLY | (1 << 8)
  private static let readOnlyRollback = SQLITE_READONLY | (3 << 8)
  private static let databaseMoved = SQLITE_READONLY | (4 << 8)
}
