import Foundation
import TerminalViews
import TestSupport
import TestTags
import Testing

@testable import livelist

/// Tests of prompts: completion, previous lines, filters by a field, and messages.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct ViewPromptTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  // MARK: Completion

  private static let titles = ["name", "number", "price", "price net", "a<b"]

  @Test(arguments: [
    ("", "", ["swap ", "sort ", "filter ", "info", "help", "quit"]),
    ("s", "s", ["swap ", "sort "]),
    ("so", "sort ", []), (" fi", " filter ", []), ("x", "x", []), ("50", "50", []),
    ("sort n", "sort n", ["name ", "number "]), ("sort nu", "sort number ", []),
    ("sort number ", "sort number ", ["number asc", "number desc", "number natural"]),
    ("sort number d", "sort number desc", []), ("sort x", "sort x", []),
    ("sort price ne", "sort price net ", []), ("sort pr", "sort price ", ["price ", "price net "]),
    ("filter na", "filter name", []), ("filter name~x", "filter name~x", []),
    ("filter \"a", "filter \"a<b\"", []), ("filter pr", "filter price", ["price", "price net"]),
    ("help ", "help ", []), ("swap json", "swap json", ["json:", "jsonl:"]),
    ("swap sq", "swap sqlite:", []), ("swap live", "swap live:unix:", []),
    ("swap sqlite:a.db?SELECT * FROM ", "swap sqlite:a.db?SELECT * FROM ", []),
  ])
  func `a command is completed`(text: String, completed: String, candidates: [String]) {
    let completion = ViewCompletion(text, in: .command, titles: Self.titles)
    #expect(completion.text == completed)
    #expect(completion.candidates == candidates)
  }

  @Test func `fields of a filter are completed, and searches are not`() {
    let filter = ViewCompletion("nu", in: .filter, titles: Self.titles)
    #expect(filter.text == "number" && filter.candidates.isEmpty)
    let search = ViewCompletion("nu", in: .search, titles: Self.titles)
    #expect(search.text == "nu" && search.candidates.isEmpty)
  }

  @Test func `paths are completed`() throws {
    for name in ["list.json", "list.jsonl", "other.db", ".hidden"] { try place.json(name, "[]") }
    try FileManager.default.createDirectory(
      atPath: place("folder"), withIntermediateDirectories: false)
    try place.json("folder/a b.json", "[]")
    func complete(_ path: String, scheme: String = "json:") -> (String, [String]) {
      let completion = ViewCompletion(
        "swap \(scheme)\(place(""))\(path)", in: .command, titles: [])
      return (
        String(completion.text.dropFirst("swap \(scheme)\(place(""))".count)), completion.candidates
      )
    }
    for scheme in ["json:", "sqlite:", "live:unix:", ""] {
      #expect(complete("li", scheme: scheme) == ("list.json", ["list.json", "list.jsonl"]))
    }
    #expect(complete("f") == ("folder/", []))
    #expect(complete("folder/") == ("folder/a b.json", []))
    #expect(complete("") == ("", ["folder/", "list.json", "list.jsonl", "other.db"]))
    #expect(complete(".h") == (".hidden", []))
    #expect(complete("none/x") == ("none/x", []))
  }

  @Test func `previous lines are recalled`() {
    var model = ViewModel(source: "")
    func type(_ text: String) { for key in text { _ = model.press(.character(key)) } }
    func press(_ key: TerminalKey) -> String? {
      _ = model.press(key)
      guard case .prompt(let prompt) = model.mode else { return nil }
      return prompt.text
    }
    for line in [":sort", ":swap a", ":swap a", "/text"] {
      type(line)
      _ = model.press(.enter)
    }
    type(":in")
    #expect(press(.down) == "in")
    #expect(press(.up) == "swap a")
    #expect(press(.up) == "sort")
    #expect(press(.up) == "sort")
    #expect(press(.down) == "swap a")
    #expect(press(.down) == "in")
    #expect(press(.tab) == "info")
    #expect(press(.enter) == nil)
  }

  // MARK: In a terminal

  private func list() throws -> String {
    let rows = (0..<40).map { #"{"id":\#($0),"name":"row \#($0 % 4)","stock":\#($0 * 5)}"# }
    return try place.json("list.json", "[\(rows.joined(separator: ","))]")
  }

  @Test func `Tab completes and shows the candidates`() throws {
    let view = try LiveView(["--key", "id", list()])
    try view.type(":so\t", until: "\n:sort")
    try view.type("\t", until: "id name stock")
    try view.type("st\t")
    try view.expect("\n:sort stock")
    try view.type("d\t\r", until: "stock ▼")
    try view.type("f\t")
    try view.expect("id name stock\nfilter:")
    try view.type("\u{1B}", until: "1/40")
    try view.quit()
  }

  @Test func `a filter compares a field`() throws {
    let view = try LiveView(["--key", "id", list()])
    try view.type("fstock<10")
    try view.terminal.wait(until: "two rows are shown") { terminal in
      terminal.display.lines[1...3].map(\.isEmpty) == [false, false, true]
    }
    try view.type("0\r", until: "1/20")
    try view.expect("filter: stock<100")
    try view.type(":filter name~W 3\r", until: "1/10")
    try view.type(":filter name!=\"row 3\"\r", until: "/30")
    // The list has no such column.
    try view.type(":filter nothing<5\r", until: "filter: nothing<5")
    try view.terminal.wait(until: "no row is shown") { $0.display.lines[1].isEmpty }
    try view.type(":filter 195\r", until: "1/1")
    try view.type(":filter\r", until: "/40")
    try view.quit()
  }

  @Test func `the column of a match is shown`() throws {
    let wide = (1...9).map { "\"m\($0)\":\"\(String(repeating: "x", count: 12))\"" }
    let rows = (0..<5).map { #"{"id":\#($0),\#(wide.joined(separator: ",")),"end":"e\#($0)"}"# }
    let source = try place.json("wide.json", "[\(rows.joined(separator: ","))]")
    let view = try LiveView(["--key", "id", source])
    #expect(!view.lines[0].contains("end"))
    try view.type("/e3\r", until: "e3")
    try view.expect("4/5")
    #expect(view.lines[0].hasSuffix("end"))
    #expect(view.lines[4].hasPrefix(">") && view.lines[4].hasSuffix("e3"))
    // A match in a visible column does not scroll.
    let headings = view.lines[0]
    try view.type("/xx\r", until: "5/5")
    #expect(view.lines[0] == headings)
    try view.quit()
  }

  @Test func `the sections cannot be chosen later, and the error says how they are`() throws {
    let view = try LiveView(["--key", "id", list()], columns: 100)
    try view.type(":group-by id\r", until: "are chosen when it starts")
    try view.quit()
  }

  @Test func `a long error takes several lines`() throws {
    let view = try LiveView(["--key", "id", list()])
    let name = Array(repeating: "part", count: 10).joined(separator: "-")
    try view.type(":swap json:/\(name)/none.json\r", until: "cannot swap: ")
    #expect(view.lines.suffix(4).joined().contains("; check the path, or create the file"))
    #expect(view.bottom.contains("\n"))
    #expect(view.lines[0].contains("id") && view.lines[1].hasPrefix(">"))
    #expect(view.lines.last?.hasSuffix("1/40") == true)
    try view.type("j")
    try view.expect("2/40")
    #expect(view.lines[10].contains("9"))
    try view.quit()
  }

  @Test func `the way in which the source is kept in step is shown`() throws {
    let source = try list()
    let view = try LiveView(["--key", "id", source], columns: 100)
    for keys in ["i", ":info\r"] {
      try view.type(keys, until: "JSONFileDataSource, 40 elements, loaded; 1 load in ")
      try view.expect(source.dropFirst("json:".count).description)
      #expect(view.bottom.contains("notified: ") || view.bottom.contains("polling: "))
      try view.type("j", until: "/40")
      try view.expect(source)
    }
    try view.type("?", until: "livelist view: ")
    #expect(view.lines[1].hasPrefix("JSONFileDataSource, 40 elements, loaded; 1 load in "))
    try view.expect("lines 1–11 of ")
    try view.type("G", until: "^ moved.")
    try view.type("x", until: "3/40")
    try place.sql("list.db", "CREATE TABLE item (id INTEGER PRIMARY KEY)")
    let database = place.sqlite("list.db", "SELECT count(*) AS id FROM item")
    try view.type(":swap \(database)\r", until: "1/1")
    try view.type("i", until: "refetch: The whole query runs again")
    try view.quit()
  }

  @Test func `a remark that is too long for the last line is shown with the source`() throws {
    let log = place("app.jsonl")
    try "{\"a\":1}\nbad\n".write(toFile: log, atomically: true, encoding: .utf8)
    let view = try LiveView([log], columns: 100)
    try view.expect("i: all")
    #expect(!view.bottom.contains("line 2, column 1"))
    try view.type("i", until: "column 1")
    let text = view.lines.joined(separator: " ").split(separator: " ").joined(separator: " ")
    #expect(text.contains("line 2, column 1: a value is expected, but b is found"))
    try view.quit()
  }

  @Test func `a new failure replaces a message`() throws {
    let place = try Workplace()
    let view = try LiveView([place.json("list.json", "[1,2]")])
    try view.type(":foo\r", until: "unknown command")
    try place.json("list.json", "{}")
    try view.expect("failed: ")
    #expect(!view.lines.joined().contains("unknown command"))
    // A message after the failure is shown.
    try view.type(":foo\r", until: "unknown command")
    try view.type("j", until: "failed: ")
    try view.quit()
  }
}
