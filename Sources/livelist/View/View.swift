import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TerminalViews

/// `view`: a container as a live list on the terminal.
struct View {
  let options: ViewOptions
  let output: Output

  @MainActor
  func run() async throws(Failure) {
    let sources = ViewSources(key: options.key)
    let source = try sources.open(options.source)
    _ = try await source.loadedOrFailure()
    guard TerminalCapabilities.current != .none else { return printOnce(source) }
    let screen: TerminalScreen
    do throws(TerminalFailure) {
      screen = try TerminalScreen()
    } catch {
      throw .input("\(error)")
    }
    defer { screen.close() }
    await ViewSession(source, sources, screen, title: options.source.text).run()
  }

  /// What a list comes to where there is no terminal: its lines, once.
  private func printOnce(_ source: any DataSource<JSONElement>) {
    let contents = source.snapshot
    var columns = ViewColumns()
    for element in contents { columns.note(element) }
    var state = TerminalListState<JSONElement>(columns: columns.columns(nil))
    state.apply(.initial(contents, revision: source.revision))
    output.line { line in state.writePlainLines { line.append($0 + "\n") } }
  }
}

/// The sources that a view can show, by their specifications.
@MainActor
final class ViewSources {
  private let key: String?
  /// There is only one standard input.
  private var lines: LinesDataSource?

  init(key: String?) {
    self.key = key
  }

  func open(_ specification: SourceSpecification) throws(Failure) -> any DataSource<JSONElement> {
    guard case .lines = specification.kind else { return try specification.open(key: key) }
    // It would take the keys away.
    guard isatty(STDIN_FILENO) == 0 else {
      throw .input(
        "standard input is a terminal, whose keys are commands; "
          + "pipe events into this, as in livelist watch SOURCE | livelist view lines:-")
    }
    let source = lines ?? LinesDataSource(descriptor: STDIN_FILENO, key: key)
    lines = source
    return source
  }
}
