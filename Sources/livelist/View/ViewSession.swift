import FileSources
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TerminalViews

/// A session of a list in the terminal, from the first frame to the last key.
///
/// There are two containers. The first one has the source, which the user can swap. The second one
/// has the first container with a filter and an order, and the screen shows it. A new filter or
/// order is a swap of the second container. Therefore, the selected row stays on its line.
@MainActor
final class ViewSession {
  private static let markDuration = Duration.milliseconds(1500)

  private let container: SwappableContainer<JSONElement>
  private let arranged: SwappableContainer<JSONElement>
  private let sources: ViewSources
  private let screen: TerminalScreen
  private var model: ViewModel
  private var list: TerminalListView<JSONElement>?
  /// The columns of the list, and the order that their headings show.
  private var shownColumns: (columns: ViewColumns, order: ViewOrder?)?
  /// The latest search.
  private var search: Task<Void, Never>?
  /// The number of the latest arrangement.
  private var arrangement = 0

  init(
    _ source: any DataSource<JSONElement>, _ sources: ViewSources, _ screen: TerminalScreen,
    title: String
  ) {
    container = SwappableContainer(source)
    arranged = SwappableContainer(container)
    self.sources = sources
    self.screen = screen
    model = ViewModel(source: title)
    learnColumns(of: container.snapshot)
  }

  /// Shows the list until the user quits or the terminal is gone.
  func run() async {
    list = TerminalListView(
      arranged, columns: model.columns.columns(nil), markDuration: ViewSession.markDuration
    ) { [weak self] _ in self?.draw() }
    for await input in screen.inputs {
      switch input {
      case .key(let key):
        guard perform(model.press(key)) else { return }
      case .resized: break
      case .ended: return
      }
      draw()
    }
  }

  /// Performs an action.
  ///
  /// - Returns: A Boolean value that indicates whether the view continues.
  private func perform(_ action: ViewModel.Action?) -> Bool {
    switch action {
    case .perform(let command): list?.perform(command)
    case .select(let row): list?.select(row)
    case .search(let text, let isBackward): find(text, isBackward: isBackward)
    case .arrange: arrange()
    case .swap(let text): swap(to: text)
    case .redraw: screen.redraw()
    case .stop: screen.suspend()
    case .quit: return false
    case nil: break
    }
    return true
  }

  // MARK: Drawing

  private func draw() {
    guard let list else { return }
    let size = screen.size
    if model.mode == .help { return screen.show(ViewHelp.frame(for: size)) }
    for row in list.state.visibleRows { model.columns.record(list.state.contents[row]) }
    if shownColumns?.columns != model.columns || shownColumns?.order != model.order {
      shownColumns = (model.columns, model.order)
      list.columns = model.columns.columns(model.order)
    }
    let (line, cursor) = model.statusLine(list.state, list.status, columns: size.columns)
    screen.show(list.frame(for: size, status: line, cursorColumn: cursor))
  }

  private func learnColumns(of contents: Snapshot<JSONElement>) {
    model.columns = ViewColumns()
    for element in contents.prefix(100) { model.columns.record(element) }
  }

  // MARK: Long operations

  /// Applies the filter and the order that the user requested.
  private func arrange() {
    arrangement += 1
    let number = arrangement
    model.activity = "arranging"
    // Do not mark the rows: they move because the user requested it.
    list?.markDuration = .zero
    Task { [container, arranged, filter = model.filter, order = model.order] in
      // Run outside the main actor, because the operation visits all rows.
      await Task.detached {
        _ = await arranged.swap(to: container.arranged(filter: filter, order: order)).outcome
        await arranged.flush()
      }.value
      guard number == arrangement else { return }
      list?.markDuration = ViewSession.markDuration
      model.activity = nil
      draw()
    }
  }

  private func swap(to text: String) {
    let source: any DataSource<JSONElement>
    do throws(LivelistError) {
      source = try sources.open(SourceSpecification(text, allowsLines: true))
    } catch {
      return model.showError("cannot swap: \(error.message)")
    }
    model.activity = "swapping"
    let handle = container.swap(to: source)
    Task {
      switch await handle.outcome {
      case .swapped, .unchanged:
        model.activity = nil
        model.source = text
        learnColumns(of: source.snapshot)
      case .failed(let error):
        model.activity = nil
        model.showError("cannot swap: \(LivelistError(cannotLoad: error).message)")
      // A later swap is in progress and will update the state.
      case .superseded, .cancelled, .cycle: break
      }
      draw()
    }
  }

  /// Selects the next row that contains a text.
  private func find(_ text: String, isBackward: Bool) {
    guard let list, let selection = list.state.selection else {
      return model.showError("there are no rows to search")
    }
    search?.cancel()
    model.activity = "searching"
    let contents = list.state.contents
    search = Task {
      let found = await ViewSearch.find(text, in: contents, from: selection, isBackward: isBackward)
      guard !Task.isCancelled else { return }
      model.activity = nil
      select(found, text)
      draw()
    }
  }

  private func select(_ found: ViewSearch.Match?, _ text: String) {
    guard let list else { return }
    guard let found else { return model.showError("no row contains \(text)") }
    // The list may have changed during the search.
    let contents = list.state.contents
    let identity = found.element.differenceIdentifier
    let isUnmoved =
      found.offset < contents.count && contents[found.offset].differenceIdentifier == identity
    guard let offset = isUnmoved ? found.offset : contents.firstIndex(identifiedBy: identity) else {
      return model.showError("the row that contains \(text) was deleted; search again")
    }
    list.select(offset)
    if found.isWrapped { model.message = ("the search continued at the other end", false) }
  }
}

/// The help that `?` shows.
private enum ViewHelp {
  private static let lines: [(keys: String, meaning: String)] = [
    ("↑ ↓  k j", "select the row above or below"),
    ("PgUp PgDn", "scroll by a page; also Ctrl-B, Ctrl-F and Space"),
    ("Home End  g G", "select the first or last row"),
    ("← →  h l", "scroll by a column"),
    ("/ n N", "search for a text; find the next or the previous match"),
    ("f", "show only rows that contain a text; an empty text shows all"),
    ("< >", "sort by the previous or next column"),
    ("r  u", "reverse the order; do not sort"),
    (":swap SOURCE", "swap to json:PATH, jsonl:PATH, sqlite:PATH?SQL or lines:-"),
    (":sort COLUMN", "sort by a column; add desc for descending order"),
    (":filter TEXT", "the same as f"),
    (":NUMBER", "select a row by its number"),
    ("Ctrl-L  Ctrl-Z", "redraw the screen; stop the program (continue with fg)"),
    ("q  Ctrl-C", "quit"),
  ]

  static func frame(for size: TerminalSize) -> TerminalFrame {
    let bold = TerminalStyle(isBold: true)
    let width = lines.map { TerminalText.width($0.keys) }.max() ?? 0
    var shown = [
      TerminalLine("livelist view: the selected row stays in place", bold), TerminalLine(),
    ]
    shown += lines.map { keys, meaning in
      var line = TerminalLine("  ")
      let space = String(repeating: " ", count: width - TerminalText.width(keys) + 3)
      line.append(keys + space, bold)
      line.append(meaning)
      return line
    }
    shown += [
      TerminalLine(),
      TerminalLine("Changed rows are marked for a moment: + inserted, ~ updated, ^ moved."),
      TerminalLine("Press any key to return."),
    ]
    return TerminalFrame(size: size, lines: shown)
  }
}
