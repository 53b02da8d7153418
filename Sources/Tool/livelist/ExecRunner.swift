import Diffing
import FileSources
import Foundation
import ObservableCollections
import SwappablePrimitives

/// A runner of a shell command for each event, one at a time.
final class ExecRunner: Sendable {
  private let command: ByteString

  init(_ command: ByteString) { self.command = command }

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
        let process = try ShellProcess(command, input: file.descriptor, variables: environment)
        let status = process.waitForExit()
        // The program itself has ended the command.
        if ShellProcess.isProgramEnding { Program.waitForEnd() }
        if let failure = ShellProcess.failure(status) {
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
}

/// A file without a name that holds the input of a command.
final class TemporaryInput {
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
