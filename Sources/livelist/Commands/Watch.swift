import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappableSources

/// The command `watch`: prints the events of a container, and performs commands from standard
/// input.
struct Watch {
  let options: WatchOptions
  let output: Output

  func run() async throws(LivelistError) {
    Interruption.watch(output)
    let source = try options.source.open(key: options.key)
    _ = try await source.loadedSnapshot()
    let container = SwappableContainer(source)
    let printer = EventPrinter(output)
    let events = container.observe(on: .queue(printer.queue)) { printer.print($0) }
    let statuses = container.observeStatus { printer.post($0) }
    // Exiting the process frees the memory faster than releasing all objects.
    if Watch.hasCommands, await performCommands(container, printer) { Program.end() }
    // Wait forever: a signal or a closed output ends the program.
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    withExtendedLifetime((events, statuses)) {}
  }

  /// A Boolean value that indicates whether to read commands from standard input.
  ///
  /// If standard input is a terminal and standard output is not, the keys are for the program at
  /// the other end of the pipe, for example `livelist view lines:-`.
  private static var hasCommands: Bool {
    isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 1
  }

  /// Performs the commands on standard input.
  ///
  /// - Returns: A Boolean value that indicates whether the program should end.
  private func performCommands(
    _ container: SwappableContainer<JSONElement>, _ printer: EventPrinter
  ) async -> Bool {
    let input = LineReader(descriptor: STDIN_FILENO)
    while let line = await input.next() {
      // Do not merge the changes of one command with the changes of the next one.
      await flush(container, printer)
      var text = String(decoding: line, as: UTF8.self)
      if text.utf8.last == UInt8(ascii: "\r") { text.unicodeScalars.removeLast() }
      do throws(LivelistError) {
        switch try WatchCommand(text) {
        case .quit: return true
        case .swap(let specification):
          let source = try await container.swap(to: specification, key: options.key)
          printer.sourceChanged(to: source.snapshot)
        case nil: break
        }
      } catch {
        Program.report(error.message)
      }
    }
    await flush(container, printer)
    return options.endsWithInput
  }

  private func flush(
    _ container: SwappableContainer<JSONElement>, _ printer: EventPrinter
  ) async {
    await container.flush()
    await printer.waitUntilPrinted()
  }
}

/// A command in the input of `watch`.
enum WatchCommand: Equatable {
  case swap(SourceSpecification)
  case quit

  /// Parses a line. Returns `nil` if the line is blank.
  init?(_ line: String) throws(LivelistError) {
    let words = line.drop(while: \.isWhitespace)
    if words.isEmpty { return nil }
    let name = words.prefix { !$0.isWhitespace }
    let rest = words.dropFirst(name.count).drop(while: \.isWhitespace)
    switch name {
    case "swap":
      guard !rest.isEmpty else {
        throw .usage(
          "swap has no source; use swap SOURCE, for example swap json:PATH")
      }
      self = .swap(try SourceSpecification(String(rest)))
    case "quit" where rest.isEmpty:
      self = .quit
    default:
      throw .usage("unknown command \"\(line)\"; use swap SOURCE or quit")
    }
  }
}
