import FileSources
import ObservableCollections
import SwappablePrimitives
import TerminalViews

/// The state of a view besides its list: the mode, the order, the filter and messages.
///
/// The model maps keys to actions and performs no actions itself.
struct ViewModel {
  /// An action that the user requests.
  enum Action: Equatable {
    case perform(TerminalListState<ViewLine>.Command)
    /// Select the row with a number.
    case select(row: Int)
    /// Let the list stay where it is, instead of the selected row.
    case release
    case search(String, isBackward: Bool)
    /// Show the details of the selected row.
    case showDetail
    /// Mark the selected row, or remove its mark.
    case mark
    case invertMarks
    case clearMarks
    /// Run the command of a key, or ask first.
    case start(ViewBinding)
    case run(ViewTask)
    /// End the view with the marked rows, or the selected one.
    case choose
    /// End the command whose output is shown.
    case end(ViewRun)
    /// Show the details of a row below or above.
    case step(Int)
    /// Show how the source is kept in step.
    case showSource
    /// Apply the current parameters.
    case arrange
    case swap(String)
    case redraw
    case stop
    case quit
  }

  /// An operation that takes a while.
  enum Activity: String {
    case arranging, searching, swapping, running
  }

  enum Mode: Equatable {
    case list
    case prompt(ViewPrompt)
    case help
    case detail(ViewDetail)
    /// Ask whether to run a command.
    case question(ViewTask)
    case output(ViewOutput)
  }

  /// The text of the source.
  var source: String
  var columns = ViewColumns()
  private(set) var mode = Mode.list
  /// The text in place of the list, if there is one.
  private(set) var pager = ViewPager()
  private(set) var order: ViewOrder?
  /// The text of the filter. While the user types another one, this is the text to go back to.
  private(set) var filter = ""
  private(set) var lastSearch = ""
  /// The numbers of marks.
  var marks = ViewMarks.Counts()
  /// A Boolean value that indicates whether the last row is selected after each change, while the list is shown.
  private(set) var followsEnd = false
  /// The lines that the user has entered in each kind of prompt.
  private var history: [ViewPrompt.Kind: [String]] = [:]
  /// A message to show until the next key.
  var message: (text: String, isError: Bool)?
  /// The failure of the source in the latest frame.
  private var lastError: SourceError?
  /// The operations in progress, in the order in which they began.
  private(set) var activities: [Activity] = []
  /// The keys that run commands.
  private let bindings: [TerminalKey: ViewBinding]
  /// A Boolean value that indicates whether Enter ends the view with chosen rows.
  private let choosesElements: Bool

  init(source: String, bindings: [ViewBinding] = [], choosesElements: Bool = false) {
    self.source = source
    self.choosesElements = choosesElements
    self.bindings = Dictionary(bindings.map { ($0.key, $0) }) { $1 }
  }

  mutating func begin(_ activity: Activity) {
    if !activities.contains(activity) { activities.append(activity) }
  }

  mutating func end(_ activity: Activity) { activities.removeAll { $0 == activity } }

  /// Follows the status of the source. A new failure replaces a message.
  mutating func follow(_ status: SourceStatus) {
    if let error = status.error, error != lastError { message = nil }
    lastError = status.error
  }

  /// Shows an error until the next key.
  mutating func showError(_ text: String) { message = (text, true) }

  /// Shows why the filter matches none of some elements, if it is hardly what the user wants.
  mutating func explainFilter(of elements: Snapshot<JSONElement>) {
    let mistake = ViewFilter.mistake(in: filter, titles: columns.titles, elements)
    if let mistake, !isTypingFilter { showError(mistake) }
  }

  /// Shows an element in place of the list.
  mutating func show(_ detail: ViewDetail) { (mode, pager) = (.detail(detail), ViewPager()) }

  /// Asks whether to run a command.
  mutating func ask(_ task: ViewTask) { mode = .question(task) }

  /// Shows the output of a command in place of the list.
  mutating func show(_ output: ViewOutput) { (mode, pager) = (.output(output), ViewPager()) }

  private mutating func showHelp() { (mode, pager) = (.help, ViewPager()) }

  /// Updates the element that is shown in place of the list.
  mutating func update(_ detail: ViewDetail) { mode = .detail(detail) }

