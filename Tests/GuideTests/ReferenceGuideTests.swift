import SQLiteSources
import Swappable
import TestSupport
import Testing

/// The code of the guides of differences, files and queries.
@Suite struct ReferenceGuideTests {
  typealias Person = Todo
  typealias Entry = Todo

  struct Row: Identifiable, Hashable, Differentiable {
    let id: Int
    var name: String
  }

  @Test(arguments: ["Differences", "JSONFiles", "SQLiteQueries"])
  func `the guides' code is compiled here`(name: String) throws {
    let guide = try Guide(name)
    #expect(!guide.code.isEmpty)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `a difference has a summary, and its stages lead to the new rows`() {
    let print = Printed()
    let old = [Row(id: 1, name: "Ada"), Row(id: 2, name: "Grace")]
    let new = [
      Row(id: 1, name: "Ada L."), Row(id: 3, name: "Edsger"), Row(id: 2, name: "Grace H."),
    ]
    let change = Changeset(from: old, to: new)
    print(change.summary)  // 1 inserted, 2 updated
    print(ChangeDescription(change, from: old, to: new))
    #expect(print.lines.first == "1 inserted, 2 updated")

    var model = old
    for stage in StagedChangeset(from: old, to: new) {
      // In one batch of a view, set the data, and perform these operations:
      model = stage.data
      print(stage.changeset, model.count)
    }
    #expect(model == new)
  }

  @Test func `sources of files are idle when they are created`() {
    let people = JSONFileDataSource<Person>(path: "people.json")  // Decodable
    let entries = JSONLinesDataSource<Entry>(path: "service.jsonl")
    let anything = JSONFileDataSource(path: "any.json", key: "id")  // JSON elements
    let names = JSONLinesDataSource<String>(path: "names.jsonl") { $0["name"]?.string ?? "" }
    let payments = JSONLinesDataSource<Entry>(path: "payments.jsonl", isStrict: true)
    #expect(
      [people.status, entries.status, anything.status, names.status, payments.status]
        == Array(repeating: .idle, count: 5))
  }

  /// This code is compiled only. It would create a database in the current directory.
  private func queries() throws {
    let connection = try SQLiteConnection(path: "tasks.db")
    try connection.execute(
      "CREATE TABLE IF NOT EXISTS task (id INTEGER PRIMARY KEY, title TEXT, done INTEGER)")
    let open = try SQLiteDataSource<Todo>(
      path: "tasks.db", sql: "SELECT id, title FROM task WHERE done = ? ORDER BY title",
      arguments: [false])
    let latest = try SQLiteDataSource<Todo>(
      path: "tasks.db",
      query: SQLiteTableQuery(
        table: "task", columns: ["id", "title"], orderBy: [.descending("id")], limit: 20))
    print(try open.explainQuery())
    try connection.transaction {
      try connection.execute("INSERT INTO task (title, done) VALUES (?, ?)", ["Write", false])
      try connection.execute("UPDATE task SET done = ? WHERE title = ?", [true, "Test"])
    }
    let shown = SwappableContainer<Todo>(open)
    func showTasks(done: Bool) throws {
      shown.swap(
        to: try SQLiteDataSource<Todo>(
          path: "tasks.db", sql: "SELECT id, title FROM task WHERE done = ? ORDER BY title",
          arguments: [done]))
    }
    try showTasks(done: true)
    _ = latest
  }
}
