package import Foundation

/// A second process, `TestHelper`, that saves a file.
package final class SavingProcess: Sendable {
  package struct Failed: Error, CustomStringConvertible {
    package let description: String
  }

  private let process = Process()
  private let input: FileHandle
  private let output: FileHandle

  /// Starts the process.
  ///
  /// - Parameters:
  ///   - path: The file.
  ///   - kind: The way of saving, a `SaveKind` of the helper. `nil` alternates between in place and renaming.
  package init(_ path: String, _ kind: String? = nil) throws {
    process.executableURL = try Self.helper()
    process.arguments = ["save", path] + (kind.map { [$0] } ?? [])
    let (toHelper, fromHelper) = (Pipe(), Pipe())
    process.standardInput = toHelper
    process.standardOutput = fromHelper
    input = toHelper.fileHandleForWriting
    output = fromHelper.fileHandleForReading
    try process.run()
    try expectOK()
  }

  deinit {
    try? input.close()
    process.waitUntilExit()
  }

  /// Saves, and waits until the file is saved.
  package func save(_ text: String) throws {
    let line = text.replacingOccurrences(of: "\n", with: "\u{1E}") + "\n"
    try input.write(contentsOf: Data(line.utf8))
    try expectOK()
  }

  private func expectOK() throws {
    let answer = try output.readLine()
    if answer != "ok" { throw Failed(description: answer ?? "the helper ended") }
  }

  /// The test runner is in the directory of the products, or receives the path of a bundle there.
  package static func helper() throws -> URL {
    let places =
      [CommandLine.arguments[0], Bundle.main.executablePath ?? ""]
      + CommandLine.arguments.dropFirst()
    for place in places where place.contains("/") {
      var directory = URL(fileURLWithPath: place)
      while directory.path != "/" {
        directory.deleteLastPathComponent()
        let candidate = directory.appendingPathComponent("TestHelper")
        let values = try? candidate.resourceValues(forKeys: [.isRegularFileKey])
        if values?.isRegularFile == true { return candidate }
      }
    }
    throw Failed(description: "no TestHelper beside \(places)")
  }
}
