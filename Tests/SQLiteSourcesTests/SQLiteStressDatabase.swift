import DataSourceTesting
import Foundation
import SQLiteSources
import TestSupport

/// A database of the stress, with all its writers and a reader.
final class SQLiteStressDatabase {
  let journal: TemporaryDatabase.Journal
  let own: SQLiteConnection
  /// The latest writes, with their writers.
  private(set) var log: [String] = []
  private let file: TemporaryDatabase
  private let second: SQLiteConnection
  private let handle: RawHandle
  private let reader: SQLiteConnection
  private var process: HelperProcess?
  private let pragmas: String

  /// Errors that random writes may cause.
  private static let refusals = [
    "constraint failed", "refused", "no such savepoint", "no transaction is active",
    "datatype mismatch", "cannot modify v", "the transaction ended before its body did",
  ]

  struct Unexpected: Error, CustomStringConvertible {
    let description: String
  }

  init(_ schema: SQLiteStressSchema, _ random: inout SeededGenerator) throws {
    journal = random.pick([.wal, .wal, .delete])
    pragmas =
      "PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON; "
      + "PRAGMA recursive_triggers = \(random.pick(["ON", "OFF"]))"
    file = try TemporaryDatabase()
    own = try SQLiteConnection(path: file.path, busyTimeout: .seconds(60))
    _ = try own.query("PRAGMA journal_mode = \(journal.rawValue)")
    for statement in schema.statements { try own.execute(statement) }
    try own.executeScript(pragmas)
    second = try SQLiteConnection(path: file.path, busyTimeout: .seconds(60))
    try second.executeScript(pragmas)
    handle = try RawHandle(file.path)
    try handle.execute(pragmas)
    reader = try SQLiteConnection(path: file.path, access: .readOnly, busyTimeout: .seconds(60))
  }

  /// Returns the result of a fresh query.
  func rows(_ sql: String, _ arguments: [SQLiteValue]) throws -> [TestRow] {
    try reader.query(sql, SQLiteArguments(arguments)).map { TestRow($0) }
  }

  /// Returns the number of rows in `m`.
  func count() throws -> Int {
    try reader.query("SELECT count(*) FROM m") { try $0.value(at: 0, as: Int.self) }[0]
  }

  /// The present schema.
  var schema: String {
    let rows = (try? rows("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL", [])) ?? []
    return pragmas + rows.map { ";\n" + $0.description }.joined()
  }

  // MARK: Writing

  /// Writes with a random writer, and ignores the expected errors.
  func run(_ write: SQLiteStressWrite, _ random: inout SeededGenerator) throws {
    let writer = random.below(40)
    if let transaction = write.transaction, writer < 10 {
      return try runTransaction(write.statements, transaction, throwing: random.oneIn(2))
    }
    for statement in write.script {
      try tolerating { try run(statement, writer) }
    }
    if write.transaction != nil { try tolerating { try run("ROLLBACK", writer) } }
  }

  /// Runs a statement that must succeed, with a random writer.
  func alter(_ sql: String, _ random: inout SeededGenerator) throws {
    try run(sql, random.below(40))
  }

  /// Writes with the connection's own transaction.
  ///
  /// - Parameters:
  ///   - statements: The statements.
  ///   - transaction: The end and the savepoint of the transaction.
  ///   - throwing: A Boolean value that indicates whether an error of SQLite leaves the body.
  private func runTransaction(
    _ statements: [String], _ transaction: SQLiteStressWrite.Transaction, throwing: Bool
  ) throws {
    func run(_ range: Range<Int>) throws {
      for statement in statements[range] {
        note("transaction", statement)
        if throwing {
          try own.execute(statement)
        } else {
          try tolerating { try own.execute(statement) }
        }
      }
    }
    let inner = transaction.savepoint
    note("transaction", "\(transaction), throwing: \(throwing)")
    try tolerating {
      try own.transaction {
        try run(0..<inner.lowerBound)
        try? own.transaction {
          try run(inner)
          if !transaction.isSavepointKept { throw Unexpected(description: "refused") }
        }
        try run(inner.upperBound..<statements.count)
        if !transaction.isKept { throw Unexpected(description: "refused") }
      }
    }
  }

  private func run(_ sql: String, _ writer: Int) throws {
    switch writer {
    case 0..<20:
      note("own", sql)
      try own.executeScript(sql)
    case 20..<30:
      note("handle", sql)
      try handle.execute(sql)
    case 30..<38:
      note("second", sql)
      try second.executeScript(sql)
    default:
      note("process", sql)
      let process = try process ?? start()
      let answer = try process.answer(to: sql)
      guard answer == "ok" else { throw Unexpected(description: answer) }
    }
  }

  private func start() throws -> HelperProcess {
    let process = try HelperProcess("sql", file.path)
    try process.run(pragmas)
    self.process = process
    return process
  }

  private func tolerating(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      let text = "\(error)"
      guard Self.refusals.contains(where: text.contains) else { throw error }
      note("refused", String(text.prefix(60)))
    }
  }

  private func note(_ writer: String, _ sql: String) {
    if log.count > 100 { log.removeFirst(50) }
    log.append("\(writer): \(sql)")
  }
}
