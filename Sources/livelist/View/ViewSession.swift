import FileSources
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TerminalViews

/// A session of a list in the terminal, from the first frame to the last key.
///
/// The container has the source, which the user can swap. The screen shows a list that is derived
/// from the container, with a filter and an order as parameters. A swap and a new parameter are
/// changes of that list. Therefore, the selected row stays on its line.
@MainActor
final class ViewSession {
  private static let markDuration = Duration.milliseconds(1500)

  private let container: SwappableContainer<JSONElement>
  private let arrangement: ViewArrangement
  private let sources: ViewSources
  private let screen: TerminalScreen
  private var model: ViewModel
  private var list: TerminalListView<ViewLine>?
  /// The numbers of the rows of some contents of the list.
  private var shownNumbers: (numbers: ViewNumbers, revision: Int, lineCount: Int)?
  /// The columns of the list, and the order that their headings show.
  private var shownColumns: (columns: ViewColumns, order: ViewOrder?)?
  /// The latest search.
  private var search: Task<Void, Never>?
  /// The parameters of the shown list.
  private var parameters = ViewArrangement.Parameters()
  private var isArranging = false
  /// The row that was selected when the user began to type a filter.
  private var filteredRow: ViewLine.Identifier?

  init(
    _ source: any DataSource<JSONElement>, _ sources: ViewSources, _ screen: TerminalScreen,
    title: String, groupField: String?
  ) {
    container = SwappableContainer(source)
    arrangement = ViewArrangement(container, groupedBy: groupField)
    self.sources = sources
    self.screen = screen
    model = ViewModel(source: title)
    learnColumns(of: container.snapshot)
  }

  /// Shows the list until the user quits or the terminal is gone.
  func run() async {
    list = TerminalListView(
      arrangement.lines, columns: model.columns.columns(nil), header: ViewGroup.header,
      markDuration: ViewSession.markDuration
    ) { [weak self] _ in self?.draw() }
    for await input in screen.inputs {
      switch input {
      case .key(let key):
        guard press(key) else { return }
      case .resized: break
      case .ended: return
      }
      draw()
    }
  }

  /// Handles a key.
  ///
  /// - Returns: A Boolean value that indicates whether the view continues.
  private func press(_ key: TerminalKey) -> Bool {
    let wasTypingFilter = model.isTypingFilter
    let action = model.press(key)
    if !wasTypingFilter {
      filteredRow = model.isTypingFilter ? list?.state.selectedElement?.differenceIdentifier : nil
    }
    return perform(action)
  }

  /// Performs an action.
  ///
  /// - Returns: A Boolean value that indicates whether the view continues.
  private func perform(_ action: ViewModel.Action?) -> Bool {
    switch action {
    case .perform(let command): list?.perform(command)
    case .select(let row): list?.select(numbers.line(ofNumber: row))
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
    for line in list.state.visibleRows {
      if let row = list.state.contents[line].row { model.columns.record(row.element) }
    }
    if shownColumns?.columns != model.columns || shownColumns?.order != model.order {
      shownColumns = (model.columns, model.order)
      list.columns = model.columns.columns(model.order).map { TerminalColumn($0) }
    }
    let (line, cursor) = model.statusLine(
      list.state, numbers, list.status, columns: size.columns)
    screen.show(list.frame(for: size, status: line, cursorColumn: cursor))
  }

  /// The numbers of the shown rows.
  private var numbers: ViewNumbers {
    guard let state = list?.state else { return ViewNumbers(Snapshot()) }
    let (revision, lineCount) = (state.revision, state.contents.count)
    // Before the first event, the list is empty and has the revision 0, too.
    if let shown = shownNumbers, shown.revision == revision, shown.lineCount == lineCount {
      return shown.numbers
    }
    let numbers = ViewNumbers(state.contents)
    shownNumbers = (numbers, revision, lineCount)
    return numbers
  }

  private func learnColumns(of contents: Snapshot<JSONElement>) {
    model.columns = ViewColumns()
    for element in contents.prefix(100) { model.columns.record(element) }
  }

  // MARK: Long operations

  /// Applies the filter and the order that the user requested.
  private func arrange() {
    // The running task applies the latest request. Requests in between are skipped.
    guard !isArranging else { return }
    isArranging = true
    model.activity = "arranging"
    // Do not mark the rows: they move because the user requested it.
    list?.markDuration = .zero
    Task {
      while model.parameters != parameters {
        let (old, new) = (parameters, model.parameters)
        parameters = new
        // Run outside the main actor, because the operation visits all rows.
        await Task.detached { [arrangement] in
          arrangement.change(from: old, to: new)
          await arrangement.lines.flush()
        }.value
        await selectFilteredRow()
      }
      isArranging = false
      list?.markDuration = ViewSession.markDuration
      model.activity = nil
      draw()
    }
  }

  /// Selects the row that was selected before the user began to type a filter, if it is shown.
  ///
  /// The selection moves to another row if the typed text hides the selected one.
  private func selectFilteredRow() async {
    guard let row = filteredRow, let list else { return }
    guard list.state.selectedElement?.differenceIdentifier != row else { return }
    let contents = list.state.contents
    let found = await Task.detached { contents.firstIndex(identifiedBy: row) }.value
    if let found, let offset = offset(of: row, near: found) { list.select(offset) }
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
    guard let offset = offset(of: found.line, near: found.offset) else {
      return model.showError("the row that contains \(text) was deleted; search again")
    }
    list.select(offset)
    if found.isWrapped { model.message = ("the search continued at the other end", false) }
  }
  /// Returns the offset of a row that was at an offset before.
  private func offset(of row: ViewLine.Identifier, near offset: Int) -> Int? {
    guard let contents = list?.state.contents else { return nil }
    let isUnmoved = offset < contents.count && contents[offset].differenceIdentifier == row
    return isUnmoved ? offset : contents.firstIndex(identifiedBy: row)
  }
}
