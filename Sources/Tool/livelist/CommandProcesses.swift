import Foundation
import SwappablePrimitives

/// The processes of commands for the shell.
///
/// Each command belongs to a process group of its own. When the program ends, it ends all processes of
/// these groups, also those that a command has left running.
final class CommandProcesses: Sendable {
  /// The streams of a command that the program reads.
  enum Captured {
    /// None: the command writes where the program writes.
    case nothing
    /// Standard error. Standard output is discarded.
    case errors
    case all
  }

  struct Process {
    let identifier: pid_t
    /// A descriptor for reading what the process writes, or `nil`. The caller closes it.
    let output: Int32?
  }

  /// The time between the request to end and the forced end.
  private static let grace = Duration.seconds(2)

  private struct State {
    /// The groups of commands that may have processes. The group has the number of its first process.
    var groups: Set<pid_t> = []
    var isEnding = false
  }

  private let state = Locked(State())

  init() {
    Program.atEnd { self.endProcesses() }
  }

  /// Starts a command in a process group of its own. If the program is ending, this method does not return.
  ///
  /// - Parameters:
  ///   - command: The command for the shell.
  ///   - input: The standard input of the command.
  ///   - variables: The variables in addition to those of the program.
  ///   - captured: The streams that the program reads.
  func start(
    _ command: ByteString, input: [UInt8], _ variables: [String: String],
    capturing captured: Captured = .nothing
  ) throws(SystemError) -> Process {
    // A file instead of a pipe: the command may read it late, in part or not at all.
    let file = try TemporaryInput(input)
    let result = state.withLock { state -> Result<Process, SystemError>? in
      if state.isEnding { return nil }
      // Under the lock: the end of the program must know the process, and no other command may inherit the
      // ends of a pipe before they are marked.
      return Result { () throws(SystemError) in
        let pipe = captured == .nothing ? nil : try CommandProcesses.makePipe()
        defer { if let pipe { close(pipe.writing) } }
        do throws(SystemError) {
          let process = try ShellProcess.start(
            command, input: file.descriptor, output: pipe?.writing, captured, variables)
          state.groups.insert(process)
          return Process(identifier: process, output: pipe?.reading)
        } catch {
          if let pipe { close(pipe.reading) }
          throw error
        }
      }
    }
    guard let result else { Program.waitForEnd() }
    return try result.get()
  }

  /// Makes a pipe that commands do not inherit.
  private static func makePipe() throws(SystemError) -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw SystemError(errno, "cannot create a pipe: ") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }

  /// Waits for the end of a process, and returns its status.
  ///
  /// If the program is ending, it ends the process itself, and this method does not return.
  func wait(for process: pid_t) -> Int32 {
    var information = siginfo_t()
    // Without removing the process: until then, no other process can have its number.
    while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    let status = state.withLock { state -> Int32? in
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
      // Forget the groups that have no processes anymore.
      state.groups = state.groups.filter { kill(-$0, 0) == 0 }
      return state.isEnding ? nil : status
    }
    guard let status else { Program.waitForEnd() }
    return status
  }

  /// Describes the end of a process, or returns `nil` if it was successful.
  static func failure(_ status: Int32) -> String? {
    let signal = status & 0x7F
    if signal != 0 {
      return "was ended by signal \(signal) (\(String(cString: strsignal(signal))))"
    }
    let code = (status >> 8) & 0xFF
    return code == 0 ? nil : "exited with status \(code)"
  }

  /// Asks the processes of a command to end.
  func end(_ process: pid_t) {
    // Under the lock: another group could get the number of a group that has ended.
    state.withLock { state in
      if state.groups.contains(process) { CommandProcesses.terminate([process]) }
    }
  }

  private static func terminate(_ groups: Set<pid_t>) {
    // A stopped process receives a signal only when it continues.
    for group in groups {
      kill(-group, SIGTERM)
      kill(-group, SIGCONT)
    }
  }

  /// Ends all processes of all commands: first politely, and after a time by force.
  private func endProcesses() {
    let groups = state.withLock { state in
      state.isEnding = true
      return state.groups
    }
    CommandProcesses.terminate(groups)
    if CommandProcesses.haveEnded(groups) { return }
    for group in groups { kill(-group, SIGKILL) }
    _ = CommandProcesses.haveEnded(groups)
  }

  /// Waits until groups have no processes.
  ///
  /// - Returns: A Boolean value that indicates whether that was the case within the grace period.
  private static func haveEnded(_ groups: Set<pid_t>) -> Bool {
    let deadline = ContinuousClock().now + grace
    // The system does not notify of the end of processes that are not children.
    while groups.contains(where: { kill(-$0, 0) == 0 }) {
      if ContinuousClock().now > deadline { return false }
      usleep(5_000)
    }
    return true
  }
}

