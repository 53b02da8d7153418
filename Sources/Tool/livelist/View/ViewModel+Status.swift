import FileSources
import ObservableCollections
import RemoteSources
import SwappablePrimitives
import TerminalViews

// The last lines of the screen.
extension ViewModel {
  /// Returns the last lines of the screen, and the column of the cursor in the very last one.
  ///
  /// An error that is too wide for one line takes up to a third of the screen.
  func status(
    _ list: TerminalListState<ViewLine>, _ numbers: ViewNumbers, _ status: SourceStatus,
    size: TerminalSize
  ) -> (lines: [TerminalLine], cursorColumn: Int?) {
    guard size.rows > 1 else { return ([], nil) }
    if case .prompt(let prompt) = mode {
      let shown = prompt.kind.rawValue + ByteString(encoded: prompt.text).description
      let text = ViewModel.shortened(shown, to: size.columns - 1)
      let line = TerminalLine(text)
      let candidateText = prompt.candidates.joined(separator: "  ")
      let candidates = TerminalText.wrapped(
        TerminalText.printable(ByteString(encoded: candidateText).description), to: size.columns,
        limit: prompt.candidates.isEmpty ? 0 : max(0, size.rows / 3 - 1))
      var above = candidates.map { TerminalLine($0, TerminalStyle(isBold: true)) }
      if prompt.kind == .filter, let mistake = ViewFilter.mistakeInExpression(in: prompt.text) {
        let style = TerminalStyle(foreground: .red, isBold: true, isReversed: true)
        above = ViewModel.lines(of: mistake, style, "", size)
      }
      return (above + [line], min(line.width, max(0, size.columns - 1)))
    }
    let row = list.selection.map { "\(numbers.number(ofLine: $0))/" } ?? ""
    let position = " \(row)\(numbers.count) "
    let reversed = TerminalStyle(isReversed: true)
    if case .question(let task) = mode {
      let style = TerminalStyle(isBold: true, isReversed: true)
      return (ViewModel.lines(of: task.question, style, position, size), nil)
    }
    let error = TerminalStyle(foreground: .red, isBold: true, isReversed: true)
    if let message {
      let style = message.isError ? error : reversed
      return (ViewModel.lines(of: message.text, style, position, size), nil)
    }
    if let problem = problem(status) {
      return (ViewModel.lines(of: problem, error, position, size), nil)
    }
    if let page = pageStatus {
      return (ViewModel.lines(of: page.text, page.isError ? error : reversed, position, size), nil)
    }
    var about = remarks(status).map { " \($0) " }.joined()
    let long = ViewModel.hiddenRows(list.visibleRows, numbers) + position
    // Leave room for a part of the source, and of the remarks.
    let shown = TerminalText.width(long) + 8 <= size.columns ? long : position
    let widest = size.columns - TerminalText.width(shown) - 10
    if TerminalText.width(about) > widest, !status.remarks.isEmpty {
      let hint = "  i: all "
      about =
        TerminalText.truncated(
          TerminalText.printable(about), to: max(0, widest - TerminalText.width(hint))) + hint
    }
    let room = size.columns - TerminalText.width(about + shown)
    let line = TerminalLine(" \(ViewModel.shortened(source, to: room - 2)) \(about)", reversed)
    return ([ViewModel.line(line, shown, size)], nil)
  }

  /// Returns the numbers of rows above and below the visible lines, or an empty text if there are none.
  private static func hiddenRows(_ visible: Range<Int>, _ numbers: ViewNumbers) -> String {
    let above = numbers.number(ofLine: visible.lowerBound) - 1
    let below = numbers.count - numbers.number(ofLine: visible.upperBound) + 1
    return (above > 0 ? " ↑\(above)" : "") + (below > 0 ? " ↓\(below)" : "")
  }

  /// The status of the text that is shown in place of the list, or `nil` for the list.
  private var pageStatus: (text: String, isError: Bool)? {
    let part = pager.part.map { "\($0)  " } ?? ""
    switch mode {
    case .list, .prompt, .question: return nil
    case .output(let output):
      let (text, isError) = output.status
      return ("\(part)\(text)", isError)
    case .help: return ("\(part)any other key returns", false)
    case .detail(let detail):
      let key = TerminalText.truncated(detail.element.changeLabel ?? "row", to: 40)
      let keys = "\(key)  \(part)q: back  n: next  p: previous"
      guard detail.isGone else { return (keys, false) }
      return (
        filter.isEmpty
          ? "\(key) was deleted" : "\(key) was deleted, or it does not match the filter any longer",
        true
      )
    }
  }

  /// Returns the lines of a text, with the position at the end of the last one.
  private static func lines(
    of text: String, _ style: TerminalStyle, _ position: String, _ size: TerminalSize
  ) -> [TerminalLine] {
    let limit = max(1, size.rows / 3)
    let room = size.columns - TerminalText.width(position) - 2
    let texts = text.split(separator: "\n").map { TerminalText.printable(String($0)) }
    var lines: [String] = []
    if limit == 1 || texts.count == 1 && TerminalText.width(texts[0]) <= room {
      lines = [TerminalText.truncated(texts.joined(separator: " "), to: room)]
    } else {
      for text in texts where lines.count < limit {
        lines += TerminalText.wrapped(text, to: size.columns - 2, limit: limit - lines.count)
      }
      let isTooWide = TerminalText.width(lines.last ?? "") > room
      if isTooWide, lines.count < limit { lines.append("") }
    }
    return lines.enumerated().map { number, line in
      let line = TerminalLine(" \(line) ", style)
      return number < lines.count - 1
        ? line.fitted(to: size.columns) : self.line(line, position, size)
    }
  }

  /// Returns a line with the position at its end.
  private static func line(
    _ left: TerminalLine, _ position: String, _ size: TerminalSize
  ) -> TerminalLine {
    let room = max(0, size.columns - TerminalText.width(position))
    // The end of a long message is more useful than the position.
    if left.width > room + 1 { return left.fitted(to: size.columns) }
    var line = left.fitted(to: room)
    line.append(position, TerminalStyle(isReversed: true))
    return line
  }

  private func problem(_ status: SourceStatus) -> String? {
    status.shownMessage.map { "\(status.state.name): \($0)" }
  }

  /// Returns remarks about the list to show after its source.
  private func remarks(_ status: SourceStatus) -> [String] {
    var remarks: [String] = []
    // These remarks come first: an order that is being applied is not the one of the rows yet.
    remarks += activities.map(\.rawValue)
    if let text = marks.text { remarks.append(text) }
    if let order { remarks.append("\(order.column) \(order.isDescending ? "▼" : "▲")") }
    if order?.isNatural == true { remarks.append("natural") }
    if !filter.isEmpty { remarks.append("filter: \(filter)") }
    if followsEnd { remarks.append("following the end") }
    if case .loading = status.state { remarks.append("loading") }
    if let remark = status.remarks.first { remarks.append(remark.message) }
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

extension SourceStatus {
  /// The remarks for users. The remark that a query is not incremental is for programmers only.
  var remarks: [Diagnostic] { diagnostics.filter { $0.code != "not-incremental" } }
}
