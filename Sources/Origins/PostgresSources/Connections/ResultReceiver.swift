import SQLSources
import SwappablePQ

/// Receives the results of one operation, on the queue of its session.
///
/// This class only keeps the number of rows that a command has written.
class ResultReceiver: @unchecked Sendable {
  // Sendable: the queue of the session calls the methods, and the owner reads the results after the operation has
  // ended.

  /// The number of rows that the last command has written or returned.
  private(set) var commandCount = 0

  /// Receives rows.
  ///
  /// - Returns: An error that ends the operation, or `nil`.
  func receive(_ library: LibPQ, _ result: LibPQ.Result) -> PostgresError? { nil }

  /// Receives the end of a command that returns no rows, or a description.
  func receiveCommand(_ library: LibPQ, _ result: LibPQ.Result) {
    commandCount = library.commandTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
  }

  static func columns(_ library: LibPQ, _ result: LibPQ.Result) -> ResultColumns {
    let count = library.fieldCount(result)
    return ResultColumns(
      (0..<count).map { library.fieldName(result, $0).map { String(cString: $0) } ?? "" },
      types: (0..<count).map { library.fieldType(result, $0) })
  }
}

/// Copies all rows of a result.
final class RowReceiver: ResultReceiver, @unchecked Sendable {
  // Sendable: as the superclass is.

  private(set) var rows: RowBatches<PostgresRow>?
  private let byteLimit: Int

  init(byteLimit: Int = PostgresQuery.byteLimit) {
    self.byteLimit = byteLimit
  }

  override func receive(_ library: LibPQ, _ result: LibPQ.Result) -> PostgresError? {
    // A result without rows ends the rows of a statement, or is a statement without rows.
    let columns = rows?.columns ?? Self.columns(library, result)
    var rows = rows.take() ?? RowBatches<PostgresRow>(columns: columns)
    for row in 0..<library.rowCount(result) {
      rows.append(ReceivedRow(library: library, result: result, row: row))
    }
    self.rows = rows
    return rows.byteCount > byteLimit ? .tooLarge(byteLimit) : nil
  }

  /// Passes each row to a closure.
  func map<Value>(_ body: (PostgresRow) throws -> Value) throws -> [Value] {
    guard var rows = rows.take() else { return [] }
    var values: [Value] = []
    values.reserveCapacity(rows.count)
    try rows.consume { values.append(try body($0)) }
    return values
  }
}

/// Copies the types of a statement's arguments.
final class DescriptionReceiver: ResultReceiver, @unchecked Sendable {
  // Sendable: as the superclass is.

  private(set) var argumentTypes: [PostgresType] = []
  private(set) var columns: ResultColumns?

  override func receiveCommand(_ library: LibPQ, _ result: LibPQ.Result) {
    argumentTypes = (0..<library.parameterCount(result)).map {
      PostgresType(rawValue: library.parameterType(result, $0))
    }
    columns = Self.columns(library, result)
  }
}

extension PostgresError {
  /// Creates the error that a server has reported.
  init(
    _ library: LibPQ, _ result: LibPQ.Result, sql: String?, _ connectionString: ConnectionString
  ) {
    func field(_ field: UInt32) -> String? {
      library.resultErrorField(result, Int32(field)).map {
        connectionString.redact(String(cString: $0))
      }
    }
    guard let message = field(PG_DIAG_MESSAGE_PRIMARY) else {
      let text = library.resultErrorMessage(result).map { String(cString: $0) } ?? "unknown error"
      self.init(
        .connectionLost, connectionString.redact(text),
        help: "check the network and the server")
      return
    }
    let sqlState = field(PG_DIAG_SQLSTATE)
    let (code, help) = PostgresError.meaning(of: sqlState ?? "")
    // The position counts characters from 1.
    let position = field(PG_DIAG_STATEMENT_POSITION).flatMap { Int($0) } ?? 0
    self.init(
      code, message, sqlState: sqlState, detail: field(PG_DIAG_MESSAGE_DETAIL), sql: sql,
      offset: position > 0 ? position - 1 : nil, help: field(PG_DIAG_MESSAGE_HINT) ?? help)
  }
}
