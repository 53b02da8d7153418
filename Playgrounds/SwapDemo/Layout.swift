import Swappable
import TerminalViews

/// The layout of the screen: the list with lines above and below it.
struct Layout {
  /// Lines that are shown or omitted together. The part with the lowest rank is omitted first.
  private struct Part {
    let rank: Int
    var isBelow = false
    let lines: [TerminalLine]
  }

  let model: ListModel
  let status: SourceStatus
  let revision: Int
  let count: Int
  /// Returns the position in the list, after the list knows its part of the screen.
  var position: () -> String = { "" }
  /// The names of the stores, in the order of their keys.
  let names: [String]
  /// Lines that describe how other programs can edit the list.
  let hints: [String]
  let size: TerminalSize

  /// Returns the frame to show.
  ///
  /// - Parameter list: A closure that returns the lines of the list for a part of the screen.
  func frame(_ list: (TerminalSize) -> [TerminalLine]) -> TerminalFrame {
    func lines(isBelow: Bool) -> [TerminalLine] {
      fittingParts.filter { $0.isBelow == isBelow }.flatMap(\.lines)
    }
    let below = lines(isBelow: true) + [keys]
    let rest = TerminalSize(
      rows: size.rows - lines(isBelow: false).count - below.count, columns: size.columns)
    let rows = list(rest)
    return TerminalFrame(size: size, lines: lines(isBelow: false) + rows + below)
  }

  private var fittingParts: [Part] {
    var parts = parts
    // If there is too little room, omit the least important parts. Ten rows of a long list are
    // enough.
    func needed() -> Int { parts.reduce(min(count, 10) + 2) { $0 + $1.lines.count } }
    while needed() > size.rows,
      let least = parts.indices.min(by: { parts[$0].rank < parts[$1].rank })
    {
      parts.remove(at: least)
    }
    return parts
  }

  private var parts: [Part] {
    let cyan = TerminalStyle(foreground: .cyan)
    let swap = TerminalText.wrapped(
      TerminalText.printable(model.refusal.map { "Refused: \($0)" } ?? model.swapSentence),
      to: size.columns, limit: 3
    ).map { TerminalLine($0, cyan) }
    // The number of lines is constant. Therefore, the list does not move.
    let moreOfSwap = swap.dropFirst() + repeatElement(TerminalLine(), count: 3 - swap.count)
    let edit = TerminalText.truncated(
      TerminalText.printable(model.editSentence), to: size.columns)
    return [
      Part(
        rank: 4,
        lines: [
          TerminalLine("A live list whose source you can swap", TerminalStyle(isBold: true))
        ]),
      Part(rank: 1, lines: [TerminalLine()]),
      Part(rank: 8, lines: [source]),
      Part(rank: 6, lines: [statusLine]),
      Part(rank: 1, lines: [TerminalLine()]),
      Part(rank: 7, lines: Array(swap.prefix(1))),
      Part(rank: 3, lines: Array(moreOfSwap)),
      Part(rank: 5, lines: [TerminalLine(edit)]),
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
    line.append(", \(Words.rows(count)) \(model.order.rawValue), revision \(revision)")
    if !position().isEmpty { line.append(", \(position())") }
    if let error = model.editError { line.append("; cannot edit \(error)", red) }
    return line
  }

  private var keys: TerminalLine {
    let swaps = names.enumerated().map { "\($0 + 1) \($1)" }.joined(separator: "   ")
    let other = model.refusal == nil ? "s sort" : "a accept   r reject"
    let long = "Keys:  \(swaps)   4 empty   \(other)   q quit"
    return TerminalLine(
      TerminalText.width(long) <= size.columns
        ? long : "1 2 3 4 swap  \(model.refusal == nil ? "" : "a r decide  ")q quit",
      TerminalStyle(isBold: true))
  }
}
