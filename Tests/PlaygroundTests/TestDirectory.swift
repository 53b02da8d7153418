import Foundation

/// A directory of a test's own, deleted with the last reference to it.
final class TestDirectory: Sendable {
  let path: String

  init() throws {
    path =
      FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path + "/swappable-"
      + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// What is in it.
  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: path) }
  }
}
