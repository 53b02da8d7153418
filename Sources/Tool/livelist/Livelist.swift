import Dispatch
import Foundation
import SwappablePrimitives

/// The program: parses its arguments, runs the command, and exits with its status.
@main
struct Livelist {
  /// The version of the tool, which `--version` prints.
  static let version = "0.2.0"

  static func main() {
    // A wildcard in a pattern of paths matches a character, not a byte.
    setlocale(LC_CTYPE, "")
    let isOutputOpen = StandardDescriptors.prepare()
    let command: any Command
    do throws(LivelistError) {
      command = try self.command(arguments)
    } catch {
      // Git takes a lower status for a conflict.
      let isDriver = arguments.first?.description == CommandName.mergeDriver.rawValue
      Program.end(
        with: isDriver
          ? LivelistError(status: MergeDriver.failure, message: error.message) : error)
    }
    // A command that never ends has no effect without an output. The status of the others is still
    // useful.
    if !isOutputOpen, command is Watch || command is View { Program.end() }
    // Block the signals before any other thread starts, because threads inherit the blocked
    // signals.
    if command is Watch || command is Serve { Interruption.block() }
    if !(command is View) { Interruption.handleStops() }
    Task.detached {
      do throws(LivelistError) {
        try await command.run(Output())
      } catch {
        Program.end(with: error)
      }
      Program.end()
    }
    // The view is drawn on the main thread. While `dispatchMain` waits for work, the thread
    // receives signals.
    if command is View { dispatchMain() }
    Program.waitForEnd()
  }

  /// Parses the arguments after the name of the program.
  private static func command(_ arguments: [ByteString]) throws(LivelistError) -> any Command {
    let names = CommandName.allCases.map(\.rawValue)
    let hint =
      "use livelist \(names.dropLast().joined(separator: ", ")) or completions, or see livelist --help"
    guard let name = arguments.first?.description else {
      throw .usage("the command is missing; \(hint)")
    }
    switch name {
    case "--help", "-h", "help":
      guard let topic = arguments.dropFirst().first?.description else {
        return Printing(text: Help.text(of: nil))
      }
      guard let text = Help.text(ofTopic: topic) else {
        let shown = SourceSpecification.redacted(topic)
        throw .usage(
          "there is no help on \"\(shown)\"\(NearestWord.advice(for: shown, among: names + Help.topics)); "
            + "use a command, \(Help.topics.joined(separator: ", "))")
      }
      return Printing(text: text)
    case "--version", "-V", "version": return Printing.version
    // For installations, so the help does not name it.
    case "--man-page": return Printing(text: ManPage.text)
    default: break
    }
    if let command = CommandName(rawValue: name) {
      let words = try Arguments(arguments.dropFirst(), of: command)
      if let request = words.request { return request }
      return try command.command(words)
    }
    let isOption = name.hasPrefix("-")
    let shown =
      isOption ? Arguments.shownName(of: ByteString(name)) : SourceSpecification.redacted(name)
    if !isOption, name.contains(where: "./".contains) {
      throw .usage(
        "\"\(shown)\" is no command; to show it as a list, use livelist view \(shown); "
          + "to print its changes, use livelist watch \(shown)")
    }
    let words = isOption ? ["--help", "--version"] : names + ["help", "version"]
    throw .usage(
      "unknown \(isOption ? "option" : "command") \"\(shown)\""
        + "\(NearestWord.advice(for: shown, among: words)); \(hint)")
  }
}

/// The arguments after the name of the program.
///
/// `CommandLine.arguments` replaces bytes that are not UTF-8, so a path would lead to another file.
private var arguments: [ByteString] {
  (0..<Int(CommandLine.argc)).dropFirst()
    .compactMap { CommandLine.unsafeArgv[$0].map { ByteString(cString: $0) } }
}
