import Foundation

/// A directory of a demo's own.
package struct TemporaryDirectory: Sendable {
  private let url: URL

  /// Makes it, for the user alone.
  ///
  /// - Parameter name: What its name begins with.
  package init(_ name: String) throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent(
      "\(name)-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  /// The path of a file in it.
  package func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  /// Removes it with all that is in it.
  package func remove() {
    try? FileManager.default.removeItem(at: url)
  }
}