/// A file without a name that holds the input of a command.
private final class TemporaryInput {
  let descriptor: Int32

  init(_ bytes: [UInt8]) throws(SystemError) {
    let folder = FileManager.default.temporaryDirectory.path
    let path = "\(folder)/livelist.\(UInt64.random(in: 0 ... .max))"
    descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError(errno, "cannot create a file in \(folder): ") }
    unlink(path)
    let code = bytes.withUnsafeBytes { $0.writeAll(to: descriptor) }
    guard code == 0 else { throw SystemError(code, "cannot write a file in \(folder): ") }
    lseek(descriptor, 0, SEEK_SET)
  }

  deinit { close(descriptor) }
}

/// The start of a process of the shell.
private enum ShellProcess {
  /// Starts a process in a process group of its own, with the signals of a new process.
  ///
  /// - Parameters:
  ///   - command: The command for the shell.
  ///   - input: The descriptor of standard input.
  ///   - output: The descriptor of the captured streams.
  ///   - captured: The captured streams.
  ///   - variables: The variables in addition to those of the program.
  static func start(
    _ command: ByteString, input: Int32, output: Int32?, _ captured: CommandProcesses.Captured,
    _ variables: [String: String]
  ) throws(SystemError) -> pid_t {
    let files = make(posix_spawn_file_actions_init)
    let attributes = make(posix_spawnattr_init)
    defer {
      posix_spawn_file_actions_destroy(files)
      posix_spawnattr_destroy(attributes)
      files.deallocate()
      attributes.deallocate()
    }
    posix_spawn_file_actions_adddup2(files, input, STDIN_FILENO)
    if let output {
      posix_spawn_file_actions_adddup2(files, output, STDERR_FILENO)
      if captured == .all {
        posix_spawn_file_actions_adddup2(files, output, STDOUT_FILENO)
      } else {
        posix_spawn_file_actions_addopen(files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
      }
    }
    posix_spawnattr_setpgroup(attributes, 0)
    // The program blocks and ignores signals that end the command.
    var blocked = signalSet()
    posix_spawnattr_setsigmask(attributes, &blocked)
    var all = sigset_t()
    sigfillset(&all)
    posix_spawnattr_setsigdefault(attributes, &all)
    posix_spawnattr_setflags(
      attributes,
      Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
    var process: pid_t = 0
    // The variables of the program are copied as bytes, because they contain paths.
    let own = inherited.filter { variable in
      variable.split(at: "=").map { variables[$0.before.description] == nil } ?? true
    }
    let environment = own + variables.map { ByteString("\($0)=\($1)") }
    let code = withStrings(["/bin/sh", "-c", command]) { arguments in
      withStrings(environment) { environment in
        posix_spawn(&process, "/bin/sh", files, attributes, arguments, environment)
      }
    }
    guard code == 0 else { throw SystemError(code, "cannot start /bin/sh: ") }
    return process
  }

  /// The variables of the program.
  private static var inherited: [ByteString] {
    var variables: [ByteString] = []
    var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
    while let place = next, let variable = place.pointee {
      variables.append(ByteString(cString: variable))
      next = place + 1
    }
    return variables
  }

  /// Makes a value of the system, whose type differs between platforms.
  private static func make<Value>(
    _ initialize: (UnsafeMutablePointer<Value>) -> Int32
  ) -> UnsafeMutablePointer<Value> {
    let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)
    _ = initialize(value)
    return value
  }

  /// Calls a closure with an array of C strings, which ends with a null pointer.
  private static func withStrings<Result>(
    _ strings: [ByteString], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
  ) -> Result {
    let copies = strings.map { $0.withCString { strdup($0) } }
    defer { for copy in copies { free(copy) } }
    return body(copies + [nil])
  }
}
