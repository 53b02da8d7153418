import Foundation
import TestSupport
import TestTags
import Testing

/// The first commands on the page of the tool.
@Suite(.tags(.system)) struct CommandLineToolPageTests {
  private let place: Workplace

  init() throws {
    place = try Workplace()
    let tasks =
      #"[{"id":1,"title":"Write","project":"book"},{"id":2,"title":"Rest","project":"home"}]"#
    for name in ["tasks.json", "old.json"] { try place.json(name, tasks) }
    try place.json(
      "new.json",
      #"[{"id":1,"title":"Write it","project":"book"},{"id":2,"title":"Rest","project":"home"}]"#)
    try FileManager.default.createDirectory(
      atPath: place("conf.d"), withIntermediateDirectories: true)
    try place.json("conf.d/a.json", "[1]")
    try place.sql(
      "shop.db", "CREATE TABLE products (id INTEGER PRIMARY KEY, stock, price)",
      "INSERT INTO products VALUES (1, 5, 9), (2, 50, 8), (3, 7, 7)")
  }

  /// The lines of the section.
  private static func lines() throws -> [String] {
    let lines = try Guide("CommandLineTool").lines
    let start = try #require(lines.firstIndex(of: "## Ten commands"))
    let section = lines[start...].dropFirst().prefix { !$0.hasPrefix("## ") }
    return section.filter { $0.hasPrefix("livelist ") || $0.contains("| livelist ") }
  }

  /// Returns the command of the page that begins with a text, without its remark.
  private static func command(_ part: String) throws -> String {
    let found = try lines().filter { $0.hasPrefix(part) }
    #expect(found.count == 1, "\(part)")
    let line = try #require(found.first)
    let remark = line.range(of: " # ")?.lowerBound ?? line.endIndex
    return line[..<remark].trimmingCharacters(in: .whitespaces)
  }

  /// Starts the shell with a command of the page in the folder of the test.
  private func start(_ part: String) throws -> Livelist {
    let folder = (try Program.find("livelist") as NSString).deletingLastPathComponent
    let path = ProcessInfo.processInfo.environment["PATH", default: ""]
    return try Livelist(
      ["-c", "cd '\(place.path)' && \(Self.command(part))"], program: "/bin/bash",
      environment: ["PATH": "\(folder):\(path)"])
  }

  private func quit(_ shell: Livelist) throws {
    shell.send("quit\n")
    #expect(try shell.waitForExit() == 0)
  }

  @Test func `there are ten`() throws { #expect(try Self.lines().count == 10) }

  @Test func `watch prints the contents, then each change`() throws {
    let shell = try start("livelist watch -k id tasks.json")
    #expect(try shell.line().hasPrefix(#"{"event":"initial","revision":0,"elements":[{"id":1,"#))
    try place.json("tasks.json", "[]")
    #expect(try shell.line().hasPrefix(#"{"event":"change","since":0,"revision":1,"deletes":"#))
    try quit(shell)
  }

  @Test func `watch runs a command for each change of any file`() throws {
    let shell = try start("livelist watch --exec")
    // A command that is not known is reported as soon as the list is watched.
    shell.send("ready\n")
    #expect(try shell.errorLine().contains("unknown command \"ready\""))
    try place.json("changes.jsonl", "")
    let log = try Livelist("watch", place("changes.jsonl"))
    _ = try log.line()
    try place.json("conf.d/b.json", "[2]")
    #expect(try log.line().contains(#""inserts":[{"at":0,"element":{"event":"change","since":0,"#))
    try quit(shell)
  }

  @Test func `watch prints a part of a table for people`() throws {
    let shell = try start("livelist watch --format text")
    #expect(try shell.line() == #"{"id":1,"stock":5,"price":9}"#)
    #expect(try shell.line() == #"{"id":3,"stock":7,"price":7}"#)
    #expect(try shell.line() == "2 elements")
    try place.sql("shop.db", "UPDATE products SET stock = 1 WHERE id = 3")
    #expect(try shell.line() == "~ [1] 3: stock: 7 → 1")
    #expect(try shell.line() == "1 updated")
    try quit(shell)
  }

  @Test func `watch prints the whole list after each change`() throws {
    let shell = try start("livelist watch --sort")
    #expect(try shell.line().contains(#""elements":[{"id":2,"stock":50,"price":8},{"id":3,"#))
    try place.sql("shop.db", "UPDATE products SET stock = 99 WHERE id = 1")
    #expect(
      try shell.line()
        == #"{"event":"initial","revision":1,"elements":[{"id":1,"stock":99,"price":9},"#
        + #"{"id":2,"stock":50,"price":8}]}"#)
    try quit(shell)
  }

  @Test func `view shows sections`() throws {
    let shell = try start("livelist view")
    #expect(try shell.restOfOutput().contains("book (1)"))
    #expect(try shell.waitForExit() == 0)
  }

  @Test func `diff prints what differs`() throws {
    let shell = try start("livelist diff")
    #expect(
      try shell.restOfOutput() == "~ [0] 1: title: \"Write\" → \"Write it\"\n1 updated\n")
    #expect(try shell.waitForExit() == 0)
  }

  @Test func `diff tells by its status that something differs`() throws {
    let shell = try start("cat new.json | livelist diff")
    #expect(try shell.restOfOutput() == "")
    #expect(try shell.waitForExit() == 1)
  }

  @Test func `merge writes the result to a file`() throws {
    let shell = try start("livelist merge")
    #expect(try shell.restOfErrors() == "")
    #expect(try shell.waitForExit() == 0)
    let merged = try String(contentsOfFile: place("merged.json"), encoding: .utf8)
    #expect(merged.contains("\"Write it\""))
  }

  /// Returns the only line of the page that contains a text, without its remark.
  private static func example(_ part: String) throws -> String {
    let found = try Guide("CommandLineTool").lines.filter {
      $0.hasPrefix("livelist ") && $0.contains(part)
    }
    #expect(found.count == 1, "\(part)")
    return try #require(found.first).components(separatedBy: "  #")[0]
      .trimmingCharacters(in: .whitespaces)
  }

  /// Starts the shell with an example of the page in a terminal, and waits until the list is drawn.
  private func view(_ part: String, _ terminal: PseudoTerminal) throws -> Program {
    let folder = (try Program.find("livelist") as NSString).deletingLastPathComponent
    let path = ProcessInfo.processInfo.environment["PATH", default: ""]
    // These programs need not be installed.
    try FileManager.default.createDirectory(
      atPath: place("bin"), withIntermediateDirectories: true)
    for (name, text) in [
      ("docker", "echo \"docker $*\" | tee -a log"), ("jq", "sed \"s/^/$2: /\""),
    ] {
      try place.json("bin/\(name)", "#!/bin/sh\n\(text)\n")
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o755], ofItemAtPath: place("bin/\(name)"))
    }
    try place.json("containers.json", #"[{"id":"7f","name":"web"},{"id":"b2","name":"db"}]"#)
    let program = try Program(
      "/bin/sh", ["-c", "cd '\(place.path)' && \(Self.example(part))"],
      environment: ["PATH": "\(place("bin")):\(folder):\(path)"], terminal: terminal)
    try terminal.wait(until: "the list is drawn") { $0.display.lines[11].contains("1/2") }
    return program
  }

  private func expect(_ text: String, _ terminal: PseudoTerminal) throws {
    try terminal.wait(until: "\"\(text)\" is shown") { $0.display.text.contains(text) }
  }

  private func file(_ name: String) throws -> String {
    try String(contentsOfFile: place(name), encoding: .utf8)
  }

  @Test func `a key removes a container after a question`() throws {
    let terminal = try PseudoTerminal(rows: 12, columns: 80)
    let program = try view("confirm:docker", terminal)
    try terminal.type("jd")
    try expect("for \"b2\"? y/n", terminal)
    try terminal.type("y")
    try expect("done", terminal)
    #expect(try file("log") == "docker rm -f b2\n")
    try terminal.type("q")
    #expect(try program.waitForEnd() == 0)
  }

  @Test func `a key notes the marked rows`() throws {
    let terminal = try PseudoTerminal(rows: 12, columns: 80)
    let program = try view("picked.txt", terminal)
    try terminal.type("v")
    try expect("2 marked", terminal)
    try terminal.type("x")
    try expect("done", terminal)
    let line = #".title: {"id":1,"title":"Write","project":"book"}"#
    #expect(try file("picked.txt").hasPrefix(line + "\n.title: {\"id\":2,"))
    try terminal.type("q")
    #expect(try program.waitForEnd() == 0)
  }

  @Test func `a key shows a log`() throws {
    let terminal = try PseudoTerminal(rows: 12, columns: 80)
    let program = try view("wait:docker", terminal)
    try terminal.type("l")
    try expect("docker logs 7f", terminal)
    try expect("done  q: back", terminal)
    try terminal.type("qq")
    #expect(try program.waitForEnd() == 0)
  }

  @Test func `the chosen rows go to the next program`() throws {
    let terminal = try PseudoTerminal(rows: 12, columns: 80)
    let program = try view("--choose", terminal)
    try terminal.type("j\r")
    try expect(#".title: {"id":2,"title":"Rest","project":"home"}"#, terminal)
    #expect(try program.waitForEnd() == 0)
  }

  @Test func `a condition of several comparisons and a natural order select products`() throws {
    try place.json(
      "products.json",
      #"[{"title":"Chair 10","stock":1},{"title":"chair 9","stock":2},{"title":"Desk","stock":3},"#
        + #"{"title":"red lamp","stock":4},{"title":"sofa","stock":50}]"#)
    let line = try Self.example("title natural").replacing("livelist ", with: "")
    let shell = try Livelist(
      ["-c", "cd '\(place.path)' && '\(Program.find("livelist"))' \(line)"], program: "/bin/sh")
    #expect(try shell.restOfOutput() == "title     stock\nchair 9       2\nChair 10      1\n")
    #expect(try shell.waitForExit() == 0)
  }

  @Test func `a list is served to another process`() throws {
    let server = try start("livelist serve")
    #expect(try server.errorLine().contains("serving tasks at"))
    let reader = try start("livelist watch live:")
    let text = try reader.line()
    #expect(text.contains("id"))
    #expect(try reader.line().contains("Write"))
    reader.endInput()
    try quit(server)
  }
}
