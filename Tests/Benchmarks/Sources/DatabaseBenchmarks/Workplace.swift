import Foundation
import SQLiteSources

/// A name that avoids conflicts with the types of other packages.
typealias Connection = SQLiteConnection

extension Connection {
  /// Creates a connection whose commits do not wait for the disk, like the commits of a GRDB pool.
  convenience init(writingTo path: String) throws {
    try self.init(path: path)
    _ = try query("PRAGMA synchronous = NORMAL")
  }
}

/// A temporary directory of databases.
final class Workplace: Sendable {
  let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory
      .appending(path: "swappable-database-benchmarks-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  func remove() { try? FileManager.default.removeItem(at: directory) }

  /// Creates a database with a write-ahead log, unless it exists.
  ///
  /// - Parameters:
  ///   - name: The beginning of the file's name.
  ///   - count: The number of rows.
  ///   - hasIndex: A Boolean value that indicates whether the names, which order the query, have an
  ///     index.
  /// - Returns: The path of the database.
  func database(_ name: String, rows count: Int, hasIndex: Bool = false) throws -> String {
    let path = directory.appending(path: "\(name)-\(count).db").path
    guard !FileManager.default.fileExists(atPath: path) else { return path }
    let connection = try SQLiteConnection(path: path)
    _ = try connection.query("PRAGMA journal_mode = WAL")
    try connection.execute(
      "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, "
        + "score REAL NOT NULL)")
    // A permutation of the numbers: the order of the names differs from the order of the table.
    try connection.transaction {
      for id in 1...count {
        let number = (id &* 48_271) % 2_147_483_647
        try connection.execute(
          "INSERT INTO item VALUES (?, ?, ?, ?)",
          [id, "Item number \(number)", "Category \(number % 100)", 0.0])
      }
    }
    if hasIndex { try connection.execute("CREATE INDEX item_name ON item (name)") }
    _ = try connection.query("PRAGMA wal_checkpoint(TRUNCATE)")
    return path
  }
}
