import Foundation
import TestSupport
import Testing

@Suite struct SwapDemoTerminalTests {
  private let directory: TestDirectory
  private let terminal: PseudoTerminal
  private let modes: String

  init() throws {
    directory = try TestDirectory()
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

  /// Swaps until what differs is told: an edit may have taken its place before it was read here.
  private func swap(by key: String, to name: String) throws {
    // The store that is shown already would be no swap.
    let (otherKey, other) = key == "1" ? ("2", "JSON file") : ("1", "array")
    repeat {
      try terminal.type(otherKey)
      try waitUntilShown("[\(other)]")
      try terminal.type(key)
      try terminal.wait(until: "the \(name) is shown") {
        $0.display.text.contains("[\(name)]")
          && ($0.display.text.contains("swapped to \(name): ")
            || $0.display.text.contains("\(name) edited: "))
      }
    } while !terminal.display.text.contains("swapped to \(name): ")
  }

  private func expectEnd(_ program: Program) throws {
    #expect(try program.waitForEnd() == 0)
    try terminal.readRest()
    #expect(try terminal.modes == modes)
    #expect(!terminal.display.isAlternate)
    #expect(terminal.display.isCursorShown)
    #expect(terminal.display.wrapsLines)
    #expect(terminal.display.isPlain)
    #expect(terminal.display.complaints.isEmpty)
    #expect(try directory.names.isEmpty)
  }

  @Test func itTakesTheScreenAndShowsTheList() throws {
    let program = try start()
    #expect(terminal.display.isAlternate)
    #expect(!terminal.display.isCursorShown)
    #expect(try terminal.modes != modes)
    let lines = terminal.display.lines
    #expect(lines.first == "A live list whose source can be exchanged")
    #expect(lines.last == "Keys:  1 array   2 JSON file   3 SQLite database   ↑ ↓ move   q quit")
    #expect(lines.contains { $0.contains("Source: [array]") })
    #expect(lines.contains { $0.contains("Item") && $0.contains("Count") })
    #expect(lines.contains { $0.contains("Coffee") && $0.contains("revision 0") })
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func keysSwapTheSourceAndQQuits() throws {
    let program = try start()
    for (key, name) in [("2", "JSON file"), ("3", "SQLite database"), ("1", "array")] {
      try swap(by: key, to: name)
    }
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func eachSourceIsEditedWhileItIsShown() throws {
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
  func aSignalEndsItAndTheTerminalIsAsItWas(signal: Int32) throws {
    let program = try start()
    program.send(signal)
    try expectEnd(program)
  }

  @Test func controlCEndsIt() throws {
    let program = try start()
    try terminal.type("\u{03}")
    try expectEnd(program)
  }

  @Test func arrowsMoveTheSelection() throws {
    let program = try start()
    try waitUntilShown("\n>")
    let headings = try #require(terminal.display.lines.firstIndex { $0.contains("Here since") })
    /// Presses it again where an edit has moved what is selected.
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

  @Test func keysThatAreSequencesDoNothing() throws {
    let program = try start()
    // A function key's sequence holds the digit 2.
    try terminal.type("\u{1B}[12~")
    try waitUntilShown("array edited: ")
    #expect(terminal.display.text.contains("[array]"))
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func aNewSizeIsFilledAndSmallOnesAreEndured() throws {
    let program = try start()
    let sizes = [(40, 132), (10, 40), (5, 20), (3, 8), (1, 1), (2, 300), (24, 80)]
    for (rows, columns) in sizes {
      try terminal.resize(rows: rows, columns: columns)
      try terminal.wait(for: "\u{1B}[2J")
      let keys = String("1 2 3 swap  q quit".prefix(columns))
      try terminal.wait(until: "the keys stand below at \(rows) x \(columns)") {
        $0.display.lines.last?.hasPrefix(keys) == true
          || $0.display.lines.last?.hasSuffix("q quit") == true
      }
    }
    // What was written for one size when the other one was there already.
    terminal.forgive()
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func withNOCOLORThereAreNoColours() throws {
    let program = try start(["NO_COLOR": "1"])
    try swap(by: "2", to: "JSON file")
    #expect(!terminal.text.contains(/\u{1B}\[([0-9]+;)*([349][0-9]|10[0-7])(;[0-9]+)*m/))
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func whatStaysIsWrittenOnce() throws {
    let program = try start()
    try waitUntilShown("array edited: ")
    try terminal.type("q")
    try expectEnd(program)
    #expect(terminal.text.components(separatedBy: "A live list").count == 2)
    #expect(terminal.text.components(separatedBy: "q quit").count == 2)
    #expect(terminal.text.components(separatedBy: "\u{1B}[2J").count == 2)
  }

  @Test func whatAnotherProgramSavesIsShownWithoutItsControlCharacters() throws {
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
      // The demo, having read the file before, may save it over this: then it is saved again.
      try terminal.wait(until: "the saved name is shown") {
        $0.display.text.contains(shown) || FileManager.default.contents(atPath: file) != data
      }
    }
    #expect(terminal.text.components(separatedBy: "\u{1B}[2J").count == 2)
    try terminal.type("q")
    try expectEnd(program)
  }
}
