// A live list of the rows of a SQLite query. Each commit changes the list, in any process.
//
//     swift run Databases
import Foundation
import SQLiteSources
import Swappable

nonisolated struct Book: Decodable, Identifiable, Hashable, Differentiable, CustomStringConvertible
{
  var id: Int
  var title: String
  var description: String { title }
}

let folder = FileManager.default.temporaryDirectory
  .appendingPathComponent("Databases-\(UUID().uuidString)")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }
let path = folder.appendingPathComponent("books.db").path

let database = try SQLiteConnection(path: path)
try database.executeScript(
  """
  CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT, isRead INTEGER DEFAULT 0);
  INSERT INTO book (title) VALUES ('Persuasion'), ('Emma'), ('Walden');
  """)

// MARK: A live query

let unread = try SQLiteDataSource<Book>(
  connection: database, sql: "SELECT id, title FROM book WHERE isRead = ? ORDER BY title",
  arguments: [false])
print("loaded:", Array(try await unread.loaded()))
let (changes, continuation) = AsyncStream<CollectionChange<Book>>.makeStream()
let observation = unread.observe { event in
  if case .change(let change) = event { continuation.yield(change) }
}
func printNextChange(_ cause: String) async {
  for await change in changes {
    print("\(cause): \(change.changeset.summary) -> \(Array(change.after))")
    return
  }
}

try database.execute("UPDATE book SET title = 'Zadig' WHERE title = 'Emma'")
await printNextChange("a new title")

// A transaction is one change. A transaction that is rolled back is no change.
struct ChangeOfMind: Error {}
try? database.transaction {
  try database.execute("DELETE FROM book")
  throw ChangeOfMind()
}
try database.transaction {
  try database.execute("UPDATE book SET isRead = 1 WHERE title = 'Walden'")
  try database.execute("INSERT INTO book (title) VALUES (?), (?)", ["Candide", "Middlemarch"])
}
await printNextChange("a transaction")

// The list also follows the commits of other connections and other processes.
let other = try SQLiteConnection(path: path)
try other.execute("DELETE FROM book WHERE title = 'Persuasion'")
await printNextChange("another connection")

// MARK: How the list follows the database

print(try unread.explainQuery().reason)

// MARK: Errors

do {
  _ = try SQLiteDataSource<Book>(connection: database, sql: "SELECT id, tilte FROM book")
} catch { print("\(error)".replacingOccurrences(of: folder.path, with: "…")) }

// MARK: A data source like any other

let container = SwappableContainer<Book>(ArrayDataSource([Book(id: 1, title: "Persuasion")]))
container.swap(to: unread)
print("shown:", Array(container.snapshot))
