import Foundation
import SQLiteSources
import TestSupport

/// A database in its own directory, which is removed with the last reference.
final class TemporaryDatabase: Sendable {
  enum Journal: String, Sendable, CaseIterable {
    case wal = "WAL"
    case delete = "DELETE"
  }

  let path: String
  private let folder: TemporaryDirectory

  /// The directory of the database.
  var directory: URL { URL(fileURLWithPath: folder.path) }

  /// Creates the directory. The first connection creates the database.
  init() throws {
    folder = try TemporaryDirectory()
    path = folder("test.db")
  }

  /// Opens a connection that writes, and creates the table `item (id, name)` if it is missing.
  func writer(_ journal: Journal = .wal) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path, busyTimeout: .seconds(60))
    _ = try connection.query("PRAGMA journal_mode = \(journal.rawValue)")
    try connection.execute(
      "CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
    return connection
  }
}

/// Returns the descriptors that this process has open in a directory.
func openDescriptors(below directory: URL) throws -> [String] {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    .compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }
    .filter { $0.hasPrefix(directory.path) }
}
