import Foundation

/// A temporary directory for a demo.
package struct TemporaryDirectory: Sendable {
  private let url: URL

  /// Creates a directory that only the user can access.
  ///
  /// - Parameter name: The prefix of the directory's name.
  package init(_ name: String) throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent(
      "\(name)-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  /// Returns the path of a file in the directory.
  package func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  /// Removes the directory and its contents.
  package func remove() {
    // A source that still reads a database may create a file meanwhile.
    for _ in 0..<100 where FileManager.default.fileExists(atPath: url.path) {
      try? FileManager.default.removeItem(at: url)
    }
  }
}
