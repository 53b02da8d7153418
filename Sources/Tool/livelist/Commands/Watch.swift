import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import SwappableSources

/// The command `watch`: prints the events of a container, or runs a command for each of them, and
/// performs commands from standard input.
struct Watch: Command {
  private let specification: SourceSpecification
  private var options: Options

  init(_ words: Arguments) throws(LivelistError) {
    specification = try SourceSpecification(operands: words, allowing: .list)
    options = words.options
    options.sources.followsPipes = true
    if options.executesInitial, options.execution == nil {
      throw .usage("--exec-initial has no command; add --exec COMMAND")
    }
  }

  func run(_ output: Output) async throws(LivelistError) {
    Interruption.watch(output)
    let input = hasCommands ? CommandInput() : nil
    let source = try await loadedSource(input)
    let container = SwappableContainer(source)
    var shown = options.selection.applied(to: container)
    if let (quiet, longest) = options.settling {
      shown = shown.debounced(for: quiet, atMost: longest)
    }
    let mistakes = options.selection.reportMistakes(
      inFirstElementsOf: container, isUnfinished: isStream)
    source.reportUnreadableText()
    if options.isTraced { trace(shown) }
    let session = WatchSession(
      options: options, container: container, shown: shown,
      printer: EventPrinter(of: shown, output, options),
      swaps: SwapRequests(container, options.sources, guardedBy: options.changeGuard))
    let observations = session.observe(source)
    if isStream {
      session.endWithPipe(source, hasCommands: input != nil)
    }
    // Exiting the process frees the memory faster than releasing all objects.
    if let input { await session.performCommands(input) }
    // Wait forever: a signal or a closed output ends the program.
    await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    withExtendedLifetime((mistakes, observations)) {}
  }

  /// Prints the steps of the work from now on.
  private func trace(_ shown: any DataSource<JSONElement>) {
    let steps = shown.trace().makeAsyncIterator()
    Task.detached {
      var steps = steps
      while let step = await steps.next() { Program.report("\(step)") }
    }
  }

  /// A Boolean value that indicates whether the source is a pipe, whose elements come one after the other.
  private var isStream: Bool { specification.isPipe || specification.readsInput }

  /// A Boolean value that indicates whether to read commands from standard input.
  ///
  /// Standard input may be the source. If it is a terminal and standard output is not, the keys are
  /// for the program at the other end of the pipe, for example `livelist view lines:-`.
  private var hasCommands: Bool {
    !specification.readsInput && (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 1)
  }
}

/// The work of `watch` after the first load.
private struct WatchSession {
  let options: Options
  let container: SwappableContainer<JSONElement>
  /// The list that is printed.
  let shown: any DataSource<JSONElement>
  let printer: EventPrinter
  let swaps: SwapRequests

  /// Prints the events, and the status when it changes or a guard decides.
  func observe(_ source: any DataSource<JSONElement>) -> [Disposable] {
    [
      shown.observe(on: .queue(printer.queue)) { [printer] in printer.print($0) },
      shown.observeStatus { [printer, container] in
        printer.post($0) { container.refusedChange }
      },
      container.pendingChange.observe { [printer, container] _ in
        printer.post(container.status) { container.refusedChange }
      },
    ] + container.observeRefusals(of: source, printer)
  }

  /// Performs the commands on standard input until it ends. Ends the program after `quit`.
  func performCommands(_ input: CommandInput) async {
    // The refusals of the source that is shown, and of the one that is held.
    var refusals: [Disposable] = []
    var isEnding = false
    while let line = await input.next() {
      do throws(LivelistError) {
        switch try WatchCommand(line: line) {
        case .quit:
          if isEnding { Program.end() }
          isEnding = true
          Task { await end() }
        case .swap(let specification):
          let old = container.source
          let source = try swaps.swap(to: specification) { [options, container] in
            options.selection.reportMistakes(in: container.snapshot)
          }
          refusals = [old, source].flatMap { container.observeRefusals(of: $0, printer) }
        case .cancel: try swaps.cancel()
        case .accept: try refusedChange().accept()
        case .reject: try refusedChange().reject()
        case .reload:
          if !Reloads.request() { throw .usage("no source runs a command that could be run again") }
        case nil: break
        }
      } catch {
        Program.report(error.message)
      }
    }
    if options.endsWithInput, !isEnding { Task { await end() } }
    withExtendedLifetime(refusals) {}
  }

