import Foundation
import TestTags
import Testing

@Suite(.tags(.system)) struct LoadFailureTests {
  private func expectFailure(_ arguments: [String], _ hints: String...) throws {
    let result = try Livelist.run(arguments)
    #expect(result.status == 1)
    #expect(result.output.isEmpty)
    #expect(result.errors.split(separator: "\n").count == 1)
    #expect(result.errors.hasPrefix("livelist: ") && result.errors.hasSuffix("\n"))
    for hint in hints { #expect(result.errors.contains(hint), "\(result.errors)") }
  }

  @Test(arguments: [
    ("", "[]"), ("[{\"id\":1},", "closing bracket"), ("{\"a\":1}", "instead of an array"),
    ("hello", "value is expected"), ("[{\"id\":1} 2]", "line 1, column 11"),
    ("\n\n[tru]", "line 3"),
    ("[{\"id\":1},{\"name\":2}]", "element 1"), ("[{\"id\":[1]}]", "key"), ("[5]", "key"),
  ])
  func `a file without an array of elements with the key ends with status 1`(
    text: String, hint: String
  ) throws {
    let place = try Workplace()
    let source = try place.json("a.json", text)
    try expectFailure(["watch", "--until-eof", "--key", "id", source], place("a.json"), hint)
    try expectFailure(["diff", "--key", "id", source, source], place("a.json"), hint)
    if ["[]", "closing bracket", "instead of an array"].contains(hint) {
      try expectFailure(["apply", source], hint)
    }
  }

  @Test func `a missing file or a directory ends with status 1`() throws {
    let place = try Workplace()
    try expectFailure(
      ["watch", "json:\(place("none.json"))"], place("none.json"), "check the path")
    try expectFailure(["watch", "json:\(place.path)"], place.path, "directory")
    try expectFailure(["watch", "json:\(place("none/a.json"))"], place("none/a.json"))
  }

  @Test func `a command that ends does not promise to try again`() throws {
    let place = try Workplace()
    let there = try place.json("a.json", "[]")
    let missing = place("none.json")
    let sources = [
      "json:\(missing)", "jsonl:\(missing)", "live:unix:\(place("s"))#tasks",
    ]
    for source in sources {
      for arguments in [
        ["watch", source], ["watch", there, source], ["view", source], ["view", there, source],
        ["diff", there, source], ["diff", source, there], ["apply", source], ["explain", source],
        ["merge", there, source, there],
        ["serve", "--listen", "unix:\(place("t"))", "a=\(source)"],
        ["watch", "--guard", "count=1", source],
      ] {
        let result = try Livelist.run(arguments)
        #expect(result.status == 1)
        if source.hasPrefix("live:") { #expect(result.errors.contains("start the server")) }
        for promise in ["again", "as soon as", "stay"] {
          #expect(!result.errors.contains(promise), "\(arguments): \(result.errors)")
        }
      }
    }
  }

  @Test func `a file that is not a database ends with status 1`() throws {
    let place = try Workplace()
    try place.json("text", "this is no database, although it is long enough for a header of one.")
    let query = "SELECT 1"
    try expectFailure(["watch", place.sqlite("none.db", query)], place("none.db"), "no database")
    #expect(!FileManager.default.fileExists(atPath: place("none.db")))
    try expectFailure(["watch", place.sqlite("text", query)], place("text"), "not a database")
    try expectFailure(["watch", "sqlite:\(place.path)?\(query)"], place.path, "directory")
  }

  @Test(arguments: [
    ("SELECT * FROM nope", "no such table: nope"),
    ("SELECT nope FROM t", "no such column: nope"),
    ("SELEC", "syntax error"),
    ("DELETE FROM t", "writes"),
    ("INSERT INTO t VALUES (1, 2) RETURNING a", "writes"),
    ("PRAGMA table_info(t)", "not a query"),
    ("SELECT 1; SELECT 2", "more than one statement"),
    ("SELECT 1; nonsense", "more than one statement"),
    ("SELECT a, b AS a FROM t", "AS"),
    ("SELECT a FROM t WHERE a = ?", "argument"),
    ("SELECT b FROM t", "\"a\""),
  ])
  func `a query that cannot be shown ends with status 1`(sql: String, hint: String) throws {
    let place = try Workplace()
    try place.sql("a.db", "CREATE TABLE t (a, b)", "INSERT INTO t VALUES (1, 2)")
    try expectFailure(["watch", "--key=a", place.sqlite("a.db", sql)], place("a.db"), hint)
    // The statement changed nothing.
    let rows = try Livelist.run("watch", "--until-eof", place.sqlite("a.db", "SELECT * FROM t"))
    #expect(rows.output.contains(#""elements":[{"a":1,"b":2}]"#))
  }

  // MARK: One of several sources

  /// Makes a folder of which one file cannot be loaded, and a file that can.
  private func makePartlyBrokenSources() throws -> Workplace {
    let place = try Workplace()
    try FileManager.default.createDirectory(
      atPath: place("conf.d"), withIntermediateDirectories: true)
    try place.json("conf.d/a.json", #"[{"id":1}]"#)
    try place.json("conf.d/b.json", "[")
    try place.json("base.json", #"[{"id":1},{"id":2}]"#)
    return place
  }

  @Test func `diff fails if a file of a pattern cannot be loaded`() throws {
    let place = try makePartlyBrokenSources()
    let result = try Livelist.run(
      "diff", "--exit-code", place("base.json"), place("conf.d/*.json"))
    #expect(result.status == 2)
    #expect(result.output == "")
    #expect(result.errors.contains("b.json"))
  }

  @Test func `merge fails if a file of a pattern cannot be loaded`() throws {
    let place = try makePartlyBrokenSources()
    let result = try Livelist.run(
      "merge", "--key", "id", place("base.json"), place("base.json"), place("conf.d/*.json"))
    #expect(result.status == 1)
    #expect(result.output == "")
    #expect(result.errors.contains("b.json"))
  }

  @Test func `watch fails if the second source cannot be loaded`() throws {
    let place = try makePartlyBrokenSources()
    let result = try Livelist.run(
      "watch", "--until-eof", place("base.json"), place("conf.d/b.json"))
    #expect(result.status == 1)
    #expect(result.output == "")
  }
}
