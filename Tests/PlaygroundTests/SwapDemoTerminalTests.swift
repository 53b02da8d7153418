import Foundation
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system)) struct SwapDemoTerminalTests {
  private let directory: TemporaryDirectory
  private let terminal: PseudoTerminal
  private let modes: String

  init() throws {
    directory = try TemporaryDirectory()
    terminal = try PseudoTerminal(rows: 24, columns: 90)
    modes = try terminal.modes
  }

  /// Starts the demo and waits until it shows the list.
  private func start(_ environment: [String: String?] = ["NO_COLOR": nil]) throws -> Program {
    let program = try Program(
      "SwapDemo", environment: environment, terminal: terminal, directory: directory.path)
    try terminal.wait(for: "q quit")
    return program
  }

  private func waitUntilShown(_ text: String) throws {
    try terminal.wait(until: "\"\(text)\" is shown") { $0.display.text.contains(text) }
  }

  /// Presses the key of a store that is not shown, and waits for the sentence about the swap.
  private func swap(by key: String, to name: String) throws {
    try terminal.type(key)
    try terminal.wait(until: "the swap to the \(name) is shown") {
      $0.display.text.contains("[\(name)]") && $0.display.text.contains("swapped to \(name): ")
    }
  }

  private func expectEnd(_ program: Program) throws {
    #expect(try program.waitForEnd() == 0)
    #expect(try terminal.leftovers.isEmpty)
    #expect(try directory.names.isEmpty)
  }

  @Test func `the demo takes the screen and shows the list`() throws {
    let program = try start()
    #expect(terminal.display.isAlternate)
    #expect(!terminal.display.isCursorShown)
    #expect(try terminal.modes != modes)
    let lines = terminal.display.lines
    #expect(lines.first == "A live list whose source you can swap")
    let keys = "Keys:  1 array   2 JSON file   3 SQLite database   4 empty   s sort   q quit"
    #expect(lines.last == keys)
    #expect(lines.contains { $0.contains("Source: [array]") })
    #expect(lines.contains { $0.contains("Item") && $0.contains("Count") })
    #expect(lines.contains { $0.contains("Coffee") && $0.contains("revision 0") })
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `keys swap the source and Q quits`() throws {
    let program = try start()
    for (key, name) in [("2", "JSON file"), ("3", "SQLite database"), ("1", "array")] {
      try swap(by: key, to: name)
    }
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `a swap to an empty list is refused until it is accepted`() throws {
    let program = try start()
    try terminal.type("4")
    try waitUntilShown("elements would be deleted; the limit is 75 percent")
    try waitUntilShown("a accept   r reject")
    #expect(terminal.display.text.contains("Coffee"))
    try terminal.type("r")
    try terminal.wait(until: "nothing is refused") { !$0.display.text.contains("accept") }
    #expect(terminal.display.text.contains("[array]"))
    try terminal.type("4")
    try waitUntilShown("a accept   r reject")
    try terminal.type("a")
    try waitUntilShown("0 rows")
    try waitUntilShown("swapped to empty list: ")
    try swap(by: "2", to: "JSON file")
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `a key changes the order, which stays through swaps`() throws {
    let program = try start()
    /// Waits until the named column of the shown rows is in order.
    func waitUntilSorted(
      _ order: String, by areInOrder: @escaping (_ row: [Substring], _ next: [Substring]) -> Bool
    ) throws {
      try terminal.wait(until: "the rows are sorted \(order)") { terminal in
        let rows = terminal.display.lines.filter { $0.contains(#/ [A-C][0-9] +revision /#) }
          .map { $0.drop { !$0.isLetter }.split(separator: " ") }
        return terminal.display.text.contains("rows \(order), revision") && !rows.isEmpty
          && zip(rows, rows.dropFirst()).allSatisfy(areInOrder)
      }
    }
    try waitUntilShown("rows as stored, revision")
    try terminal.type("s")
    try waitUntilSorted("by name") { $0[0] < $1[0] }
    try swap(by: "3", to: "SQLite database")
    try waitUntilSorted("by name") { $0[0] < $1[0] }
    try terminal.type("s")
    try waitUntilSorted("by count") { Int($0[1]) ?? 0 >= Int($1[1]) ?? 0 }
    try terminal.type("s")
    try waitUntilShown("rows as stored, revision")
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `the sentence of a swap stays on the screen while the list is edited`() throws {
    let program = try start()
    try swap(by: "2", to: "JSON file")
    let lines = terminal.display.lines
    let sentence = try #require(lines.firstIndex { $0.hasPrefix("swapped to JSON file: ") })
    for _ in 0..<3 {
      let edit = terminal.display.lines[sentence + 3]
      try terminal.wait(until: "another edit is shown") {
        let line = $0.display.lines[sentence + 3]
        return line != edit && line.hasPrefix("JSON file edited: ")
      }
      #expect(terminal.display.lines[sentence..<(sentence + 3)] == lines[sentence..<(sentence + 3)])
    }
    try swap(by: "3", to: "SQLite database")
    #expect(!terminal.display.text.contains("swapped to JSON file"))
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `each source is edited while it is shown`() throws {
    let program = try start()
    try waitUntilShown("array edited: ")
    try terminal.type("2")
    try waitUntilShown("JSON file edited: ")
    try terminal.type("3")
    try waitUntilShown("SQLite database edited: ")
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `a signal ends the demo and restores the terminal`(signal: Int32) throws {
    let program = try start()
    program.send(signal)
    try expectEnd(program)
  }

  @Test func `Ctrl-C ends the demo`() throws {
    let program = try start()
    try terminal.type("\u{03}")
    try expectEnd(program)
  }

  @Test func `arrows move the selection`() throws {
    let program = try start()
    try waitUntilShown("\n>")
    let headings = try #require(terminal.display.lines.firstIndex { $0.contains("Here since") })
    /// Presses a key until a row is selected. An edit can move the selected row in the meantime.
    func press(_ key: String, until isRow: (Int) -> Bool) throws {
      func isReached() -> Bool {
        let line = terminal.display.lines.firstIndex { $0.hasPrefix(">") }
        return line.map { isRow($0 - headings - 1) } ?? false
      }
      while !isReached() {
        let lines = terminal.display.lines
        try terminal.type(key)
        try terminal.wait(until: "another row is selected") { $0.display.lines != lines }
      }
    }
    try press("\u{1B}[B") { $0 >= 2 }
    try press("\u{1B}[A") { $0 == 0 }
    try press("\u{1B}[F") { $0 >= 3 }
    try press("\u{1B}[H") { $0 == 0 }
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `other keys have no effect`() throws {
    let program = try start()
    // The sequence of this function key contains the digit 2.
    try terminal.type("\u{1B}[12~")
    try waitUntilShown("array edited: ")
    #expect(terminal.display.text.contains("[array]"))
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `every new size is filled`() throws {
    let program = try start()
    let sizes = [(40, 132), (10, 40), (5, 20), (3, 8), (1, 1), (2, 300), (24, 80)]
    for (rows, columns) in sizes {
      try terminal.resize(rows: rows, columns: columns)
      try terminal.wait(for: "\u{1B}[2J")
      let keys = "1 2 3 4 swap  q quit".prefix(columns).trimmingCharacters(in: .whitespaces)
      try terminal.wait(until: "the keys are in the last line at \(rows) x \(columns)") {
        $0.display.lines.last?.hasPrefix(keys) == true
          || $0.display.lines.last?.hasSuffix("q quit") == true
      }
    }
    // Ignore output that was drawn for a size before the current one.
    terminal.forgive()
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `the demo has no colors if NO_COLOR is set`() throws {
    let program = try start(["NO_COLOR": "1"])
    try swap(by: "2", to: "JSON file")
    #expect(!terminal.text.contains(/\u{1B}\[([0-9]+;)*([349][0-9]|10[0-7])(;[0-9]+)*m/))
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `unchanged lines are written once`() throws {
    let program = try start()
    try waitUntilShown("array edited: ")
    try terminal.type("q")
    try expectEnd(program)
    #expect(terminal.text.components(separatedBy: "A live list").count == 2)
    #expect(terminal.text.components(separatedBy: "q quit").count == 2)
    #expect(terminal.text.components(separatedBy: "\u{1B}[2J").count == 2)
  }

  @Test func `a file saved by another program is shown without control characters`() throws {
    let program = try start()
    try swap(by: "2", to: "JSON file")
    let name = try #require(try directory.names.first)
    let file = "\(directory.path)/\(name)/inventory.json"
    let items = #"""
      [{"id": 1, "name": "A\u001b[2Jb\r\nc\u009bd\u202ee", "count": 1, "shelf": "\t漢字"}]
      """#
    let shown = "A␛[2Jb␍␊c\u{FFFD}d\u{FFFD}e"
    while !terminal.display.text.contains(shown) {
      let data = Data(items.utf8)
      try data.write(to: URL(fileURLWithPath: file), options: .atomic)
      // The demo may overwrite the file with an edit of the old contents. Then save it again.
      try terminal.wait(until: "the saved name is shown") {
        $0.display.text.contains(shown) || FileManager.default.contents(atPath: file) != data
      }
    }
    #expect(terminal.text.components(separatedBy: "\u{1B}[2J").count == 2)
    try terminal.type("q")
    try expectEnd(program)
  }
}
