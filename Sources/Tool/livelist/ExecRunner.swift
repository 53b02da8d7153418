import Diffing
import FileSources
import Foundation
import ObservableCollections
import SwappablePrimitives

/// A runner of a shell command for each event, one at a time.
final class ExecRunner: Sendable {
  private let command: ByteString
  private let processes = CommandProcesses()

  init(_ command: ByteString) {
    self.command = command
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
        let process = try processes.start(command, input: input, environment)
        let status = processes.wait(for: process.identifier)
        if let failure = CommandProcesses.failure(status) {
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
