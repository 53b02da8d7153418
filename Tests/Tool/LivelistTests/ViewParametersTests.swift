import Foundation
import TestSupport
import TestTags
import Testing

/// Tests of the order and the filter of a view in a terminal.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct ViewParametersTests {
  private let place: Workplace
  private let terminal: PseudoTerminal

  init() throws {
    place = try Workplace()
    terminal = try PseudoTerminal(rows: 12, columns: 60)
  }

  private func start(_ arguments: [String]) throws -> Program {
    let program = try Program(
      "livelist", ["view"] + arguments, environment: ["NO_COLOR": nil], terminal: terminal)
    try terminal.wait(until: "the list is drawn") { !$0.display.lines[11].isEmpty }
    return program
  }

  private func quit(_ program: Program) throws {
    try terminal.type("q")
    #expect(try program.waitForEnd() == 0)
    #expect(try terminal.leftovers.isEmpty)
  }

  private func expectLine(_ line: Int, _ text: String) throws {
    try terminal.wait(until: "line \(line) is \"\(text)\"") { $0.display.lines[line] == text }
  }

  private func expectStatus(_ text: String) throws {
    try terminal.wait(until: "the last lines hold \"\(text)\"") {
      $0.display.lines.suffix(4).joined().contains(text)
    }
  }

  private func rows(_ range: Range<Int>, _ more: String = "") -> String {
    let rows = range.map { #"{"id":\#($0),"name":"row \#($0)"}"# }
    return "[\n" + rows.joined(separator: ",\n") + more + "]\n"
  }

  @Test func `a view sorts by a column and filters`() throws {
    let source = try place.json(
      "list.json",
      #"""
      [{"id":1,"size":10,"name":"b"},{"id":2,"size":9,"name":"c"},{"id":3,"size":-1.5,"name":"a"},
       {"id":4,"size":null,"name":"d"}]
      """#)
    let program = try start(["--key", "id", source])
    func expectOrder(_ names: String) throws {
      try terminal.wait(until: "the order is \(names)") { terminal in
        terminal.display.lines[1...].prefix { !$0.isEmpty }.map { String($0.suffix(1)) }.joined()
          == names
      }
    }
    try terminal.type(":sort size\r")
    try expectOrder("dacb")
    try terminal.wait(until: "the heading has an arrow") { $0.display.lines[0].contains("size ▲") }
    try terminal.type("r")
    try expectOrder("bcad")
    try terminal.type(">")
    try expectOrder("dcba")
    // Changed rows move to their places.
    try place.json("list.json", #"[{"id":1,"name":"b"},{"id":5,"name":"c"},{"id":3,"name":"z"}]"#)
    try expectOrder("zcb")
    try terminal.type("u")
    try expectOrder("bcz")
    try terminal.type("fC\r")
    try expectOrder("c")
    try expectStatus("filter: C")
    try terminal.type("f\u{7F}\r")
    try expectOrder("bcz")
    try terminal.type(":sort nothing\r")
    try expectStatus("there is no column")
    try quit(program)
  }

  @Test func `a filter that matches nothing is explained if it is hardly intended`() throws {
    let program = try start(["--key", "id", place.json("list.json", rows(0..<30))])
    for (filter, message) in [
      ("id << 3", "use < instead of <<"), ("id > abc", "the values of \"id\" are numbers"),
    ] {
      try terminal.type("f\(filter)\r")
      try expectStatus(message)
      try terminal.type("f" + String(repeating: "\u{7F}", count: filter.count) + "\r")
      try expectLine(1, ">  0  row 0")
    }
    // A text that no row contains needs no explanation.
    try terminal.type("fx << 3\r")
    try expectStatus("filter: x << 3")
    try quit(program)
  }

  @Test func `a filter is words in any order, a regular expression, or a condition`() throws {
    let source = try place.json(
      "list.json",
      #"""
      [{"id":1,"name":"red lamp","stock":5},{"id":2,"name":"Lamp, red","stock":20},
       {"id":3,"name":"lamp","stock":30},{"id":4,"name":"old red chair","stock":40}]
      """#)
    let program = try start(["--key", "id", source])
    var filter = ""
    for (text, ids) in [
      ("lamp red", "1 2"), ("RED 20", "2"), ("/^(red|old)/", "1 4"), ("/D$/", "2"),
      ("lamp /r.d/ ", "1 2"), ("stock < 10 or name ~ chair", "1 4"), ("not name~red", "3"),
      ("not (stock>=30 or name~/^r/)", "2"), ("red, or", ""), ("/usr", ""),
    ] {
      try terminal.type("f\u{15}\(text)\r")
      filter = text
      try terminal.wait(until: "\(filter) shows \(ids)") { terminal in
        terminal.display.lines[1...4].compactMap { line in
          line.split { " >".contains($0) }.first.map(String.init)
        }.joined(separator: " ") == ids
      }
    }
    try quit(program)
  }

  @Test func `a wrong regular expression is explained while it is typed`() throws {
    let program = try start(["--key", "id", place.json("list.json", rows(0..<30))])
    try terminal.type("f/row (1/")
    try expectStatus("the regular expression /row (1/ is not valid: expected ')'")
    #expect(terminal.display.lines[11] == "filter: /row (1/")
    try terminal.type("\u{7F})$/")
    try expectLine(1, ">  1  row 1")
    try expectLine(2, "")
    #expect(!terminal.display.text.contains("not valid"))
    try terminal.type("\u{15}name ~ /[/")
    try expectStatus("the regular expression /[/ is not valid")
    try terminal.type("\r")
    try expectStatus("the regular expression /[/ is not valid")
    try terminal.type("f\u{15}id < 3 or nmae = 5\r")
    try expectStatus("there is no column \"nmae\"")
    try quit(program)
  }

  @Test func `a list is sorted as people sort it`() throws {
    let source = try place.json(
      "list.json",
      #"[{"id":1,"file":"b10"},{"id":2},{"id":3,"file":"B2"},{"id":4,"file":"a1"}]"#)
    let program = try start(["--key", "id", source])
    func expectOrder(_ ids: String) throws {
      try terminal.wait(until: "the order is \(ids)") { terminal in
        terminal.display.lines[1...4].compactMap { $0.first { $0.isNumber } }.map(String.init)
          .joined() == ids
      }
    }
    try terminal.type(":sort file natural\r")
    try expectOrder("4312")
    try expectStatus("file ▲  natural")
    try terminal.type("r")
    try expectOrder("1342")
    try terminal.type(":sort file\r")
    try expectOrder("2341")
    try quit(program)
  }

  @Test func `a condition that is hardly intended is explained in the view`() throws {
    let source = try place.json("list.json", rows(0..<30))
    let program = try start(["--where", "id > abc", source])
    try expectStatus("no element meets \"id > abc\"")
    try quit(program)
  }

  @Test func `the rows above and below the screen are counted beside a long remark`() throws {
    let program = try start(["--key", "id", place.json("list.json", rows(0..<30, ",{\"id\":1}"))])
    try expectStatus("↓21 1/31")
    try expectStatus("Elements 1 and 30 have")
    try terminal.type("jjjjjjjjjjj")
    try expectStatus("↑2 ↓19 12/31")
    try quit(program)
  }

  @Test func `a filter takes effect while it is typed, and Escape undoes it`() throws {
    let program = try start(["--key", "id", place.json("list.json", rows(0..<100))])
    try terminal.type(":50\r")
    try expectStatus("50/100")
    func expectRows(_ count: Int) throws {
      try terminal.wait(until: "\(count) rows are shown") { terminal in
        terminal.display.lines[1...10].count { !$0.isEmpty } == count
          && terminal.display.lines[11].hasPrefix("filter: ")
      }
    }
    try terminal.type("frow 9")
    try terminal.wait(until: "the selected row stays") { terminal in
      terminal.display.lines.contains("> 49  row 49")
    }
    try terminal.type("\u{7F}75")
    try expectRows(1)
    try expectLine(1, "> 75  row 75")
    try terminal.type("x")
    try expectRows(0)
    // The selected row is selected again when it is shown again.
    try terminal.type("\u{7F}\u{7F}\u{7F}49")
    try expectLine(1, "> 49  row 49")
    try terminal.type("\u{1B}")
    try expectStatus("50/100")
    try terminal.type("f9\r")
    try expectStatus("/19")
    try expectStatus("filter: 9")
    try terminal.type("f8")
    try expectLine(1, "> 98  row 98")
    try terminal.type("\u{1B}")
    try expectStatus("/19")
    try quit(program)
  }

  @Test func `a list that is sorted by a changing value stays at its top until a row is chosen`()
    throws
  {
    /// Writes a list in which the 30 rows have other sizes at each step.
    func save(_ step: Int) throws -> String {
      let rows = (0..<30).map { #"{"id":\#($0),"size":\#(($0 + 7 * step) % 30)}"# }
      return try place.json("list.json", "[" + rows.joined(separator: ",") + "]")
    }
    func words(_ line: String) -> [Substring] {
      line.split { " >^~".contains($0) }
    }
    func expectFirst(_ id: Int) throws {
      try terminal.wait(until: "\(id), the largest, is first") {
        words($0.display.lines[1]) == ["\(id)", "29"]
      }
    }
    let program = try start(["--key", "id", save(0)])
    try terminal.type(":sort size desc\r")
    try expectFirst(29)
    for step in 1...8 {
      _ = try save(step)
      try expectFirst((29 - 7 * step + 300) % 30)
      #expect(terminal.display.lines[1].hasPrefix(">"))
    }
    try expectStatus("↓20 1/30")
    // A chosen row stays on its line.
    try terminal.type("jj")
    try expectStatus("3/30")
    let chosen = (27 - 7 * 8 + 300) % 30
    for step in 9...12 {
      _ = try save(step)
      let position = 30 - (chosen + 7 * step) % 30
      try expectStatus("\(position)/30")
      let line = try #require(terminal.display.lines.first { $0.hasPrefix(">") })
      #expect(words(line).first == "\(chosen)")
    }
    try quit(program)
  }

  @Test func `a chosen row that a filter hides is chosen again when it returns`() throws {
    let source = try place.json("list.json", rows(0..<100))
    let program = try start(["--key", "id", source])
    try terminal.type(":50\r")
    try expectStatus("50/100")
    try terminal.type(":filter /row 9/\r")
    try expectStatus("/11")
    try terminal.type(":filter\r")
    try expectStatus("50/100")
    // Its own change hides it, and shows it again.
    try terminal.type("f/row 4/\r")
    try expectStatus("11/11")
    try place.json("list.json", rows(0..<49, #",{"id":49,"name":"other"}"#))
    try expectStatus("/10")
    try place.json("list.json", rows(0..<50))
    try expectStatus("11/11")
    try terminal.wait(until: "the row is selected") {
      $0.display.lines.contains { $0.hasPrefix(">") && $0.hasSuffix("49  row 49") }
    }
    try quit(program)
  }

  @Test func `changes are shown in order while a filter is in effect`() throws {
    let source = try place.json("list.json", rows(0..<300))
    let program = try start(["--key", "id", source])
    try terminal.type(":sort id desc\rf7\r")
    try expectStatus("/57")
    try terminal.type("g")
    try terminal.wait(until: "the first row is selected") {
      $0.display.lines[1].hasPrefix(">") && $0.display.lines[1].hasSuffix("297  row 297")
    }
    try place.json("list.json", rows(0..<300, #",{"id":777,"name":"new"},{"id":888,"name":"no"}"#))
    try expectStatus("/58")
    try terminal.type("g")
    try terminal.wait(until: "the new row is first") {
      $0.display.lines[1].hasSuffix("777  new") && $0.display.lines[2].hasSuffix("297  row 297")
    }
    try terminal.type(":filter\r")
    try expectStatus("/302")
    try quit(program)
  }
}
