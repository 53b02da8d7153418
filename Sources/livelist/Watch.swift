import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappableSources

/// `watch`: the events of one container, while commands on standard input exchange its source.
struct Watch {
  let options: WatchOptions
  let output: Output

  func run() async throws(Failure) {
    Interruption.watch(output)
    let source = try options.source.open(key: options.key)
    _ = try await source.loadedOrFailure()
    let container = SwappableContainer(source)
    let printer = EventPrinter(output)
    let events = container.observe(on: .queue(printer.queue)) { printer.print($0) }
    let statuses = container.observeStatus { printer.post($0) }
    // The process frees its memory faster than its objects do.
    if Watch.hasCommands, await obey(container, printer) { Program.end() }
    // Until a signal comes or the output is closed, which end the program.
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    withExtendedLifetime((events, statuses)) {}
  }

  /// Whether standard input holds commands: not a terminal whose keys are for the program at the other
  /// end of a pipe, as `livelist view lines:-` is.
  private static var hasCommands: Bool {
    isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 1
  }

  /// Carries out the commands on standard input.
  ///
  /// - Returns: whether that was the end, rather than the end of the input.
  private func obey(
    _ container: SwappableContainer<JSONElement>, _ printer: EventPrinter
  ) async -> Bool {
    let input = LineReader(descriptor: STDIN_FILENO)
    while let line = await input.next() {
      // What one command brings about is not merged with what the next one does.
      await flush(container, printer)
      var text = String(decoding: line, as: UTF8.self)
      if text.utf8.last == UInt8(ascii: "\r") { text.unicodeScalars.removeLast() }
      do throws(Failure) {
        switch try WatchCommand(text) {
        case .quit: return true
        case .swap(let source): try await swap(container, to: source, printer)
        case nil: break
        }
      } catch {
        Program.report(error.message)
      }
    }
    await flush(container, printer)
    return options.endsWithInput
  }

  private func swap(
    _ container: SwappableContainer<JSONElement>, to specification: SourceSpecification,
    _ printer: EventPrinter
  ) async throws(Failure) {
    let source: any DataSource<JSONElement>
    do throws(Failure) {
      source = try specification.open(key: options.key)
    } catch {
      throw .input("not swapped: \(error.message)")
    }
    switch await container.swap(to: source).outcome {
    case .swapped, .unchanged: printer.sourceChanged(to: source.snapshot)
    case .failed(let error):
      throw .input("not swapped: \(Failure(cannotLoad: error).message)")
    case .superseded, .cancelled, .cycle:
      throw .input("not swapped to \(specification.text): the program ends")
    }
  }

  private func flush(
    _ container: SwappableContainer<JSONElement>, _ printer: EventPrinter
  ) async {
    await container.flush()
    await printer.settle()
  }
}

/// A line of `watch`'s input.
enum WatchCommand: Equatable {
  case swap(SourceSpecification)
  case quit

  /// Understands a line; nil for one that holds nothing.
  init?(_ line: String) throws(Failure) {
    let words = line.drop(while: \.isWhitespace)
    if words.isEmpty { return nil }
    let name = words.prefix { !$0.isWhitespace }
    let rest = words.dropFirst(name.count).drop(while: \.isWhitespace)
    switch name {
    case "swap":
      guard !rest.isEmpty else {
        throw .usage(
          "swap lacks a source; write swap json:PATH, swap jsonl:PATH or swap sqlite:PATH?SQL")
      }
      self = .swap(try SourceSpecification(String(rest)))
    case "quit" where rest.isEmpty:
      self = .quit
    default:
      throw .usage("there is no command \"\(line)\"; write swap SOURCE or quit")
    }
  }
}