  /// Returns the lines that are shown in place of the list, or `nil` for the list.
  ///
  /// - Parameters:
  ///   - size: The size of the part of the screen that the list would take.
  ///   - source: A closure that returns a description of the source.
  mutating func page(for size: TerminalSize, source: () -> [String]) -> [TerminalLine]? {
    switch mode {
    case .list, .prompt, .question: return nil
    case .help:
      let bound = bindings.values.sorted { $0.name < $1.name }
      return pager.show(
        ViewHelp.lines(source: source(), bound, columns: size.columns), height: size.rows)
    case .output(var output):
      let lines = output.lines(columns: size.columns)
      mode = .output(output)
      return pager.show(lines, height: size.rows)
    case .detail(var detail):
      let lines = detail.lines(columns: size.columns)
      mode = .detail(detail)
      return pager.show(lines, height: size.rows)
    }
  }

  var isShowingDetail: Bool { if case .detail = mode { true } else { false } }

  var isTypingFilter: Bool { typedFilter != nil }

  /// The filter and the order of the list. A filter takes effect while the user types it.
  var parameters: ViewArrangement.Parameters {
    ViewArrangement.Parameters(
      filter: ViewFilter(typedFilter ?? filter, titles: columns.titles), order: order)
  }

  private var typedFilter: String? {
    guard case .prompt(let prompt) = mode, prompt.kind == .filter else { return nil }
    return prompt.text
  }

  /// Handles a key.
  ///
  /// - Returns: The action to perform, if any.
  mutating func press(_ key: TerminalKey) -> Action? {
    let action = action(of: key)
    switch action {
    // These actions select another row.
    case .select, .search, .step: followsEnd = false
    default: break
    }
    return action
  }

  private mutating func action(of key: TerminalKey) -> Action? {
    switch mode {
    case .help:
      if let command = ViewModel.command(key), pager.perform(command) { return nil }
      mode = .list
      return key == .control("c") ? .quit : nil
    case .detail:
      message = nil
      return pressInDetail(key)
    case .question(let task):
      return press(key, answering: task)
    case .output(let output):
      message = nil
      return press(key, in: output)
    case .prompt(let prompt):
      let old = parameters
      let action = press(key, in: prompt)
      return action ?? (parameters == old ? nil : .arrange)
    case .list:
      let hadMessage = message != nil
      if key == .escape, choosesElements { return .quit }
      message = nil
      // The key that removes a message has no other effect.
      return key == .escape && hadMessage ? nil : pressInList(key)
    }
  }

  private static let commands: [TerminalKey: ViewPager.Command] = [
    .character("k"): .up, .character("j"): .down, .control("b"): .pageUp, .control("u"): .pageUp,
    .control("f"): .pageDown, .control("d"): .pageDown, .character(" "): .pageDown,
    .character("g"): .home, .character("G"): .end, .character("h"): .left, .character("l"): .right,
  ]

  /// Returns the command of a key that moves in a list or in a text.
  private static func command(_ key: TerminalKey) -> ViewPager.Command? {
    commands[key] ?? ViewPager.Command(key)
  }

  private mutating func pressInDetail(_ key: TerminalKey) -> Action? {
    if let command = ViewModel.command(key), pager.perform(command) { return nil }
    switch key {
    case .character("n"): return .step(1)
    case .character("p"): return .step(-1)
    case .enter, .escape, .character("q"), .left, .character("h"): mode = .list
    case .control("l"): return .redraw
    case .control("r"):
      if !Reloads.request() { showError("no source runs a command that could be run again") }
    case .control("z"): return .stop
    case .control("c"): return .quit
    default: break
    }
    return nil
  }

  private mutating func press(_ key: TerminalKey, answering task: ViewTask) -> Action? {
    switch key {
    case .character("y"), .character("Y"):
      mode = .list
      return .run(task)
    case .character("n"), .character("N"), .escape, .control("c"): mode = .list
    default: break
    }
    return nil
  }

  private mutating func press(_ key: TerminalKey, in output: ViewOutput) -> Action? {
    if let command = ViewModel.command(key), pager.perform(command) { return nil }
    switch key {
    case .enter, .escape, .character("q"), .left, .character("h"), .control("c"):
      mode = .list
      return .end(output.run)
    case .control("l"): return .redraw
    case .control("z"): return .stop
    default: return nil
    }
  }

