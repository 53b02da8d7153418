import Foundation
import SwappablePrimitives
import TestSupport

@testable import livelist

/// A process of the program under test.
final class Livelist: Sendable {
  struct RunError: Error, CustomStringConvertible {
    let description: String
  }

  /// The result of a completed run.
  struct Result {
    let status: Int32
    let output: String
    let errors: String
  }

  private let process: Process
  private let input: FileHandle
  private let output: PipeReader
  private let errors: PipeReader
  private let exit = DispatchSemaphore(value: 0)

  /// Starts the program.
  ///
  /// - Parameters:
  ///   - arguments: The arguments.
  ///   - program: The path of another program that runs this one, or `nil`.
  ///   - isOutputClosed: A Boolean value that indicates whether the output has no reader.
  ///   - isTerminal: A Boolean value that indicates whether the output is a terminal.
  ///   - environment: Variables to set. By default, the terminal supports colors and `NO_COLOR` is
  ///     not set.
  init(
    _ arguments: [String], program: String? = nil, isOutputClosed: Bool = false,
    isTerminal: Bool = false,
    environment: [String: String] = [:]
  ) throws {
    process = Process()
    process.executableURL = URL(fileURLWithPath: try program ?? Program.find("livelist"))
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment
      .filter { $0.key != "NO_COLOR" }
      .merging(["TERM": "xterm"]) { $1 }
      .merging(environment) { $1 }
    let (input, errors) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardError = errors
    self.input = input.fileHandleForWriting
    let (reading, writing) = try isTerminal ? Self.makeTerminal() : Self.makePipe()
    process.standardOutput = writing
    output = PipeReader(reading)
    self.errors = PipeReader(errors.fileHandleForReading)
    let exit = exit
    process.terminationHandler = { _ in exit.signal() }
    if isOutputClosed { output.close() }
    try process.run()
    // After this, the output ends when the program ends.
    try writing.close()
  }

  private static func makePipe() throws -> (FileHandle, FileHandle) {
    let pipe = Pipe()
    return (pipe.fileHandleForReading, pipe.fileHandleForWriting)
  }

  private static func makeTerminal() throws -> (FileHandle, FileHandle) {
    var (test, program): (Int32, Int32) = (-1, -1)
    guard openpty(&test, &program, nil, nil, nil) == 0 else {
      throw RunError(description: "cannot open a terminal: \(String(cString: strerror(errno)))")
    }
    _ = fcntl(test, F_SETFD, FD_CLOEXEC)
    _ = fcntl(program, F_SETFD, FD_CLOEXEC)
    return (
      FileHandle(fileDescriptor: test, closeOnDealloc: true),
      FileHandle(fileDescriptor: program, closeOnDealloc: true)
    )
  }

  convenience init(_ arguments: String...) throws {
    try self.init(arguments)
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  /// Runs the program with an input until it ends.
  static func run(_ arguments: [String], input: String = "") throws -> Result {
    let livelist = try Livelist(arguments)
    livelist.send(input)
    livelist.endInput()
    let output = try livelist.restOfOutput()
    let errors = try livelist.errors.rest()
    return Result(status: try livelist.waitForExit(), output: output, errors: errors)
  }

  static func run(_ arguments: String..., input: String = "") throws -> Result {
    try run(arguments, input: input)
  }

  /// Parses arguments as the program does, and starts it only if it would run a command.
  static func parse(_ arguments: [String]) throws -> Result {
    guard let name = arguments.first.flatMap(CommandName.init) else { return try run(arguments) }
    do throws(LivelistError) {
      let words = try Arguments(arguments.dropFirst().map { ByteString($0) }[...], of: name)
      if words.request == nil { _ = try name.command(words) }
    } catch {
      let line = "livelist: \(error.message.printableLine)\n"
      return Result(status: error.status, output: "", errors: line)
    }
    return try run(arguments)
  }

  static func parse(_ arguments: String...) throws -> Result { try parse(arguments) }

  func send(_ text: String) {
    // Ignore an error: if the program has ended, the test checks its status.
    signal(SIGPIPE, SIG_IGN)
    try? input.write(contentsOf: Data(text.utf8))
  }

  func endInput() { try? input.close() }

  func closeOutput() { output.close() }

  /// Waits for the next line of the output.
  func line() throws -> String { try output.line() }

  /// Waits for the next line of standard error.
  func errorLine() throws -> String { try errors.line() }

  func waitForOutput() throws { try output.waitForBytes() }

  /// Waits for the rest of the output.
  func restOfOutput() throws -> String { try output.rest() }

  func restOfErrors() throws -> String { try errors.rest() }

  func signalProcess(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Kills the program, and waits until it has ended: until then, it keeps its files and sockets.
  func killAndWait() throws {
    signalProcess(SIGKILL)
    guard exit.wait(timeout: .now() + 60) == .success else {
      throw RunError(description: "livelist was not killed within 60 seconds")
    }
    exit.signal()
  }

  /// Waits for the end of the program, and returns its exit status.
  func waitForExit() throws -> Int32 {
    guard exit.wait(timeout: .now() + 60) == .success else {
      throw RunError(description: "livelist did not end within 60 seconds")
    }
    exit.signal()
    guard process.terminationReason == .exit else {
      throw RunError(description: "livelist ended by signal \(process.terminationStatus)")
    }
    return process.terminationStatus
  }
}

/// A reader of lines from a pipe, with a timeout of one minute.
final class PipeReader: @unchecked Sendable {
  // Sendable: one test uses it, on one thread at a time.

  private let handle: FileHandle
  private var bytes: [UInt8] = []

  init(_ handle: FileHandle) {
    self.handle = handle
  }

  func close() { try? handle.close() }

  func line() throws -> String {
    while true {
      if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
        defer { bytes.removeSubrange(...end) }
        return String(decoding: bytes[..<end], as: UTF8.self)
      }
      guard try readMore() else {
        throw Livelist.RunError(
          description: "the output ended after \(String(decoding: bytes, as: UTF8.self))")
      }
    }
  }

  func rest() throws -> String {
    while try readMore() {}
    defer { bytes = [] }
    return String(decoding: bytes, as: UTF8.self)
  }

  func waitForBytes() throws {
    var request = pollfd(fd: handle.fileDescriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&request, 1, 60_000) > 0 else {
      throw Livelist.RunError(description: "there was no output for 60 seconds")
    }
  }

  private func readMore() throws -> Bool {
    try waitForBytes()
    var piece = [UInt8](repeating: 0, count: 65_536)
    let count = piece.withUnsafeMutableBytes { bytes in
      read(handle.fileDescriptor, bytes.baseAddress, bytes.count)
    }
    guard count > 0 else { return false }
    bytes += piece[..<count]
    return true
  }
}
