import TerminalViews

/// The output of a command in place of the list.
struct ViewOutput: Equatable {
  let task: ViewTask
  let run: ViewRun
  /// The lines for a number of columns, which can be many.
  private var layout: Layout?

  private struct Layout: Equatable {
    let columns: Int
    let version: Int
    let lines: [TerminalLine]
  }

  init(of run: ViewRun, _ task: ViewTask) {
    (self.run, self.task) = (run, task)
  }

  mutating func lines(columns: Int) -> [TerminalLine] {
    let version = run.version
    if let layout, layout.columns == columns, layout.version == version { return layout.lines }
    let lines = run.lines.flatMap { line in
      TerminalText.folded(TerminalText.printable(line), to: columns).map { TerminalLine($0) }
    }
    layout = Layout(columns: columns, version: version, lines: lines)
    return lines
  }

  /// The state of the command as text.
  var status: (text: String, isError: Bool) {
    if run.isRunning { return ("running  q: end it and go back", false) }
    return run.failure.map { ("\($0)  q: back", true) } ?? ("done  q: back", false)
  }
}
