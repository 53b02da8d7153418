import Foundation
import SwappablePrimitives

/// A command that the shell runs in a process group of its own.
///
/// When the program ends, it ends all processes of these groups, also those that a command has left running.
final class ShellProcess: Sendable {
  /// The time between the request to end and the forced end.
  private static let grace = Duration.seconds(2)

  private struct Groups {
    /// The groups that may have processes. A group has the number of its first process.
    var all: Set<pid_t> = []
    var isProgramEnding = false
  }

  private static let groups: Locked<Groups> = {
    Program.atEnd { endAll() }
    return Locked(Groups())
  }()

  /// A Boolean value that indicates whether the program ends all processes.
  static var isProgramEnding: Bool { groups.withLock { $0.isProgramEnding } }

  private let process: pid_t

  /// Starts a command. If the program is ending, waits for its end.
  ///
  /// - Parameters:
  ///   - command: The command for the shell.
  ///   - input: The descriptor of standard input.
  ///   - output: The descriptor of standard output, or `nil` for that of the program.
  ///   - errors: The descriptor of standard error, or `nil` for that of the program.
  ///   - variables: The variables in addition to those of the program.
  init(
    _ command: ByteString, input: Int32, output: Int32? = nil, errors: Int32? = nil,
    variables: [String: String] = [:]
  ) throws(SystemError) {
    let result = Self.groups.withLock { groups -> Result<pid_t, SystemError>? in
      if groups.isProgramEnding { return nil }
      // Under the lock: the end of the program must know the process.
      let result = Result { () throws(SystemError) in
        try spawn(
          command, [input, output ?? STDOUT_FILENO, errors ?? STDERR_FILENO], variables)
      }
      if case .success(let process) = result { groups.all.insert(process) }
      return result
    }
    guard let result else { Program.waitForEnd() }
    process = try result.get()
  }

  /// A Boolean value that indicates whether the command has ended.
  var hasExited: Bool {
    var information = siginfo_t()
    return waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT | WNOHANG) != 0
      || information.si_signo != 0
  }

  /// Waits until the command has ended, and returns its status.
  func waitForExit() -> Int32 {
    var information = siginfo_t()
    // Without removing the process: until then, no other process can have its number.
    while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    return Self.groups.withLock { groups in
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
      // Forget the groups that have no processes anymore.
      groups.all = groups.all.filter { kill(-$0, 0) == 0 }
      return status
    }
  }

  /// Sends a signal to all processes of the group, if there are any.
  func signal(_ signal: Int32) {
    Self.groups.withLock { groups in
      guard groups.all.contains(process) else { return }
      kill(-process, signal)
      // A stopped process receives a signal only when it continues.
      kill(-process, SIGCONT)
      if signal == SIGKILL { groups.all.remove(process) }
    }
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

  /// Ends all processes of all commands: first politely, and after a time by force.
  private static func endAll() {
    let groups = Self.groups.withLock { groups in
      groups.isProgramEnding = true
      return groups.all
    }
    for group in groups {
      kill(-group, SIGTERM)
      kill(-group, SIGCONT)
    }
    if haveEnded(groups) { return }
    for group in groups { kill(-group, SIGKILL) }
    _ = haveEnded(groups)
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

/// Starts a process of the shell in a process group of its own, with the signals of a new process.
///
/// - Parameter descriptors: Standard input, output and error.
private func spawn(
  _ command: ByteString, _ descriptors: [Int32], _ variables: [String: String]
) throws(SystemError) -> pid_t {
  let files = make(posix_spawn_file_actions_init)
  let attributes = make(posix_spawnattr_init)
  defer {
    posix_spawn_file_actions_destroy(files)
    posix_spawnattr_destroy(attributes)
    files.deallocate()
    attributes.deallocate()
  }
  for (number, descriptor) in descriptors.enumerated() where descriptor != number {
    posix_spawn_file_actions_adddup2(files, descriptor, Int32(number))
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
private var inherited: [ByteString] {
  var variables: [ByteString] = []
  var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
  while let place = next, let variable = place.pointee {
    variables.append(ByteString(cString: variable))
    next = place + 1
  }
  return variables
}

/// Makes a value of the system, whose type differs between platforms.
private func make<Value>(
  _ initialize: (UnsafeMutablePointer<Value>) -> Int32
) -> UnsafeMutablePointer<Value> {
  let value = UnsafeMutablePointer<Value>.allocate(capacity: 1)
  _ = initialize(value)
  return value
}

/// Calls a closure with an array of C strings, which ends with a null pointer.
private func withStrings<Result>(
  _ strings: [ByteString], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
) -> Result {
  let copies = strings.map { $0.withCString { strdup($0) } }
  defer { for copy in copies { free(copy) } }
  return body(copies + [nil])
}