  /// Ends the program when the pipe that is the source has ended or cannot be read.
  ///
  /// It continues if a command has swapped to another source.
  func endWithPipe(_ source: any DataSource<JSONElement>, hasCommands: Bool) {
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let observation = container.observeStatus { status in
      let isAtEnd = status.diagnostics.contains { $0.code == "ended" }
      if isAtEnd || status.error != nil { end.finish() }
    }
    Task {
      for await _ in ends {}
      withExtendedLifetime(observation) {}
      // A script may write its commands before it starts the program. Perform them first.
      if hasCommands { try? await Task.sleep(for: .milliseconds(100)) }
      await swaps.wait()
      // A change that the guard has refused can still be accepted.
      guard container.source === source, !hasCommands || container.refusedChange == nil else {
        return
      }
      // The other remarks are reported with the first elements.
      for mistake in options.selection.mistakes(in: container.snapshot) where mistake.isMisspelling
      {
        Program.fail(mistake.message)
      }
      await self.end()
    }
  }

  /// Ends the program after the latest swap, and after all events until then are printed.
  ///
  /// If the source has failed by then, the exit status is 1.
  private func end() async {
    await swaps.wait()
    if let settling = options.settling { try? await Task.sleep(for: settling.quiet) }
    await shown.flush()
    await printer.waitUntilPrinted()
    if let error = container.status.error { Program.end(with: LivelistError(cannotLoad: error)) }
    Program.end()
  }

  private func refusedChange() throws(LivelistError) -> ChangeGuard<JSONElement>.PendingChange {
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
    return [guarded.pendingChange.observe { _ in printer.post(self.status) { self.refusedChange } }]
  }
}

/// A command in the input of `watch`.
private enum WatchCommand {
  case swap(SourceSpecification)
  case cancel
  case accept
  case reject
  case reload
  case quit

  /// Parses a line, whose line break may have been CR LF. Returns `nil` if the line is blank.
  init?(line: [UInt8]) throws(LivelistError) {
    let line = line.last == UInt8(ascii: "\r") ? line.dropLast() : line[...]
    let text = ByteString(bytes: line[JSONText.bodyStart(of: line)...])
    let (name, rest) = text.firstWord
    switch name {
    case "": return nil
    case "swap":
      guard !rest.isEmpty else {
        throw .usage(
          "swap has no source; use swap SOURCE, for example swap json:PATH")
      }
      self = .swap(try SourceSpecification(rest))
    case "cancel" where rest.isEmpty: self = .cancel
    case "accept" where rest.isEmpty: self = .accept
    case "reject" where rest.isEmpty: self = .reject
    case "reload" where rest.isEmpty: self = .reload
    case "quit" where rest.isEmpty: self = .quit
    default:
      throw .usage(
        "unknown command \"\(SourceSpecification.redacted(command: text))\""
          + NearestWord.advice(
            for: name, among: ["swap", "cancel", "accept", "reject", "reload", "quit"])
          + "; use swap SOURCE, cancel, accept, reject, reload or quit")
    }
  }
}

// MARK: The first load

extension Watch {
  private enum LoadEvent: Sendable {
    case line([UInt8]?)
    /// The result of a load, with the number of the load.
    case loaded(Result<Void, LivelistError>, load: Int)
  }

