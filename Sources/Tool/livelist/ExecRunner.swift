import Diffing
import FileSources
import Foundation
import ObservableCollections
import SwappablePrimitives

/// A runner of a shell command for each event, one at a time.
///
/// The command belongs to a process group of its own. When the program ends, it ends all processes of
/// these groups, also those that a command has left running.
final class ExecRunner: Sendable {
  /// The time between the request to end and the forced end.
  private static let grace = Duration.seconds(2)

  private struct State {
    /// The groups of commands that may have processes. The group has the number of its first process.
    var groups: Set<pid_t> = []
    var isEnding = false
  }

  private let command: ByteString
  private let state = Locked(State())

  init(_ command: ByteString) {
    self.command = command
    Program.atEnd { self.endProcesses() }
  }

  /// Runs the command and waits for its end. Reports a failure.
  ///
  /// - Parameters:
  ///   - event: The event, whose numbers are in the environment of the command.
  ///   - input: The standard input of the command.
  func run(for event: CollectionEvent<JSONElement>, input: [UInt8]) {
    let environment = ExecRunner.variables(of: event)
    let revision = environment["LIVELIST_REVISION", default: ""]
    var isReported = false
    while true {
      do throws(SystemError) {
        // A file instead of a pipe: the command may read it late, in part or not at all.
        let file = try TemporaryInput(input)
        guard let process = try start(file, environment) else { Program.waitForEnd() }
        let status = wait(for: process)
        // The program itself has ended the command.
        if state.withLock({ $0.isEnding }) { Program.waitForEnd() }
        if let failure = ExecRunner.failure(status) {
          Program.report("the command \(failure) at revision \(revision)")
        }
        return
      } catch {
        // For example, there are too many processes. Try again: the event must not be lost.
        if !isReported { Program.report("cannot run the command, trying again: \(error.message)") }
        isReported = true
        Thread.sleep(forTimeInterval: 0.5)
      }
    }
  }

  /// Returns the variables that the command receives in addition to those of the program.
  private static func variables(of event: CollectionEvent<JSONElement>) -> [String: String] {
    let changeset: Changeset? =
      if case .change(let change) = event { change.changeset } else { nil }
    let numbers = [
      "COUNT": event.snapshot.count, "REVISION": event.revision,
      "INSERTED": changeset?.insertions.count ?? event.snapshot.count,
      "DELETED": changeset?.deletions.count ?? 0, "UPDATED": changeset?.updates.count ?? 0,
      "MOVED": changeset?.moves.count ?? 0,
    ]
    var variables = ["LIVELIST_EVENT": changeset == nil ? "initial" : "change"]
    for (name, number) in numbers { variables["LIVELIST_\(name)"] = String(number) }
    return variables
  }

  // MARK: Processes

  /// Starts the command in a process group of its own.
  ///
  /// - Returns: The process, or `nil` if the program is ending.
  private func start(
    _ input: TemporaryInput, _ environment: [String: String]
  ) throws(SystemError) -> pid_t? {
    let command = command
    let result = state.withLock { state -> Result<pid_t, SystemError>? in
      if state.isEnding { return nil }
      // Under the lock: the end of the program must know the process.
      let result = Result { () throws(SystemError) in
        try ShellProcess.start(command, input: input.descriptor, environment)
      }
      if case .success(let process) = result { state.groups.insert(process) }
      return result
    }
    return try result?.get()
  }

  /// Waits for the end of a process, and returns its status.
  private func wait(for process: pid_t) -> Int32 {
    var information = siginfo_t()
    // Without removing the process: until then, no other process can have its number.
    while waitid(P_PID, id_t(process), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    return state.withLock { state in
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
      // Forget the groups that have no processes anymore.
      state.groups = state.groups.filter { kill(-$0, 0) == 0 }
      return status
    }
  }

  /// Describes the end of a process, or returns `nil` if it was successful.
  private static func failure(_ status: Int32) -> String? {
    let signal = status & 0x7F
    if signal != 0 {
      return "was ended by signal \(signal) (\(String(cString: strsignal(signal))))"
    }
    let code = (status >> 8) & 0xFF
    return code == 0 ? nil : "exited with status \(code)"
  }

  /// Ends all processes of all commands: first politely, and after a time by force.
  private func endProcesses() {
    let groups = state.withLock { state in
      state.isEnding = true
      return state.groups
    }
    // A stopped process receives a signal only when it continues.
    for group in groups {
      kill(-group, SIGTERM)
      kill(-group, SIGCONT)
    }
    if ExecRunner.haveEnded(groups) { return }
    for group in groups { kill(-group, SIGKILL) }
    _ = ExecRunner.haveEnded(groups)
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
  ///   - variables: The variables in addition to those of the program.
  static func start(
    _ command: ByteString, input: Int32, _ variables: [String: String]
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
