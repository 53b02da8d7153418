package import Foundation

/// A running program of the package.
package final class Program: Sendable {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// The number of the process.
  package let identifier: pid_t
  private let hasEnded = DispatchSemaphore(value: 0)
  private let end = Shared<Int32?>(nil)

  /// Starts a program in a session of its own, which a terminal controls.
  ///
  /// - Parameters:
  ///   - name: The name of a product, or the path of a program of the system.
  ///   - arguments: The arguments of the program.
  ///   - environment: Additions to the environment of the tests. `nil` removes a variable.
  ///   - terminal: The program's `/dev/tty`. The program receives a signal when its size changes.
  ///   - input: The standard input, or `nil` for the terminal.
  ///   - output: The standard output, or `nil` for the terminal. Errors go to the tests' standard error.
  ///   - directory: The directory for temporary files.
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
  /// The test closes the ends of pipes that the program writes to afterwards.
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
    // The files of other tests, which would not see their ends otherwise.
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

  /// Waits for the end of the program.
  ///
  /// - Returns: The exit status.
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

  /// Returns the file of a program, which is in the same directory as the bundle of the tests.
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

// The C library declares this function for its own extensions only.
#if canImport(Darwin)
  private let beginsSession: Int16 = 0x400
#else
  private let beginsSession: Int16 = 0x80
#endif
