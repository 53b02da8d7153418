import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections

@testable import SQLiteSources

/// Random writes to random databases. The results of random queries are compared with fresh
/// queries.
final class SQLiteStressRun {
  /// A result that differs from a fresh query.
  struct Mismatch: Error, CustomStringConvertible {
    let description: String
  }

  /// Any other error.
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private struct Live {
    var query: SQLiteStressQuery
    var source: SQLiteDataSource<TestRow>
    var observer: RecordingObserver<TestRow>
  }

  let seed: UInt64
  private(set) var step = 0
  private var random: SeededGenerator
  private let tracking: ChangeTracking

  /// Creates a run that a seed determines.
  init(seed: UInt64, tracking: ChangeTracking = ChangeTracking()) {
    self.seed = seed
    self.tracking = tracking
    random = SeededGenerator(seed: seed)
  }

  /// Runs some steps, and throws the first mismatch.
  func run(steps: Int) async throws {
    while step < steps {
      try await runDatabase(steps: min(125, steps - step))
    }
  }

  /// Runs some steps on a new database.
  private func runDatabase(steps: Int) async throws {
    var schema = SQLiteStressSchema(&random)
    let size = random.pick([12, 40, 40, 120, 120, 400])
    let database = try SQLiteStressDatabase(schema, &random)
    var count = 0
    var sources = try (0..<(2 + random.below(3))).map { _ in try observe(schema, database) }
    for _ in 0..<steps {
      step += 1
      if random.oneIn(30) {
        try await change(&schema, database, sources)
      } else {
        for _ in 0..<(random.oneIn(4) ? 1 + random.below(4) : 1) {
          let write = SQLiteStressWrite(schema, size: size, count: count, &random)
          try noting(database) { try database.run(write, &random) }
        }
      }
      if random.oneIn(40) {
        sources[random.below(sources.count)] = try observe(schema, database)
      }
      // Sometimes more is written before the comparison.
      if random.oneIn(6) { continue }
      for live in sources { try await compare(live, database) }
      count = try database.count()
    }
    for live in sources {
      try await compare(live, database)
      try noting(database) { try live.observer.check(against: live.source) }
    }
  }

  private func observe(
    _ schema: SQLiteStressSchema, _ database: SQLiteStressDatabase
  ) throws -> Live {
    let query = SQLiteStressQuery(schema, &random)
    return try noting(database, query) {
      let monitor = ChangeMonitor.shared(connection: database.own)
      monitor.expect(database.own)
      let source = try SQLiteDataSource(
        monitor: monitor,
        query: SQLiteQuery(
          sql: query.sql, arguments: SQLiteArguments(query.arguments),
          needsUniqueColumnNames: false), tracking: tracking
      ) { TestRow($0) }
      return Live(
        query: query, source: source,
        observer: RecordingObserver(source, keeps: 4, seed: seed))
    }
  }

  /// Runs housekeeping, or changes the schema.
  private func change(
    _ schema: inout SQLiteStressSchema, _ database: SQLiteStressDatabase, _ sources: [Live]
  ) async throws {
    switch random.below(12) {
    case 0, 1:
      let column = schema.makeAddedColumn(&random)
      try database.alter("ALTER TABLE m ADD COLUMN \(column.name) \(column.declaration)", &random)
      schema.columns.append(column)
    case 2, 3: try database.alter(schema.makeIndex(&random), &random)
    case 4 where !schema.indexes.isEmpty:
      let name = schema.indexes.remove(at: random.below(schema.indexes.count))
      try database.alter("DROP INDEX \(name)", &random)
    case 5:
      try database.alter("ALTER TABLE m RENAME TO away", &random)
      for live in sources { await live.source.refresh() }
      try database.alter("ALTER TABLE away RENAME TO m", &random)
    case 6:
      try database.alter("CREATE TABLE aside (x)", &random)
      try database.alter("DROP TABLE aside", &random)
    case 7:
      try database.alter("BEGIN; ALTER TABLE m ADD COLUMN gone; DELETE FROM m; ROLLBACK", &random)
    case 8: try database.alter("REINDEX", &random)
    case 9: try database.alter("VACUUM", &random)
    default:
      let mode = random.pick(["PASSIVE", "FULL", "RESTART", "TRUNCATE"])
      try database.alter("PRAGMA wal_checkpoint(\(mode))", &random)
    }
  }

  private func compare(_ live: Live, _ database: SQLiteStressDatabase) async throws {
    await live.source.refresh()
    try noting(database, live.query) {
      try live.observer.check()
      let shown = live.observer.snapshot
      // If the whole query runs again, equal rows have no defined order.
      let isWhole = live.source.status.diagnostics.contains { $0.code == "not-incremental" }
      if isWhole, live.query.isPlain {
        throw Failure(description: "it is not incremental: \(live.source.status.diagnostics)")
      }
      let sql = isWhole ? live.query.sql : live.query.exact
      let expected = try database.rows(sql, live.query.arguments)
      guard !shown.elementsEqual(expected) || live.source.status.state != .loaded else { return }
      throw Mismatch(
        description: """
          shows \(shown.count) rows:
          \(shown.map(\.description).joined(separator: " | "))
          a fresh query gives \(expected.count):
          \(expected.map(\.description).joined(separator: " | "))
          status: \(live.source.status)
          """)
    }
  }

  /// Adds to each error the information that reproduces it.
  private func noting<Result>(
    _ database: SQLiteStressDatabase, _ query: SQLiteStressQuery? = nil,
    _ body: () throws -> Result
  ) throws -> Result {
    do {
      return try body()
    } catch {
      let text = """
        seed \(seed), step \(step), \(database.journal)
        \(query.map { "\($0.sql), arguments \($0.arguments)" } ?? "")
        \(error)
        schema: \(database.schema)
        the last writes:
        \(database.log.suffix(12).joined(separator: "\n"))
        """
      if error is Mismatch { throw Mismatch(description: text) }
      throw Failure(description: text)
    }
  }
}
