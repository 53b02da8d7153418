import Foundation
import TestSupport
import TestTags
import Testing

/// Tests of a view with unusual terminals and data.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct ViewLimitsTests {
  private let place: Workplace
  private let terminal: PseudoTerminal

  init() throws {
    place = try Workplace()
    terminal = try PseudoTerminal(rows: 12, columns: 60)
  }

  private func start(_ source: String, until text: String) throws -> Program {
    let program = try Program(
      "livelist", ["view", source], environment: ["NO_COLOR": nil], terminal: terminal)
    try expect(text)
    return program
  }

  private func expect(_ text: String) throws {
    try terminal.wait(until: "\"\(text)\" is shown") { $0.display.text.contains(text) }
  }

  private func quit(_ program: Program) throws {
    try terminal.type("q")
    #expect(try program.waitForEnd() == 0)
  }

  @Test func `events are not read from the terminal that sends the keys`() throws {
    let program = try start(place.json("list.json", "[1,2,3]"), until: "1/3")
    try terminal.type(":swap lines:-\r")
    try expect("standard input is a terminal")
    try terminal.type("jj")
    try expect("3/3")
    try quit(program)
    let other = try Program("livelist", ["view", "lines:-"], terminal: terminal)
    #expect(try other.waitForEnd() == 1)
  }

  @Test func `a temporary change of the size causes a complete frame`() throws {
    let program = try start(place.json("list.json", "[1,2,3]"), until: "1/3")
    // For an unchanged size, the system sends no signal, and the display is blank.
    try terminal.resize(rows: 12, columns: 60)
    #expect(!terminal.display.text.contains("1/3"))
    program.send(SIGWINCH)
    try expect("1/3")
    #expect(terminal.display.lines.prefix(4) == ["  value", "> 1", "  2", "  3"])
    try quit(program)
  }

  @Test func `some of thousands of members are visible as columns`() throws {
    let members = (0..<3000).map { "\"m\($0)\":\($0)" }.joined(separator: ",")
    let rows = (0..<10).map { "{\"id\":\($0),\(members)}" }.joined(separator: ",")
    let program = try start(place.json("list.json", "[\(rows)]"), until: "1/10")
    for row in 2...10 {
      try terminal.type("j")
      try expect("\(row)/10")
    }
    try quit(program)
  }

  @Test func `the key stays in view while the other columns scroll`() throws {
    let members = (0..<30).map { "\"m\($0)\":\"value \($0)\"" }.joined(separator: ",")
    let source = try place.json("list.json", "[{\"id\":\"one\",\(members)}]")
    let program = try Program(
      "livelist", ["view", "--key", "id", source], environment: ["NO_COLOR": nil],
      terminal: terminal)
    try expect("1/1")
    for _ in 0..<20 { try terminal.type("l") }
    try terminal.wait(until: "the column m20 is beside the key") { terminal in
      terminal.display.lines[0].hasPrefix("  id   m20")
        && terminal.display.lines[1].hasPrefix("> one  value 20")
    }
    for _ in 0..<20 { try terminal.type("h") }
    try terminal.wait(until: "the column m0 is beside the key") { terminal in
      terminal.display.lines[0].hasPrefix("  id   m0 ")
    }
    try quit(program)
  }

  @Test func `a list of thousands of different members is printed`() throws {
    let count = 1001
    let rows = (0..<count).map { #"{"id":\#($0),"m\#($0)":"v\#($0)"}"# }
    let source = try place.json("list.json", "[\(rows.joined(separator: ","))]")
    let result = try Livelist.run("view", source)
    #expect(result.status == 0 && result.errors.isEmpty)
    let lines = result.output.split(separator: "\n")
    #expect(lines.count == count + 1)
    let titles = lines[0].split(separator: " ")
    #expect(titles.count == count + 1 && titles.last == "m1000")
    for row in [0, 7, 1000] {
      #expect(lines[row + 1].split(separator: " ") == ["\(row)", "v\(row)"])
      // The value is in the column of its member.
      let title = lines[0].firstRange(of: "  m\(row)")?.lowerBound
      let value = lines[row + 1].firstRange(of: "  v\(row)")?.lowerBound
      #expect(
        title.map { lines[0].distance(from: lines[0].startIndex, to: $0) }
          == value.map { lines[row + 1].distance(from: lines[row + 1].startIndex, to: $0) })
    }
  }

  @Test func `a member named like the column of values can be sorted by`() throws {
    let program = try start(
      place.json("list.json", #"[5,{"value":1,"z":2},{"value":2,"z":1}]"#), until: "1/3")
    for heading in ["value ▲", "z ▲", "value ▲", "z ▲"] {
      try terminal.type(">")
      try expect(heading)
    }
    try quit(program)
  }

  @Test func `an empty list has no headings until it has elements`() throws {
    let empty = try place.json("list.json", "[]")
    #expect(try Livelist.run("view", empty).output == "")
    let other = try place.json("other.json", #"[{"id":1}]"#)
    #expect(try Livelist.run("view", "--where", "id>1", other).output == "")
    let program = try start(empty, until: "list.json")
    #expect(terminal.display.lines.prefix(2) == ["", ""])
    try terminal.type(":sort id\r")
    try expect("the list is empty")
    try place.json("list.json", #"[{"id":1}]"#)
    try expect("id")
    try terminal.wait(until: "the row is shown") { $0.display.lines[0] == "  id" }
    try quit(program)
  }
}
