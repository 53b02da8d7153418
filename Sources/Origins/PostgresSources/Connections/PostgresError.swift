package import SQLSources

/// An error of a PostgreSQL server, a connection, a statement, its arguments or its rows.
///
/// The description is one line. It names the problem, the server's code (SQLSTATE), the SQL, and an instruction that
/// would help. Passwords of connection strings, and strings after the word PASSWORD in SQL, are masked. Other values in
/// SQL and in the server's messages are not.
public struct PostgresError: Error, Sendable, Hashable {
  /// The kind of an error.
  public enum Code: String, Sendable, Hashable {
    /// libpq, the client library of PostgreSQL, is not installed.
    case noClientLibrary
    /// The connection string cannot be understood.
    case connectionString
    /// The server cannot be reached, or it refuses connections for now.
    case cannotConnect
    /// The server does not accept the user or the password.
    case authentication
    /// The database does not exist.
    case missing
    /// The server has no free connection.
    case tooManyConnections
    /// The connection was lost.
    case connectionLost
    /// The connection was closed by this program.
    case closed
    /// The statement was canceled.
    case canceled
    /// The statement took longer than the statement timeout.
    case timeout
    /// A lock could not be taken in time.
    case lockTimeout
    /// The transaction conflicts with another one. Run it again.
    case serialization
    /// Transactions wait for one another. Run this one again.
    case deadlock
    /// A transaction ended before its body did, or is in an error state.
    case transaction
    /// A constraint does not allow the write.
    case constraint
    /// The role may not do this.
    case privilege
    /// A table, column, function or type does not exist.
    case undefined
    /// The server or the transaction is read-only.
    case readOnly
    /// The SQL is wrong.
    case sql
    /// The SQL contains no statement.
    case emptySQL
    /// The SQL contains several statements, but one is required.
    case severalStatements
    /// The statement is not a query.
    case notAQuery
    /// The arguments do not match the statement.
    case arguments
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
    /// The result is too large.
    case tooLarge
    /// Any other error. See `sqlState`.
    case other
  }

  /// The kind of the error.
  public var code: Code

  /// The server's five-character code of the error, or `nil` if the server has not reported the error.
  public var sqlState: String?

  /// A description of the error, without its location.
  public var message: String

  /// The server's further details, if there are any.
  public var detail: String?

  /// The server and database, without credentials.
  public var server: String?

  /// The statement.
  public var sql: String?

  /// The location of the error in `sql`, as an offset in characters (Unicode scalars), if it is known.
  public var offset: Int?

  /// The offset of the row that caused the error, if one row did.
  public var row: Int?

  /// An instruction that would help.
  public var help: String

  init(
    _ code: Code, _ message: String, sqlState: String? = nil, detail: String? = nil,
    server: String? = nil, sql: String? = nil, offset: Int? = nil, row: Int? = nil, help: String
  ) {
    (self.code, self.sqlState, self.message) = (code, sqlState, message)
    (self.detail, self.server, self.sql) = (detail, server, sql)
    (self.offset, self.row, self.help) = (offset, row, help)
  }

  /// Returns the same error with the parts of its location that it does not have yet.
  func located(server: String?, sql: String? = nil) -> PostgresError {
    var copy = self
    copy.server = self.server ?? server
    copy.sql = self.sql ?? sql
    return copy
  }

  /// A Boolean value that indicates whether a transaction that failed with this error can succeed when it runs again.
  public var isRetryable: Bool { code == .serialization || code == .deadlock }

  /// A Boolean value that indicates whether the connection is of no further use.
  var endsConnection: Bool {
    switch code {
    case .cannotConnect, .authentication, .missing, .tooManyConnections, .connectionLost, .closed,
      .noClientLibrary, .connectionString:
      true
    default: false
    }
  }
}

extension PostgresError: SQLError {
  package init(kind: RowErrorKind, _ message: String, help: String) {
    self.init(Code(rawValue: kind.rawValue) ?? .other, message, help: help)
  }
}

extension PostgresError: CustomStringConvertible {
  /// The error, its location and its help, on one line.
  public var description: String {
    var text = message
    if let detail { text += " (\(detail))" }
    if let sqlState { text += " (SQLSTATE \(sqlState))" }
    if let row { text += " in row \(row + 1)" }
    if let server { text += " at \(server)" }
    if let sql {
      text += ", SQL: \(PostgresText.redacted(SQLText.oneLine(sql)))"
      if let offset {
        text += ", at \(PostgresText.redacted(PostgresText.position(of: offset, in: sql)))"
      }
    }
    return SQLText.oneLine(text, limit: .max) + "; " + help
  }
}

