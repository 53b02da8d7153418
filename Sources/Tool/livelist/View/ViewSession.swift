import FileSources
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import SwappableSources
import TerminalViews

/// A session of a list in the terminal, from the first frame to the last key.
///
/// The container has the source, which the user can swap. The screen shows a list that is derived
/// from the container, with a filter and an order as parameters. A swap and a new parameter are
/// changes of that list. Therefore, a chosen row stays on its line, and is selected again after a
/// filter has hidden it.
@MainActor
final class ViewSession {
  private static let markDuration = Duration.milliseconds(1500)

  private let container: SwappableContainer<JSONElement>
  private let selection: Selection
  /// The elements of the container that the options select, with all their members.
  private let elements: any DataSource<JSONElement>
  private let arrangement: ViewArrangement
  private let arranger: ViewArranger
  private let marks: ViewMarks
  private let sources: ViewSources
  private let screen: TerminalScreen
  private var model: ViewModel
  private var list: TerminalListView<ViewLine>?
  /// The numbers of the rows of some contents of the list.
  private var shownNumbers: (numbers: ViewNumbers, revision: Int, lineCount: Int)?
  /// The columns of the list, and the order that their headings show.
  private var shownColumns: (columns: ViewColumns, order: ViewOrder?)?
  /// The rows whose members the columns contain.
  private var recorded: (rows: Range<Int>, revision: Int)?
  /// The commands that run behind the list.
  private var runs: [(run: ViewRun, task: ViewTask)] = []
  /// The latest search.
  private var search: Task<Void, Never>?

  init(
    _ source: any DataSource<JSONElement>, named name: String, _ sources: ViewSources,
    _ screen: TerminalScreen, _ options: Options
  ) {
    container = SwappableContainer(source)
    selection = options.selection
    elements = selection.wholeElements(of: container)
    arrangement = ViewArrangement(
      elements, groupedBy: selection.groupField, showing: selection.keepingFields)
    arranger = ViewArranger(arrangement)
    marks = ViewMarks(arrangement)
    self.sources = sources
    self.screen = screen
    model = ViewModel(
      source: name, bindings: options.bindings, choosesElements: options.choosesElements)
    learnColumns(of: elements.snapshot)
    showMistakes()
  }

  /// Shows what may be wrong with the options for the elements of the source.
  private func showMistakes() {
    let mistakes = selection.mistakes(in: container.snapshot)
    if !mistakes.isEmpty { model.showError(mistakes.map(\.message).joined(separator: "\n")) }
  }

  /// Shows the list until the user quits or chooses, or the terminal is gone.
  ///
  /// - Returns: The chosen elements, or `nil` if the user has chosen none.
  func run() async -> [JSONElement]? {
    list = TerminalListView(
      arrangement.lines, columns: model.columns.columns(nil), header: ViewGroup.header,
      markDuration: ViewSession.markDuration
    ) { [weak self] _ in self?.draw() }
    for await input in screen.inputs {
      switch input {
      case .key(let key):
        let wasTypingFilter = model.isTypingFilter
        let action = model.press(key)
        if action == .choose {
          if let elements = targets(to: "choose") { return elements }
        } else if !perform(action) {
          return nil
        }
        if wasTypingFilter { explainFilter() }
      case .resized: break
      case .ended: return nil
      }
      draw()
    }
    return nil
  }

  /// Performs an action.
  ///
  /// - Returns: A Boolean value that indicates whether the view continues.
  private func perform(_ action: ViewModel.Action?) -> Bool {
    switch action {
    case .perform(let command): list?.perform(command)
    case .select(let row): list?.select(numbers.line(ofNumber: row))
    case .release: list?.keepsSelectedRow = false
    case .search(let text, let isBackward): find(text, isBackward: isBackward)
    case .showDetail: showDetail()
    case .mark: selectedRow(to: "mark").map { marks.toggle($0) }
    case .invertMarks: marks.invertShown()
    case .clearMarks: marks.clear()
    case .start(let binding): start(binding)
    case .run(let task): run(task)
    // The processes that a command has left running go on.
    case .end(let run): if run.isRunning { run.end() }
    case .step(let rows): step(by: rows)
    case .showSource: model.message = (sourceDescription.joined(separator: "\n"), false)
    case .arrange: arrange()
    case .swap(let text): swap(to: text)
    case .redraw: screen.redraw()
    case .stop:
      ReadPause.begin(within: Interruption.stopLimit)
      screen.suspend()
      ReadPause.end()
    case .quit: return false
    case .choose, nil: break
    }
    return true
  }

  // MARK: Drawing

