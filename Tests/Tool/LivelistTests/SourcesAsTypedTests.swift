import Foundation
import TestSupport
import TestTags
import Testing

/// Sources without a scheme, tables, patterns, pipes, and several sources.
@Suite(.tags(.system)) struct SourcesAsTypedTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  private func save(_ name: String, _ text: String) throws -> String {
    try place.json(name, text)
    return place(name)
  }

  private func initial(_ arguments: String...) throws -> String {
    let result = try Livelist.run(["watch", "--until-eof"] + arguments)
    #expect(result.status == 0, "\(result.errors)")
    return result.output
  }

  private static func line(_ elements: String) -> String {
    #"{"event":"initial","revision":0,"elements":"# + elements + "}\n"
  }

  // MARK: Kinds of files

  @Test(arguments: [
    ("a.json", "[1,2]", "[1,2]"), ("a.jsonl", "1\n2\n", "[1,2]"),
    ("a.ndjson", "[1]\n[2]\n", "[[1],[2]]"),
    ("a.LOG", "{\"a\":1}\n", "[{\"a\":1}]"), ("a", " \n[3]", "[3]"),
    ("b", "{\"a\":1}\n4\n", "[{\"a\":1},4]"),
    ("c.txt", "\"x\"\n", "[\"x\"]"), ("empty", "", "[]"), ("d.old", "\u{FEFF}[5]", "[5]"),
  ])
  func `the kind of a file is known by its ending or its contents`(
    name: String, text: String, elements: String
  ) throws {
    #expect(try initial(try save(name, text)) == Self.line(elements))
  }

  @Test(arguments: ["log", "db", "jsonl"])
  func `a name without a point has no ending`(name: String) throws {
    try place.json(name, "[1,2]")
    let result = try Livelist.run("watch", "--until-eof", place(name))
    #expect(result.output.contains(#""elements":[1,2]"#), "\(result.errors)")
  }

  @Test func `a file of another kind is refused`() throws {
    let file = try save("notes.txt", "Shopping list\n")
    let result = try Livelist.parse("watch", file)
    #expect(result.status == 2)
    #expect(result.errors.contains("is not known by its ending or contents; use the path"))
  }

  @Test(arguments: [
    ("a.json.gz", "gzip -dc FILE |"), ("a.YML", "yq -o json FILE"),
  ])
  func `a file that must be converted is refused with a command that does it`(
    name: String, command: String
  ) throws {
    let result = try Livelist.parse("watch", try save(name, "a,b\n"))
    #expect(result.status == 2)
    #expect(result.errors.contains("convert it, for example: \(command)"))
    #expect(result.errors.contains("| livelist view -"))
  }

  @Test func `a file with wildcards in its name is meant as it is`() throws {
    #expect(try initial(try save("a[1]*.json", "[1]")) == Self.line("[1]"))
    #expect(try initial("json:" + place("a[1]*.json")) == Self.line("[1]"))
  }

  @Test func `a path in a directory whose name ends with a colon is no address`() throws {
    try FileManager.default.createDirectory(
      atPath: place("a:"), withIntermediateDirectories: true)
    try place.json("a:/b.json", "[7]")
    let livelist = try Livelist(
      ["-c", "cd '\(place.path)' && '\(try Program.find("livelist"))' view a:/b.json"],
      program: "/bin/sh")
    #expect(try livelist.restOfOutput().contains("7"))
    #expect(try livelist.waitForExit() == 0)
  }

  @Test func `an array that is expected but not found names the other format`() throws {
    let result = try Livelist.run("watch", try save("a.json", "{\"a\":1}\n{\"a\":2}\n"))
    #expect(result.status == 1)
    #expect(result.errors.contains("use jsonl:PATH"))
  }

  // MARK: Tables

  @Test func `a table is a source, with its primary key`() throws {
    try place.sql(
      "shop.db", "CREATE TABLE tasks (title, id INTEGER PRIMARY KEY)",
      "INSERT INTO tasks VALUES ('Write', 1), ('Write', 2)",
      "CREATE TABLE \"a #b\" (n)", "INSERT INTO \"a #b\" VALUES (7)",
      "CREATE TABLE pairs (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID",
      "INSERT INTO pairs VALUES (1, 2)",
      "CREATE TABLE own (ROWID, n)", "INSERT INTO own VALUES ('a', 1)",
      "CREATE VIEW titles AS SELECT title FROM tasks")
    let tasks = Self.line(#"[{"title":"Write","id":1},{"title":"Write","id":2}]"#)
    for source in [
      place("shop.db") + "#tasks", "sqlite:" + place("shop.db") + "#TASKS",
    ] {
      let result = try Livelist.run("watch", "--until-eof", source)
      #expect(result.output == tasks)
      // The key is unique, but the first column is not.
      #expect(result.errors == "")
    }
    #expect(try initial(place("shop.db") + "#a #b") == Self.line(#"[{"rowid":1,"n":7}]"#))
    #expect(try initial(place("shop.db") + "#own") == Self.line(#"[{"ROWID":"a","n":1}]"#))
    #expect(try initial(place("shop.db") + "#pairs") == Self.line(#"[{"a":1,"b":2}]"#))
    #expect(
      try initial("--limit", "1", place("shop.db") + "#titles")
        == Self.line(#"[{"title":"Write"}]"#))
    #expect(
      try initial(place("shop.db") + "?SELECT id FROM tasks WHERE id = 2")
        == Self.line(#"[{"id":2}]"#))
    let none = try Livelist.run("watch", place("shop.db") + "#none")
    #expect(none.status == 1)
    #expect(none.errors.contains("there is no table \"none\""))
    #expect(none.errors.contains("the tables are a #b, own, pairs, tasks, titles"))
  }

  @Test(arguments: ["", "sqlite:"])
  func `a database without a table lists its tables`(scheme: String) throws {
    try place.sql("shop.db", "CREATE TABLE tasks (a)", "CREATE TABLE users (a)")
    let result = try Livelist.parse("watch", scheme + place("shop.db"))
    #expect(result.status == 2)
    #expect(
      result.errors.contains("the tables are tasks, users; use \(place("shop.db"))#tasks, or"))
  }

  @Test func `a table is followed`() throws {
    try place.sql(
      "a", "CREATE TABLE t (id INTEGER PRIMARY KEY, n)", "INSERT INTO t VALUES (1, 'x')")
    let watching = try Livelist("watch", place("a") + "#t")
    _ = try watching.line()
    try place.sql("a", "INSERT INTO t VALUES (2, 'y')")
    #expect(try watching.line().contains(#""inserts":[{"at":1,"element":{"id":2,"n":"y"}}]"#))
  }

  // MARK: Several sources

  @Test func `several sources are one list in their order`() throws {
    try place.sql("a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (9)")
    let one = try save("one.json", "[{\"id\":1}]")
    let two = try save("two.jsonl", "{\"id\":2}\n")
    let watching = try Livelist(["watch", "-k", "id", one, two, place("a.db") + "#t"])
    #expect(try watching.line() == Self.line(#"[{"id":1},{"id":2},{"id":9}]"#).dropLast())
    _ = try save("one.json", "[{\"id\":1},{\"id\":3}]")
    #expect(try watching.line().contains(#""inserts":[{"at":1,"element":{"id":3}}]"#))
    watching.send("swap \(two)\n")
    #expect(try watching.line().contains(#""deletes":[{"at":0,"#))
  }

  // MARK: Patterns

  @Test func `files that match a pattern come and go`() throws {
    try FileManager.default.createDirectory(
      atPath: place("conf.d"), withIntermediateDirectories: true)
    _ = try save("conf.d/b.json", "[{\"id\":\"b\"}]")
    _ = try save("conf.d/.hidden.json", "[{\"id\":\"hidden\"}]")
    let watching = try Livelist(
      "watch", "--snapshot", "-k", "id", "json:" + place("conf.d/*.json"))
    #expect(try watching.line() == Self.line(#"[{"id":"b"}]"#).dropLast())
    /// Waits until the list has the elements. Whether a change comes in one or two parts depends on the time.
    func expect(_ ids: String...) throws {
      let elements = ids.map { "{\"id\":\"\($0)\"}" }.joined(separator: ",")
      while !(try watching.line().contains("\"elements\":[\(elements)]")) {}
    }
    _ = try save("conf.d/a.json", "[{\"id\":\"a\"},{\"id\":\"a2\"}]")
    try expect("a", "a2", "b")
    _ = try save("conf.d/b.json", "[{\"id\":\"b\"},{\"id\":\"b2\"}]")
    try expect("a", "a2", "b", "b2")
    try FileManager.default.moveItem(atPath: place("conf.d/a.json"), toPath: place("conf.d/c.json"))
    try expect("b", "b2", "a", "a2")
    try FileManager.default.removeItem(atPath: place("conf.d/b.json"))
    try expect("a", "a2")
  }

  /// Returns the next line that is no status: the status is loading while a new file is read.
  private func change(of watching: Livelist) throws -> String {
    while true {
      let line = try watching.line()
      if !line.contains(#""event":"status""#) { return line }
    }
  }

  @Test func `a file of a pattern may contain one object`() throws {
    let source = "json:" + place("*.json")
    _ = try save("a.json", #"{"name":"a","port":80}"#)
    _ = try save("b.json", #"[{"name":"b"}]"#)
    let watching = try Livelist("watch", "-k", "name", source)
    #expect(
      try watching.line() == Self.line(#"[{"name":"a","port":80},{"name":"b"}]"#).dropLast())
    _ = try save("a.json", #" {"name":"a","port":81} "#)
    #expect(try change(of: watching).contains(#""updates":[{"from":0,"at":0,"old":{"name":"a","#))
    _ = try save("a.json", #"[{"name":"a","port":81},{"name":"c"}]"#)
    #expect(try change(of: watching).contains(#""inserts":[{"at":1,"element":{"name":"c"}}]"#))
    _ = try save("a.json", #"{"name":"c"}"#)
    #expect(try change(of: watching).contains(#""deletes":[{"at":0,"element":{"name":"a","#))
    _ = try save("a.json", #"{"name":"c"} 5"#)
    #expect(try watching.line().contains("a.json: line 1, column 14"))
  }

  @Test func `a pattern may come before its files and directories`() throws {
    let watching = try Livelist("watch", place("*/x?.jsonl"))
    #expect(try watching.line() == Self.line("[]").dropLast())
    #expect(try watching.line().contains(#""state":"loaded","message":"No file matches"#))
    try FileManager.default.createDirectory(atPath: place("sub"), withIntermediateDirectories: true)
    _ = try save("sub/x1.jsonl", "1\n")
    #expect(try change(of: watching).contains(#""inserts":[{"at":0,"element":1}]"#))
  }

  // MARK: Pipes

  @Test func `commands that read once read standard input`() throws {
    let old = try save("old.json", "[1,2]")
    for (operand, input) in [
      ("-", "[1, 3]"), ("json:-", "[1,3]"), ("jsonl:-", "1\n3"), ("-", "1\n\n3\n"),
      ("json:/dev/stdin", "[1,3]"),
    ] {
      let result = try Livelist.run("diff", "--stat", old, operand, input: input)
      #expect(result.output == "1 inserted, 1 deleted\n", "\(operand): \(result.errors)")
    }
    let merged = try Livelist.run("merge", old, "-", old, input: "[1,2,4]")
    #expect(merged.output == "[\n1,\n2,\n4\n]\n")
  }

  @Test func `named pipes are read once`() throws {
    #expect(mkfifo(place("pipe"), 0o600) == 0)
    let old = try save("old.json", "[1]")
    let path = place("pipe")
    let writer = Thread { try? "[1,2]".write(toFile: path, atomically: false, encoding: .utf8) }
    writer.start()
    #expect(try Livelist.run("diff", "--stat", old, path).output == "1 inserted\n")
  }

  @Test func `a watch of a pipe ends with the pipe`() throws {
    #expect(mkfifo(place("pipe"), 0o600) == 0)
    let path = place("pipe")
    func write(_ text: String) {
      Thread { try? text.write(toFile: path, atomically: false, encoding: .utf8) }.start()
    }
    for source in [path, "jsonl:" + path] {
      let watching = try Livelist("watch", "--snapshot", source)
      write("1\n2\n3\n")
      #expect(try watching.restOfOutput().hasSuffix(#""elements":[1,2,3]}"# + "\n"))
      #expect(try watching.waitForExit() == 0)
    }
    let strict = try Livelist("watch", "--strict-lines", "--guard", "count=0", path)
    write("1\nx\n")
    #expect(try strict.waitForExit() == 1)
    #expect(try strict.restOfErrors().contains("line 2, column 1"))
  }

  @Test func `a change that is held when the pipe ends can be accepted`() throws {
    #expect(mkfifo(place("pipe"), 0o600) == 0)
    let watching = try Livelist(
      "watch", "--guard", "changes=1", "--snapshot", "jsonl:" + place("pipe"))
    let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: place("pipe")))
    try writer.write(contentsOf: Data("1\n".utf8))
    var line = ""
    repeat { line = try watching.line() } while !line.contains("[1]")
    try writer.write(contentsOf: Data("2\n3\n".utf8))
    repeat { line = try watching.line() } while !line.contains("held")
    try writer.close()
    watching.send("accept\nquit\n")
    #expect(try watching.restOfOutput().contains("[1,2,3]"))
    #expect(try watching.waitForExit() == 0)
  }

  @Test func `a watch goes on after a swap from a pipe that ends`() throws {
    #expect(mkfifo(place("pipe"), 0o600) == 0)
    let watching = try Livelist("watch", "jsonl:" + place("pipe"))
    let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: place("pipe")))
    try writer.write(contentsOf: Data("1\n".utf8))
    var line = ""
    repeat { line = try watching.line() } while !line.contains("1]") && !line.contains(":1}")
    watching.send("swap \(try save("new.json", "[1,2]"))\n")
    #expect(try watching.line().contains(#""inserts":[{"at":1,"element":2}]"#))
    try writer.close()
    try place.json("new.json", "[1]")
    #expect(try watching.line().contains(#""deletes":[{"at":1,"element":2}]"#))
    watching.send("quit\n")
    #expect(try watching.waitForExit() == 0)
    // The commands are written before the pipe ends.
    let scripted = try Livelist("watch", "json:" + place("pipe"))
    scripted.send("swap json:\(place("new.json"))\nquit\n")
    try "[7]".write(toFile: place("pipe"), atomically: false, encoding: .utf8)
    #expect(try scripted.restOfOutput().split(separator: "\n").count == 2)
    #expect(try scripted.waitForExit() == 0)
  }

  @Test func `lines on standard input are shown when they arrive`() throws {
    for operand in ["-", "jsonl:-"] {
      let watching = try Livelist("watch", operand)
      watching.send("1\n2\n")
      // They may arrive together or one by one.
      var line = ""
      repeat {
        line = try change(of: watching)
      } while !line.contains("2]")
        && !line.contains(
          #""element":2"#)
      watching.send("x\n3")
      #expect(try watching.line().contains("1 line of standard input is skipped"))
      watching.endInput()
      let rest = try watching.restOfOutput()
      #expect(rest.contains(#""inserts":[{"at":2,"element":3}]"#))
      #expect(try watching.waitForExit() == 0)
    }
  }

  @Test func `an array on standard input is shown when it is complete`() throws {
    let result = try Livelist.run("watch", "-n", "1", "-", input: "[5,\n6]")
    #expect(result.output == Self.line("[5]"))
    #expect(try Livelist.run("view", "-", input: #"[{"title":"Write"}]"#).output.contains("Write"))
    let wrong = try Livelist.run("watch", "-", input: "[5,")
    #expect(wrong.status == 1)
    #expect(wrong.errors.contains("cannot read standard input: line 1, column 4"))
  }

  @Test func `errors in standard input name the line`() throws {
    let old = try save("old.json", "[1]")
    let skipped = try Livelist.run("diff", "--stat", old, "-", input: "1\nx\n2\n{\n")
    #expect(skipped.output == "1 inserted\n")
    #expect(skipped.errors.contains("2 lines of standard input are skipped"))
    #expect(skipped.errors.contains("the latest is line 4, column 2: "))
    let strict = try Livelist.run("diff", "--strict-lines", old, "-", input: "1\nx\n2\n")
    #expect(strict.status == 1)
    #expect(strict.errors.contains("cannot read standard input: line 2, column 1: "))
    let array = try Livelist.run("diff", "--exit-code", old, "-", input: "[1,\n2")
    #expect(array.status == 2)
    #expect(array.errors.contains("cannot read standard input: line 2, column"))
  }

  @Test func `lines of standard input are never read as commands`() throws {
    // The writer starts a process after each line, so the lines arrive one by one.
    let lines = "i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo $i; (:); done"
    let livelist = try Livelist(
      ["-c", "(\(lines)) | '\(try Program.find("livelist"))' watch --format=text jsonl:-"],
      program: "/bin/sh")
    let shown = try livelist.restOfOutput().split(separator: "\n")
    #expect(try livelist.restOfErrors() == "")
    #expect(shown.count { $0.hasPrefix("+ ") } == 500)
    #expect(try livelist.waitForExit() == 0)
  }

  @Test(arguments: ["diff OLD -", "watch -", "watch jsonl:-"])
  func `standard input that cannot be read is an error`(command: String) throws {
    try place.json("old.json", "[1]")
    let arguments = command.replacing("OLD", with: place("old.json"))
    let livelist = try Livelist(
      ["-c", "exec '\(try Program.find("livelist"))' \(arguments) < '\(place("."))'"],
      program: "/bin/sh")
    let status = try? livelist.waitForExit()
    #expect(status == 1)
  }
}
