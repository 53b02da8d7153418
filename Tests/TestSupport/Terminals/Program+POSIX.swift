package import Foundation

/// A program of the package that runs.
package final class Program: Sendable {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// The process's number.
  package let identifier: pid_t
  private let hasEnded = DispatchSemaphore(value: 0)
  private let end = Shared<Int32?>(nil)

  /// Starts a program in a session of its own, which a terminal controls.
  ///
  /// - Parameters:
  ///   - name: The product's name, or the path of a program of the system.
  ///   - arguments: What it is told.
  ///   - environment: What is added to the environment of the tests; nil takes a variable away.
  ///   - terminal: The terminal: it is the program's `/dev/tty`, and its new sizes are signalled.
  ///   - input: Its standard input; nil for the terminal.
  ///   - output: Its standard output; nil for the terminal. Its errors go where the tests' go.
  ///   - directory: Where it may keep its temporary files.
  package convenience init(
    _ name: String, _ arguments: [String] = [], environment: [String: String?] = [:],
    terminal: PseudoTerminal, input: FileHandle? = nil, output: FileHandle? = nil,
    directory: String? = nil
  ) throws {
    try self.init(
      name, arguments, environment: environment, controlledBy: terminal.path,
      input: input ?? terminal.program, output: output ?? terminal.program, directory: directory)
  }

  /// Starts a program in a session of its own, which no terminal controls.
  ///
  /// A pipe's end that it writes to is to be closed by the test afterwards.
  package convenience init(
    _ name: String, _ arguments: [String] = [], environment: [String: String?] = [:],
    input: FileHandle, output: FileHandle, directory: String? = nil
  ) throws {
    try self.init(
      name, arguments, environment: environment, controlledBy: nil, input: input, output: output,
      directory: directory)
  }

  private init(
    _ name: String, _ arguments: [String], environment: [String: String?],
    controlledBy terminal: String?, input: FileHandle, output: FileHandle, directory: String?
  ) throws {
    let path = name.hasPrefix("/") ? name : try Program.find(name)
    var variables = ProcessInfo.processInfo.environment.merging(["TERM": "xterm"]) { $1 }
    if let directory { variables["TMPDIR"] = directory }
    for (name, value) in environment { variables[name] = value }

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    if let terminal {
      // The first terminal that the leader of a session opens controls it.
      posix_spawn_file_actions_addopen(&actions, 0, terminal, O_RDWR, 0)
    }
    posix_spawn_file_actions_adddup2(&actions, input.fileDescriptor, 0)
    posix_spawn_file_actions_adddup2(&actions, output.fileDescriptor, 1)
    // Files of other tests, which would not see their ends otherwise.
    for file in 3..<256 as Range<Int32> where fcntl(file, F_GETFD) == 0 {
      posix_spawn_file_actions_addclose(&actions, file)
    }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setflags(
      &attributes, beginsSession | Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK))
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(&attributes, &all)
    // Tests run on threads that block signals.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)

    let texts = ([path] + arguments).map { strdup($0) } + [nil]
    let settings = variables.map { strdup("\($0)=\($1)") } + [nil]
    defer { for text in texts + settings { free(text) } }
    var started: pid_t = 0
    let code = posix_spawn(&started, path, &actions, &attributes, texts, settings)
    guard code == 0 else {
      throw Failure(description: "cannot start \(path): \(String(cString: strerror(code)))")
    }
    identifier = started
    Thread.detachNewThread { [identifier, hasEnded, end] in
      var status: Int32 = 0
      while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
      end.value = status
      hasEnded.signal()
    }
  }

  deinit {
    if end.value == nil { Foundation.kill(identifier, SIGKILL) }
  }

  package func send(_ signal: Int32) {
    Foundation.kill(identifier, signal)
  }

  /// Waits for its end.
  ///
  /// - Returns: Its exit status.
  package func waitForEnd() throws -> Int32 {
    guard hasEnded.wait(timeout: .now() + 60) == .success, let status = end.value else {
      throw Failure(description: "it did not end within a minute")
    }
    hasEnded.signal()
    guard status & 0x7F == 0 else {
      throw Failure(description: "it was ended by signal \(status & 0x7F)")
    }
    return status >> 8 & 0xFF
  }

  /// The program's file: beside the bundle of the tests, whose place the test runner is told or has.
  package static func find(_ name: String) throws -> String {
    let places = CommandLine.arguments + [Bundle.main.executablePath ?? ""]
    for place in places where place.contains("/") {
      var directory = URL(fileURLWithPath: place).deletingLastPathComponent()
      while directory.path != "/" {
        let candidate = directory.appendingPathComponent(name)
        let values = try? candidate.resourceValues(forKeys: [.isRegularFileKey])
        if values?.isRegularFile == true { return candidate.path }
        directory.deleteLastPathComponent()
      }
    }
    throw Failure(description: "no \(name) beside \(places)")
  }
}

// The C library has it, but shows it to its own extensions only.
#if canImport(Darwin)
  private let beginsSession: Int16 = 0x400
#else
  private let beginsSession: Int16 = 0x80
#endif
