/// What went wrong with a database, a statement, its arguments or its rows.
///
/// Its description is one line: what happened, in which file, at which SQL, and what would help.
public struct SQLiteError: Error, Sendable, Hashable {
  /// The kind of failure.
  public enum Code: String, Sendable, Hashable {
    /// There is no file at the path.
    case missing
    /// A directory stands at the path.
    case directory
    /// The file cannot be opened.
    case cannotOpen
    /// The file is not a database.
    case notADatabase
    /// The database is damaged.
    case corrupt
    /// Another connection holds a lock.
    case busy
    /// The database, or the connection, is read-only.
    case readOnly
    /// The file was renamed, deleted or replaced while it was open.
    case moved
    /// The connection was closed.
    case closed
    /// SQLite could not read or write the file.
    case inputOutput
    /// The disk, or the database, is full.
    case full
    /// A constraint does not allow the write.
    case constraint
    /// The SQL is wrong, or names what does not exist.
    case sql
    /// The SQL holds no statement.
    case emptySQL
    /// The SQL holds several statements where one is taken.
    case severalStatements
    /// A statement that writes stands where only reading is allowed.
    case writes
    /// The statement is no query.
    case notAQuery
    /// The arguments do not fit the statement.
    case arguments
    /// A transaction ended before its body did.
    case transaction
    /// Two columns of a result have one name.
    case duplicateColumn
    /// A row has no such column.
    case noColumn
    /// A value is NULL where one was needed.
    case unexpectedNull
    /// A value is of another type, or does not fit.
    case typeMismatch
    /// A row could not be turned into a value.
    case decoding
    /// Anything else; `resultCode` tells.
    case other
  }

  /// The kind of failure.
  public var code: Code

  /// SQLite's extended result code; 0 where the failure is not SQLite's own.
  public var resultCode: Int32

  /// SQLite's primary result code; 0 where the failure is not SQLite's own.
  public var primaryResultCode: Int32 { resultCode & 0xff }

  /// What happened.
  public var message: String

  /// The database's path.
  public var path: String?

  /// The statement.
  public var sql: String?

  /// Where in `sql` it went wrong, in bytes of UTF-8 from 0, where that is known.
  public var offset: Int?

  /// The number of the row, from 0, where one row was at fault.
  public var row: Int?

  /// What would help.
  public var help: String

  init(
    _ code: Code, _ message: String, resultCode: Int32 = 0, path: String? = nil,
    sql: String? = nil, offset: Int? = nil, row: Int? = nil, help: String
  ) {
    self.code = code
    self.message = message
    self.resultCode = resultCode
    self.path = path
    self.sql = sql
    self.offset = offset
    self.row = row
    self.help = help
  }

  /// The same error, told where it happened as far as it does not know yet.
  func located(path: String?, sql: String? = nil, row: Int? = nil) -> SQLiteError {
    var copy = self
    copy.path = self.path ?? path
    copy.sql = self.sql ?? sql
    copy.row = self.row ?? row
    return copy
  }
}

extension SQLiteError: CustomStringConvertible {
  /// What happened, where, and what would help, on one line.
  public var description: String {
    var text = message
    if resultCode != 0 { text += " (SQLite result \(resultCode))" }
    if let row { text += " in row \(row + 1)" }
    if let path { text += " in \(path)" }
    if let sql {
      text += ", SQL: \(SQLText.oneLine(sql))"
      if let offset { text += ", at \(SQLText.position(of: offset, in: sql))" }
    }
    return SQLText.oneLine(text, limit: .max) + "; " + help
  }
}
