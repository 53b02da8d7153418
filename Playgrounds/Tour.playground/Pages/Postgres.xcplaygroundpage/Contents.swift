// A live list of the rows of a query on a PostgreSQL server. Each commit changes the list, on any machine.
//
//     swift run Postgres 'host=… dbname=… user=…'
//
// Without an argument, libpq's defaults say which server to use. The page creates a schema, and drops it at the end.
import Foundation
import PostgresSources
import Swappable

nonisolated struct Book: Decodable, Identifiable, Hashable, Differentiable, CustomStringConvertible
{
  var id: Int
  var title: String
  var description: String { title }
}

let address = CommandLine.arguments.dropFirst().first ?? ""
let schema = "tour_\(UInt32.random(in: .min ... .max))"
let database = try PostgresConnection(address)
do {
  try await database.executeScript(
    """
    CREATE SCHEMA \(schema);
    CREATE TABLE \(schema).book (id integer PRIMARY KEY, title text, is_read boolean DEFAULT false);
    INSERT INTO \(schema).book VALUES (1, 'Persuasion'), (2, 'Emma'), (3, 'Walden');
    """)
} catch {
  print(error)
  exit(1)
}

// MARK: A live query

let unread = try PostgresDataSource<Book>(
  connectionString: address,
  sql: "SELECT id, title FROM \(schema).book WHERE is_read = $1 ORDER BY title COLLATE \"C\"",
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

// MARK: Change triggers

// Without triggers, the source asks the server at an interval whether something was written. With triggers, each
// commit wakes it up, and it reads only the rows that have changed.
try await database.installChangeTriggers(on: ["\(schema).book"])

try await database.execute("UPDATE \(schema).book SET title = $1 WHERE id = $2", ["Zadig", 2])
await printNextChange("a new title")

// A transaction is one change. A transaction that is rolled back is no change.
struct ChangeOfMind: Error {}
try? await database.transaction {
  try await database.execute("DELETE FROM \(schema).book")
  throw ChangeOfMind()
}
try await database.transaction {
  try await database.execute("UPDATE \(schema).book SET is_read = true WHERE title = 'Walden'")
  try await database.execute(
    "INSERT INTO \(schema).book VALUES ($1, $2), ($3, $4)", [4, "Candide", 5, "Middlemarch"])
}
await printNextChange("a transaction")

// MARK: A data source like any other

let container = SwappableContainer<Book>(ArrayDataSource([Book(id: 1, title: "Persuasion")]))
container.swap(to: unread)
print("shown:", Array(container.snapshot))
observation.dispose()
try await database.uninstallChangeTriggers(on: ["\(schema).book"])
_ = try? await database.execute("DROP SCHEMA \(schema) CASCADE")
