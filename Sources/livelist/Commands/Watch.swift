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
    let source = try options.source.open(key: options.key, guardedBy: options.changeGuard)
    try await load(source)
    let container = SwappableContainer(source)
    let printer = EventPrinter(output)
    if options.isTraced { trace(container) }
    let events = container.observe(on: .queue(printer.queue)) { printer.print($0) }
    let statuses = container.observeStatus { printer.post($0, container.refusedChange) }
    let refusals =
      [container.pendingChange.observe { printer.post(container.status, $0) }]
      + container.observeRefusals(of: source, printer)
    // Exiting the process frees the memory faster than releasing all objects.
    if Watch.hasCommands, await performCommands(container, printer) { Program.end() }
    // Wait forever: a signal or a closed output ends the program.
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    withExtendedLifetime((events, statuses, refusals)) {}
  }

  /// Waits until the source is loaded, and prints the steps until then.
  private func load(_ source: any DataSource<JSONElement>) async throws(LivelistError) {
    var steps = options.isTraced ? source.trace().makeAsyncIterator() : nil
    _ = try await source.loadedSnapshot()
    while let step = await steps?.next() {
      Program.report("\(step)")
      if step.action == .load { return }
    }
  }

  /// Prints the steps of the work from now on.
  private func trace(_ shown: any DataSource<JSONElement>) {
    let steps = shown.trace().makeAsyncIterator()
    Task.detached {
      var steps = steps
      while let step = await steps.next() { Program.report("\(step)") }
    }
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
    // The refusals of the source that is shown, and of the one that is held.
    var refusals: [Disposable] = []
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
          let old = container.source
          let source = try await container.swap(
            to: specification, key: options.key, guardedBy: options.changeGuard)
          refusals = [old, source].flatMap { container.observeRefusals(of: $0, printer) }
          printer.sourceChanged(to: container.snapshot)
        case .accept:
          try refusedChange(of: container).accept()
          printer.sourceChanged(to: container.snapshot)
        case .reject: try refusedChange(of: container).reject()
        case nil: break
        }
      } catch {
        Program.report(error.message)
      }
    }
    await flush(container, printer)
    withExtendedLifetime(refusals) {}
    return options.endsWithInput
  }

  private func refusedChange(
    of container: SwappableContainer<JSONElement>
  ) throws(LivelistError) -> ChangeGuard<JSONElement>.PendingChange {
    guard options.changeGuard != nil else {
      throw .usage("no change is held, because there is no guard; start with --guard LIMITS")
    }
    guard let refused = container.refusedChange else { throw .usage("no change is held") }
    return refused
  }

  private func flush(
    _ shown: any DataSource<JSONElement>, _ printer: EventPrinter
  ) async {
    await shown.flush()
    await printer.waitUntilPrinted()
  }
}

extension SwappableContainer<JSONElement> {
  /// The change that a guard has refused: that of a swap, or else that of the source that is shown.
  fileprivate var refusedChange: ChangeGuard<JSONElement>.PendingChange? {
    pendingChange.value ?? (source as? ChangeGuard<JSONElement>.Source)?.pendingChange.value
  }

  /// Prints the status whenever the guard of a source decides, if it has one.
  fileprivate func observeRefusals(
    of source: (any DataSource<JSONElement>)?, _ printer: EventPrinter
  ) -> [Disposable] {
    guard let guarded = source as? ChangeGuard<JSONElement>.Source else { return [] }
    return [guarded.pendingChange.observe { _ in printer.post(self.status, self.refusedChange) }]
  }
}

/// A command in the input of `watch`.
enum WatchCommand: Equatable {
  case swap(SourceSpecification)
  case accept
  case reject
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
    case "accept" where rest.isEmpty:
      self = .accept
    case "reject" where rest.isEmpty:
      self = .reject
    case "quit" where rest.isEmpty:
      self = .quit
    default:
      throw .usage("unknown command \"\(line)\"; use swap SOURCE, accept, reject or quit")
    }
  }
}
