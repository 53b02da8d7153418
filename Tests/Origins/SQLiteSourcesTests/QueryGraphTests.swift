import Diffing
import ObservableCollections
import ReactiveSignals
import SQLiteSources
import TestSupport
import Testing

/// Explanations and traces of lists over queries.
@Suite(.timeLimit(.minutes(10))) struct QueryGraphTests {
  private let database: TemporaryDatabase
  private let writer: SQLiteConnection

  init() throws {
    database = try TemporaryDatabase()
    writer = try database.writer()
    try writer.execute("INSERT INTO item VALUES (1, 'a'), (2, 'b'), (3, 'b')")
  }

  private func items(_ sql: String) throws -> SQLiteDataSource<Item> {
    try SQLiteDataSource<Item>(connection: writer, sql: sql)
  }

  @Test func `the explanation of a list finds the query that is refetched, and the reason`()
    async throws
  {
    let fast = try items("SELECT id, name FROM item ORDER BY name").labeled("fast")
    let slow = try items("SELECT max(id) AS id, name FROM item GROUP BY name").labeled("slow")
    // A derived list starts its sources, and they may load before it returns.
    #expect(fast.explain().nodes[0].source?.mode == nil)
    let rows = fast.filter { $0.id > 0 }.concatenated(with: slow.map { $0 })
    let recorder = SourceRecorder(rows)
    try await recorder.wait { $0.state == .loaded && $0.contents.count == 5 }
    let work = rows.countWork()
    try writer.execute("INSERT INTO item VALUES (4, 'd')")
    try await recorder.wait { $0.contents.count == 7 }
    let graph = rows.explain()
    work.dispose()
    let queries = graph.nodes.filter { $0.kind == "SQLiteDataSource" }
    #expect(queries.map(\.label) == ["fast", "slow"])
    #expect(queries.map { $0.source?.mode } == ["incremental", "refetch"])
    #expect(queries.allSatisfy { ($0.source?.loadCount ?? 0) >= 2 })
    #expect(queries[1].source?.reason?.contains("because it groups rows") == true)
    let lines = graph.description.split(separator: "\n")
    let line = try #require(lines.firstIndex { $0.contains("SQLiteDataSource \"slow\"") })
    #expect(lines[line + 1].contains("test.db: SELECT max(id) AS id, name FROM item GROUP BY name"))
    #expect(
      lines[line + 2].contains(
        "refetch: The whole query runs again after each change, because it groups rows. "
          + "To read only changed rows, "))
    #expect(lines[line + 3].contains("loads in "))
    #expect(lines[line + 3].contains("since counting began: "))
    #expect(try #require(queries[1].work?.loadTime) > .zero)
  }

  @Test func `a trace tells a refetch from a read of changed rows`() async throws {
    let fast = try items("SELECT id, name FROM item").labeled("fast")
    let slow = try items("SELECT max(id) AS id, name FROM item GROUP BY name").labeled("slow")
    let rows = fast.concatenated(with: slow)
    let steps = rows.trace().makeAsyncIterator()
    let recorder = SourceRecorder(rows)
    try await recorder.wait { $0.state == .loaded && $0.contents.count == 5 }
    try writer.execute("INSERT INTO item VALUES (4, 'd')")
    try await recorder.wait { $0.contents.count == 7 }
    // The queries may have loaded before the trace began.
    var reads: Set<String> = []
    var iterator = steps
    while reads.count < 2, let step = await iterator.next() {
      if let label = step.label, step.action == .reload {
        reads.insert("\(step.action) \(label)")
      }
    }
    #expect(reads == ["reload fast", "reload slow"])
  }

  @Test func `the last error of a query stays`() async throws {
    let source = try items("SELECT id, name FROM item")
    let recorder = SourceRecorder(source)
    try await recorder.wait { $0.state == .loaded }
    try writer.execute("ALTER TABLE item RENAME TO thing")
    try await recorder.wait { $0.statuses.last?.error != nil }
    try writer.execute("ALTER TABLE thing RENAME TO item")
    try await recorder.wait { $0.state == .loaded }
    let node = source.explain().nodes[0]
    #expect(node.status?.error == nil)
    #expect(node.source?.lastFault?.contains("no such table: item") == true)
  }
}
