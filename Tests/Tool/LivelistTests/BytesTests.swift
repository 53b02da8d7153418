import Foundation
import TestSupport
import TestTags
import Testing

/// Texts from outside that are not UTF-8, or that are spelled in two ways in Unicode.
///
/// Scripts of the shell pass bytes that no `String` has. `\351` is a byte that is not UTF-8.
@Suite(.tags(.system)) struct BytesTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  /// Starts a script of the shell in the workplace. The program is `$livelist`.
  private func shell(_ script: String) throws -> Livelist {
    let program = try Program.find("livelist")
    return try Livelist(
      ["-c", "cd '\(place.path)' || exit 1; livelist='\(program)'\n" + script], program: "/bin/sh",
      environment: ["LC_ALL": "C.UTF-8"])
  }

  /// Runs a script to its end, and returns its output.
  private func output(_ script: String) throws -> String {
    let livelist = try shell(script + "\n")
    livelist.endInput()
    let output = try livelist.restOfOutput()
    #expect(try livelist.restOfErrors() == "")
    return output
  }

  private static let elements = #""elements":[{"id":1},{"id":2}]"#

  @Test func `texts that are not Unicode are told apart by conditions, orders and groups`() throws {
    let list = try place.json(
      "list.json", #"[{"k":"a\ud801"},{"k":"a\ud800"},{"k":"a\ufffd"},{"k":"a\ud800"},{"k":"b"}]"#)
    func view(_ arguments: String...) throws -> String {
      let result = try Livelist.run(["view"] + arguments + [list])
      #expect(result.errors == "")
      return result.output
    }
    let both = #"[\n{"k":"a\ud800"},\n{"k":"a\ud800"}\n]\n"#.replacing(#"\n"#, with: "\n")
    #expect(try view("--format", "json", "--where", #"k="a\ud800""#) == both)
    let replaced = try view("--format", "json", "--where", "k=a\u{FFFD}")
    #expect(replaced == "[\n{\"k\":\"a\u{FFFD}\"}\n]\n")
    #expect(
      try view("--format", "json", "--where", #"k!="a\ud800""#).split(separator: "\n").count == 5)
    #expect(try view("--format", "json", "--sort", "k").contains(both.dropFirst(2).dropLast(3)))
    #expect(try view("--group-by", "k").split(separator: "\n").count { $0.contains(" (") } == 4)
  }

  // MARK: Paths

  @Test(arguments: [
    #"caf\351.json"#, #"json:caf\351.json"#, #"./caf\351.json"#, #"*.json"#, #"caf?.json"#,
    #"json:c*"#, #"caf[!x].json"#, #"json:caf\351.js*"#,
  ])
  func `a file whose name is not UTF-8 is read, directly and by a pattern`(source: String) throws {
    let output = try output(
      #"""
      printf '[{"id":1},{"id":2}]' >"$(printf 'caf\351.json')"
      exec "$livelist" watch --until-eof "$(printf '\#(source)')"
      """#)
    #expect(output.contains(Self.elements), "\(output)")
  }

  @Test(arguments: ["a.json", "a.jsonl", "*.json", "a.db#t", "sqlite:a.db?SELECT id FROM t", "s"])
  func `a relative path leads to its file in a folder whose name is not UTF-8`(
    source: String
  ) throws {
    try place.sql(
      "a.db", "CREATE TABLE t(id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    let output = try output(
      #"""
      d=$(printf 'd\351'); mkdir "$d"; mv a.db "$d"; cd "$d" || exit 1
      printf '[{"id":1},{"id":2}]' >a.json
      printf '{"id":1}\n{"id":2}\n' >a.jsonl
      ln -s a.json s
      exec "$livelist" watch --until-eof '\#(source)'
      """#)
    #expect(output.contains(Self.elements), "\(output)")
  }

  @Test func `a file whose name is not UTF-8 is followed`() throws {
    let livelist = try shell(
      #"""
      f=$(printf 'caf\351.json'); printf '[1]' >"$f"; ln -s "$f" link
      exec "$livelist" watch "$f"
      """#)
    #expect(try livelist.line().contains(#""elements":[1]"#))
    try OpenFile(place("link"), O_WRONLY | O_TRUNC).write("[1,2]")
    #expect(try livelist.line().contains(#""inserts":[{"at":1,"element":2}]"#))
  }

  @Test func `a message shows the bytes of a path that are not UTF-8`() throws {
    let livelist = try shell(#"exec "$livelist" view --format json "$(printf 'no\351.json')""#)
    let errors = try livelist.restOfErrors()
    #expect(errors.contains(#"no\xe9.json"#) && errors.contains("No such file"), "\(errors)")
    #expect(try livelist.waitForExit() == 1)
  }

  @Test func `text that is no path must be UTF-8`() throws {
    for (arguments, message) in [
      (#"watch --key "$(printf 'k\351')" a.json"#, #"--key cannot be "k\xe9", which is not UTF-8"#),
      (#"watch "$(printf 'a.db?SELECT \351')""#, #"the source "a.db?SELECT \xe9" is not UTF-8"#),
      (
        #"serve --listen unix:s "$(printf 'n\351=a.json')""#, #"the name "n\xe9" is not UTF-8"#
      ),
    ] {
      let livelist = try shell(#"exec "$livelist" \#(arguments)"#)
      let errors = try livelist.restOfErrors()
      #expect(errors.contains(message), "\(errors)")
      #expect(try livelist.waitForExit() == 2)
    }
  }

  @Test func `a socket whose path is not UTF-8 is served and read`() throws {
    let server = try shell(
      #"""
      printf '[{"id":1},{"id":2}]' >a.json
      exec "$livelist" serve --listen "$(printf 'unix:s\351')" n=a.json
      """#)
    #expect(try server.errorLine().hasSuffix(#"s\xe9"#))
    let output = try output(
      #"exec "$livelist" watch --until-eof "$(printf 'live:unix:s\351#n')""#)
    #expect(output.contains(Self.elements), "\(output)")
    server.signalProcess(SIGTERM)
  }

  @Test func `a command receives the bytes of its text and of its environment`() throws {
    let output = try output(
      #"""
      printf '[1]' >a.json; export X="$(printf 'x\351')"
      "$livelist" watch --until-eof --exec-initial --exec "$(printf ': >"$X"; : >out\351')" a.json
      ls -b
      """#)
    #expect(output.split(separator: "\n") == ["a.json", #"out\351"#, #"x\351"#], "\(output)")
  }

  @Test func `a line of input can name a file whose name is not UTF-8`() throws {
    let output = try output(
      #"""
      printf '[1]' >a.json; printf '[2]' >"$(printf 'b\351.json')"
      printf 'swap b\351.json\n' | "$livelist" watch --until-eof --snapshot a.json
      """#)
    #expect(output.contains(#""elements":[2]"#), "\(output)")
  }

  // MARK: Spellings

  @Test func `a file of a pattern that is renamed to another spelling of its name is followed`()
    throws
  {
    try place.json("\u{E9}.json", #"[{"id":1}]"#)
    let livelist = try Livelist(["watch", "--snapshot", place("*.json")])
    #expect(try livelist.line().contains(#""elements":[{"id":1}]"#))
    guard rename(place("\u{E9}.json"), place("e\u{301}.json")) == 0 else { throw POSIXError.last }
    try place.json("e\u{301}.json", #"[{"id":7}]"#)
    while !(try livelist.line().contains(#""elements":[{"id":7}]"#)) {}
  }

  @Test func `two files whose names are two spellings of one text are two files`() throws {
    try place.json("\u{E9}.json", "[1]")
    try place.json("e\u{301}.json", "[2]")
    let output = try output(#"exec "$livelist" watch --until-eof '*.json'"#)
    #expect(output.contains(#""elements":[2,1]"#), "\(output)")
  }

  @Test(arguments: [
    ("\u{E9}", 1), ("e\u{301}", 2), ("\u{C9}", 3), ("k", 4), ("K", 4), ("\u{212A}", 5),
  ])
  func `a table is named by its bytes, and by ASCII letters of any case`(
    name: String, value: Int
  ) throws {
    for (number, table) in ["\u{E9}", "e\u{301}", "\u{C9}", "k", "\u{212A}"].enumerated() {
      try place.sql(
        "a.db", "CREATE TABLE \"\(table)\"(v)", "INSERT INTO \"\(table)\" VALUES (\(number + 1))")
    }
    let result = try Livelist.run("watch", "--until-eof", place("a.db#\(name)"))
    #expect(result.output.contains("\"v\":\(value)}"), "\(result.output) \(result.errors)")
  }

  @Test func `columns whose names are two spellings of one text are two members`() throws {
    try place.sql("a.db", "CREATE TABLE t(x)")
    let found = try Livelist.run(
      "watch", "--until-eof", "--key", "e\u{301}", "--where", "\u{E9}=1",
      place.sqlite("a.db", "SELECT 1 AS \"\u{E9}\", 2 AS \"e\u{301}\""))
    #expect(found.output.utf8.containsText("{\"\u{E9}\":1,\"e\u{301}\":2}"), "\(found)")
    #expect(found.errors == "")
  }

  @Test func `keys that are two spellings of one text are two keys`() throws {
    let old = "[{\"k\":\"\u{E9}\",\"v\":1},{\"k\":\"e\u{301}\",\"v\":2}]"
    let new = "[{\"k\":\"\u{E9}\",\"v\":1},{\"k\":\"e\u{301}\",\"v\":3}]"
    try place.json("old.json", old)
    try place.json("new.json", new)
    try place.sql(
      "a.db", "CREATE TABLE t(k TEXT PRIMARY KEY, v) WITHOUT ROWID",
      "INSERT INTO t VALUES ('\u{E9}', 1), ('e\u{301}', 3)")
    for source in [place("new.json"), place("a.db#t")] {
      let diff = try Livelist.run("diff", "--key", "k", place("old.json"), source)
      let expected =
        source.hasSuffix("t")
        ? "\"updates\":[{\"from\":1,\"at\":0" : "\"updates\":[{\"from\":1,\"at\":1"
      #expect(diff.output.contains(expected), "\(diff)")
      #expect(diff.errors == "")
    }
    let change = try Livelist.run("diff", "--key", "k", place("old.json"), place("new.json"))
    let applied = try Livelist.run("apply", place("old.json"), input: change.output)
    #expect(applied.output.utf8.containsText("{\"k\":\"e\u{301}\",\"v\":3}"), "\(applied)")
    let merged = try Livelist.run(
      "merge", "--key", "k", place("old.json"), place("new.json"), place("old.json"))
    #expect(merged.output.utf8.containsText("{\"k\":\"\u{E9}\",\"v\":1}"), "\(merged)")
    #expect(merged.output.utf8.containsText("{\"k\":\"e\u{301}\",\"v\":3}"), "\(merged)")
    #expect(merged.errors == "")
  }

  @Test func `a condition and an order tell two spellings of one text apart`() throws {
    try place.json("a.json", "[\"e\u{301}\",\"\u{E9}\"]")
    let found = try Livelist.run("watch", "--until-eof", "--where", "value=\u{E9}", place("a.json"))
    #expect(found.output.utf8.containsText("\"elements\":[\"\u{E9}\"]"), "\(found)")
    let sorted = try Livelist.run(
      "watch", "--until-eof", "--sort", "value desc", place("a.json"))
    #expect(sorted.output.utf8.containsText("[\"\u{E9}\",\"e\u{301}\"]"), "\(sorted)")
  }

  @Test func `lists whose names are two spellings of one text are served as two lists`() throws {
    try place.json("a.json", "[1]")
    try place.json("b.json", "[2]")
    let socket = place("s")
    let server = try Livelist(
      "serve", "--listen", "unix:\(socket)", "\u{E9}=\(place("a.json"))",
      "e\u{301}=\(place("b.json"))")
    _ = try server.errorLine()
    for (name, value) in [("\u{E9}", 1), ("e\u{301}", 2)] {
      let result = try Livelist.run("watch", "--until-eof", "live:unix:\(socket)#\(name)")
      #expect(result.output.contains("\"elements\":[\(value)]"), "\(result)")
    }
    server.send("cancel e\u{301}\n")
    #expect(try server.errorLine() == "livelist: no swap is loading")
  }

  // MARK: Values

  @Test func `text of SQLite that is not UTF-8 keeps its bytes`() throws {
    try place.sql(
      "a.db", "CREATE TABLE t(k TEXT PRIMARY KEY, v TEXT) WITHOUT ROWID",
      "INSERT INTO t VALUES (CAST(x'61FE' AS TEXT), 'a'), (CAST(x'61FF' AS TEXT), 'b')")
    let livelist = try Livelist("watch", place("a.db#t"))
    #expect(
      try livelist.line().contains(
        #""elements":[{"k":"a\udcfe","v":"a"},{"k":"a\udcff","v":"b"}]"#))
    try place.sql("a.db", "UPDATE t SET v = CAST(x'80' AS TEXT) WHERE v = 'b'")
    #expect(try livelist.line().contains(#""element":{"k":"a\udcff","v":"\udc80"}"#))
    try place.sql("a.db", "UPDATE t SET v = CAST(x'81' AS TEXT) WHERE v <> 'a'")
    let change = try livelist.line()
    #expect(change.contains(#""old":{"k":"a\udcff","v":"\udc80"}"#), "\(change)")
    #expect(change.contains(#""element":{"k":"a\udcff","v":"\udc81"}"#), "\(change)")
  }

  // MARK: Byte order marks

  @Test(arguments: ["a.jsonl", "a.log", "jsonl:-", "-"])
  func `byte order marks at the starts of lines are skipped`(source: String) throws {
    let mark = #"\357\273\277"#
    let output = try output(
      #"""
      printf '\#(mark){"id":1}\r\n\#(mark)\#(mark){"id":2}\n\#(mark)\n\#(mark)' >a.jsonl
      cp a.jsonl a.log
      exec "$livelist" view --format json '\#(source)' <a.jsonl
      """#)
    #expect(output.contains(#"{"id":1}"#) && output.contains(#"{"id":2}"#), "\(output)")
  }

  @Test func `byte order marks at the starts of events are skipped`() throws {
    let mark = "\u{FEFF}"
    let events =
      mark + #"{"event":"initial","revision":0,"elements":[1]}"# + "\n" + mark + "\n" + mark
      + #"{"event":"change","since":0,"revision":1,"deletes":[],"inserts":[{"at":1,"element":2}],"#
      + #""updates":[],"moves":[]}"# + "\n"
    let result = try Livelist.run("apply", input: events)
    #expect(result.errors == "")
    #expect(result.output.contains("2"), "\(result)")
  }
}

extension String.UTF8View {
  /// Returns a Boolean value that indicates whether the bytes contain the bytes of a text.
  fileprivate func containsText(_ text: String) -> Bool { contains(text.utf8) }
}
