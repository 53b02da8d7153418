package import SQLSources
import SwappablePrimitives
import SwappableSQLite3

/// An error of a database, a statement, its arguments or its rows.
///
/// The description is one line. It names the problem, the file, the SQL, and an instruction that would
/// help.
public struct SQLiteError: Error, Sendable, Hashable {
  /// The kind of an error.
  public enum Code: String, Sendable, Hashable {
    /// There is no file at the path.
    case missing
    /// The path is the path of a directory.
    case directory
    /// The file cannot be opened.
    case cannotOpen
    /// The file is not a database.
    case notADatabase
    /// The database is damaged.
    case corrupt
    /// A reader would have to create the files of the write-ahead log, and must not.
    case logFiles
    /// Another connection holds a lock.
    case busy
    /// The query took longer than its timeout.
    case timeout
    /// The database or the connection is read-only.
    case readOnly
    /// The file was renamed, deleted or replaced while it was open.
    case moved
    /// The connection was closed.
    case closed
    /// SQLite could not read or write the file.
    case inputOutput
    /// The disk or the database is full.
    case full
    /// A constraint does not allow the write.
    case constraint
    /// The SQL is wrong, or it contains a name that does not exist.
    case sql
    /// The SQL contains no statement.
    case emptySQL
    /// The SQL contains several statements, but one is required.
    case severalStatements
    /// The statement writes, but only reading is allowed.
    case writes
    /// The statement is not a query.
    case notAQuery
    /// The arguments do not match the statement.
    case arguments
    /// A transaction ended before its body did.
    case transaction
    /// Two columns of a result have the same name.
    case duplicateColumn
    /// The row has no column with this name.
    case noColumn
    /// The value is NULL, but a value is required.
    case unexpectedNull
    /// The value has a different type, or does not fit into the requested type.
    case typeMismatch
    /// A row could not be decoded or mapped.
    case decoding
    /// Any other error. See `resultCode`.
    case other
  }

  /// The kind of the error.
  public var code: Code

  /// SQLite's extended result code, or 0 if SQLite has not reported the error.
  public var resultCode: Int32

  /// SQLite's primary result code, or 0 if SQLite has not reported the error.
  public var primaryResultCode: Int32 { resultCode & 0xff }

  /// A description of the error, without its location.
  public var message: String

  /// The path of the database. A byte that is not UTF-8 is shown as `\x` and two hexadecimal digits.
  public var path: String?

  /// The statement.
  public var sql: String?

  /// The location of the error in `sql`, as an offset in bytes of UTF-8, if it is known.
  public var offset: Int?

  /// The offset of the row that caused the error, if one row did.
  public var row: Int?

  /// An instruction that would help.
  public var help: String

  init(
    _ code: Code, _ message: String, resultCode: Int32 = 0, path: ByteString? = nil,
    sql: String? = nil, offset: Int? = nil, row: Int? = nil, help: String
  ) {
    (self.code, self.message, self.resultCode) = (code, message, resultCode)
    self.path = path?.description
    self.sql = sql
    self.offset = offset
    self.row = row
    self.help = help
  }

  /// Returns the same error with the parts of its location that it does not have yet.
  func located(path: ByteString?, sql: String? = nil, row: Int? = nil) -> SQLiteError {
    var copy = self
    copy.path = self.path ?? path?.description
    copy.sql = self.sql ?? sql
    copy.row = self.row ?? row
    return copy
  }
}

extension SQLiteError: SQLError {
  package init(kind: RowErrorKind, _ message: String, help: String) {
    self.init(Code(rawValue: kind.rawValue) ?? .other, message, help: help)
  }
}

extension SQLiteError: CustomStringConvertible {
  /// The error, its location and its help, on one line.
  public var description: String {
    var text = message
    if resultCode != 0 { text += " (SQLite result \(resultCode))" }
    if let row { text += " in row \(row + 1)" }
    if let path { text += " in \(path)" }
    if let sql {
      text += ", SQL: \(SQLText.oneLine(sql))"
      if let offset {
        let rest = String(decoding: sql.utf8.dropFirst(offset), as: UTF8.self)
        let place = SQLText.position(
          after: sql.utf8.prefix(offset), newline: UInt8(ascii: "\n"), rest: rest)
        text += ", at \(place)"
      }
    }
    return SQLText.oneLine(text, limit: .max) + "; " + help
  }
}

