import FileSources
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TerminalViews

/// A list on the terminal, from the first frame to the last key.
///
/// What is looked at is a container; over it, where it is filtered or sorted, stand operators; what the
/// screen shows is a container again, so that another filter or order is a swap: the line that one looks
/// at stays.
@MainActor
final class ViewSession {
  private static let markDuration = Duration.milliseconds(1500)

  private let container: SwappableContainer<JSONElement>
  private let shown: SwappableContainer<JSONElement>
  private let sources: ViewSources
  private let screen: TerminalScreen
  private var model: ViewModel
  private var list: TerminalListView<JSONElement>?
  /// The columns that the list was last given, and the order that their headings show.
  private var given: (columns: ViewColumns, order: ViewOrder?)?
  /// What is under way, of each kind the latest.
  private var search: Task<Void, Never>?
  private var arrangement = 0

  init(
    _ source: any DataSource<JSONElement>, _ sources: ViewSources, _ screen: TerminalScreen,
    title: String
  ) {
    container = SwappableContainer(source)
    shown = SwappableContainer(container)
    self.sources = sources
    self.screen = screen
    model = ViewModel(source: title)
    learnColumns(of: container.snapshot)
  }

  /// Shows the list until the user quits, or nobody can see it any more.
  func run() async {
    list = TerminalListView(
      shown, columns: model.columns.columns(nil), markDuration: ViewSession.markDuration
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

  /// - Returns: Whether the view goes on.
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
    for row in list.state.visibleRows { model.columns.note(list.state.contents[row]) }
    if given?.columns != model.columns || given?.order != model.order {
      given = (model.columns, model.order)
      list.columns = model.columns.columns(model.order)
    }
    let (line, cursor) = model.statusLine(list.state, list.status, columns: size.columns)
    screen.show(list.frame(for: size, status: line, cursorColumn: cursor))
  }

  private func learnColumns(of contents: Snapshot<JSONElement>) {
    model.columns = ViewColumns()
    for element in contents.prefix(100) { model.columns.note(element) }
  }

  // MARK: What takes its time

  /// Shows the rows and the order that the user has asked for.
  private func arrange() {
    arrangement += 1
    let number = arrangement
    model.activity = "arranging"
    // The rows move because the user wants them to.
    list?.markDuration = .zero
    Task { [container, shown, filter = model.filter, order = model.order] in
      // Off the main actor: all rows are looked at.
      await Task.detached {
        _ = await shown.swap(to: container.viewed(filter: filter, order: order)).outcome
        await shown.flush()
      }.value
      guard number == arrangement else { return }
      list?.markDuration = ViewSession.markDuration
      model.activity = nil
      draw()
    }
  }

  private func swap(to text: String) {
    let source: any DataSource<JSONElement>
    do throws(Failure) {
      source = try sources.open(SourceSpecification(text, canBeLines: true))
    } catch {
      return model.complain("not swapped: \(error.message)")
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
        model.complain("not swapped: \(Failure(cannotLoad: error).message)")
      // Another swap is under way, which says what becomes of it.
      case .superseded, .cancelled, .cycle: break
      }
      draw()
    }
  }

  /// Selects the next row that holds some text.
  private func find(_ text: String, isBackward: Bool) {
    guard let list, let selection = list.state.selection else {
      return model.complain("there is no row to search")
    }
    search?.cancel()
    model.activity = "searching"
    let contents = list.state.contents
    search = Task {
      let found = await ViewSearch.find(text, in: contents, from: selection, isBackward: isBackward)
      guard !Task.isCancelled else { return }
      model.activity = nil
      show(found, text)
      draw()
    }
  }

  private func show(_ found: ViewSearch.Match?, _ text: String) {
    guard let list else { return }
    guard let found else { return model.complain("no row holds \(text)") }
    // The list may have changed meanwhile.
    let contents = list.state.contents
    let identity = found.element.differenceIdentifier
    let isThere =
      found.offset < contents.count && contents[found.offset].differenceIdentifier == identity
    guard let offset = isThere ? found.offset : contents.firstIndex(identifiedBy: identity) else {
      return model.complain("the row that holds \(text) has gone; search again")
    }
    list.select(offset)
    if found.isWrapped { model.message = ("the search went on at the other end", false) }
  }
}
