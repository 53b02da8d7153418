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
    #expect(lines.last == "Keys:  1 array   2 JSON file   3 SQLite database   q quit")
    #expect(lines.contains { $0.contains("Source: [array]") })
    #expect(lines.contains { $0.contains("Item") && $0.contains("Count") })
    #expect(lines.contains { $0.contains("Coffee") && $0.contains("revision 0") })
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func keysSwapTheSourceAndQQuits() throws {
    let program = try start()
    for (key, name) in [("2", "JSON file"), ("3", "SQLite database"), ("1", "array")] {
      try terminal.type(key)
      try terminal.wait(for: "swapped to \(name): ")
      try terminal.wait(until: "[\(name)] is shown") { $0.display.text.contains("[\(name)]") }
    }
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func eachSourceIsEditedWhileItIsShown() throws {
    let program = try start()
    try terminal.wait(for: "array edited: ")
    try terminal.type("2")
    try terminal.wait(for: "JSON file edited: ")
    try terminal.type("3")
    try terminal.wait(for: "SQLite database edited: ")
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

  @Test func keysThatAreSequencesDoNothing() throws {
    let program = try start()
    // A function key's sequence holds the digit 2.
    try terminal.type("\u{1B}[12~")
    try terminal.wait(for: "array edited: ")
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

  @Test func withNOCOLOREverythingIsPlain() throws {
    let program = try start(["NO_COLOR": "1"])
    try terminal.type("2")
    try terminal.wait(for: "swapped to JSON file: ")
    #expect(!terminal.text.contains(/\u{1B}\[[1-9][0-9;]*m/))
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func onlyLinesThatChangeAreWritten() throws {
    let program = try start()
    try terminal.wait(for: "array edited: ")
    try terminal.type("q")
    try expectEnd(program)
    #expect(terminal.text.components(separatedBy: "A live list").count == 2)
    #expect(terminal.text.components(separatedBy: "q quit").count == 2)
    #expect(terminal.text.components(separatedBy: "\u{1B}[2J").count == 2)
  }

  @Test func whatAnotherProgramSavesIsShownWithoutItsControlCharacters() throws {
    let program = try start()
    try terminal.type("2")
    try terminal.wait(for: "swapped to JSON file: ")
    let name = try #require(try directory.names.first)
    let file = "\(directory.path)/\(name)/inventory.json"
    let items = #"""
      [{"id": 1, "name": "A\u001b[2Jb\r\nc\u009bd\u202ee", "count": 1, "shelf": "\t漢字"}]
      """#
    let shown = "A?[2Jb??c?d?e"
    while !terminal.text.contains(shown) {
      try Data(items.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
      // The demo, having read the file before, may save it over this: then it is saved again.
      let count = terminal.text.components(separatedBy: "JSON file edited").count
      try terminal.wait(until: "the saved name is shown") {
        $0.text.contains(shown)
          || $0.text.components(separatedBy: "JSON file edited").count > count + 1
      }
    }
    #expect(terminal.text.components(separatedBy: "\u{1B}[2J").count == 2)
    try terminal.type("q")
    try expectEnd(program)
  }
}
