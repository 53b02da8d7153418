import Foundation
import TestSupport

/// A temporary directory with files and databases. It is deleted when it is released.
final class Workplace: Sendable {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  var path: String { directory.path }

  func exchange(_ name: String, _ other: String) throws { try directory.exchange(name, other) }

  /// Returns the path of a file in the directory.
  func callAsFunction(_ name: String) -> String { directory(name) }

  /// Saves a file atomically, and returns it as a source.
  @discardableResult
  func json(_ name: String, _ text: String) throws -> String {
    try text.write(toFile: self(name), atomically: true, encoding: .utf8)
    return "json:" + self(name)
  }

  /// Runs SQL, with one or more statements a line, on a database that is created if necessary.
  func sql(_ name: String, _ lines: String...) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try Program.find("TestHelper"))
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
      guard answer == "ok" else { throw Livelist.RunError(description: "\(line): \(answer)") }
    }
    try input.fileHandleForWriting.close()
    _ = try answers.rest()
  }

  func sqlite(_ name: String, _ sql: String) -> String { "sqlite:\(self(name))?\(sql)" }
}