extension SQLiteError {
  /// Creates an error from a result code of SQLite, with the message of its connection.
  init(
    result: Int32, database: OpaquePointer?, path: ByteString?, sql: String? = nil
  ) {
    var (code, help) = SQLiteError.meaning(of: result)
    if code == .busy, let sql, SQLText.firstWord(sql) == "PRAGMA",
      sql.lowercased().contains("journal_mode")
    {
      help = SQLiteError.journalModeHelp
    }
    // The message of the connection belongs to its last call. It is used only if that call has this
    // code.
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

  /// Creates the error of a database whose write-ahead log was deleted.
  init(lostLogOf path: String) {
    let name = path.split(separator: "/").last ?? ""
    self.init(
      .moved,
      "a program deleted or replaced \(name)-wal or \(name)-shm while the database was open, and "
        + "commits since the last checkpoint may be lost",
      path: ByteString(path),
      help: "end every program that has the database open; a program that ends normally saves its "
        + "commits")
  }

  var isLostLog: Bool { path.map { self == SQLiteError(lostLogOf: $0) } ?? false }

  /// A Boolean value that indicates whether pages are missing at the end of a write-ahead log.
  ///
  /// SQLite reads missing pages of the database itself as zeros.
  var isShortLog: Bool { resultCode == SQLiteError.shortRead }

  private static let journalModeHelp =
    "a database changes its journal mode only while no other connection has it open: close the other "
    + "connections, and release its data sources, first"

  private static func meaning(of result: Int32) -> (Code, String) {
    switch result & 0xff {
    case SQLITE_BUSY, SQLITE_LOCKED:
      (
        .busy,
        "another connection holds a lock: end its transaction, or wait longer (busyTimeout)"
      )
    case SQLITE_NOTADB:
      (.notADatabase, "use the path of a SQLite database; encrypted databases are not supported")
    case SQLITE_CORRUPT:
      (.corrupt, "check it with PRAGMA integrity_check, and restore it from a copy")
    case SQLITE_READONLY where result == readOnlyRollback || result == readOnlyRecovery:
      (
        .readOnly,
        "a write was interrupted: open the database once for writing to repair it"
      )
    case SQLITE_READONLY where result == databaseMoved:
      (.moved, "close this connection and open the path again")
    case SQLITE_READONLY:
      (.readOnly, "open the connection for writing, and check the permissions of the file")
    case SQLITE_CANTOPEN:
      (
        .cannotOpen,
        "check the path and its permissions; a database in WAL mode also needs a directory in "
          + "which its -wal and -shm files can be created"
      )
    case SQLITE_IOERR where result == shortRead:
      (
        .inputOutput,
        "check the disk; if the -wal file was deleted while a program had the database open, end "
          + "that program"
      )
    case SQLITE_IOERR: (.inputOutput, "check the disk and the permissions of the file")
    case SQLITE_FULL: (.full, "free some space")
    case SQLITE_CONSTRAINT: (.constraint, "change the values to satisfy the constraint")
    case SQLITE_AUTH:
      (.notAQuery, "use a SELECT that only reads the database")
    case SQLITE_PERM: (.cannotOpen, "check the permissions of the file")
    case SQLITE_ERROR: (.sql, "check the SQL and the names in it against the schema")
    case SQLITE_TOOBIG: (.other, "make the SQL or the value smaller")
    case SQLITE_INTERRUPT: (.other, "run it again")
    default: (.other, "look up the result code in SQLite's documentation")
    }
  }

  // SQLite's header computes these codes as code | (number << 8), and Swift does not import them.
  private static let readOnlyRecovery = SQLITE_READONLY | (1 << 8)
  private static let readOnlyRollback = SQLITE_READONLY | (3 << 8)
  private static let shortRead = SQLITE_IOERR | (2 << 8)
  private static let databaseMoved = SQLITE_READONLY | (4 << 8)
}
