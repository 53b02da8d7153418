import Dispatch
import Foundation
import RemoteSources
import SwappablePrimitives

/// The program: parses its arguments, runs the command, and exits with its status.
@main
struct Livelist {
  static func main() {
    // A wildcard in a pattern of paths matches a character, not a byte.
    setlocale(LC_CTYPE, "")
    let isOutputOpen = StandardDescriptors.prepare()
    let command: Command
    do throws(LivelistError) {
      command = try Command(arguments)
    } catch {
      Program.end(with: error)
    }
    // A command that never ends has no effect without an output. The status of the others is still
    // useful.
    if !isOutputOpen, command.isEndless { Program.end() }
    // Block the signals before any other thread starts, because threads inherit the blocked
    // signals.
    switch command {
    case .watch, .serve: Interruption.block()
    default: break
    }
    Task.detached {
      do throws(LivelistError) {
        try await command.run()
      } catch {
        Program.end(with: error)
      }
      Program.end()
    }
    // The view is drawn on the main thread. While `dispatchMain` waits for work, the thread
    // receives signals.
    if case .view = command { dispatchMain() }
    while true { pause() }
  }
}

/// The arguments after the name of the program.
///
/// `CommandLine.arguments` replaces bytes that are not UTF-8, so a path would lead to another file.
private var arguments: [ByteString] {
  (0..<Int(CommandLine.argc)).dropFirst()
    .compactMap { CommandLine.unsafeArgv[$0].map { ByteString(cString: $0) } }
}

extension Command {
  fileprivate var isEndless: Bool {
    switch self {
    case .watch, .view: true
    case .serve, .help, .version, .diff, .apply, .merge, .explain, .triggers, .completions: false
    }
  }

  fileprivate func run() async throws(LivelistError) {
    let output = Output(descriptor: STDOUT_FILENO)
    switch self {
    case .help(let command): output.line { $0.append(Help.text(of: command)) }
    case .completions(let shell): output.line { $0.append(Completions.script(for: shell)) }
    case .version: output.line { $0.append("livelist \(Livelist.version)\n") }
    case .watch(let options): try await Watch(options: options, output: output).run()
    case .view(let options): try await View(options: options, output: output).run()
    case .diff(let options): try await Diff(options: options, output: output).run()
    case .apply(let old): try await Apply(old: old, output: output).run()
    case .serve(let options): try await Serve(options: options).run()
    case .explain(let options): try await Explain(options: options, output: output).run()
    case .triggers(let options): try await Triggers(options: options, output: output).run()
    case .merge(let options): try await Merge(options: options, output: output).run()
    }
  }
}
