import DemoSupport
import Foundation
import SQLiteSources
import Swappable

/// A stored list of items, and the data source that shows it.
///
/// An edit writes to the storage as any other program could. The data source detects the change by
/// itself.
protocol Store: Sendable {
  /// The name of the store.
  var name: String { get }
  /// The data source that shows the items.
  var source: any DataSource<Item> { get }
  /// Reads the items from the storage.
  func items() throws -> [Item]
  /// Performs edits in one step.
  func apply(_ edits: [Edit]) throws
}

extension Store {
  func apply(_ edits: Edit...) throws { try apply(edits) }
}

/// The three stores of the demo.
struct Stores: Sendable {
  let array: ArrayStore
  let json: JSONStore
  let sqlite: SQLiteStore

  var all: [any Store] { [array, json, sqlite] }

  /// Creates the stores. Their lists differ a little.
  init(in directory: TemporaryDirectory) throws {
    array = ArrayStore(Item.list([1, 2, 3, 4, 5, 6]))
    json = try JSONStore(
      path: directory.path("inventory.json"),
      Item.list([2, 1, 3, 7, 5, 6], counts: [2: 11, 6: 14]))
    sqlite = try SQLiteStore(
      path: directory.path("inventory.db"),
      Item.list([3, 8, 1, 5, 4, 7, 9], counts: [3: 2, 7: 1]))
  }
}

/// A list in memory.
struct ArrayStore: Store {
  let name = "array"
  private let contents: ArrayDataSource<Item>

  init(_ items: [Item]) {
    contents = ArrayDataSource(items)
  }

  var source: any DataSource<Item> { contents }

  func items() -> [Item] { Array(contents.snapshot) }

  func apply(_ edits: [Edit]) {
    contents.transaction { draft in
      for edit in edits {
        switch edit {
        case .insert(let item, let index):
          draft.insert(item, at: min(index, draft.count))
        case .delete(let id):
          draft.remove(identifiedBy: id)
        case .setCount(let count, let id):
          draft.update(identifiedBy: id) { $0.count = count }
        case .move(let id, let destination):
          guard let index = draft.firstIndex(identifiedBy: id) else { continue }
          draft.move(from: index, to: min(destination, draft.count - 1))
        }
      }
    }
  }
}

/// A list in a JSON file.
struct JSONStore: Store {
  let name = "JSON file"
  let path: String
  private let contents: JSONFileDataSource<Item>

  init(path: String, _ items: [Item]) throws {
    self.path = path
    contents = JSONFileDataSource(path: path)
    try save(items)
  }

  var source: any DataSource<Item> { contents }

  func items() throws -> [Item] {
    try JSONDecoder().decode([Item].self, from: Data(contentsOf: URL(fileURLWithPath: path)))
  }

  func apply(_ edits: [Edit]) throws {
    var items = try items()
    for edit in edits { edit.apply(to: &items) }
    try save(items)
  }

  /// Writes a temporary file, and renames it to the path.
  private func save(_ items: [Item]) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try encoder.encode(items).write(to: URL(fileURLWithPath: path), options: .atomic)
  }
}

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
