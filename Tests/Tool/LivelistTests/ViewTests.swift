import Foundation
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system), .timeLimit(.minutes(10))) struct ViewTests {
  private let place: Workplace
  private let terminal: PseudoTerminal

  init() throws {
    place = try Workplace()
    terminal = try PseudoTerminal(rows: 12, columns: 60)
  }

  // MARK: Helpers

  private func start(
    _ arguments: [String], input: FileHandle? = nil, until line: String = "",
    environment: [String: String?] = ["NO_COLOR": nil]
  ) throws -> Program {
    let program = try Program(
      "livelist", ["view"] + arguments, environment: environment, terminal: terminal, input: input)
    try terminal.wait(until: "the list is drawn") {
      !$0.display.lines[11].isEmpty && (line.isEmpty || $0.display.text.contains(line))
    }
    return program
  }

  private func expectEnd(_ program: Program, status: Int32 = 0) throws {
    #expect(try program.waitForEnd() == status)
    #expect(try terminal.leftovers.isEmpty)
  }

  /// Creates a pipe that processes of other tests do not inherit.
  private func makePipe() -> Pipe {
    let pipe = Pipe()
    for end in [pipe.fileHandleForReading, pipe.fileHandleForWriting] {
      _ = fcntl(end.fileDescriptor, F_SETFD, FD_CLOEXEC)
    }
    return pipe
  }

  private func quit(_ program: Program) throws {
    try terminal.type("q")
    try expectEnd(program)
  }

  private func expectLine(_ line: Int, _ text: String) throws {
    try terminal.wait(until: "line \(line) is \"\(text)\"") { $0.display.lines[line] == text }
  }

  private func expectStatus(_ text: String) throws {
    try terminal.wait(until: "the last lines hold \"\(text)\"") {
      $0.display.lines.suffix(4).joined().contains(text)
    }
  }

  /// The line of the selected row.
  private var selectedLine: Int? {
    terminal.display.lines.firstIndex { $0.hasPrefix(">") }
  }

  private func rows(_ range: Range<Int>, _ more: String = "") -> String {
    let rows = range.map { #"{"id":\#($0),"name":"row \#($0)"}"# }
    return "[\n" + rows.joined(separator: ",\n") + more + "]\n"
  }

  // MARK: The list

  @Test func `a view shows the list and quits`() throws {
    let source = try place.json("list.json", rows(0..<3))
    let program = try start(["--key", "id", source], until: "row 2")
    #expect(terminal.display.isAlternate && !terminal.display.isCursorShown)
    #expect(
      terminal.display.lines.prefix(5) == [
        "  id  name", ">  0  row 0", "   1  row 1", "   2  row 2", "",
      ])
    #expect(terminal.display.lines[11].hasSuffix("1/3"))
    #expect(terminal.display.cells[1].allSatisfy { $0.style.isReversed })
    try quit(program)
  }

  @Test func `keys move the selection and scroll`() throws {
    let program = try start(["--key", "id", place.json("list.json", rows(0..<100))])
    try terminal.type("jjj\u{1B}[B")
    try expectStatus("5/100")
    #expect(selectedLine == 5)
    try terminal.type("G")
    try expectLine(10, "> 99  row 99")
    try terminal.type("k\u{1B}[A")
    try expectLine(8, "> 97  row 97")
    try terminal.type("g")
    try expectLine(1, ">  0  row 0")
    try terminal.type("\u{1B}[6~")
    try expectStatus("10/100")
    try terminal.type(":50\r")
    try expectStatus("50/100")
    try quit(program)
  }

  @Test func `a saved change is shown and marked`() throws {
    let source = try place.json("list.json", rows(0..<3))
    let program = try start(["--key", "id", source])
    try place.json("list.json", rows(1..<3, #",{"id":9,"name":"new"}"#))
    try terminal.wait(until: "the new row is marked") { $0.display.text.contains(" + 9  new") }
    #expect(!terminal.display.text.contains("row 0"))
    // The mark disappears without a further change.
    try terminal.wait(until: "the mark has gone") { $0.display.text.contains("   9  new") }
    try quit(program)
  }

  @Test func `the selected line stays while thousands of rows come and go`() throws {
    let pipe = makePipe()
    let program = try start(
      ["--key", "id", "lines:-"], input: pipe.fileHandleForReading, feeding: pipe)
    try terminal.type(":1500\rkkk")
    try expectStatus("1497/3000")
    let line = try #require(selectedLine)
    let shown = terminal.display.lines[line]
    let writer = Thread {
      var events = ""
      for step in 0..<4000 {
        // Above the line: insert a row at the start, and delete the row after it.
        let deleted = step == 0 ? 0 : 10_000 + step - 1
        let name = step == 0 ? "row 0" : "new"
        events += #"""
          {"event":"change","since":\#(2 * step),"revision":\#(2 * step + 1),"deletes":[],\#
          "inserts":[{"at":0,"element":{"id":\#(10_000 + step),"name":"new"}}],"updates":[],"moves":[]}
          {"event":"change","since":\#(2 * step + 1),"revision":\#(2 * step + 2),"deletes":\#
          [{"at":1,"element":{"id":\#(deleted),"name":"\#(name)"}}],"inserts":[],"updates":[],"moves":[]}

          """#
        if step % 40 == 39 {
          try? pipe.fileHandleForWriting.write(contentsOf: Data(events.utf8))
          events = ""
        }
      }
      // The last change is visible.
      let last = #"""
        {"event":"change","since":8000,"revision":8001,"deletes":[],"inserts":[],"updates":\#
        [{"from":1498,"at":1498,"old":{"id":1498,"name":"row 1498"},"element":{"id":1498,"name":"last"}}],\#
        "moves":[]}

        """#
      try? pipe.fileHandleForWriting.write(contentsOf: Data(last.utf8))
    }
    writer.start()
    try terminal.wait(until: "the last change is shown, and the line has stayed") { terminal in
      #expect(terminal.display.lines[line] == shown)
      return terminal.display.lines[line + 2].contains("1498  last")
    }
    try quit(program)
  }

  @Test func `rows inserted and deleted above do not move the selected line`() throws {
    let path = place("list.db")
    try place.sql(
      "list.db", "CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)",
      "WITH n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 1099) "
        + "INSERT INTO item SELECT i, 'row ' || i FROM n")
    let program = try start(["sqlite:\(path)?SELECT id, name FROM item ORDER BY id"])
    try terminal.type(":50\r")
    try expectStatus("50/100")
    let line = try #require(selectedLine)
    try place.sql(
      "list.db",
      "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) "
        + "INSERT INTO item SELECT i, 'row ' || i FROM n")
    try expectStatus("550/600")
    #expect(terminal.display.lines[line] == "> 1049  row 1049")
    try place.sql("list.db", "DELETE FROM item WHERE id < 1040")
    try expectStatus("10/60")
    #expect(terminal.display.lines[line] == "> 1049  row 1049")
    try quit(program)
  }

  // MARK: Commands

  @Test func `a swap keeps the selected line`() throws {
    let first = try place.json("first.json", rows(0..<100))
    let second = try place.json("second.json", rows(20..<90))
    let program = try start(["--key", "id", first])
    try terminal.type(":50\r")
    try expectStatus("50/100")
    let line = try #require(selectedLine)
    try terminal.type(":swap \(second)\r")
    try expectStatus("30/70")
    #expect(terminal.display.lines[line] == "> 49  row 49")
    try terminal.type(":swap json:\(place("none.json"))\r")
    try expectStatus("cannot swap")
    #expect(terminal.display.lines.contains("> 49  row 49"))
    // The message has hidden some rows.
    try terminal.type("\u{1B}")
    try expectLine(line, "> 49  row 49")
    try quit(program)
  }

  @Test func `a search continues at the other end`() throws {
    let program = try start(["--key", "id", place.json("list.json", rows(0..<100))])
    try terminal.type("/ROW 7\r")
    try expectStatus("8/100")
    try terminal.type("n")
    try expectStatus("71/100")
    try terminal.type("N")
    try expectStatus("8/100")
    try terminal.type("N")
    try expectStatus("other end")
    try terminal.type("k")
    try expectStatus("79/100")
    try terminal.type("/nothing like it\r")
    try expectStatus("no row contains")
    try quit(program)
  }

  @Test(arguments: [
    (#"say "HI""#, 2), (#"C:\"#, 3), ("ärger", 4), ("STRASSE", 5), ("漢", 6), ("name", 7), ("1", 7),
  ])
  func `a search finds text that JSON escapes`(text: String, row: Int) throws {
    let names = [
      "other", #"say \"hi\""#, #"c:\\Files"#, #"\u00c4RGER"#, "Strasse", #"\u6f22\u5b57"#,
      "a name 1",
    ]
    let elements = names.map { #"{"name":"\#($0)"}"# }.joined(separator: ",")
    let program = try start([place.json("list.json", "[\(elements)]")], until: "other")
    try terminal.type("/\(text)\r")
    try expectStatus("\(row)/7")
    try quit(program)
  }

  @Test func `the help is shown and invalid commands are errors`() throws {
    let program = try start([place.json("list.json", rows(0..<3))])
    try terminal.type("?")
    try expectLine(0, "livelist view: the selected row stays in place")
    try terminal.type("x")
    try terminal.wait(until: "the list is back") { $0.display.lines[1].contains("row 0") }
    try terminal.type(":frobnicate\r")
    try expectStatus("unknown command")
    try terminal.type(":swap\r")
    try expectStatus("swap has no source")
    // A prompt shows the cursor, and Escape closes it.
    try terminal.type("/abc")
    try terminal.wait(until: "the prompt is shown") {
      $0.display.isCursorShown && $0.display.lines[11] == "/abc" && $0.display.column == 4
    }
    try terminal.type("\u{1B}")
    try terminal.wait(until: "the prompt has gone") { !$0.display.isCursorShown }
    try terminal.type(":quit\r")
    try expectEnd(program)
  }

  // MARK: Data and terminals

  @Test func `escape sequences in data are shown and never sent`() throws {
    let hostile = #"""
      [{"id":"\u001b]0;title\u0007","name":"\u001b[2J\u009b31m\r\n\u202Eevil\u0000\u007f"},
       {"id":2,"\u001b[5mkey":"\u001b[6n"}]
      """#
    let program = try start([place.json("list.json", hostile)])
    try terminal.wait(until: "it is shown") { $0.display.text.contains("evil") }
    #expect(terminal.display.text.contains("␛[2J"))
    #expect(terminal.display.complaints.isEmpty, "\(terminal.display.complaints)")
    try terminal.type("/\u{1B}[200~\u{1B}[2J\u{1B}[201~\r")
    try quit(program)
  }

  @Test func `wide and combining characters are in their columns`() throws {
    let source = try place.json(
      "list.json",
      #"""
      [{"name":"漢字","note":"x"},{"name":"e\u0301e\u0301","note":"x"},{"name":"👩‍👩‍👧","note":"x"},
       {"name":"🇩🇪🇫🇷","note":"x"},{"name":"abcd","note":"x"}]
      """#)
    let program = try start([source], until: "abcd")
    for row in 1...5 {
      #expect(terminal.display.cells[row][8].text == "x", "\(terminal.display.lines[row])")
    }
    #expect(terminal.display.cells[1][2].text == "漢")
    try quit(program)
  }

  @Test func `a new size is filled`() throws {
    let program = try start(["--key", "id", place.json("list.json", rows(0..<100))])
    try terminal.type(":50\r")
    try expectStatus("50/100")
    for (rows, columns) in [(30, 100), (5, 20), (2, 10), (1, 5), (12, 60)] {
      try terminal.resize(rows: rows, columns: columns)
      try terminal.wait(until: "\(rows) x \(columns) is filled") { terminal in
        rows < 3
          || terminal.display.lines.contains { $0.hasPrefix("> 49") }
            && terminal.display.lines.last?.hasSuffix("50/100") == true
      }
    }
    // Ignore output that was drawn for a size before the current one.
    terminal.forgive()
    try quit(program)
  }

  @Test func `a view has no colors if NO_COLOR is set`() throws {
    let source = try place.json("list.json", rows(0..<3))
    let program = try start(["--key", "id", source], environment: ["NO_COLOR": "1"])
    try place.json("list.json", rows(0..<4))
    try terminal.wait(until: "the new row is marked") { $0.display.text.contains(" + 3") }
    for line in terminal.display.cells {
      #expect(line.allSatisfy { $0.style.foreground == nil && $0.style.background == nil })
    }
    try quit(program)
  }

  @Test func `a cell that has changed is bold as long as its row is marked`() throws {
    func save(_ name: String, _ age: Int) throws -> String {
      try place.json(
        "list.json", #"[{"id":1,"age":1,"name":"same"},{"id":2,"age":\#(age),"name":"\#(name)"}]"#)
    }
    let program = try start(["--key", "id", "--ignore", "age", save("old", 1)], until: "same")
    _ = try save("new", 2)
    func boldText(_ terminal: PseudoTerminal) -> String {
      terminal.display.cells[1...].joined().filter(\.style.isBold).map(\.text).joined()
    }
    try terminal.wait(until: "the new name is bold") {
      $0.display.text.contains("~ 2  new") && boldText($0).filter { $0 != " " } == "new"
    }
    try terminal.wait(until: "the mark has gone") {
      $0.display.text.contains("   2  new") && boldText($0).isEmpty
    }
    try quit(program)
  }

  @Test func `the list is printed once without a terminal`() throws {
    let source = try place.json("list.json", #"[{"id":1,"name":"a\u001b"},{"id":20,"name":"漢"}]"#)
    let result = try Livelist.run("view", "--key", "id", source)
    #expect(result.status == 0 && result.errors.isEmpty)
    #expect(result.output == "id  name\n 1  a␛\n20  漢\n")
  }

  @Test func `the list is printed once as JSON, with the selected elements and fields`() throws {
    let source = try place.json("list.json", rows(0..<4))
    let arguments = ["view", "--format", "json", "--sort", "id desc", "--fields", "id", "-n", "2"]
    let result = try Livelist.run(arguments + [source])
    #expect(result.status == 0 && result.errors.isEmpty)
    #expect(result.output == "[\n{\"id\":3},\n{\"id\":2}\n]\n")
    let again = try Livelist.run("view", "--format", "json", "-", input: result.output)
    #expect(again.output == result.output)
  }

  @Test func `a pipe is read to its end before the list is printed`() throws {
    let view = try Livelist("view", "-")
    view.send("{\"id\":1}\n")
    view.send("{\"id\":2}\n")
    view.endInput()
    #expect(try view.waitForExit() == 0)
    #expect(try view.restOfOutput() == "id\n 1\n 2\n")
  }

  @Test func `a view follows the end until another row is selected`() throws {
    let log = place("app.jsonl")
    func append(_ ids: Range<Int>) throws {
      let lines = ids.map { #"{"id":\#($0),"name":"row \#($0)"}"# + "\n" }.joined()
      let file = try FileHandle(forWritingTo: URL(filePath: log))
      try file.seekToEnd()
      try file.write(contentsOf: Data(lines.utf8))
      try file.close()
    }
    try "".write(toFile: log, atomically: true, encoding: .utf8)
    try append(0..<30)
    let program = try start(["--key", "id", log])
    try terminal.type("F")
    try expectStatus("30/30")
    try append(30..<50)
    try expectLine(10, "> 49  row 49")
    #expect(terminal.display.lines[11].contains("following the end"))
    // The details of a row stay while the list grows.
    try terminal.type("\r")
    try terminal.wait(until: "the details are shown") { $0.display.text.contains("q: back") }
    try append(50..<51)
    try terminal.wait(until: "the list has grown") { $0.display.text.contains("/51") }
    #expect(terminal.display.text.contains("row 49"))
    try terminal.type("q")
    try expectStatus("51/51")
    try terminal.type("k")
    try expectStatus("50/51")
    try append(51..<60)
    try expectStatus("50/60")
    #expect(!terminal.display.lines[11].contains("following"))
    try quit(program)
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `a signal ends the view and restores the terminal`(signal: Int32) throws {
    let program = try start([place.json("list.json", rows(0..<3))])
    program.send(signal)
    try expectEnd(program)
  }

  @Test func `Ctrl-C ends the view`() throws {
    let program = try start([place.json("list.json", rows(0..<3))])
    try terminal.type("\u{03}")
    try expectEnd(program)
  }

  @Test func `a failed source is reported and its contents stay`() throws {
    let source = try place.json("list.json", rows(0..<3))
    let program = try start(["--key", "id", source])
    try place.json("list.json", "[1, 2")
    try expectStatus("failed: ")
    #expect(terminal.display.lines[1] == ">  0  row 0")
    try place.json("list.json", rows(0..<2))
    try expectStatus("1/2")
    try FileManager.default.removeItem(atPath: place("list.json"))
    try expectStatus("missing: ")
    try quit(program)
  }

  @Test func `a load that takes a moment says so until the list is shown`() throws {
    let input = makePipe()
    let program = try Program(
      "livelist", ["view", "json:-"], terminal: terminal, input: input.fileHandleForReading)
    try terminal.wait(until: "the load is announced") {
      $0.display.text.contains("loading, Ctrl-C to stop")
    }
    try input.fileHandleForWriting.write(contentsOf: Data("[1,2]".utf8))
    try input.fileHandleForWriting.close()
    try expectStatus("1/2")
    try quit(program)
    #expect(!terminal.display.text.contains("loading"))
  }

  @Test func `Ctrl-C ends a load`() throws {
    let input = makePipe()
    let program = try Program(
      "livelist", ["view", "json:-"], terminal: terminal, input: input.fileHandleForReading)
    try terminal.wait(until: "the load is announced") {
      $0.display.text.contains("loading, Ctrl-C to stop")
    }
    try terminal.type("\u{03}")
    let error = #expect(throws: Program.Failure.self) { try program.waitForEnd() }
    #expect(error?.description == "it was ended by signal \(SIGINT)")
    withExtendedLifetime(input) {}
  }

  @Test func `a source that cannot be loaded is one line and the terminal is unchanged`() throws {
    let program = try Program(
      "livelist", ["view", "json:\(place("none.json"))"], terminal: terminal)
    #expect(try program.waitForEnd() == 1)
    #expect(try terminal.leftovers.isEmpty)
  }

  // MARK: Events on standard input

  /// Starts the program with a pipe that contains an initial event of 3,000 rows.
  private func start(
    _ arguments: [String], input: FileHandle, feeding pipe: Pipe
  ) throws -> Program {
    let elements = (0..<3000).map { #"{"id":\#($0),"name":"row \#($0)"}"# }
    let initial =
      #"{"event":"initial","revision":0,"elements":[\#(elements.joined(separator: ","))]}"#
    Thread.detachNewThread {
      try? pipe.fileHandleForWriting.write(contentsOf: Data((initial + "\n").utf8))
    }
    return try start(arguments, input: input, until: "row 0")
  }

  @Test func `a missing event is an error with a reason`() throws {
    let pipe = makePipe()
    let program = try start(
      ["--key", "id", "lines:-"], input: pipe.fileHandleForReading, feeding: pipe)
    try terminal.resize(rows: 12, columns: 160)
    let gap = #"""
      {"event":"change","since":3,"revision":4,"deletes":[],"inserts":[],"updates":[],"moves":[]}

      """#
    try pipe.fileHandleForWriting.write(contentsOf: Data(gap.utf8))
    try expectStatus("line 2: the member \"since\" is 3, but the previous event has revision 0")
    #expect(terminal.display.text.contains("row 0"))
    terminal.forgive()
    try quit(program)
  }

  @Test(arguments: [
    (
      #"{"event":"change","since":0,"revision":1,"deletes":[{"at":9000,"element":{"id":1}}],"inserts":[],"#
        + #""updates":[],"moves":[]}"#, "out of range 0..<3000"
    ),
    ("[]", "the line is not a JSON object"), ("{", "the line is not valid JSON"),
    (
      #"{"event":"change","since":0,"revision":1,"deletes":[{"at":0,"element":{"id":7}}],"#
        + #""inserts":[],"updates":[],"moves":[]}"#, "but the list has"
    ),
  ])
  func `an invalid event is an error with a reason`(line: String, reason: String) throws {
    let pipe = makePipe()
    let program = try start(
      ["--key", "id", "lines:-"], input: pipe.fileHandleForReading, feeding: pipe)
    try terminal.resize(rows: 12, columns: 200)
    try pipe.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    try expectStatus(reason)
    terminal.forgive()
    try quit(program)
  }

  @Test func `a further initial event replaces the contents`() throws {
    let pipe = makePipe()
    let program = try start(
      ["--key", "id", "lines:-"], input: pipe.fileHandleForReading, feeding: pipe)
    let next = #"{"event":"initial","revision":4,"elements":[{"id":1,"name":"the only one"}]}"#
    try pipe.fileHandleForWriting.write(contentsOf: Data((next + "\n").utf8))
    try terminal.wait(until: "one row is shown") { $0.display.text.contains("the only one") }
    #expect(!terminal.display.text.contains("row 0"))
    try quit(program)
  }

  @Test func `the end of the events is reported`() throws {
    let pipe = makePipe()
    let program = try start(
      ["--key", "id", "lines:-"], input: pipe.fileHandleForReading, feeding: pipe)
    try pipe.fileHandleForWriting.close()
    try expectStatus("the input has ended")
    try quit(program)
  }

  @Test func `a view shows the events of watch`() throws {
    let source = try place.json("list.json", rows(0..<5))
    let watch = Process()
    watch.executableURL = URL(fileURLWithPath: try Program.find("livelist"))
    watch.arguments = ["watch", "--key", "id", source]
    let (events, commands) = (makePipe(), makePipe())
    watch.standardInput = commands
    watch.standardOutput = events
    try watch.run()
    defer { watch.terminate() }
    let program = try start(
      ["--key", "id", "lines:-"], input: events.fileHandleForReading, until: "row 4")
    try place.json("list.json", rows(2..<7))
    try expectStatus("/5")
    try terminal.wait(until: "the change is shown") { $0.display.text.contains("row 6") }
    #expect(!terminal.display.text.contains("row 1"))
    try place.json("list.json", "nonsense")
    try expectStatus("failed: ")
    try quit(program)
  }

  @Test func `the keys are for the view at the end of a pipe`() throws {
    let source = try place.json("list.json", rows(0..<100))
    let livelist = try Program.find("livelist")
    let program = try Program(
      "/bin/sh", ["-c", "'\(livelist)' watch --key id '\(source)' | '\(livelist)' view lines:-"],
      environment: ["NO_COLOR": nil], terminal: terminal)
    try terminal.wait(until: "the list is drawn") { $0.display.text.contains("row 3") }
    for row in [50, 7, 91, 23, 64] {
      try terminal.type(":\(row)\r")
      try expectStatus("\(row)/100")
    }
    try terminal.type("q")
    try expectEnd(program)
  }
}
