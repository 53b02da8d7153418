import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
import RemoteSources
import SwappableSources
import TerminalViews

/// The command `view`: shows a container as a live list in the terminal.
struct View: Command {
  private let specification: SourceSpecification
  private let options: Options

  init(_ words: Arguments) throws(LivelistError) {
    specification = try SourceSpecification(operands: words, allowing: .events)
    options = words.options
    // The terminal's capabilities follow this variable.
    if options.colors == .never { setenv("NO_COLOR", "1", 1) }
    if let field = options.selection.groupField, options.format == .json {
      throw .usage(
        "a JSON array has no sections; omit --group-by, or use --sort '\(field)' instead")
    }
  }

  private var printsOnce: Bool {
    options.format != nil || !options.choosesElements && TerminalCapabilities.current == .none
  }

  @MainActor
  func run(_ output: Output) async throws(LivelistError) {
    var sourceOptions = options.sources
    // The whole pipe is read before the list is printed.
    sourceOptions.followsPipes = !printsOnce
    let sources = ViewSources(sourceOptions)
    let source =
      specification.readsInput
      ? try sources.open(specification) : try await specification.openWhenThere(sourceOptions)
    let stops = try handleStops()
    let contents = try await load(source, output)
    stops.cancel()
    await stops.value
    try await options.selection.check(contents, of: specification.kind)
    if printsOnce {
      options.selection.reportMistakes(in: contents)
      source.reportFailure()
      source.reportSkippedLines()
      return printOnce(source, output)
    }
    if options.choosesElements, TerminalCapabilities.ofTerminal == .none {
      throw .input("--choose needs a terminal that can show a list; set TERM, for example to xterm")
    }
    let screen: TerminalScreen
    do throws(TerminalError) {
      screen = try TerminalScreen()
    } catch {
      throw .input("\(error)")
    }
    defer { screen.close() }
    let chosen = await ViewSession(source, named: specification.text, sources, screen, options)
      .run()
    guard options.choosesElements else { return }
    screen.close()
    guard let chosen else { Program.end(130) }
    output.json { line in
      for element in chosen {
        line.append(element.utf8)
        line.append("\n")
      }
    }
  }

  /// Waits until the source has loaded. If that takes a moment, a line on the terminal says so meanwhile.
  @MainActor
  private func load(
    _ source: any DataSource<JSONElement>, _ output: Output
  ) async throws(LivelistError) -> Snapshot<JSONElement> {
    let wait = options.sources.wait
    if printsOnce { return try await source.loadedSnapshot(waiting: wait) }
    let notice = Task { @MainActor in
      guard (try? await Task.sleep(for: .milliseconds(300))) != nil,
        output.isTerminal, !isInBackground(of: output.descriptor)
      else { return false }
      output.line { $0.append("loading, Ctrl-C to stop") }
      return true
    }
    let contents: Result<Snapshot<JSONElement>, LivelistError>
    do throws(LivelistError) {
      contents = .success(try await source.loadedSnapshot(waiting: wait))
    } catch {
      contents = .failure(error)
    }
    notice.cancel()
    // Clears the line.
    if await notice.value { output.line { $0.append("\r\u{1B}[K") } }
    return try contents.get()
  }

  /// Prints the list once.
  private func printOnce(_ source: any DataSource<JSONElement>, _ output: Output) {
    let selection = options.selection
    let selected = selection.wholeElements(of: source)
    if options.format == .json {
      return output.array(of: selected.snapshot.map(selection.keepingFields))
    }
    let columns = selection.columns(of: selected.snapshot)
    let lines = ViewArrangement(
      selected, groupedBy: selection.groupField, showing: selection.keepingFields
    ).lines
    var state = TerminalListState(columns: columns.columns(nil), header: ViewGroup.header)
    state.apply(.initial(lines.snapshot, revision: 0))
    output.line { line in state.writePlainLines { line.append($0 + "\n") } }
  }
}

/// The creation of data sources for a view.
@MainActor
final class ViewSources {
  private let options: SourceOptions
  /// The source of standard input, which can be read only once.
  private var input: (kind: SourceSpecification.Kind, source: any DataSource<JSONElement>)?

  init(_ options: SourceOptions) {
    self.options = options
  }

  func open(_ specification: SourceSpecification) throws(LivelistError) -> any DataSource<
    JSONElement
  > {
    guard specification.readsInput else { return try specification.open(options) }
    // Otherwise, the source would consume the keys.
    guard isatty(STDIN_FILENO) == 0 else {
      throw .input(
        "standard input is a terminal, and its keys are commands of the view; "
          + "pipe events into the view: livelist watch SOURCE | livelist view lines:-")
    }
    if let input {
      guard input.kind == specification.kind else {
        throw .input("standard input is read already, as another kind of source")
      }
      return input.source
    }
    let source = try specification.open(options)
    input = (specification.kind, source)
    return source
  }
}

/// Stops the program without a lock or a transaction when Ctrl-Z is pressed, until the task is canceled.
///
/// The view has handlers of its own as soon as it has taken the terminal.
private func handleStops() throws(LivelistError) -> Task<Void, Never> {
  do throws(TerminalError) {
    let signals = try TerminalSignals([.suspend])
    return Task.detached {
      for await _ in signals.signals {
        ReadPause.begin(within: Interruption.stopLimit)
        try? signals.withPreviousActions { Interruption.stop() }
        ReadPause.end()
      }
    }
  } catch {
    throw .input("\(error)")
  }
}
