import FileSources
import ObservableCollections
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
    case search(String, isBackward: Bool)
    /// Apply the current parameters.
    case arrange
    case swap(String)
    case redraw
    case stop
    case quit
  }

  enum Mode: Equatable {
    case list
    case prompt(ViewPrompt)
    case help
  }

  /// The text of the source.
  var source: String
  var columns = ViewColumns()
  private(set) var mode = Mode.list
  private(set) var order: ViewOrder?
  /// The text of the filter. While the user types another one, this is the text to go back to.
  private(set) var filter = ""
  private(set) var lastSearch = ""
  /// A message to show until the next key.
  var message: (text: String, isError: Bool)?
  /// The name of the operation in progress.
  var activity: String?

  init(source: String) {
    self.source = source
  }

  /// Shows an error until the next key.
  mutating func showError(_ text: String) { message = (text, true) }

  /// A Boolean value that indicates whether the user is typing a filter.
  var isTypingFilter: Bool { typedFilter != nil }

  /// The filter and the order of the list. A filter takes effect while the user types it.
  var parameters: ViewArrangement.Parameters {
    ViewArrangement.Parameters(filter: typedFilter ?? filter, order: order)
  }

  private var typedFilter: String? {
    guard case .prompt(let prompt) = mode, prompt.kind == .filter else { return nil }
    return prompt.text
  }

  /// Handles a key.
  ///
  /// - Returns: The action to perform, if any.
  mutating func press(_ key: TerminalKey) -> Action? {
    switch mode {
    case .help:
      mode = .list
      return key == .control("c") ? .quit : nil
    case .prompt(let prompt):
      let old = parameters
      let action = press(key, in: prompt)
      return action ?? (parameters == old ? nil : .arrange)
    case .list:
      message = nil
      return pressInList(key)
    }
  }

  private mutating func pressInList(_ key: TerminalKey) -> Action? {
    switch key {
    case .up, .character("k"): return .perform(.up)
    case .down, .character("j"): return .perform(.down)
    case .pageUp, .control("b"): return .perform(.pageUp)
    case .pageDown, .control("f"), .character(" "): return .perform(.pageDown)
    case .home, .character("g"): return .perform(.home)
    case .end, .character("G"): return .perform(.end)
    case .left, .character("h"): return .perform(.left)
    case .right, .character("l"): return .perform(.right)
    case .character("/"): mode = .prompt(ViewPrompt(.search))
    case .character("f"): mode = .prompt(ViewPrompt(.filter, text: filter))
    case .character(":"): mode = .prompt(ViewPrompt(.command))
    case .character("?"): mode = .help
    case .character("n"): return searchAgain(isBackward: false)
    case .character("N"): return searchAgain(isBackward: true)
    case .character("<"): return sort(by: -1)
    case .character(">"): return sort(by: 1)
    case .character("r"):
      guard let order else {
        showError("the list is not sorted; choose a column with < or >")
        return nil
      }
      self.order = ViewOrder(column: order.column, isDescending: !order.isDescending)
      return .arrange
    case .character("u"):
      guard order != nil else { return nil }
      order = nil
      return .arrange
    case .control("l"): return .redraw
    case .control("z"): return .stop
    case .character("q"), .character("Q"), .control("c"): return .quit
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
    let position = order.flatMap { titles.firstIndex(of: $0.column) }
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
        case .help: mode = .help
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

extension ViewModel {
  /// Returns the last line of the screen, and the column of the cursor in it.
  func statusLine(
    _ list: TerminalListState<ViewLine>, _ numbers: ViewNumbers, _ status: SourceStatus,
    columns: Int
  ) -> (line: TerminalLine, cursorColumn: Int?) {
    if case .prompt(let prompt) = mode {
      let line = TerminalLine(prompt.kind.rawValue + prompt.text)
      return (line, min(line.width, max(0, columns - 1)))
    }
    let reversed = TerminalStyle(isReversed: true)
    let error = TerminalStyle(foreground: .red, isBold: true, isReversed: true)
    let row = list.selection.map { "\(numbers.number(ofLine: $0))/" } ?? ""
    let position = " \(row)\(numbers.count) "
    var left = TerminalLine()
    if let message {
      left.append(" \(message.text) ", message.isError ? error : reversed)
    } else if let problem = problem(status) {
      left.append(" \(problem) ", error)
    } else {
      let about = remarks(status).map { " \($0) " }.joined()
      let room = columns - TerminalText.width(about + position) - 2
      left.append(" \(ViewModel.shortened(source, to: room)) \(about)", reversed)
    }
    let room = max(0, columns - TerminalText.width(position))
    left = left.fitted(to: room)
    left.append(position, reversed)
    return (left, nil)
  }

  private func problem(_ status: SourceStatus) -> String? {
    switch status.state {
    case .failed(let error): "failed: \(error.message)"
    case .missing(let error): "missing: \(error.message)"
    case .idle, .loading, .loaded: nil
    }
  }

  /// Returns remarks about the list to show after its source.
  private func remarks(_ status: SourceStatus) -> [String] {
    var remarks: [String] = []
    if let order { remarks.append("\(order.column) \(order.isDescending ? "▼" : "▲")") }
    if !filter.isEmpty { remarks.append("filter: \(filter)") }
    if let activity { remarks.append(activity) }
    if case .loading = status.state { remarks.append("loading") }
    // The remark that a query is not incremental is for programmers only.
    let remark = status.diagnostics.first { $0.code != "not-incremental" }
    if let remark { remarks.append(remark.message) }
    return remarks
  }

  /// Returns a text without its middle if it is too wide.
  ///
  /// The start and the end of a source, its kind and its name, are the most useful parts.
  private static func shortened(_ text: String, to room: Int) -> String {
    let text = TerminalText.printable(text)
    guard TerminalText.width(text) > room else { return text }
    let start = TerminalText.clipped(text, to: min(6, max(0, room - 1)))
    let left = max(0, room - TerminalText.width(start) - 1)
    var end = text.suffix(left)
    while TerminalText.width(String(end)) > left { end.removeFirst() }
    return start + "…" + end
  }
}
