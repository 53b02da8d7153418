import Swappable

/// Lays the live list out for a size of the screen.
struct Layout {
  let model: ListModel
  /// The stores' names, in the order of their keys.
  let names: [String]
  /// Where the list can be edited by other programs.
  let hints: [String]
  let rows: Int
  let columns: Int

  /// All lines of the screen, from the top. The keys stand in the last one.
  func lines() -> [Screen.Line] {
    var parts = self.parts
    // Where room is short, what matters least goes first.
    func needed() -> Int { parts.reduce(model.rows.count + 2) { $0 + $1.lines.count } }
    while needed() > rows, let least = parts.indices.min(by: { parts[$0].rank < parts[$1].rank }),
      parts[least].rank < 9
    {
      parts.remove(at: least)
    }
    let above = parts.filter { !$0.isBelow }.flatMap(\.lines)
    let below = parts.filter(\.isBelow).flatMap(\.lines)
    let room = max(0, rows - above.count - below.count - 1)
    var lines = above + table(room: room)
    let end = max(0, rows - below.count - 1)
    lines += repeatElement(Screen.Line(), count: max(0, end - lines.count))
    return Array((lines + below).prefix(rows - 1)) + [keys]
  }

  /// Lines that come or go together; those of the lowest rank go first.
  private struct Part {
    let rank: Int
    var isBelow = false
    let lines: [Screen.Line]
  }

  private var parts: [Part] {
    let words = Text.wrapped(Text.printable(model.lastEvent), to: columns, limit: 3)
    let firstWords = words.first.map { [Screen.Line($0, .cyan)] } ?? []
    // Always as many lines, so that the table stands still.
    let moreWords = (1..<3).map { Screen.Line($0 < words.count ? words[$0] : "", .cyan) }
    return [
      Part(rank: 4, lines: [Screen.Line("A live list whose source can be exchanged", .bold)]),
      Part(rank: 1, lines: [Screen.Line()]),
      Part(rank: 8, lines: [source]),
      Part(rank: 6, lines: [status]),
      Part(rank: 1, lines: [Screen.Line()]),
      Part(rank: 7, lines: firstWords),
      Part(rank: 3, lines: moreWords),
      Part(rank: 1, isBelow: true, lines: [Screen.Line()]),
      Part(rank: 2, isBelow: true, lines: hints.map { Screen.Line($0, .faint) }),
    ]
  }

  private var source: Screen.Line {
    var line = Screen.Line("Source: ")
    let isNarrow = columns < names.reduce(8) { $0 + $1.count + 4 }
    for name in names {
      if name == model.sourceName {
        line.append("[\(name)]", .reversed)
      } else if !isNarrow {
        line.append(" \(name) ", .faint)
      }
      if !isNarrow { line.append("  ") }
    }
    return line
  }

  private var status: Screen.Line {
    var line = Screen.Line("Status: ")
    switch model.status.state {
    case .idle: line.append("idle")
    case .loading: line.append("loading", .yellow)
    case .loaded: line.append("loaded", .green)
    case .failed(let error): line.append("failed: \(error)", .red)
    case .missing(let error): line.append("missing: \(error)", .red)
    }
    line.append(", \(Words.rows(model.rows.count)), revision \(model.revision)")
    if let trouble = model.trouble { line.append("; no edit of the \(trouble)", .red) }
    return line
  }

  private var keys: Screen.Line {
    let swaps = names.enumerated().map { "\($0 + 1) \($1)" }.joined(separator: "   ")
    let long = "Keys:  \(swaps)   q quit"
    return Screen.Line(long.count <= columns ? long : "1 2 3 swap  q quit", .bold)
  }

  private func table(room: Int) -> [Screen.Line] {
    guard room > 0 else { return [] }
    let widest = model.rows.map { Text.width(Text.printable($0.item.name)) }.max() ?? 0
    let width = min(max(widest, 12), 24)
    func cells(_ name: String, _ count: String, _ shelf: String, _ since: String) -> String {
      "\(Text.padded(name, to: width))  \(Text.padded(count, to: 7, atStart: true))"
        + "   \(Text.padded(shelf, to: 6))  \(since)"
    }
    var lines: [Screen.Line] = []
    let hasHead = room > model.rows.count || room > 3
    if hasHead {
      lines.append(Screen.Line("    " + cells("Item", "Count", "Shelf", "Here since"), .bold))
    }
    let fitting = room - lines.count
    // One line tells of the rows that do not fit.
    let count = model.rows.count <= fitting ? model.rows.count : fitting - 1
    for row in model.rows.prefix(max(0, count)) {
      let marks = row.marks.map(\.rawValue).sorted().joined()
      let cells = cells(
        Text.printable(row.item.name), "\(row.item.count)", Text.printable(row.item.shelf),
        "revision \(row.since)")
      lines.append(Screen.Line(Text.padded(marks, to: 4) + cells, style(of: row)))
    }
    if count < model.rows.count, fitting > 0 {
      lines.append(Screen.Line("    ... \(model.rows.count - max(0, count)) more", .faint))
    }
    return lines
  }

  private func style(of row: ListModel.Row) -> Screen.Style {
    if row.marks.contains(.inserted) { return .green }
    if row.marks.contains(.updated) { return .yellow }
    return row.marks.isEmpty ? .plain : .cyan
  }
}
