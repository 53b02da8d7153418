import Foundation

/// A directory of the demo's own.
struct TemporaryDirectory: Sendable {
  private let url: URL

  /// Makes it, for the user alone.
  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent(
      "SwapDemo-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(
      at: url, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
  }

  /// The path of a file in it.
  func path(_ name: String) -> String { url.appendingPathComponent(name).path }

  /// Removes it with all that is in it.
  func remove() {
    try? FileManager.default.removeItem(at: url)
  }
}
