import Foundation
import TestTags
import Testing

@Suite(.tags(.system)) struct WatchTests {
  @Test func `the initial event contains the loaded elements in compact form`() throws {
    let place = try Workplace()
    let source = try place.json(
      "a.json",
      #"""
      [ { "id" : 9223372036854775807, "text": "a\u00e9\/\u000a\"\\ b", "x": [ 1.50, -0, 1E+2 ] },
        null, true, "s", 18446744073709551616123 ]
      """#)
    let result = try Livelist.run("watch", "--until-eof", source)
    #expect(
      result.output
        == #"{"event":"initial","revision":0,"elements":[{"id":9223372036854775807,"#
        + #""text":"aé/\n\"\\ b","x":[1.50,-0,1E+2]},null,true,"s",18446744073709551616123]}"#
        + "\n")
    #expect(result.errors.isEmpty)
    #expect(result.status == 0)
  }

  @Test func `an empty list has an initial event, too`() throws {
    let place = try Workplace()
    let result = try Livelist.run("watch", "--until-eof", try place.json("a.json", "[]"))
    #expect(result.output == #"{"event":"initial","revision":0,"elements":[]}"# + "\n")
  }

  @Test func `a change lists deletions, insertions, updates and moves`() throws {
    let place = try Workplace()
    let old = try place.json(
      "old.json", #"[{"id":"a"},{"id":"b"},{"id":"c","n":1},{"id":"d"},{"id":"e"}]"#)
    let new = try place.json(
      "new.json", #"[{"id":"e"},{"id":"a"},{"id":"c","n":2},{"id":"f"},{"id":"d"}]"#)
    let result = try Livelist.run(
      "watch", "--until-eof", "--key", "id", old, input: "swap \(new)\n")
    let lines = result.output.split(separator: "\n").map(String.init)
    #expect(lines.count == 2)
    #expect(
      lines.last
        == #"{"event":"change","since":0,"revision":1,"deletes":[{"at":1,"element":{"id":"b"}}],"#
        + #""inserts":[{"at":3,"element":{"id":"f"}}],"updates":[{"from":2,"at":2,"#
        + #""old":{"id":"c","n":1},"element":{"id":"c","n":2}}],"moves":[{"from":4,"to":0}]}"#)
  }

  @Test func `a saved file and a committed transaction are one change each`() throws {
    let place = try Workplace()
    let file = try place.json("a.json", "[1,2]")
    let watching = try Livelist("watch", file)
    #expect(try watching.line() == #"{"event":"initial","revision":0,"elements":[1,2]}"#)
    try place.json("a.json", "[1,2,3]")
    #expect(
      try watching.line()
        == #"{"event":"change","since":0,"revision":1,"deletes":[],"#
        + #""inserts":[{"at":2,"element":3}],"updates":[],"moves":[]}"#)
    try place.sql("a.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (1), (2)")
    watching.send("swap \(place.sqlite("a.db", "SELECT a FROM t"))\n")
    _ = try watching.line()
    try place.sql("a.db", "BEGIN; DELETE FROM t WHERE a = 1; INSERT INTO t VALUES (7); COMMIT")
    #expect(
      try watching.line()
        == #"{"event":"change","since":2,"revision":3,"deletes":[{"at":0,"element":{"a":1}}],"#
        + #""inserts":[{"at":1,"element":{"a":7}}],"updates":[],"moves":[]}"#)
    watching.send("quit\n")
    #expect(try watching.waitForExit() == 0)
  }

  @Test func `a changed status is reported`() throws {
    let place = try Workplace()
    let file = try place.json("a.json", "[1]")
    let watching = try Livelist("watch", file)
    _ = try watching.line()
    try FileManager.default.removeItem(atPath: place("a.json"))
    let missing = try watching.line()
    #expect(missing.hasPrefix(#"{"event":"status","state":"missing","message":""#))
    #expect(missing.contains(place("a.json")))
    try place.json("a.json", "[1]")
    #expect(try watching.line() == #"{"event":"status","state":"loaded"}"#)
    try place.json("a.json", "[1,")
    let failed = try watching.line()
    #expect(failed.hasPrefix(#"{"event":"status","state":"failed","message":""#))
    try place.json("a.json", "[1,2]")
    #expect(
      try watching.line()
        == #"{"event":"change","since":0,"revision":1,"deletes":[],"#
        + #""inserts":[{"at":1,"element":2}],"updates":[],"moves":[]}"#)
    #expect(try watching.line() == #"{"event":"status","state":"loaded"}"#)
  }

  @Test func `SQLite values keep their kind and all digits`() throws {
    let place = try Workplace()
    try place.sql(
      "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, v)",
      """
      INSERT INTO t (v) VALUES (NULL), (9223372036854775807), (-9223372036854775808), (5.0), (0.1), \
      (1e300), (9e999), (-9e999), (x'00ff10'), (CAST(x'61ff62' AS TEXT)), \
      ('é"\\' || char(10, 1, 8232)), (''), (x''), (-0.0), (1e-7)
      """)
    let query = place.sqlite("a.db", "SELECT v, id FROM t ORDER BY id")
    let result = try Livelist.run("watch", "--until-eof", query)
    let values = [
      "null", "9223372036854775807", "-9223372036854775808", "5.0", "0.1", "1e+300", "9e999",
      "-9e999", "\"AP8Q\"", #""a\udcffb""#, "\"é\\\"\\\\\\n\\u0001\u{2028}\"", "\"\"", "\"\"",
      "-0.0", "1e-07",
    ]
    let elements = zip(values, 1...).map { "{\"v\":\($0),\"id\":\($1)}" }
    #expect(
      result.output
        == "{\"event\":\"initial\",\"revision\":0,\"elements\":["
        + elements.joined(separator: ",") + "]}\n")
    // The first column is the key, and two rows have the same value in it.
    #expect(result.errors.contains("key \"\" "))
  }

  @Test func `a query without rows is an empty list`() throws {
    let place = try Workplace()
    try place.sql("a.db", "CREATE TABLE t (a)")
    let result = try Livelist.run("watch", "--until-eof", place.sqlite("a.db", "SELECT * FROM t"))
    #expect(result.output == #"{"event":"initial","revision":0,"elements":[]}"# + "\n")
  }

  @Test func `each duplicate key causes one warning`() throws {
    let place = try Workplace()
    let file = try place.json("a.json", #"[{"id":1},{"id":7},{"id":7},{"id":1}]"#)
    let same = try place.json("b.json", #"[{"id":2},{"id":7},{"id":7}]"#)
    let other = try place.json("c.json", #"[{"id":"x"},{"id":"x"},{"id":7}]"#)
    let watching = try Livelist("watch", "--until-eof", "--key", "id", file)
    _ = try watching.line()
    for source in [same, file, other] {
      watching.send("swap \(source)\n")
      #expect(try watching.line().hasPrefix(#"{"event":"change","#))
    }
    watching.endInput()
    #expect(try watching.restOfOutput() == "")
    let warnings = try watching.restOfErrors().split(separator: "\n")
    #expect(warnings.count == 2)
    #expect(warnings.first?.contains("key 7 ") == true)
    #expect(warnings.last?.contains("key \"x\" ") == true)
  }

  @Test func `a key that becomes a duplicate causes a warning`() throws {
    let place = try Workplace()
    let file = try place.json("a.json", #"[{"id":1},{"id":2}]"#)
    let watching = try Livelist("watch", "--key", "id", file)
    _ = try watching.line()
    try place.json("a.json", #"[{"id":2},{"id":3}]"#)
    _ = try watching.line()
    try place.json("a.json", #"[{"id":2},{"id":1},{"id":3},{"id":3}]"#)
    #expect(try watching.errorLine().contains("key 3 "))
    watching.send("quit\n")
    #expect(try watching.restOfErrors().isEmpty)
  }
}
