extension LiveGraph: CustomStringConvertible {
  /// A tree with the explained list at the top, and below each node the nodes from which it is made.
  ///
  /// A node that is used several times is described once. Its other places refer to its number.
  public var description: String {
    var printer = Printer(graph: self)
    if let last = nodes.indices.last { printer.add(last, first: "", rest: "") }
    if nodes.last?.work == nil {
      printer.lines.append(
        "The work is not counted. To count it, call countWork() before the changes.")
    } else if printer.longest != nil {
      printer.lines.append("Total: \(printer.total.text)")
    }
    return printer.lines.joined(separator: "\n")
  }

  /// The lines of a description.
  private struct Printer {
    let graph: LiveGraph
    /// The time of all nodes, observers and reads.
    let total: Duration
    /// The longest time, or `nil` if there are not several to compare.
    let longest: Duration?
    var lines: [String] = []
    var described: Set<Int> = []

    /// The number of inputs of one node that are shown, because a flat map may have thousands.
    private static let maximumInputs = 20

    init(graph: LiveGraph) {
      self.graph = graph
      let times = graph.nodes.compactMap(\.work).flatMap(\.times)
        .filter { $0 > .zero }
      total = times.reduce(.zero, +)
      longest = times.count > 1 ? times.max() : nil
    }

    /// Adds a node, and everything below it.
    ///
    /// - Parameters:
    ///   - first: The start of the first line.
    ///   - rest: The start of all other lines.
    mutating func add(_ position: Int, first: String, rest: String) {
      let node = graph.nodes[position]
      guard described.insert(position).inserted else {
        lines.append("\(first)\(position + 1) \(node.title), as above")
        return
      }
      lines.append(
        "\(first)\(position + 1) \(([node.title] + node.contents).joined(separator: ", "))")
      let shown = node.inputs.prefix(Self.maximumInputs)
      let hidden = node.inputs.count - shown.count
      for line in details(of: node) { lines.append(rest + (shown.isEmpty ? "  " : "│ ") + line) }
      for (offset, input) in shown.enumerated() {
        let isLast = offset == shown.count - 1 && hidden == 0
        add(input, first: rest + (isLast ? "└ " : "├ "), rest: rest + (isLast ? "  " : "│ "))
      }
      if hidden > 0 { lines.append("\(rest)└ and \(hidden) more") }
    }

    private func details(of node: Node) -> [String] {
      var lines: [String] = []
      if let source = node.source {
        lines = source.lines
        if source.loadCount > 0 { lines.append(loads(of: node, source)) }
        if let fault = source.lastFault { lines.append("last error: \(fault)") }
      }
      guard let work = node.work else { return lines }
      if work.passCount == 0 { return lines + ["0 passes"] }
      var parts = ["\(work.passCount.counted("pass", "passes")) in \(share(work.time))"]
      if work.changesIn > 0 { parts.append("in: \(changes(work.changesIn, work.elementsIn))") }
      parts.append("out: \(changes(work.changesOut, work.elementsOut))")
      lines.append(parts.joined(separator: "; "))
      if work.observerTime > .zero { lines.append("observers: \(share(work.observerTime))") }
      return lines
    }

    private func loads(of node: Node, _ source: Source) -> String {
      let isContainer = !node.inputs.isEmpty
      let loads =
        isContainer
        ? source.loadCount.counted("swap", "swaps") : source.loadCount.counted("load", "loads")
      let since = node.work?.loadTime ?? .zero
      let time = since == source.loadTime ? share(since) : source.loadTime.text
      var text = "\(loads) in \(time)"
      if source.loadCount > 1 { text += "; the last in \(source.lastLoadTime.text)" }
      if since > .zero, since != source.loadTime {
        text += "; since counting began: \(share(since))"
      }
      return text
    }

    private func changes(_ changes: Int, _ elements: Int) -> String {
      "\(changes.counted("change", "changes")) of \(elements.counted("element", "elements"))"
    }

    /// A time, its share of the total, and a mark if it is the longest.
    private func share(_ time: Duration) -> String {
      guard let longest else { return time.text }
      let percent = Int((time / total * 100).rounded())
      return "\(time.text) (\(percent)%)\(time == longest ? " ← the most time" : "")"
    }
  }
}

extension LiveGraph.Node {
  /// The kind and the label.
  fileprivate var title: String { label.map { "\(kind) \"\($0)\"" } ?? kind }

  fileprivate var contents: [String] {
    var parts: [String] = []
    if let elementCount { parts.append(elementCount.counted("element", "elements")) }
    if observerCount > 0 { parts.append(observerCount.counted("observer", "observers")) }
    if let status {
      // The diagnostics are among the reasons for the mode of a source, and repeated downstream.
      parts.append(SourceStatus(status.state).description)
    }
    return parts
  }
}

extension LiveGraph.Node {
  /// The lines of a short description of a source: its contents, its place, and how it follows changes.
  package var summary: [String] {
    var first = ([title] + contents).joined(separator: ", ")
    if let source, source.loadCount > 0 {
      first += "; \(source.loadCount.counted("load", "loads"))"
      if source.loadCount > 1 { first += ", the last one" }
      first += " in \(source.lastLoadTime.text), \(source.lastLoadAge.roundedText) ago"
    }
    return [first] + (source?.lines ?? [])
  }
}

extension LiveGraph.Source {
  /// The place and the mode.
  fileprivate var lines: [String] {
    [location, mode.map { mode in reason.map { "\(mode): \($0)" } ?? mode }].compactMap(\.self)
  }
}

extension Int {
  /// The number and a noun.
  func counted(_ one: String, _ many: String) -> String { "\(self) \(self == 1 ? one : many)" }
}

extension Duration {
  /// The duration in whole seconds, minutes or hours.
  fileprivate var roundedText: String {
    let seconds = components.seconds
    return seconds < 120
      ? "\(seconds) s" : seconds < 7200 ? "\(seconds / 60) min" : "\(seconds / 3600) h"
  }

  /// The duration in the unit in which it has one to three digits before the point, such as `12.3 ms`.
  var text: String {
    let units: [(name: String, length: Duration)] = [
      ("s", .seconds(1)), ("ms", .milliseconds(1)), ("µs", .microseconds(1)),
    ]
    let unit = units.first { self >= $0.length } ?? ("µs", .microseconds(1))
    let tenths = Int((self / unit.length * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) \(unit.name)"
  }
}
