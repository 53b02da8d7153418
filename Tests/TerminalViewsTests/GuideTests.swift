import Foundation
import TestSupport
import Testing

/// The program of the guide "In a terminal".
@Suite struct GuideTests {
  private func contents(_ path: String) throws -> String {
    let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    return try String(contentsOf: package.appendingPathComponent(path), encoding: .utf8)
  }

  @Test func theProgramIsTheOneThatIsRunHere() throws {
    let guide = try contents("Sources/Swappable/Swappable.docc/TerminalLists.md")
    let code = try contents("Tests/TestHelper/TodosCommand.swift")
    let program = try #require(code.components(separatedBy: "a test holds that.\n\n").last)
    #expect(
      guide.replacingOccurrences(of: "\n@main\n", with: "\n")
        .contains("```swift\nimport Swappable\n\n" + program + "```\n"))
  }

  @Test func itShowsWhatIsSavedAndGivesTheTerminalBack() throws {
    let terminal = try PseudoTerminal(rows: 8, columns: 40)
    let modes = try terminal.modes
    let directory = try TemporaryDirectory()
    let file = directory("tasks.json")
    func save(_ todos: String) throws {
      try Data(todos.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
    }
    try save(#"[{"id": 1, "title": "Write"}, {"id": 2, "title": "Test"}]"#)
    let program = try Program("TestHelper", ["todos", file], terminal: terminal)
    func expect(_ lines: [String]) throws {
      try terminal.wait(until: "\(lines) is shown") { Array($0.display.lines.prefix(4)) == lines }
    }
    try expect(["  No.  Title", ">   1  Write", "    2  Test", ""])
    #expect(terminal.display.lines.last == "↑ ↓ move, q quits")
    try terminal.type("\u{1B}[B")
    try expect(["  No.  Title", "    1  Write", ">   2  Test", ""])
    try save(
      #"[{"id": 3, "title": "漢字"}, {"id": 2, "title": "Test"}, {"id": 1, "title": "Write"}]"#)
    // Which of two rows that change places is marked does not matter here.
    try terminal.wait(until: "the saved rows are shown") {
      $0.display.text.contains("漢字") && $0.display.lines[2].hasPrefix(">")
        && $0.display.lines[2].hasSuffix("2  Test")
    }
    try save(#"[{"id": 3,"#)
    try terminal.wait(until: "the last line tells what is wrong") {
      $0.display.lines.last?.hasPrefix("cannot read") == true
    }
    try terminal.type("q")
    #expect(try program.waitForEnd() == 0)
    try terminal.readRest()
    #expect(try terminal.modes == modes)
    #expect(!terminal.display.isAlternate && terminal.display.isCursorShown)
    #expect(terminal.display.complaints.isEmpty)
  }
}
