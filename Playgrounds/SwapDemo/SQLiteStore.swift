import SQLiteSources
import Swappable

/// A list in a table of a SQLite database.
struct SQLiteStore: Store {
  let name = "SQLite database"
  let path: String
  private let connection: SQLiteConnection
  private let contents: SQLiteDataSource<Item>

  private static let query = "SELECT id, name, count, shelf FROM item ORDER BY position"

  init(path: String, _ items: [Item]) throws {
    self.path = path
    connection = try SQLiteConnection(path: path)
    try connection.executeScript(
      """
      PRAGMA journal_mode = WAL;
      CREATE TABLE item (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, count INTEGER NOT NULL, shelf TEXT NOT NULL,
        position INTEGER NOT NULL DEFAULT 0
      );
      """)
    contents = try SQLiteDataSource(path: path, sql: SQLiteStore.query)
    try apply(items.enumerated().map { .insert($1, at: $0) })
  }

  var source: any DataSource<Item> { contents }

  func items() throws -> [Item] {
    try connection.query(as: Item.self, SQLiteStore.query)
  }

  func apply(_ edits: [Edit]) throws {
    try connection.transaction {
      var items = try items()
      for edit in edits {
        edit.apply(to: &items)
        switch edit {
        case .insert(let item, _):
          try connection.execute(
            "INSERT INTO item (id, name, count, shelf) VALUES (?, ?, ?, ?)",
            [item.id, item.name, item.count, item.shelf])
        case .delete(let id):
          try connection.execute("DELETE FROM item WHERE id = ?", [id])
        case .setCount(let count, let id):
          try connection.execute("UPDATE item SET count = ? WHERE id = ?", [count, id])
        case .move:
          break
        }
      }
      for (position, item) in items.enumerated() {
        try connection.execute(
          "UPDATE item SET position = ?1 WHERE id = ?2 AND position <> ?1", [position, item.id])
      }
    }
  }
}
