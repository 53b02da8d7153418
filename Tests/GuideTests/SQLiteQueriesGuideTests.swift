import Foundation
import SQLiteSources
import Swappable
import TestSupport
import Testing

/// The code of the guide "SQLite queries".
@Suite(.timeLimit(.minutes(10))) struct SQLiteQueriesGuideTests {
  private let print = Printed()

  @Test func `the guide's code is compiled here`() throws {
    let guide = try Guide("SQLiteQueries")
    #expect(guide.code.count == 7)
    let todo = #filePath.replacing("SQLiteQueriesGuideTests", with: "Todo")
    let missing = try Set(guide.paragraphs(missingIn: #filePath))
      .intersection(guide.paragraphs(missingIn: todo))
    #expect(missing == [])
  }

  func follow(_ path: String) async throws {
    let connection = try SQLiteConnection(path: path)
    try connection.execute(
      "CREATE TABLE IF NOT EXISTS task (id INTEGER PRIMARY KEY, title TEXT, done INT DEFAULT 0)")
    let open = try SQLiteDataSource<Todo>(
      connection: connection, sql: "SELECT id, title FROM task WHERE done = 0 ORDER BY title")
    try await open.loaded()
    for await event in open.events() {
      switch event {
      case .initial(let contents, _): print("at first:", contents.map(\.title))
      case .change(let change): print(change)
      }
    }
  }

  /// The start of the program. The test has a file of its own.
  private func program() async {
    do {
      try await follow("tasks.db")
    } catch {
      print(error)
    }
  }

  func finish(_ title: String, next: String, with connection: SQLiteConnection) throws {
    try connection.transaction {
      try connection.execute("UPDATE task SET done = ? WHERE title = ?", [true, title])
      try connection.execute("INSERT INTO task (title) VALUES (?)", [next])
    }
  }

  func rename(_ id: Int, _ title: String, _ connection: SQLiteConnection) async throws -> Int {
    try await connection.write {
      try $0.execute("UPDATE task SET title = ? WHERE id = ?", [title, id])
    }
    return try await connection.read { try $0.query("SELECT id FROM task").count }
  }

  @Test func `a row is renamed without blocking`() async throws {
    let connection = try SQLiteConnection.makeInMemory()
    try connection.execute("CREATE TABLE task (id INTEGER PRIMARY KEY, title TEXT)")
    try connection.execute("INSERT INTO task VALUES (1, 'a'), (2, 'b')")
    #expect(try await rename(1, "c", connection) == 2)
    #expect(try connection.query("SELECT 1 FROM task WHERE title = 'c'").count == 1)
  }

  func show(done: Bool, from path: String, in shown: SwappableContainer<Todo>) throws {
    shown.swap(
      to: try SQLiteDataSource<Todo>(
        path: path, sql: "SELECT id, title FROM task WHERE done = ? ORDER BY title",
        arguments: [done]))
  }

  /// This code is compiled only. The database would be in the current directory.
  private func parts() throws {
    let latest = try SQLiteDataSource<Todo>(
      path: "tasks.db",
      query: SQLiteTableQuery(
        table: "task", columns: ["id", "title"], orderBy: [.descending("id")], limit: 20))
    print(try latest.explainQuery())
  }

  struct Visit: Decodable, Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var at: Date
    var price: Decimal
  }

  /// This code is compiled only.
  private func visits() throws {
    let visits = try SQLiteDataSource<Visit>(
      path: "shop.db", sql: "SELECT id, at, price FROM visit ORDER BY at"
    ) { row in
      try row.decode(dates: .millisecondsSince1970)
    }
    print(visits)
  }

  @Test func `the program prints what the guide says`() async throws {
    let guide = try Guide("SQLiteQueries")
    let writes = guide.lines.filter { $0.hasPrefix("sqlite3 tasks.db \"") }
      .map { $0.dropFirst("sqlite3 tasks.db \"".count).dropLast() }
    #expect(writes.count == 3)
    let directory = try TemporaryDirectory()
    let path = directory("tasks.db")
    func lines() -> [String] { print.lines.flatMap { $0.components(separatedBy: "\n") } }
    let program = Task { try await follow(path) }
    try await wait(for: "the first contents") { lines().count == 1 }
    let connection = try SQLiteConnection(path: path)
    for (write, count) in zip(writes, [4, 6, 8]) {
      try connection.execute(String(write))
      try await wait(for: "\(count) lines") { lines().count >= count }
    }
    #expect(lines() == guide.output)

    let shown = SwappableContainer<Todo>(ArrayDataSource())
    try show(done: false, from: path, in: shown)
    try finish("Rest", next: "Ship", with: connection)
    for await contents in shown.snapshots() where contents.map(\.title) == ["Ship"] { break }
    try show(done: true, from: path, in: shown)
    for await contents in shown.snapshots() where contents.map(\.title) == ["Rest", "Test"] {
      break
    }
    program.cancel()
    try await program.value
  }
}
