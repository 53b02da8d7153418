import DataSourceTesting
import Foundation
import ObservableCollections
import TestSupport

@testable import SQLiteSources

/// A database of the stress, with all its writers and a reader.
final class SQLiteStressDatabase: StressDatabase {
  static let sizes = [12, 40, 40, 120, 120, 400]

  private var schema: SQLiteStressSchema
  private(set) var latestWrites: [String] = []
  private let tracking: ChangeTracking
  private let journal: TemporaryDatabase.Journal
  private let own: SQLiteConnection
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

  init(tracking: ChangeTracking, _ random: inout SeededGenerator) throws {
    self.tracking = tracking
    schema = SQLiteStressSchema(&random)
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

  var description: String {
    let statements = try? reader.query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
    let schema = (statements ?? []).map { TestRow($0).description }
    return "\(journal): " + ([pragmas] + schema).joined(separator: ";\n")
  }

  func remove() async {}

  // MARK: Reading

  func makeQuery(_ random: inout SeededGenerator) -> SQLiteStressQuery {
    SQLiteStressQuery(schema, &random)
  }

  func makeSource(_ query: SQLiteStressQuery) throws -> SQLiteDataSource<TestRow> {
    let monitor = ChangeMonitor.shared(connection: own)
    monitor.expect(own)
    return try SQLiteDataSource(
      monitor: monitor,
      query: SQLiteQuery(
        sql: query.sql, arguments: SQLiteArguments(query.arguments),
        needsUniqueColumnNames: false), tracking: tracking
    ) { TestRow($0) }
  }

  func refresh(_ source: SQLiteDataSource<TestRow>) async { await source.refresh() }

  func rows(
    _ query: SQLiteStressQuery, shownBy source: SQLiteDataSource<TestRow>
  ) throws -> [TestRow]? {
    // If the whole query runs again, equal rows have no defined order.
    let sql = isWhole(source) ? query.sql : query.exact
    return try reader.query(sql, SQLiteArguments(query.arguments)).map { TestRow($0) }
  }

  private func isWhole(_ source: SQLiteDataSource<TestRow>) -> Bool {
    source.status.diagnostics.contains { $0.code == "not-incremental" }
  }

  func check(_ source: SQLiteDataSource<TestRow>, _ query: SQLiteStressQuery) throws {
    guard query.isPlain, isWhole(source) else { return }
    throw StressFailure("it is not incremental: \(source.status.diagnostics)")
  }

  func count() throws -> Int {
    try reader.query("SELECT count(*) FROM m") { try $0.value(at: 0, as: Int.self) }[0]
  }

  // MARK: Writing

  func write(
    size: Int, count: Int, _ random: inout SeededGenerator, onCommit: () async throws -> Void
  ) throws -> Bool {
    for _ in 0..<(random.oneIn(4) ? 1 + random.below(4) : 1) {
      try run(SQLiteStressWrite.make(schema, size: size, count: count, &random), &random)
    }
    return false
  }

  func change(
    _ random: inout SeededGenerator, onCommit: () async throws -> Void, refresh: () async -> Void
  ) async throws -> Bool {
    for statement in schema.makeChange(&random) {
      // A statement that must succeed, with a random writer.
      try run(statement, random.below(40))
      if statement.hasSuffix("RENAME TO away") { await refresh() }
    }
    return false
  }

  func settle() {}

  /// Writes with a random writer, and ignores the expected errors.
  private func run(_ write: StressWrite, _ random: inout SeededGenerator) throws {
    let writer = random.below(40)
    if let transaction = write.transaction, writer < 10 {
      return try runTransaction(write.statements, transaction, throwing: random.oneIn(2))
    }
    for statement in write.script {
      try tolerating { try run(statement, writer) }
    }
    if write.transaction != nil { try tolerating { try run("ROLLBACK", writer) } }
  }

  /// Writes with the connection's own transaction.
  ///
  /// - Parameters:
  ///   - statements: The statements.
  ///   - transaction: The end and the savepoint of the transaction.
  ///   - throwing: A Boolean value that indicates whether an error of SQLite leaves the body.
  private func runTransaction(
    _ statements: [String], _ transaction: StressWrite.Transaction, throwing: Bool
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
          if !transaction.isSavepointKept { throw StressFailure("refused") }
        }
        try run(inner.upperBound..<statements.count)
        if !transaction.isKept { throw StressFailure("refused") }
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
      guard answer == "ok" else { throw StressFailure(answer) }
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
    if latestWrites.count > 100 { latestWrites.removeFirst(50) }
    latestWrites.append("\(writer): \(sql)")
  }
}
