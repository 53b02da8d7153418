import TestTags
import Testing

@Suite(.tags(.system)) struct DiffTests {
  @Test func `equal sources have no difference`() throws {
    let place = try Workplace()
    let old = try place.json("old.json", #"[{"a":1,"b":"x"}]"#)
    let new = try place.json("new.json", #"[ {"b":"\u0078","a":1} ]"#)
    let result = try Livelist.run("diff", old, new)
    #expect(result.output.isEmpty)
    #expect(result.errors.isEmpty)
    #expect(result.status == 0)
  }

  @Test func `the difference is one change`() throws {
    let place = try Workplace()
    let old = try place.json("old.json", #"[{"id":1,"n":"x"},{"id":2}]"#)
    try place.sql(
      "a.db", "CREATE TABLE t (id, n)", "INSERT INTO t VALUES (3, NULL), (1, 'y')")
    let result = try Livelist.run(
      "diff", old, place.sqlite("a.db", "SELECT * FROM t"), "--key", "id")
    #expect(
      result.output
        == #"{"event":"change","since":0,"revision":1,"deletes":[{"at":1,"element":{"id":2}}],"#
        + #""inserts":[{"at":0,"element":{"id":3,"n":null}}],"updates":[{"from":0,"at":1,"#
        + #""old":{"id":1,"n":"x"},"element":{"id":1,"n":"y"}}],"moves":[]}"# + "\n")
    #expect(result.status == 0)
  }

  @Test func `the text has a line for each element with its key and the fields that differ`() throws
  {
    let place = try Workplace()
    let old = try place.json(
      "old.json",
      #"[{"id":1,"n":"x","o":{"a":1,"b":[1]}},{"id":2,"n":"é"},{"id":3},{"id":4},{"id":5,"m":1,"n":2}]"#
    )
    let new = try place.json(
      "new.json",
      ##"[{"id":4},{"o":{"b":[1,2],"a":1},"n":"y","id":1},{"id":"3","n":"\u001b[2J\u009b"},{"##
        + ##""id":2,"n":"e\u0301"},{"n":2,"m":1,"id":5}]"##)
    let result = try Livelist.run("diff", "--format", "text", "--key", "id", old, new)
    #expect(
      result.output == ##"""
        > [3] → [0] 4
        ~ [1] 1: o.b: [1] → [1,2], n: "x" → "y"
        + [2] "3": {"n":"\u001b[2J\u{9B}"}
        ~ [3] 2: n: "\u{E9}" → "e\u{301}"
        - [2] 3
        1 inserted, 1 deleted, 2 updated, 1 moved

        """##)
    #expect(result.errors.isEmpty)
    #expect(result.status == 0)
    #expect(try Livelist.run("diff", "--format=text", old, old).output.isEmpty)
    let json = try Livelist.run("diff", "--format", "json", "--key", "id", old, new)
    #expect(try json.output == Livelist.run("diff", "--key", "id", old, new).output)
  }

  @Test func `the whole element is shown if there is no key`() throws {
    let place = try Workplace()
    let long = String(repeating: "x", count: 1_000)
    let old = try place.json("old.json", #"[1,{"a":null}]"#)
    let new = try place.json("new.json", "[\"\(long)\",1]")
    #expect(
      try Livelist.run("diff", "--format=text", old, new).output == """
        + [0] "\(long)"
        - [1] {"a":null}
        1 inserted, 1 deleted

        """)
  }

  @Test(arguments: [
    ["-k", "id"], ["-k", "id", "--where", "v>0"], ["--fields", "id"], ["-k", "id", "--sort", "v"],
  ])
  func `a duplicate key is reported, also in a selection`(options: [String]) throws {
    let place = try Workplace()
    let old = try place.json("old.json", #"[{"id":1,"v":1}]"#)
    let new = try place.json("new.json", #"[{"id":1,"v":1},{"id":2,"v":1},{"id":1,"v":2}]"#)
    for pair in [[old, new], [new, old]] {
      let errors = try Livelist.run(["diff"] + options + pair).errors
      #expect(errors.contains("occurs more than once"), "\(pair)")
    }
    #expect(try Livelist.run(["diff"] + options + [old, old]).errors == "")
  }

  @Test func `a terminal shows short values, and another program receives all`() throws {
    let place = try Workplace()
    let long = String(repeating: "x", count: 100)
    let (old, new) = (try place.json("a", "[]"), try place.json("b", "[\"\(long)\"]"))
    let terminal = try Livelist(["diff", "--format", "text", old, new], isTerminal: true)
    #expect(try terminal.line().contains("xxx…"))
    #expect(try Livelist.run("diff", "--format", "text", old, new).output.contains("\(long)\""))
  }

  @Test func `an option decides on colors`() throws {
    let place = try Workplace()
    let (old, new) = (try place.json("a", "[]"), try place.json("b", "[1]"))
    func text(_ color: String, isTerminal: Bool) throws -> String {
      let livelist = try Livelist(
        ["diff", "--format", "text", "--color", color, old, new], isTerminal: isTerminal)
      return try livelist.restOfOutput()
    }
    #expect(try text("always", isTerminal: false).hasPrefix("\u{1B}[32m+ [0] 1\u{1B}[0m\n"))
    #expect(try text("never", isTerminal: true).hasPrefix("+ [0] 1\r\n"))
    #expect(try text("auto", isTerminal: false).hasPrefix("+ [0] 1\n"))
    #expect(try text("auto", isTerminal: true).hasPrefix("\u{1B}[32m+ [0] 1\u{1B}[0m\r\n"))
  }

  @Test(arguments: [
    ([:], true), (["NO_COLOR": ""], true), (["NO_COLOR": "0"], false), (["TERM": "dumb"], false),
  ])
  func `text on a terminal has colors unless the user disables them`(
    environment: [String: String], hasColors: Bool
  ) throws {
    let place = try Workplace()
    let old = try place.json("old.json", "[1]")
    let new = try place.json("new.json", "[2]")
    let livelist = try Livelist(
      ["diff", "--format", "text", old, new], isTerminal: true, environment: environment)
    // A terminal ends lines with two characters.
    let lines = try livelist.restOfOutput().replacing("\r\n", with: "\n")
    #expect(
      lines
        == (hasColors
          ? "\u{1B}[31m- [0] 1\u{1B}[0m\n\u{1B}[32m+ [0] 2\u{1B}[0m\n" : "- [0] 1\n+ [0] 2\n")
        + "1 inserted, 1 deleted\n")
    #expect(try livelist.waitForExit() == 0)
    let json = try Livelist(["diff", old, new], isTerminal: true)
    #expect(try json.restOfOutput().hasPrefix(#"{"event":"change""#))
  }

  @Test func `a duplicate key causes one warning`() throws {
    let place = try Workplace()
    let old = try place.json("old.json", "[1,1]")
    let new = try place.json("new.json", "[1,1,2,2]")
    let result = try Livelist.run("diff", old, new)
    #expect(result.errors.split(separator: "\n").count == 1)
    #expect(result.errors.contains("key 1 "))
    #expect(result.status == 0)
  }

  @Test func `changes of ignored members are no changes`() throws {
    let place = try Workplace()
    let old = try place.json(
      "old.json", #"[{"id":1,"n":1,"age":3,"o":{"a":1,"b":1}},{"id":2,"age":1,"a.b":1}]"#)
    let new = try place.json(
      "new.json", #"[{"id":1,"n":1,"age":4,"o":{"a":2,"b":1}},{"id":2,"age":2,"a.b":2}]"#)
    let options = ["diff", "-k", "id", "--exit-code", "--ignore"]
    let same = try Livelist.run(options + ["age,o.a,a.b", old, new])
    #expect(same.status == 0 && same.output.isEmpty && same.errors.isEmpty)
    let different = try Livelist.run(options + ["age,a.b", "--format", "text", old, new])
    #expect(different.status == 1)
    #expect(different.output == "~ [0] 1: o.a: 1 → 2\n1 updated\n")
    // The key stays, and a field that no element has is a mistake.
    #expect(try Livelist.run(options + ["id,age,o,a.b", old, new]).status == 0)
    #expect(try Livelist.run(options + ["aeg", old, new]).status == 2)
  }
}
