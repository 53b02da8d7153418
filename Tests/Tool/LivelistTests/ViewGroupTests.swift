import TestSupport
import TestTags
import Testing

/// Tests of a view whose rows are in sections.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct ViewGroupTests {
  private let place: Workplace
  private let terminal: PseudoTerminal

  init() throws {
    place = try Workplace()
    terminal = try PseudoTerminal(rows: 14, columns: 60)
  }

  private static let list = #"""
    [{"id":1,"kind":"b","size":1},{"id":2,"kind":3,"size":2},{"id":3,"kind":"a"},{"id":4},
     {"id":5,"kind":null},{"id":6,"kind":true},{"id":7,"kind":[1]},{"id":8,"kind":10},
     {"id":9,"kind":"b","size":3}]
    """#

  private func start(_ arguments: [String]) throws -> Program {
    let program = try Program(
      "livelist", ["view", "--key", "id"] + arguments, environment: ["NO_COLOR": nil],
      terminal: terminal)
    try terminal.wait(until: "the list is drawn") { !$0.display.lines[13].isEmpty }
    return program
  }

  private func quit(_ program: Program) throws {
    try terminal.type("q")
    #expect(try program.waitForEnd() == 0)
    #expect(try terminal.leftovers.isEmpty)
  }

  /// Waits until the lines of the list are the expected ones, without marks and the selection.
  private func expectLines(_ lines: [String]) throws {
    try terminal.wait(until: "the lines are \(lines)") { terminal in
      let shown = terminal.display.lines[1..<13].prefix { !$0.isEmpty }
      return shown.map { $0.dropFirst(2).split(separator: " ").joined(separator: " ") } == lines
    }
  }

  private func expectStatus(_ text: String) throws {
    try terminal.wait(until: "the last lines hold \"\(text)\"") {
      $0.display.lines.suffix(4).joined().contains(text)
    }
  }

  @Test func `plain lines have headers in the order of the values`() throws {
    let result = try Livelist.run(
      "view", "--key", "id", "--group-by", "kind", try place.json("list.json", Self.list))
    #expect(result.status == 0)
    #expect(
      result.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        == [
          "id kind size", "(none) (2)", "4", "5 null", "true (1)", "6 true", "3 (1)", "2 3 2",
          "10 (1)",
          "8 10", "a (1)", "3 a", "b (2)", "1 b 1", "9 b 3", "[1] (1)", "7 [1]",
        ])
  }

  @Test func `a field that no element has is an error`() throws {
    let source = try place.json("list.json", Self.list)
    let result = try Livelist.run("view", "--group-by=knd", source)
    #expect(result.status == 1)
    #expect(
      result.errors.hasSuffix(
        "has the field \"knd\" (did you mean kind?); the fields are id, kind, size; if it may be "
          + "missing, write knd?\n"))
    // An empty list has no fields yet.
    let empty = try Livelist.run("view", "--group-by=knd", try place.json("empty.json", "[]"))
    #expect(empty.status == 0)
  }

  @Test func `the option needs one field`() throws {
    let source = try place.json("list.json", Self.list)
    let missing = try Livelist.parse("view", source, "--group-by")
    #expect(
      missing.status == 2
        && missing.errors.contains("--group-by has no value; use --group-by FIELD"))
    let twice = try Livelist.parse("view", "--group-by", "a", "--group-by=b", source)
    #expect(twice.status == 2 && twice.errors.contains("--group-by occurs twice"))
  }

  @Test func `rows are filtered, sorted and swapped in their sections`() throws {
    let one = #"""
      [{"id":1,"kind":"b","size":1},{"id":2,"kind":"a","size":2},{"id":3,"kind":"b","size":3}]
      """#
    let source = try place.json("list.json", one)
    let program = try start(["--group-by", "kind", source])
    try expectLines(["a (1)", "2 a 2", "b (2)", "1 b 1", "3 b 3"])
    #expect(terminal.display.cells[3][2].style.isBold)
    // Headers have no number.
    try expectStatus(" 1/3")
    try terminal.type(":2\r")
    try expectStatus(" 2/3")
    #expect(terminal.display.lines[4].hasPrefix(">"))
    try terminal.type(":sort size desc\r")
    try expectLines(["a (1)", "2 a 2", "b (2)", "3 b 3", "1 b 1"])
    try terminal.type("f3")
    try expectLines(["b (1)", "3 b 3"])
    try terminal.type("\r")
    try expectStatus("filter: 3")
    try terminal.type("f\u{7F}\ru")
    try expectLines(["a (1)", "2 a 2", "b (2)", "1 b 1", "3 b 3"])
    try terminal.type("/3\r")
    try expectStatus(" 3/3")
    // A row whose value changes moves to another section, and remains selected.
    try place.json(
      "list.json", one.replacing(#"3,"kind":"b""#, with: #"3,"kind":"c""#))
    try expectLines(["a (1)", "2 a 2", "b (1)", "1 b 1", "c (1)", "3 c 3"])
    #expect(terminal.display.lines[6].hasPrefix(">"))
    let other = try place.json("other.json", #"[{"id":3,"kind":"a","size":9},{"id":8}]"#)
    try terminal.type(":swap \(other)\r")
    try expectLines(["(none) (1)", "8", "a (1)", "3 a 9"])
    #expect(terminal.display.lines[4].hasPrefix(">"))
    try quit(program)
  }

  @Test func `a list is grouped by a field that is not shown`() throws {
    let file = try place.json("a.json", #"[{"id":1,"n":"x","g":2},{"id":2,"n":"y","g":1}]"#)
    let arguments = ["--group-by", "g", "--fields", "n", file]
    let printed = try Livelist.run(["view", "--key", "id"] + arguments).output
    #expect(
      printed.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        == ["id n", "1 (1)", "2 y", "2 (1)", "1 x"])
    let program = try start(arguments)
    try expectLines(["1 (1)", "2 y", "2 (1)", "1 x"])
    // The row moves although no field that is shown changes.
    try place.json("a.json", #"[{"id":1,"n":"x","g":1},{"id":2,"n":"y","g":1}]"#)
    try expectLines(["1 (2)", "1 x", "2 y"])
    try quit(program)
  }
}
