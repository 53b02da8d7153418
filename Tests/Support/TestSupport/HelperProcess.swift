import Foundation

/// A second process, `TestHelper`, that answers each line with a line.
package final class HelperProcess: Sendable {
  private let process: Process
  private let input: FileHandle
  private let output: FileHandle

  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// Starts `TestHelper` and waits for its first line.
  package init(_ arguments: String...) throws {
    process = Process()
    process.executableURL = try SavingProcess.helper()
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

  /// Sends a line and waits until it is done. Throws if the answer is not `ok`.
  package func run(_ line: String) throws {
    try expectOK(try answer(to: line), line)
  }

  /// Sends a line and returns the answer.
  package func answer(to line: String) throws -> String {
    try send(line)
    return try readLine()
  }

  /// Sends a line and does not wait.
  package func send(_ line: String) throws {
    try input.write(contentsOf: Data((line + "\n").utf8))
  }

  /// Waits for the next answer.
  package func nextAnswer() throws -> String { try readLine() }

  /// Waits for the next answer, which must be `ok`.
  package func waitForOK() throws {
    try expectOK(readLine(), "wait")
  }

  /// Ends the process like a crash.
  package func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Closes the input, which ends the process.
  package func end() {
    try? input.close()
    process.waitUntilExit()
  }

  private func expectOK(_ answer: String, _ line: String) throws {
    guard answer == "ok" else { throw Failure(description: "\(line): \(answer)") }
  }

  private func readLine() throws -> String {
    guard let line = try output.readLine() else { throw Failure(description: "the helper ended") }
    return line
  }
}
