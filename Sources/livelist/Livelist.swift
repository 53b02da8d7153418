import Dispatch
import Foundation

/// The program: reads its arguments, runs the command, and ends with its status.
@main
struct Livelist {
  static let version = "0.1.0"

  static func main() {
    let isOutputOpen = StandardDescriptors.prepare()
    let command: Command
    do throws(Failure) {
      command = try Command(Array(CommandLine.arguments.dropFirst()))
    } catch {
      Program.end(with: error)
    }
    // What goes on for ever would do so for nobody; of the others the status is wanted all the same.
    if !isOutputOpen, command.isEndless { Program.end() }
    // Before any other thread is there, which would not have the signals blocked.
    if case .watch = command { Interruption.block() }
    Task.detached {
      do throws(Failure) {
        try await command.run()
      } catch {
        Program.end(with: error)
      }
      Program.end()
    }
    // What is drawn is drawn by the main thread, which takes blocked signals while it waits for work.
    if case .view = command { dispatchMain() }
    while true { pause() }
  }
}

extension Command {
  fileprivate var isEndless: Bool {
    switch self {
    case .watch, .view: true
    case .help, .version, .diff, .apply, .merge: false
    }
  }

  fileprivate func run() async throws(Failure) {
    let output = Output(descriptor: STDOUT_FILENO)
    switch self {
    case .help: output.line { $0.append(Command.helpText) }
    case .version: output.line { $0.append("livelist \(Livelist.version)\n") }
    case .watch(let options): try await Watch(options: options, output: output).run()
    case .view(let options):
      try await View(options: options, output: output).run()
    case .diff(let options): try await Diff(options: options, output: output).run()
    case .apply(let old): try await Apply(old: old, output: output).run()
    case .merge(let options): try await Merge(options: options, output: output).run()
    }
  }
}