  private func draw() {
    guard let list else { return }
    model.follow(list.status)
    if model.followsEnd, !model.isShowingDetail { list.perform(.end) }
    followDetail()
    showMarks()
    let size = screen.size
    func room(status: Int) -> TerminalSize {
      TerminalSize(rows: size.rows - status, columns: size.columns)
    }
    // The status contains the part of a text, or of the list, that is visible.
    var page = model.page(for: room(status: 1)) { sourceDescription }
    let shortest = size.rows > 1 ? 1 : 0
    var rows: [TerminalLine] = []
    if page == nil {
      updateColumns()
      rows = list.lines(for: room(status: shortest))
    }
    let (status, cursor) = model.status(list.state, numbers, list.status, size: size)
    if page != nil, status.count != 1 {
      page = model.page(for: room(status: status.count)) { sourceDescription }
    }
    let lines = page ?? visibleLines(rows, of: list, hiding: status.count - shortest)
    screen.show(
      TerminalFrame(
        size: size, lines: lines + status,
        cursor: cursor.map { TerminalFrame.Position(row: size.rows - 1, column: $0) }))
  }

  /// Returns the lines of the list without as many lines as a long status hides.
  ///
  /// The list itself stays as it is. Therefore, all rows are on the same lines again after the status.
  private func visibleLines(
    _ rows: [TerminalLine], of list: TerminalListView<ViewLine>, hiding count: Int
  ) -> [TerminalLine] {
    var lines = rows
    let selected = list.state.selection.map { $0 - list.state.visibleRows.lowerBound + 1 } ?? 0
    guard 0..<lines.count ~= count else { return lines }
    if lines.count - count..<lines.count ~= selected {
      // The selected row would be hidden. The first line is the headings.
      lines.removeSubrange(1...count)
    } else {
      lines.removeLast(count)
    }
    return lines
  }

  /// Shows the marks of the rows, and their number.
  private func showMarks() {
    model.marks = marks.counts
    let identities = marks.identities
    let hasStar: @Sendable (ViewLine) -> Bool = { line in
      line.row.map { identities.contains($0.differenceIdentifier) } ?? false
    }
    list?.hasStar = model.marks.all == 0 ? nil : hasStar
  }

  /// Shows the columns of the visible rows.
  private func updateColumns() {
    guard let list else { return }
    let (visible, revision) = (list.state.visibleRows, list.state.revision)
    let known = recorded?.revision == revision ? recorded?.rows : nil
    for line in visible where known?.contains(line) != true {
      if let row = list.state.contents[line].row { model.columns.record(row.element) }
    }
    recorded = (visible, revision)
    // While the rows are being arranged, no heading says in which order they are.
    let order = arranger.shownOrder
    if shownColumns?.columns != model.columns || shownColumns?.order != order {
      shownColumns = (model.columns, order)
      list.columns = model.columns.columns(order).map { TerminalColumn($0) }
    }
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
    model.columns = selection.columns(of: contents.prefix(100))
    recorded = nil
  }

  /// The source, and how it is kept in step.
  private var sourceDescription: [String] {
    let summary = container.source?.explain().nodes.last?.summary ?? []
    // The last line of the screen may have too little room for these remarks.
    let remarks = list?.status.remarks.map(\.message) ?? []
    return remarks + summary
  }

  // MARK: Details

  private func showDetail() {
    guard let row = selectedRow(to: "show"), let line = list?.state.selectedElement else { return }
    model.show(ViewDetail(row.element, in: line.differenceIdentifier))
  }

  /// Returns the selected row, which stays on its line from now on. If there is none, shows an error.
  ///
  /// - Parameter purpose: A verb for the use of the row.
  private func selectedRow(to purpose: String) -> ViewElement? {
    // The row that the user has seen: changes that have arrived since then may have selected another one.
    guard let line = list?.state.selectedElement else {
      model.showError("there is no row to \(purpose)")
      return nil
    }
    guard let row = line.row else {
      model.showError("this line is the header of a group; select a row below it")
      return nil
    }
    list?.keepsSelectedRow = true
    return row
  }

  /// Shows the details of a row below or above.
  private func step(by rows: Int) {
    guard case .detail(let detail) = model.mode, let list, var next = list.state.selection else {
      return
    }
    let contents = list.state.contents
    // If the element was deleted, the next one is selected.
    if !detail.isGone || rows < 0 { next += rows }
    while contents.indices.contains(next), contents[next].row == nil { next += rows }
    guard contents.indices.contains(next) else {
      model.message = ("this is the \(rows > 0 ? "last" : "first") row", false)
      return
    }
    list.select(next)
    showDetail()
  }

  /// Updates the details with the current element.
  private func followDetail() {
    guard case .detail(var detail) = model.mode, let list else { return }
    let line = list.state.selectedElement.flatMap {
      $0.differenceIdentifier == detail.line ? $0 : nil
    }
    let mark = list.state.selection.flatMap { list.state.mark(ofRow: $0) }
    detail.follow(line?.row?.element, isMarked: mark == .updated)
    model.update(detail)
  }

  // MARK: Commands

