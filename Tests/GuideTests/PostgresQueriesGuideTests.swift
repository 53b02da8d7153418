import Foundation
import PostgresSources
import Swappable
import TestSupport
import TestTags
import Testing

/// The code of the guide "PostgreSQL queries".
@Suite(.tags(.system)) struct PostgresQueriesGuideTests {
  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("PostgresQueries")
    #expect(guide.code.count == 8)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  struct Visit: Decodable, Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var at: Date
    var price: Decimal
  }

  /// This code is compiled only. It names a server that does not exist.
  private func queries() async throws {
    let connection = try PostgresConnection("host=db.example dbname=shop user=app")
    try await connection.execute(
      "CREATE TABLE IF NOT EXISTS task (id integer PRIMARY KEY, title text, done boolean)")
    let open = try PostgresDataSource<Todo>(
      connectionString: "host=db.example dbname=shop user=app",
      sql: "SELECT id, title FROM task WHERE done = $1 ORDER BY id", arguments: [false])
    try await connection.installChangeTriggers(on: ["task"])
    let pool = try PostgresPool(
      "host=pooler.example dbname=shop user=app",
      listeningOn: "host=db.example dbname=shop user=app")
    let tasks = try PostgresDataSource<Todo>(
      pool: pool, sql: "SELECT id, title FROM task ORDER BY id")
    print(try await tasks.explainQuery())
    print(try await open.explainQuery())
    let visits = try PostgresDataSource<Visit>(
      connectionString: "host=db.example dbname=shop user=app",
      sql: "SELECT id, at, price FROM visit ORDER BY id"
    ) { row in
      try row.decode(dates: .millisecondsSince1970)
    }
    print(visits)
    let shop = try PostgresPool("host=db.example dbname=shop user=app", maximumConnections: 8)
    let count = try await shop.withConnection { connection in
      try await connection.execute("DELETE FROM task WHERE done")
    }
    print(count)
    try await connection.transaction {
      try await connection.execute("INSERT INTO task VALUES ($1, $2, $3)", [1, "Write", false])
      try await connection.execute("UPDATE task SET done = $1 WHERE title = $2", [true, "Test"])
    }
    print(try await connection.changeTriggersSQL(on: ["task"], readers: ["app"]))
  }

  @Test(
    .enabled(if: PostgresServer.isAvailable, Comment(rawValue: PostgresServer.advice)),
    .timeLimit(.minutes(10)))
  func `a container swaps to a server and back by differences`() async throws {
    let server = try PostgresServer.shared()
    let address = server.connectionString(database: try server.makeDatabase())
    let connection = try PostgresConnection(address)
    try await connection.executeScript(
      """
      CREATE TABLE task (id integer PRIMARY KEY, title text);
      INSERT INTO task VALUES (1, 'Write'), (2, 'Test');
      """)
    try await connection.installChangeTriggers(on: ["task"])
    let own = ArrayDataSource([Todo(id: 2, title: "Test"), Todo(id: 3, title: "Ship")])
    let list = SwappableContainer<Todo>(own)
    let (changes, continuation) = AsyncStream<String>.makeStream()
    let observation = list.observe { event in
      if case .change(let change) = event { continuation.yield(change.changeset.summary) }
    }
    var iterator = changes.makeAsyncIterator()
    let remote = try PostgresDataSource<Todo>(
      connectionString: address, sql: "SELECT id, title FROM task ORDER BY id")
    #expect(await list.swap(to: remote).outcome == .swapped)
    #expect(await iterator.next() == "1 inserted, 1 deleted")
    try await connection.execute("INSERT INTO task VALUES ($1, $2)", [3, "Ship"])
    #expect(await iterator.next() == "1 inserted")
    #expect(await list.swap(to: own).outcome == .swapped)
    #expect(await iterator.next() == "1 deleted")
    observation.dispose()
  }
}
