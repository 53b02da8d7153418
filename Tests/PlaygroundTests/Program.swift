import Foundation

/// A program of the package that runs.
final class Program: Sendable {
  private let process: Process
  private let hasEnded = DispatchSemaphore(value: 0)

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - name: The product's name.
  ///   - arguments: What it is told.
  ///   - environment: What is added to the environment of the tests; nil takes a variable away.
  ///   - input: Its standard input.
  ///   - output: Its standard output.
  ///   - directory: Where it may keep its temporary files.
  init(
    _ name: String, _ arguments: [String] = [], environment: [String: String?] = [:],
    input: FileHandle, output: Any, directory: String
  ) throws {
    process = Process()
    process.executableURL = try Program.find(name)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment
      .merging(["TMPDIR": directory, "TERM": "xterm"]) { $1 }
      .filter { environment[$0.key] == nil }
      .merging(environment.compactMapValues { $0 }) { $1 }
    process.standardInput = input
    process.standardOutput = output
    process.terminationHandler = { [hasEnded] _ in hasEnded.signal() }
    try process.run()
  }

  deinit {
    if process.isRunning { Foundation.kill(process.processIdentifier, SIGKILL) }
  }

  func send(_ signal: Int32) {
    Foundation.kill(process.processIdentifier, signal)
  }

  /// Waits for its end.
  ///
  /// - Returns: Its exit status.
  func waitForEnd() throws -> Int32 {
    guard hasEnded.wait(timeout: .now() + 60) == .success else {
      throw Failure(description: "it did not end within a minute")
    }
    guard process.terminationReason == .exit else {
      throw Failure(description: "it was ended by signal \(process.terminationStatus)")
    }
    return process.terminationStatus
  }

  /// The program's file: beside the bundle of the tests, whose place the test runner is told or has.
  private static func find(_ name: String) throws -> URL {
    let places = CommandLine.arguments + [Bundle.main.executablePath ?? ""]
    for place in places where place.contains("/") {
      var directory = URL(fileURLWithPath: place).deletingLastPathComponent()
      while directory.path != "/" {
        let candidate = directory.appendingPathComponent(name)
        var isDirectory: ObjCBool = false
        if FileManager.default.fileExists(atPath: candidate.path, isDirectory: &isDirectory),
          !isDirectory.boolValue
        {
          return candidate
        }
        directory.deleteLastPathComponent()
      }
    }
    throw Failure(description: "no \(name) beside \(places)")
  }
}
