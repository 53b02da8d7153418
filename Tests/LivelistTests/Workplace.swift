import Foundation

/// A directory of a test's own with files and databases, deleted with the last reference to it.
final class Workplace: Sendable {
  let path: String

  init() throws {
    let base = FileManager.default.temporaryDirectory.resolvingSymlinksInPath().path
    path = base + "/swappable-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The path of a name in the directory.
  func callAsFunction(_ name: String) -> String { path + "/" + name }

  /// Saves a file in one step and returns it as a source.
  @discardableResult
  func json(_ name: String, _ text: String) throws -> String {
    try text.write(toFile: self(name), atomically: true, encoding: .utf8)
    return "json:" + self(name)
  }

  /// Runs SQL, one statement or more a line, on a database that is created where missing.
  func sql(_ name: String, _ lines: String...) throws {
    let process = Process()
    process.executableURL = try Products.url(of: "TestHelper")
    process.arguments = ["sql", self(name)]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    let answers = PipeReader(output.fileHandleForReading)
    for line in ["", "PRAGMA synchronous = OFF"] + lines {
      if !line.isEmpty {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
      }
      let answer = try answers.line()
      guard answer == "ok" else { throw Livelist.Failed(description: "\(line): \(answer)") }
    }
    try input.fileHandleForWriting.close()
    _ = try answers.rest()
  }

  func sqlite(_ name: String, _ sql: String) -> String { "sqlite:\(self(name))?\(sql)" }
}