  /// Returns the marked elements, or else the selected one. If there is none, shows an error.
  ///
  /// - Parameter purpose: A verb for the use of the elements.
  private func targets(to purpose: String) -> [JSONElement]? {
    guard marks.counts.all > 0 else { return selectedRow(to: purpose).map { [$0.element] } }
    let elements = marks.elements(in: model.order)
    // The selected row is not what the user means.
    if elements.isEmpty { model.showError("the marked rows are gone; press u to remove the marks") }
    return elements.isEmpty ? nil : elements
  }

  private func start(_ binding: ViewBinding) {
    guard let elements = targets(to: "run the command for") else { return }
    let task = ViewTask(binding: binding, elements: elements)
    binding.asksFirst ? model.ask(task) : run(task)
  }

  private func run(_ task: ViewTask) {
    guard runs.count < 16 else {
      return model.showError("16 commands are running; wait until one has ended")
    }
    let binding = task.binding
    do throws(LivelistError) {
      let variables = try ViewBinding.variables(for: task.elements)
      let input = task.elements.flatMap { $0.utf8 + [UInt8(ascii: "\n")] }
      let run: ViewRun
      do throws(SystemError) {
        run = try ViewRun(
          binding.command, input: input, variables, keepsOutput: binding.showsOutput
        ) { [weak self] run in
          Task { @MainActor in self?.follow(run) }
        }
      } catch {
        throw .input("cannot run \(binding.title): \(error.message)")
      }
      if binding.showsOutput { return model.show(ViewOutput(of: run, task)) }
      runs.append((run, task))
      model.begin(.running)
    } catch {
      model.showError(error.message)
    }
  }

  /// Shows the output of a command that has changed, or its end.
  private func follow(_ run: ViewRun) {
    run.acknowledgeChange()
    list?.setNeedsDisplay()
    if !run.isRunning {
      // It has probably changed what the commands of sources print, and may have written to the terminal.
      Reloads.request()
      screen.redraw()
    }
    guard !run.isRunning, let place = runs.firstIndex(where: { $0.run == run }) else { return }
    let title = runs.remove(at: place).task.binding.title
    if runs.isEmpty { model.end(.running) }
    if let failure = run.failure {
      let reason = run.lastLine.map { ": \($0)" } ?? ""
      model.showError("\(title): \(failure)\(reason)")
    } else if model.message?.isError != true {
      model.message = ("\(title): done", false)
    }
  }

  // MARK: Long operations

  /// Applies the filter and the order that the user requested.
  private func arrange() {
    model.begin(.arranging)
    // Do not mark the rows: they move because the user requested it.
    list?.markDuration = .zero
    arranger.arrange { [self] in
      model.parameters
    } onEnd: { [self] in
      list?.markDuration = ViewSession.markDuration
      model.end(.arranging)
      explainFilter()
      draw()
    }
  }

  /// Shows why the filter matches nothing, if it is hardly what the user wants.
  private func explainFilter() {
    guard list?.state.contents.isEmpty == true, !arranger.isArranging else { return }
    model.explainFilter(of: elements.snapshot)
  }

  private func swap(to text: String) {
    let specification: SourceSpecification
    let source: any DataSource<JSONElement>
    do throws(LivelistError) {
      specification = try SourceSpecification(ByteString(encoded: text), allowing: .events)
      source = try sources.open(specification)
    } catch {
      return model.showError("cannot swap: \(error.message)")
    }
    model.begin(.swapping)
    let handle = container.swap(to: source)
    Task {
      switch await handle.outcome {
      case .swapped, .unchanged:
        model.end(.swapping)
        model.source = specification.text
        learnColumns(of: elements.snapshot)
        showMistakes()
      case .failed(let error):
        model.end(.swapping)
        model.showError("cannot swap: \(LivelistError(cannotLoad: error).message)")
      case .cancelled, .cycle: model.end(.swapping)
      // A later swap is in progress and will update the state.
      case .superseded: break
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
    model.begin(.searching)
    let contents = list.state.contents
    search = Task {
      let found = await ViewSearch.find(text, in: contents, from: selection, isBackward: isBackward)
      guard !Task.isCancelled else { return }
      model.end(.searching)
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
    updateColumns()
    let line = list.state.contents[offset]
    let pattern = ViewPattern(text)
    list.reveal(
      anyColumnOf: list.columns.indices.filter { pattern.matches(list.columns[$0].text(line)) })
    if found.isWrapped { model.message = ("the search continued at the other end", false) }
  }

  /// Returns the offset of a row that was at an offset before.
  private func offset(of row: ViewLine.Identifier, near offset: Int) -> Int? {
    guard let contents = list?.state.contents else { return nil }
    let isUnmoved = offset < contents.count && contents[offset].differenceIdentifier == row
    return isUnmoved ? offset : contents.firstIndex(identifiedBy: row)
  }
}
