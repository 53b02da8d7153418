import Foundation
import SQLiteSources

/// A program that writes to the database of a shop. It knows nothing of the lists that show it.
struct Writer: Sendable {
  private static let countries = [
    "Brazil", "Chile", "Egypt", "France", "Ghana", "India", "Japan", "Kenya", "Mexico", "Nepal",
    "Peru", "Spain",
  ]

  private let path: String
  private let connection: SQLiteConnection

  /// Opens the database at a path.
  init(path: String) throws {
    self.path = path
    connection = try SQLiteConnection(path: path)
  }

  /// Creates the tables, with 24 customers and 120 orders.
  func create() throws {
    try connection.executeScript(
      """
      PRAGMA journal_mode = WAL;
      CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL);
      CREATE TABLE purchase (
        id INTEGER PRIMARY KEY, customerID INTEGER NOT NULL, price INTEGER NOT NULL);
      """)
    try connection.transaction {
      for id in 1...24 {
        try connection.execute(
          "INSERT INTO customer VALUES (?, ?, ?)",
          [id, "Customer \(id)", Writer.countries[id * 5 % Writer.countries.count]])
      }
      for id in 1...120 { try insertOrder(id) }
    }
  }

  /// Writes several times.
  ///
  /// - Parameters:
  ///   - count: The number of transactions, or `nil` to write until the database is removed.
  ///   - pause: The time between two transactions.
  func write(count: Int?, every pause: Duration) async throws {
    var step = 1
    while count.map({ step <= $0 }) ?? FileManager.default.fileExists(atPath: path) {
      try connection.transaction { try write(step) }
      step += 1
      try await Task.sleep(for: pause)
    }
  }

  private func write(_ step: Int) throws {
    switch step % 6 {
    case 0:
      let country = Writer.countries[step / 6 * 7 % Writer.countries.count]
      try connection.execute(
        "UPDATE customer SET country = ? WHERE id = ?", [country, step / 6 * 11 % 24 + 1])
    case 3:
      try connection.execute("DELETE FROM purchase WHERE id = (SELECT min(id) FROM purchase)")
    case 1, 4:
      try connection.execute(
        """
        UPDATE purchase SET price = price + 25
        WHERE id = (SELECT id FROM purchase ORDER BY id * ? % 1009 LIMIT 1)
        """, [step])
    default: try insertOrder(120 + step * 17)
    }
  }

  private func insertOrder(_ number: Int) throws {
    try connection.execute(
      "INSERT INTO purchase (customerID, price) VALUES (?, ?)",
      [number * 7 % 24 + 1, 10 + number * 31 % 190])
  }
}
