import Foundation

@testable import SQLiteSources

/// A directory of its own with a database in it, removed when let go.
final class TemporaryDatabase: Sendable {
  enum Journal: String, Sendable, CaseIterable {
    case wal = "WAL"
    case delete = "DELETE"
  }

  let directory: URL
  let path: String

  /// Makes the directory; the database comes with the first connection.
  init() throws {
    directory = FileManager.default.temporaryDirectory
      .appendingPathComponent("swappable-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    path = directory.appendingPathComponent("test.db").path
  }

  deinit {
    try? FileManager.default.removeItem(at: directory)
  }

  /// A connection that writes, with the table `item (id, name)` made where it is missing.
  func writer(_ journal: Journal = .wal) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path, busyTimeout: .seconds(60))
    _ = try connection.query("PRAGMA journal_mode = \(journal.rawValue)")
    try connection.execute(
      "CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
    return connection
  }
}

/// The descriptors that this process has open below `directory`.
func openDescriptors(below directory: URL) throws -> [String] {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    .compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }
    .filter { $0.hasPrefix(directory.path) }
}
