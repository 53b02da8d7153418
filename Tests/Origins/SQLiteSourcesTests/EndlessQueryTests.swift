import Diffing
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import SwappableSources
import TestSupport
import Testing

@testable import SQLiteSources

/// Queries that never end by themselves.
@Suite(.serialized, .timeLimit(.minutes(10))) struct EndlessQueryTests {
  private static let queries = [
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
      + "SELECT count(*) FROM c, item",
    "WITH RECURSIVE c(x) AS (SELECT id FROM item UNION ALL SELECT x + 1 FROM c) "
      + "SELECT x FROM c WHERE x < 0",
    "WITH RECURSIVE c(x) AS (SELECT id FROM item UNION ALL SELECT x FROM c LIMIT 100000) "
      + "SELECT count(*) FROM c, c AS d, c AS e",
  ]

  private let database: TemporaryDatabase
  /// A connection that writes, and waits for the locks of short reads.
  private let writer: SQLiteConnection
  /// A connection that does not wait for locks.
  private let probe: SQLiteConnection

  init() throws {
    database = try TemporaryDatabase()
    writer = try database.writer(.delete)
    try writer.execute("INSERT INTO item VALUES (1, 'a')")
    probe = try SQLiteConnection(path: database.path, busyTimeout: .zero)
  }

  /// A Boolean value that indicates whether a query reads the database now.
  private var isBeingRead: Bool {
    do {
      try probe.transaction(.exclusive) {}
      return false
    } catch {
      return true
    }
  }

  private func source(_ sql: String) throws -> SQLiteDataSource<TestRow> {
    try SQLiteDataSource(path: database.path, sql: sql) { TestRow($0) }
  }

  private func waitUntilQueryHasBegun() async throws {
    try await wait(for: "the query to begin") { isBeingRead }
  }

  /// Waits until no query reads the database, and no connection but those of the test is open.
  private func waitUntilQueryHasEnded() async throws {
    try await wait(for: "the query to end") { !isBeingRead }
    probe.close()
    writer.close()
    try await wait(for: "all files of the database to be closed") {
      try openDescriptors(below: database.directory).isEmpty
    }
  }

  @Test(arguments: queries) func `a released source ends its query`(sql: String) async throws {
    var source: SQLiteDataSource<TestRow>? = try source(sql)
    let observation = source?.observe { _ in }
    try await waitUntilQueryHasBegun()
    observation?.dispose()
    source = nil
    try await waitUntilQueryHasEnded()
  }

  @Test(arguments: queries) func `a superseded swap ends its query`(sql: String) async throws {
    let container = SwappableContainer<TestRow>()
    let swap = container.swap(to: try source(sql))
    try await waitUntilQueryHasBegun()
    container.swap(to: ArrayDataSource([]))
    #expect(await swap.outcome == .superseded)
    try await waitUntilQueryHasEnded()
  }

  @Test(arguments: queries) func `a canceled swap ends its query`(sql: String) async throws {
    let container = SwappableContainer<TestRow>(ArrayDataSource([]))
    let swap = container.swap(to: try source(sql).filter { _ in true })
    try await waitUntilQueryHasBegun()
    swap.cancel()
    #expect(await swap.outcome == .cancelled)
    try await waitUntilQueryHasEnded()
  }

  @Test(arguments: [
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x FROM c) SELECT 1 FROM c",
    "SELECT id, zeroblob(60000000) FROM item", "SELECT id, zeroblob(60000000) FROM item LIMIT 1",
    "SELECT zeroblob(60000000) FROM item, item AS other",
  ])
  func `a result that is too large is a failure`(sql: String) async throws {
    var query = SQLiteQuery(sql: sql, arguments: [], needsUniqueColumnNames: false)
    query.byteLimit = 50_000_000
    let source = try SQLiteDataSource<TestRow>(
      monitor: .shared(path: ByteString(database.path)), query: query
    ) { TestRow($0) }
    let error = await #expect(throws: SourceError.self) { try await source.loaded() }
    let failure = error?.underlying as? SQLiteError
    #expect(failure?.message == "the result is larger than 50000000 bytes")
    #expect(failure?.sql == sql)
  }

  @Test(arguments: queries) func `a timeout ends a query until the next commit`(
    sql: String
  ) async throws {
    let source = try SQLiteDataSource(
      path: database.path, sql: "SELECT id, (\(sql) LIMIT 1) AS x FROM item",
      timeout: .milliseconds(50)
    ) { TestRow($0) }
    let error = await #expect(throws: SourceError.self) { try await source.loaded() }
    #expect(error?.code == "timeout")
    let failure = error?.underlying as? SQLiteError
    #expect(failure?.message == "the query took longer than 0.05 seconds")
    #expect(failure?.sql == source.sql)
    try writer.execute("DELETE FROM item")
    await source.refresh()
    #expect(source.status.state == .loaded && source.snapshot.isEmpty)
  }

  @Test func `a timeout limits each read by itself`() async throws {
    let source = try SQLiteDataSource(
      path: database.path, sql: "SELECT id, name FROM item", timeout: .seconds(30)
    ) { TestRow($0) }
    try await source.loaded()
    for id in 2...20 {
      try writer.execute("INSERT INTO item VALUES (\(id), 'a')")
      await source.refresh()
    }
    #expect(source.snapshot.count == 20 && source.status.state == .loaded)
  }

  @Test func `a query that ends after an interruption of another is complete`() async throws {
    var endless: SQLiteDataSource<TestRow>? = try source(Self.queries[0])
    let other = try source("SELECT id, name FROM item")
    let observation = endless?.observe { _ in }
    try await waitUntilQueryHasBegun()
    observation?.dispose()
    endless = nil
    try await wait(for: "the query to end") { !isBeingRead }
    // The second source may take the reader that was interrupted.
    #expect(try await other.loaded().map(\.description) == ["1.a"])
    try writer.execute("INSERT INTO item VALUES (2, 'b')")
    await other.refresh()
    #expect(other.snapshot.map(\.description) == ["1.a", "2.b"])
  }
}