  /// Loads the first source. Commands on standard input are read meanwhile.
  ///
  /// A `swap` waits for the load, because a script may write all its commands at once. `cancel` cancels the
  /// load. Then the source of the latest `swap` is loaded instead, or else the program ends. After a second
  /// `quit`, it ends at once.
  ///
  /// - Parameter input: The input with commands, or `nil` if none are read.
  private func loadedSource(
    _ input: CommandInput?
  ) async throws(LivelistError) -> any DataSource<JSONElement> {
    let (events, continuation) = AsyncStream.makeStream(of: LoadEvent.self)
    func expectLine() {
      guard let reading = input?.reading() else { return }
      Task { continuation.yield(.line(await reading.value)) }
    }
    var (specification, number) = (specification, 0)
    var source = try await open(specification)
    var loading = start(source, number, continuation)
    var waiting: [[UInt8]] = []
    defer { input?.put(back: waiting) }
    var quitCount = 0
    expectLine()
    for await event in events {
      switch event {
      case .loaded(let result, load: number):
        try result.get()
        if !isStream {
          try await options.selection.check(source.snapshot, of: specification.kind)
        }
        return source
      case .line(let line?):
        input?.removeLine()
        switch try? WatchCommand(line: line) {
        case .quit where quitCount > 0: Program.end()
        case .quit:
          quitCount += 1
          waiting.append(line)
        case .cancel:
          loading.cancel()
          guard let next = Watch.removeSwaps(from: &waiting) else {
            throw .input("cannot load \(specification.text): the load was canceled")
          }
          (specification, number) = (next, number + 1)
          source = try await open(specification)
          loading = start(source, number, continuation)
        default: waiting.append(line)
        }
        expectLine()
      case .loaded, .line(nil): break
      }
    }
    return source
  }

  /// Removes all swaps from lines.
  ///
  /// - Returns: The source of the last one, or `nil` if there is none.
  private static func removeSwaps(from lines: inout [[UInt8]]) -> SourceSpecification? {
    var source: SourceSpecification?
    lines.removeAll { line in
      guard case .swap(let specification) = try? WatchCommand(line: line) else { return false }
      source = specification
      return true
    }
    return source
  }

  /// Waits until the source is loaded, and prints the steps until then.
  private func start(
    _ source: any DataSource<JSONElement>, _ number: Int,
    _ continuation: AsyncStream<LoadEvent>.Continuation
  ) -> Task<Void, Never> {
    Task { [isTraced = options.isTraced, wait = options.sources.wait] in
      var steps = isTraced ? source.trace().makeAsyncIterator() : nil
      do throws(LivelistError) {
        _ = try await source.loadedSnapshot(waiting: wait)
        while let step = await steps?.next() {
          Program.report("\(step)")
          if step.action == .load { break }
        }
        continuation.yield(.loaded(.success(()), load: number))
      } catch {
        continuation.yield(.loaded(.failure(error), load: number))
      }
    }
  }

  private func open(
    _ specification: SourceSpecification
  ) async throws(LivelistError) -> any DataSource<JSONElement> {
    try await specification.openWhenThere(options.sources, guardedBy: options.changeGuard)
  }
}

/// The lines of standard input, some of which may have been read already.
///
/// It reads a line only if somebody waits for it, so an endless input needs no memory.
final class CommandInput {
  private let reader = LineReader()
  private var lines: [[UInt8]] = []
  private var current: Task<[UInt8]?, Never>?

  /// Returns the next line without its line break, or `nil` after the last line.
  func next() async -> [UInt8]? {
    if !lines.isEmpty { return lines.removeFirst() }
    let line = await reading().value
    current = nil
    return line
  }

  /// Begins to read the next line of standard input, unless that has begun already.
  func reading() -> Task<[UInt8]?, Never> {
    if let current { return current }
    let reading = Task { [reader] in await reader.next() }
    current = reading
    return reading
  }

  /// Removes the line whose reading has ended.
  func removeLine() { current = nil }

  /// Returns lines to the input, before all others.
  func put(back lines: [[UInt8]]) { self.lines = lines + self.lines }
}
