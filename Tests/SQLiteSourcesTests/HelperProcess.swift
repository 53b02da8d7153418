import Foundation

/// A second process, `TestHelper`, that answers each line it is sent by one.
final class HelperProcess: Sendable {
  private let process: Process
  private let input: FileHandle
  private let output: FileHandle

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Starts `TestHelper` with `arguments` and waits for its first line.
  init(_ arguments: String...) throws {
    // The test runner stands in the directory of the package's products, or is told a bundle there.
    let places =
      [CommandLine.arguments[0], Bundle.main.executablePath ?? ""]
      + CommandLine.arguments.dropFirst()
    var helper: URL?
    for place in places where place.contains("/") {
      var directory = URL(fileURLWithPath: place).deletingLastPathComponent()
      while helper == nil, directory.path != "/" {
        let candidate = directory.appendingPathComponent("TestHelper")
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: candidate.path, isDirectory: &isDirectory),
          !isDirectory.boolValue
        {
          helper = candidate
        }
        directory.deleteLastPathComponent()
      }
    }
    guard let helper else { throw Failure(description: "no TestHelper beside \(places)") }
    process = Process()
    process.executableURL = helper
    process.arguments = arguments
    let (toHelper, fromHelper) = (Pipe(), Pipe())
    process.standardInput = toHelper
    process.standardOutput = fromHelper
    input = toHelper.fileHandleForWriting
    output = fromHelper.fileHandleForReading
    try process.run()
    try expectOK(readLine(), "start")
  }

  deinit {
    end()
  }

  /// Sends `line` and waits until it is done; throws where the answer is not `ok`.
  func run(_ line: String) throws {
    try expectOK(try answer(to: line), line)
  }

  /// Sends `line` and returns what is answered.
  func answer(to line: String) throws -> String {
    try send(line)
    return try readLine()
  }

  /// Sends `line` and does not wait.
  func send(_ line: String) throws {
    try input.write(contentsOf: Data((line + "\n").utf8))
  }

  /// Waits for the next answer, which has to be `ok`.
  func waitForOK() throws {
    try expectOK(readLine(), "wait")
  }

  /// Ends the process as if it had crashed.
  func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Ends the input, and with it the process.
  func end() {
    try? input.close()
    process.waitUntilExit()
  }

  private func expectOK(_ answer: String, _ line: String) throws {
    guard answer == "ok" else { throw Failure(description: "\(line): \(answer)") }
  }

  private func readLine() throws -> String {
    var line = Data()
    while let byte = try output.read(upToCount: 1), let first = byte.first {
      if first == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
      line.append(first)
    }
    throw Failure(description: "the helper ended")
  }
}