extension PostgresError {
  /// Returns the kind of a server's error, and what to do.
  static func meaning(of sqlState: String) -> (Code, String) {
    switch sqlState {
    case "28P01", "28000":
      (.authentication, "check the user, the password (~/.pgpass, PGPASSFILE) and pg_hba.conf")
    case "3D000": (.missing, "create the database, or correct its name in the connection string")
    case "53300":
      (.tooManyConnections, "close other connections, raise max_connections, or use a pooler")
    case "57P01", "57P02":
      (.connectionLost, "connect again when the server has started")
    case "57P03": (.cannotConnect, "wait until the server has started or recovered")
    case "57P05", "25P03": (.connectionLost, "end transactions and idle connections sooner")
    case "57014": (.canceled, "run it again, or raise statement_timeout")
    case "55P03": (.lockTimeout, "end the transaction that holds the lock, or wait longer")
    case "40001": (.serialization, "run the transaction again")
    case "40P01": (.deadlock, "run the transaction again")
    case "25P02": (.transaction, "let the body of the transaction throw if a statement fails")
    case "42501": (.privilege, "grant the privilege to the role, or connect with another role")
    case "25006":
      (.readOnly, "write to the primary server, in a transaction that is not read-only")
    case "42P01": (.undefined, "check the name of the table, its schema and the search_path")
    case "42703": (.undefined, "check the names of the columns against the table")
    case "42883": (.undefined, "check the name and the argument types; add casts if necessary")
    case "42P08", "42P18", "42725": (.sql, "add a cast to the argument, for example $1::integer")
    case "22021", "22P05":
      (.other, "correct the text, or convert it in the query with convert_from or encode")
    case "08P01", "22P02", "22P03":
      (.arguments, "check the number, the order and the types of the arguments")
    case "42601": (.sql, "correct the SQL at this place")
    default:
      switch sqlState.prefix(2) {
      case "08": (.connectionLost, "check the network and the server")
      case "23": (.constraint, "change the values to satisfy the constraint")
      case "28": (.authentication, "check the user and the password")
      case "42": (.sql, "check the SQL and the names in it against the schema")
      case "53": (.other, "free resources of the server: memory, disk or connections")
      default: (.other, "look up the SQLSTATE in PostgreSQL's documentation, appendix A")
      }
    }
  }
}

extension PostgresError {
  /// Creates the error of a connection that cannot be opened, from libpq's message.
  static func connecting(_ message: String, server: String) -> PostgresError {
    // libpq does not report the SQLSTATE of a refused connection, and the messages may be in any language.
    let text = message.lowercased()
    let (code, help): (Code, String) =
      if text.contains("password") || text.contains("authentication") || text.contains("pg_hba") {
        meaning(of: "28P01")
      } else if text.contains("too many clients") || text.contains("remaining connection slots")
        || text.contains("too many connections")
      {
        meaning(of: "53300")
      } else if text.contains("database"), text.contains("does not exist") {
        meaning(of: "3D000")
      } else if text.contains("permission denied for database") {
        (.privilege, "GRANT CONNECT ON DATABASE … TO the role, or connect as another user")
      } else if text.contains("certificate") {
        (
          .cannotConnect,
          "check sslmode, sslrootcert (the certificate authority) and the host name in the certificate"
        )
      } else if text.contains("role"), text.contains("does not exist") {
        (.authentication, "create the role, or connect as another user")
      } else {
        (.cannotConnect, "check that the server runs, and the host and the port")
      }
    return PostgresError(code, message, server: server, help: help)
  }

  static var canceledBeforeStart: PostgresError {
    PostgresError(
      .canceled, "the task was canceled before the statement began", help: "run it again")
  }

  static var connectionClosed: PostgresError {
    PostgresError(.closed, "the connection was closed", help: "open a new one")
  }

  /// Creates the error of a server that does not answer in time.
  static func noAnswer(_ message: String) -> PostgresError {
    PostgresError(
      .connectionLost, message, help: "check the network and the load of the server")
  }

  /// Creates the error of a server that does not keep to the protocol.
  static func unexpectedAnswer(_ message: String, sql: String?) -> PostgresError {
    PostgresError(
      .connectionLost, message, sql: sql,
      help: "check that the address is that of a PostgreSQL server, and the programs in between")
  }

  static func nulCharacter(in sql: String) -> PostgresError {
    PostgresError(
      .sql, "the SQL contains a NUL character", sql: sql, help: "remove the character")
  }

  /// Returns the error of a statement with another number of arguments than are given, or `nil`.
  ///
  /// - Parameter subject: The kind of the statement, for the message.
  static func argumentCount(
    of sql: String, _ subject: String, given: Int
  ) -> PostgresError? {
    let count = PostgresText.argumentCount(sql)
    guard count != given else { return nil }
    return PostgresError(
      .arguments,
      "the \(subject) takes \(count) argument\(count == 1 ? "" : "s"), but \(given) "
        + (given == 1 ? "is given" : "are given"),
      sql: sql, help: "pass one value for each of $1, $2, …")
  }

  static func tooLarge(_ byteLimit: Int) -> PostgresError {
    PostgresError(
      .tooLarge, "the result is larger than \(byteLimit) bytes",
      help: "select fewer rows or columns, or add LIMIT")
  }
}
