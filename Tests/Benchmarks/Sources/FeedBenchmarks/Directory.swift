import Foundation

/// Calls a closure with the path for a socket in a new directory, which is removed afterward.
func withSocketPath<Result>(_ body: (String) throws -> Result) rethrows -> Result {
  let directory = FileManager.default.temporaryDirectory.appending(path: "feed-\(getpid())")
  try? FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: directory) }
  return try body(directory.appending(path: "s").path)
}
