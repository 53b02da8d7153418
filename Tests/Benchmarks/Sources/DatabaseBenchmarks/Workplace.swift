import Foundation
import SQLiteSources

/// The other packages have a type of this name as well.
typealias Connection = SQLiteConnection

extension Connection {
  /// A connection whose commits do not wait for the disk, as those of GRDB's pool do not.
  convenience init(writingTo path: String) throws {
    try self.init(path: path)
    _ = try query("PRAGMA synchronous = NORMAL")
  }
}

/// A directory of databases that is removed in the end.
final class Workplace: Sendable {
  let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory
      .appending(path: "swappable-database-benchmarks-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  func remove() { try? FileManager.default.removeItem(at: directory) }

  /// Makes a database of so many rows, with a write-ahead log.
  ///
  /// - Parameter hasIndex: Whether there is an index of the names, by which the query is ordered.
  /// - Returns: its path.
  func database(_ name: String, rows count: Int, hasIndex: Bool = false) throws -> String {
    let path = directory.appending(path: "\(name)-\(count).db").path
    guard !FileManager.default.fileExists(atPath: path) else { return path }
    let connection = try SQLiteConnection(path: path)
    _ = try connection.query("PRAGMA journal_mode = WAL")
    try connection.execute(
      "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, "
        + "score REAL NOT NULL)")
    // A permutation of the numbers, so that the order of the names is not that of the table.
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
