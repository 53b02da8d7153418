import Swappable
import TerminalViews

/// Lays the screen out: the list with lines above and below it.
struct Layout {
  /// Lines that come or go together; those of the lowest rank go first.
  private struct Part {
    let rank: Int
    var isBelow = false
    let lines: [TerminalLine]
  }

  let model: ListModel
  let status: SourceStatus
  let revision: Int
  let count: Int
  /// The stores' names, in the order of their keys.
  let names: [String]
  /// Where the list can be edited by other programs.
  let hints: [String]
  let size: TerminalSize

  /// What the screen should show.
  ///
  /// - Parameter list: Gives the lines of the list for a part of the screen.
  func frame(_ list: (TerminalSize) -> [TerminalLine]) -> TerminalFrame {
    var parts = parts
    // Where room is short, what matters least goes first; of a long list some rows are enough.
    func needed() -> Int { parts.reduce(min(count, 10) + 2) { $0 + $1.lines.count } }
    while needed() > size.rows,
      let least = parts.indices.min(by: { parts[$0].rank < parts[$1].rank })
    {
      parts.remove(at: least)
    }
    let above = parts.filter { !$0.isBelow }.flatMap(\.lines)
    let below = parts.filter(\.isBelow).flatMap(\.lines) + [keys]
    let rest = TerminalSize(
      rows: size.rows - above.count - below.count, columns: size.columns)
    return TerminalFrame(size: size, lines: above + list(rest) + below)
  }

  private var parts: [Part] {
    let cyan = TerminalStyle(foreground: .cyan)
    let words = TerminalText.wrapped(
      TerminalText.printable(model.lastEvent), to: size.columns, limit: 3
    ).map { TerminalLine($0, cyan) }
    // Always as many lines, so that the list stands still.
    let moreWords = words.dropFirst() + repeatElement(TerminalLine(), count: 3 - words.count)
    return [
      Part(
        rank: 4,
        lines: [
          TerminalLine("A live list whose source can be exchanged", TerminalStyle(isBold: true))
        ]),
      Part(rank: 1, lines: [TerminalLine()]),
      Part(rank: 8, lines: [source]),
      Part(rank: 6, lines: [statusLine]),
      Part(rank: 1, lines: [TerminalLine()]),
      Part(rank: 7, lines: Array(words.prefix(1))),
      Part(rank: 3, lines: Array(moreWords)),
      Part(rank: 1, isBelow: true, lines: [TerminalLine()]),
      Part(
        rank: 2, isBelow: true,
        lines: hints.map { TerminalLine($0, TerminalStyle(isFaint: true)) }),
    ]
  }

  private var source: TerminalLine {
    var line = TerminalLine("Source: ")
    let isNarrow = size.columns < names.reduce(8) { $0 + $1.count + 4 }
    for name in names {
      if name == model.sourceName {
        line.append("[\(name)]", TerminalStyle(isReversed: true))
      } else if !isNarrow {
        line.append(" \(name) ", TerminalStyle(isFaint: true))
      }
      if !isNarrow { line.append("  ") }
    }
    return line
  }

  private var statusLine: TerminalLine {
    let red = TerminalStyle(foreground: .red)
    var line = TerminalLine("Status: ")
    switch status.state {
    case .idle: line.append("idle")
    case .loading: line.append("loading", TerminalStyle(foreground: .yellow))
    case .loaded: line.append("loaded", TerminalStyle(foreground: .green))
    case .failed(let error): line.append("failed: \(error)", red)
    case .missing(let error): line.append("missing: \(error)", red)
    }
    line.append(", \(Words.rows(count)), revision \(revision)")
    if let trouble = model.trouble { line.append("; no edit of the \(trouble)", red) }
    return line
  }

  private var keys: TerminalLine {
    let swaps = names.enumerated().map { "\($0 + 1) \($1)" }.joined(separator: "   ")
    let long = "Keys:  \(swaps)   ↑ ↓ move   q quit"
    return TerminalLine(
      TerminalText.width(long) <= size.columns ? long : "1 2 3 swap  q quit",
      TerminalStyle(isBold: true))
  }
}
