import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import SwappableSources

/// The command `watch`: prints the events of a container, or runs a command for each of them, and
/// performs commands from standard input.
struct Watch {
  let options: WatchOptions
  let output: Output

  func run() async throws(LivelistError) {
    Interruption.watch(output)
    let input = CommandInput()
    let source = try await loadedSource(input)
    let container = SwappableContainer(source)
    let shown = options.selection.applied(to: container)
    options.selection.reportUnknownFields(in: container.snapshot)
    source.reportUnreadableText()
    let printer = EventPrinter(output, options)
    if options.isTraced { trace(shown) }
    let events = shown.observe(on: .queue(printer.queue)) { printer.print($0) }
    let statuses = shown.observeStatus { printer.post($0, container.refusedChange) }
    let refusals =
      [container.pendingChange.observe { printer.post(container.status, $0) }]
      + container.observeRefusals(of: source, printer)
    if options.source.readsInput { endWithInput(container, shown, printer) }
    // Exiting the process frees the memory faster than releasing all objects.
    if hasCommands { await performCommands(input, container, shown, printer) }
    // Wait forever: a signal or a closed output ends the program.
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    withExtendedLifetime((events, statuses, refusals)) {}
  }

  /// Loads the source, and reads commands meanwhile.
  private func loadedSource(
    _ input: CommandInput
  ) async throws(LivelistError) -> any DataSource<JSONElement> {
    func open(
      _ specification: SourceSpecification
    ) throws(LivelistError) -> any DataSource<JSONElement> {
      try specification.open(options.sources, guardedBy: options.changeGuard)
    }
    let isTraced = options.isTraced
    guard hasCommands else {
      let source = try open(options.source)
      try await Watch.load(source, isTraced: isTraced)
      return source
    }
    return try await WatchStart(input: input, open: open) { (source) throws(LivelistError) in
      try await Watch.load(source, isTraced: isTraced)
    }
    .loadedSource(options.source)
  }

  /// Waits until the source is loaded, and prints the steps until then.
  private static func load(
    _ source: any DataSource<JSONElement>, isTraced: Bool
  ) async throws(LivelistError) {
    var steps = isTraced ? source.trace().makeAsyncIterator() : nil
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
  /// Standard input may be the source. If it is a terminal and standard output is not, the keys are
  /// for the program at the other end of the pipe, for example `livelist view lines:-`.
  private var hasCommands: Bool {
    !options.source.readsInput && (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 1)
  }

  /// Performs the commands on standard input until it ends. Ends the program after `quit`.
  private func performCommands(
    _ input: CommandInput, _ container: SwappableContainer<JSONElement>,
    _ shown: any DataSource<JSONElement>,
    _ printer: EventPrinter
  ) async {
    let swaps = SwapRequests(container, options.sources, guardedBy: options.changeGuard)
    // The refusals of the source that is shown, and of the one that is held.
    var refusals: [Disposable] = []
    var isEnding = false
    while let line = await input.next() {
      do throws(LivelistError) {
        switch try WatchCommand(line: line) {
        case .quit:
          if isEnding { Program.end() }
          isEnding = true
          end(after: swaps, shown, printer)
        case .swap(let specification):
          let old = container.source
          let source = try swaps.swap(to: specification) {
            printer.sourceChanged(to: shown.snapshot)
          }
          refusals = [old, source].flatMap { container.observeRefusals(of: $0, printer) }
        case .cancel: try swaps.cancel()
        case .accept:
          try refusedChange(of: container).accept()
          printer.sourceChanged(to: shown.snapshot)
        case .reject: try refusedChange(of: container).reject()
        case nil: break
        }
      } catch {
        Program.report(error.message)
      }
    }
    if options.endsWithInput, !isEnding { end(after: swaps, shown, printer) }
    withExtendedLifetime(refusals) {}
  }

  /// Ends the program when standard input, which is the source, has ended or cannot be read.
  private func endWithInput(
    _ container: SwappableContainer<JSONElement>, _ shown: any DataSource<JSONElement>,
    _ printer: EventPrinter
  ) {
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let observation = container.observeStatus { status in
      let isAtEnd = status.diagnostics.contains { $0.code == "ended" }
      if isAtEnd || status.error != nil { end.finish() }
    }
    Task {
      for await _ in ends {}
      withExtendedLifetime(observation) {}
      await shown.flush()
      await printer.waitUntilPrinted()
      if let error = container.status.error { Program.end(with: LivelistError(cannotLoad: error)) }
      Program.end()
    }
  }

  /// Ends the program after the latest swap, and after all events until then are printed.
  private func end(
    after swaps: SwapRequests, _ shown: any DataSource<JSONElement>, _ printer: EventPrinter
  ) {
    Task {
      await swaps.wait()
      await shown.flush()
      await printer.waitUntilPrinted()
      Program.end()
    }
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
  case cancel
  case accept
  case reject
  case quit

  /// Parses a line as UTF-8, whose line break may have been CR LF. Returns `nil` if it is blank.
  init?(line: [UInt8]) throws(LivelistError) {
    let text = line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...]
    try self.init(String(decoding: text, as: UTF8.self))
  }

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
    case "cancel" where rest.isEmpty:
      self = .cancel
    case "accept" where rest.isEmpty:
      self = .accept
    case "reject" where rest.isEmpty:
      self = .reject
    case "quit" where rest.isEmpty:
      self = .quit
    default:
      throw .usage(
        "unknown command \"\(line)\"; use swap SOURCE, cancel, accept, reject or quit")
    }
  }
}