  private mutating func pressInList(_ key: TerminalKey) -> Action? {
    if let binding = bindings[key] { return .start(binding) }
    if key == .character(" ") { return .mark }
    if let command = ViewModel.command(key) {
      if command != .left, command != .right { followsEnd = false }
      return .perform(command)
    }
    switch key {
    case .character("F"):
      followsEnd = true
      return .perform(.end)
    case .escape:
      followsEnd = false
      return .release
    case .enter: return choosesElements ? .choose : .showDetail
    case .character("o"): return .showDetail
    case .character("/"): mode = .prompt(ViewPrompt(.search))
    case .character("f"): mode = .prompt(ViewPrompt(.filter, text: filter))
    case .character(":"): mode = .prompt(ViewPrompt(.command))
    case .character("?"): showHelp()
    case .character("i"): return .showSource
    case .character("n"): return searchAgain(isBackward: false)
    case .character("N"): return searchAgain(isBackward: true)
    case .character("<"): return sort(by: -1)
    case .character(">"): return sort(by: 1)
    case .character("r"):
      guard var order else {
        showError("the list is not sorted; choose a column with < or >")
        return nil
      }
      order.isDescending.toggle()
      self.order = order
      return .arrange
    case .character("v"): return .invertMarks
    case .character("u"):
      if marks.all > 0 { return .clearMarks }
      guard order != nil else { return nil }
      order = nil
      return .arrange
    case .control("l"): return .redraw
    case .control("r"):
      if !Reloads.request() { showError("no source runs a command that could be run again") }
    case .control("z"): return .stop
    case .character("q"), .character("Q"), .control("c"): return .quit
    case .character(let other): message = ("\(other) has no effect; ? shows all keys", false)
    default: break
    }
    return nil
  }

  private mutating func searchAgain(isBackward: Bool) -> Action? {
    guard !lastSearch.isEmpty else {
      showError("there is no previous search; type / and a text")
      return nil
    }
    return .search(lastSearch, isBackward: isBackward)
  }

  private mutating func sort(by step: Int) -> Action? {
    let titles = columns.titles
    guard !titles.isEmpty else { return nil }
    let position = order.flatMap { titles.firstIndex(where: $0.column.hasSameBytes) }
    let next = position.map { ($0 + step + titles.count) % titles.count }
    order = ViewOrder(
      column: titles[next ?? (step > 0 ? 0 : titles.count - 1)],
      isDescending: order?.isDescending ?? false)
    return .arrange
  }

  private mutating func press(_ key: TerminalKey, in prompt: ViewPrompt) -> Action? {
    var prompt = prompt
    switch key {
    case .enter:
      mode = .list
      return finish(prompt)
    case .escape, .control("c"), .control("g"):
      mode = .list
      return nil
    case .backspace:
      guard prompt.deleteBackward() else {
        mode = .list
        return nil
      }
    case .tab: prompt.complete(titles: columns.titles)
    case .up: prompt.recall(1, of: history[prompt.kind] ?? [])
    case .down: prompt.recall(-1, of: history[prompt.kind] ?? [])
    case .control("w"): prompt.deleteWord()
    case .control("u"): prompt.clear()
    case .character(let character): prompt.type(String(character))
    case .pasted(let text): prompt.type(text.filter { !$0.isNewline })
    default: break
    }
    mode = .prompt(prompt)
    return nil
  }

  private mutating func finish(_ prompt: ViewPrompt) -> Action? {
    if !prompt.text.isEmpty, history[prompt.kind]?.last != prompt.text {
      history[prompt.kind, default: []].append(prompt.text)
    }
    switch prompt.kind {
    case .search:
      if prompt.text.isEmpty { return searchAgain(isBackward: false) }
      lastSearch = prompt.text
      return .search(prompt.text, isBackward: false)
    case .filter:
      filter = prompt.text
      return nil
    case .command:
      do throws(LivelistError) {
        switch try ViewCommand(prompt.text, titles: columns.titles) {
        case .swap(let source): return .swap(source)
        case .sort(let order): self.order = order
        case .filter(let text): filter = text
        case .row(let row): return .select(row: row)
        case .help: showHelp()
        case .source: return .showSource
        case .quit: return .quit
        case nil: break
        }
      } catch {
        showError(error.message)
      }
      return nil
    }
  }
}
