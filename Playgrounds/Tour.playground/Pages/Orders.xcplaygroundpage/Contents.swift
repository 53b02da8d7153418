// Orders, customers and totals: the top countries of two SQLite queries, while another process writes.
//
//     swift run Orders
import Foundation
import SQLiteSources
import Swappable

nonisolated struct Customer: Decodable, Identifiable, Hashable, Differentiable {
  var id: Int
  var country: String
}

nonisolated struct Order: Decodable, Identifiable, Hashable, Differentiable {
  var id: Int
  var customerID: Int
  var price: Int
}

nonisolated struct CountryTotal: Identifiable, Hashable, Differentiable, CustomStringConvertible {
  var id: String
  var total: Int
  var description: String { "\(id) \(total)" }
}

// With two arguments, this program is the writer.
if CommandLine.arguments.count == 3 {
  try SQLiteConnection(path: CommandLine.arguments[1]).executeScript(CommandLine.arguments[2])
  exit(0)
}

let folder = FileManager.default.temporaryDirectory
  .appendingPathComponent("Orders-\(UUID().uuidString)")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
defer { try? FileManager.default.removeItem(at: folder) }
let path = folder.appendingPathComponent("shop.db").path
try SQLiteConnection(path: path).executeScript(
  """
  CREATE TABLE customer (id INTEGER PRIMARY KEY, country TEXT);
  CREATE TABLE purchase (id INTEGER PRIMARY KEY, customerID INTEGER, price INTEGER);
  INSERT INTO customer (country) VALUES ('Brazil'), ('Chile'), ('Egypt'), ('France'), ('Ghana'),
    ('India'), ('Japan'), ('Kenya'), ('Mexico'), ('Nepal'), ('Peru'), ('Spain'), ('Japan');
  WITH numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < 200)
    INSERT INTO purchase SELECT n, n * 7 % 13 + 1, n * 31 % 50 FROM numbers;
  """)

// MARK: The totals

let orders = try SQLiteDataSource<Order>(path: path, sql: "SELECT * FROM purchase ORDER BY id")
let customers = try SQLiteDataSource<Customer>(path: path, sql: "SELECT * FROM customer")
let top =
  orders.joined(with: customers, on: \.customerID)
  .sections(by: \.right.country)
  .map { country in
    CountryTotal(id: country.key, total: country.elements.reduce(0) { $0 + $1.left.price })
  }
  .sorted(by: .descending(\.total))
  .prefix(10)
print("at first:", Array(try await top.loaded()))

// MARK: Another process writes

let (changes, continuation) = AsyncStream<CollectionChange<CountryTotal>>.makeStream()
let observation = top.observe { event in
  if case .change(let change) = event { continuation.yield(change) }
}
func write(_ cause: String, _ sql: String) async throws {
  // A page in Xcode cannot start itself, and writes with another connection.
  if let program = Bundle.main.executableURL, program.lastPathComponent == "Orders" {
    try Process.run(program, arguments: [path, sql]).waitUntilExit()
  } else {
    try SQLiteConnection(path: path).executeScript(sql)
  }
  for await change in changes {
    return print("\(cause): \(change.changeset.summary) -> \(Array(change.after.prefix(3)))")
  }
}
try await write("a large order", "INSERT INTO purchase VALUES (201, 4, 300)")
try await write("a customer moves", "UPDATE customer SET country = 'Kenya' WHERE id = 1")
try await write("no more orders from France", "DELETE FROM purchase WHERE customerID = 4")
