import FileSources
import Foundation
import ObservableCollections
import PostgresSources
import SwappablePrimitives

/// Sources of the form `postgres:CONNINFO?SQL`.
enum PostgresSource {
  /// Returns a Boolean value that indicates whether a text has the scheme of a server, also in capitals, or after white
  /// space.
  ///
  /// These are mistakes, but the errors for them must not show a password either.
  static func resembles(_ text: String) -> Bool {
    let scheme = text.drop(while: \.isWhitespace).prefix { $0 != ":" }
    return ["postgres", "postgresql"].contains(scheme.lowercased())
  }

  /// Returns a Boolean value that indicates whether a source has the scheme of a server.
  static func isSource(_ text: ByteString) -> Bool {
    text.hasPrefix("postgres:") || text.hasPrefix("postgresql:")
  }

  /// Parses a source with the scheme of a server.
  ///
  /// The parameters of a URI follow a question mark, too. The query begins after the first question mark that the
  /// first word of a query follows.
  static func kind(of text: String) throws(LivelistError) -> SourceSpecification.Kind {
    guard case (let connectionString, let sql?) = parts(of: text) else {
      throw .usage(
        "the source \"\(SourceSpecification.redacted(text))\" has no query; "
          + "use postgres:CONNINFO?SQL, for example "
          + "'postgres:host=localhost dbname=shop?SELECT * FROM item'")
    }
    return .serverQuery(connectionString: connectionString, sql: sql)
  }

  /// Parses `postgres:CONNINFO`, which names a server without a query.
  ///
  /// - Parameters:
  ///   - word: The argument.
  ///   - usage: The command line in short, for errors.
  static func connectionString(
    _ word: ByteString, usage: String
  ) throws(LivelistError) -> String {
    let shown = SourceSpecification.redacted(word.description)
    guard isSource(word) else {
      throw .usage(
        "\"\(shown)\" is no PostgreSQL server; use \(usage), for example "
          + "'postgres:host=localhost dbname=shop'")
    }
    guard let text = word.string else {
      throw .usage("the connection string \"\(shown)\" is not UTF-8; use another one")
    }
    guard case (let connectionString, nil) = parts(of: text) else {
      throw .usage("\"\(shown)\" contains a query; omit \"?\" and the query: use \(usage)")
    }
    return connectionString
  }

  /// Returns a text with the scheme of a server without its secrets, for messages.
  static func redacted(_ text: String) -> String {
    let (connectionString, sql) = parts(of: text)
    let isURI = connectionString.contains("://")
    let scheme = isURI ? "" : text.prefix { $0 != ":" } + ":"
    return scheme + redactingUsers(in: redactingWords(in: connectionString))
      + (sql.map { "?" + redactingPasswords(in: $0) } ?? "")
  }

  /// Returns a connection string in which a user and a password are masked that stand where a host or a database belongs,
  /// as after a slash too many.
  private static func redactingUsers(in connectionString: String) -> String {
    connectionString.replacing(
      #/(:\/\/[^\/?\#]*\/|\b(?:host|hostaddr|dbname)\s*=\s*)[^\s?\#]*@/#.ignoresCase()
    ) { "\($0.1)…@" }
  }

  /// Returns the connection string of a text with the scheme of a server, and the query if there is one.
  private static func parts(of text: String) -> (connectionString: String, sql: String?) {
    let bytes = Array(text.utf8)
    let marks = bytes.indices.filter { bytes[$0] == UInt8(ascii: "?") }
    let mark = marks.first { beginsQuery(bytes[($0 + 1)...]) }
    let place = String(decoding: bytes[..<(mark ?? bytes.count)], as: UTF8.self)
    let scheme = place.prefix { $0 != ":" }
    let rest = place.dropFirst(scheme.count + 1)
    return (
      // A URI includes the scheme.
      rest.hasPrefix("//") ? place : String(rest),
      mark.map { String(decoding: bytes[($0 + 1)...], as: UTF8.self) }
    )
  }

  private static func beginsQuery(_ bytes: ArraySlice<UInt8>) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
      .drop { $0.isWhitespace || $0 == "(" }
    if text.hasPrefix("--") || text.hasPrefix("/*") { return true }
    let word = text.prefix { $0.isLetter || $0 == "_" }
    return ["SELECT", "WITH", "VALUES", "TABLE"].contains(word.uppercased())
      && !text.dropFirst(word.count).hasPrefix("=")
  }

  static func open(
    _ connectionString: String, _ sql: String, _ options: SourceOptions
  ) throws(PostgresError) -> any DataSource<JSONElement> {
    let map: @Sendable (PostgresRow) throws -> JSONElement = { row in
      try RowElements.element(of: row, key: options.key)
    }
    guard let timeout = options.timeout else {
      return try PostgresDataSource(
        connectionString: connectionString, sql: sql, uniqueColumnNames: true, map: map)
    }
    let pool = try PostgresPool(connectionString, options: .init(statementTimeout: timeout))
    return try PostgresDataSource(pool: pool, sql: sql, uniqueColumnNames: true, map: map)
  }
}

extension LivelistError {
  /// Creates the error for an error of a PostgreSQL server.
  ///
  /// The advice of a `PostgresError` is for programmers. This error has advice for users of the program.
  init(_ error: PostgresError) {
    var error = error
    switch error.code {
    case .notAQuery, .severalStatements: error.help = "use a single SELECT statement"
    case .arguments where error.sqlState == nil:
      error.help = "write the values into the SQL, because livelist binds no arguments"
    case .decoding: error.help = "change the query, or the field of --key"
    default: break
    }
    self = .input(error.description)
  }
}
