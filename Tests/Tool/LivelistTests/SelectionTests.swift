import TestTags
import Testing

/// The options that select elements and members, and the formats of `watch`.
@Suite(.tags(.system)) struct SelectionTests {
  private let place: Workplace
  private let file: String

  init() throws {
    place = try Workplace()
    file = try place.json(
      "a.json",
      #"[{"id":1,"n":"b","p":5},{"id":2,"n":"a","p":30},{"id":3,"n":"c","p":7,"o":{"s":true}}]"#)
  }

  private func watch(_ arguments: String...) throws -> String {
    let result = try Livelist.run(["watch", "-k", "id", "--until-eof", file] + arguments)
    #expect(result.status == 0, "\(result.errors)")
    return result.output
  }

  /// Elements with values of different kinds.
  private static let kinds =
    #"[{"id":1,"p":5,"n":"b","t":"10","d":"2026-01-31"},"#
    + #"{"id":2,"p":null,"o":{"s":true},"t":"8"}]"#

  private static func line(_ elements: String) -> String {
    #"{"event":"initial","revision":0,"elements":"# + elements + "}\n"
  }

  @Test func `elements are selected, sorted and limited, and members are selected`() throws {
    #expect(
      try watch("--where", "p < 30", "--fields", "n")
        == Self.line(#"[{"id":1,"n":"b"},{"id":3,"n":"c"}]"#))
    #expect(try watch("--where=o.s=true", "--fields=id") == Self.line(#"[{"id":3}]"#))
    #expect(
      try watch("--where", "p>5", "--where", "n!=c", "--fields", "p,id")
        == Self.line(#"[{"p":30,"id":2}]"#))
    #expect(
      try watch("--sort", "p", "--fields", "id", "-n", "2") == Self.line(#"[{"id":1},{"id":3}]"#))
    #expect(
      try watch("--sort", "n desc", "--fields", "id", "--limit=1") == Self.line(#"[{"id":3}]"#))
    #expect(try watch("--where", "none=5", "-n1") == Self.line("[]"))
    #expect(try watch("-n", "0") == Self.line("[]"))
  }

  @Test func `a negative limit selects the last elements`() throws {
    for limit in [["-n", "-2"], ["-n-2"], ["--limit", "-2"], ["--limit=-2"]] {
      let result = try Livelist.run(
        ["watch", "--until-eof", "--sort", "p", "--fields", "id", file] + limit)
      #expect(result.output == Self.line(#"[{"id":3},{"id":2}]"#), "\(result.errors)")
    }
    #expect(try watch("-n", "-5", "--fields", "id") == Self.line(#"[{"id":1},{"id":2},{"id":3}]"#))
    #expect(try Livelist.run("view", "-n", "-1", "--fields", "id", file).output == "id\n 3\n")
    let longer = try place.json("longer.json", #"[{"id":0},{"id":3,"n":"c","p":7,"o":{"s":true}}]"#)
    #expect(try Livelist.run("diff", "-q", "-n", "-1", file, longer).status == 0)
    let wrong = try Livelist.parse("watch", "-n", "-x", file)
    #expect(wrong.status == 2)
    #expect(wrong.errors.contains("--limit -10 for the last"))
  }

  @Test func `the last elements follow the source`() throws {
    let watching = try Livelist("watch", "-k", "id", "-n", "-1", "--fields", "id", file)
    #expect(try watching.line() == Self.line(#"[{"id":3}]"#).dropLast())
    try place.json("a.json", #"[{"id":3},{"id":4}]"#)
    #expect(
      try watching.line().contains(
        #""deletes":[{"at":0,"element":{"id":3}}],"inserts":[{"at":0,"element":{"id":4}}]"#))
  }

  @Test func `fields may be nested, and are named by their paths`() throws {
    #expect(
      try watch("--fields", "o.s,.n", "--where", "id>1")
        == Self.line(#"[{"id":2,"n":"a"},{"id":3,"o.s":true,"n":"c"}]"#))
    #expect(try watch("--fields", ".id,id", "-n", "1") == Self.line(#"[{"id":1}]"#))
  }

  @Test(arguments: ["p desc", "p DESC"])
  func `the direction of an order may be in capital letters`(order: String) throws {
    #expect(
      try watch("--sort", order, "--fields", "id")
        == Self.line(#"[{"id":2},{"id":3},{"id":1}]"#))
  }

  @Test(arguments: [
    ("n =~ lamp", "use ~ instead of =~"),
    ("n=~^7", "or put the value in quotation marks"), ("n ~= lamp", "use ~ instead of ~="),
    ("p << 3", "use < instead of <<"), ("p>>3", "use > instead of >>"),
    ("p > = 3", "write >= without a space"), ("p ! = 3", "write != without a space"),
    ("p !< 3", "use >= instead of !<"), ("p === 3", "use = instead of ==="),
    ("p !== 3", "use != instead of !=="), ("p =! 3", "use != instead of =!"),
    ("p <=> 3", "use = instead of <=>"), ("p ~~ 3", "use ~ instead of ~~"),
    ("p >>> 3", "use =, !=, <, <=, >, >=, ~ or !~ instead of >>>"),
    ("n=\"lamp", "end it with one"),
    ("n='lamp'", "put the text in double quotation marks"),
    ("p => 3", "use >= instead of =>"), ("p=<3", "use <= instead of =<"),
    ("p <> 3", "use != instead of <>"), ("p >", "a value is missing after >"),
    ("p<= ", "a value is missing after <="),
  ])
  func `the syntax of other languages is explained`(condition: String, advice: String) throws {
    let result = try Livelist.parse("watch", "--where", condition, file)
    #expect(result.errors.contains(advice))
    #expect(result.status == 2)
  }

  @Test(arguments: [
    ("p > abc", "no element meets \"p > abc\": the values of \"p\" are numbers, and \"abc\" is"),
    ("p=\"5\"", "and \"5\" is a text; leave out its quotation marks"),
    ("p!=five", "each element meets \"p!=five\": the values of \"p\" are numbers"),
    ("p>true", "and true is true or false"), ("n<null", "null has no order; use = or !="),
    ("o=5", "the values of \"o\" are objects, and 5 is a number"),
    ("o<{}", "the values of \"o\" are objects, and objects have no order; use = or !="),
    ("o.s=yes", "the values of \"o.s\" are true or false, and \"yes\" is a text"),
    ("t < 9", "compares texts, character by character: the value of \"t\" is the text \"10\""),
    ("t = 10.0", "is the text \"10\" in at least one element, and not a number"),
    ("none > 5", "no element has the field \"none\""),
  ])
  func `a condition that is hardly intended is explained`(
    condition: String, remark: String
  ) throws {
    let list = try place.json("kinds.json", Self.kinds)
    let result = try Livelist.run("watch", "--until-eof", "--where", condition, list)
    #expect(result.errors.contains(remark), "\(result.errors)")
    #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
    #expect(result.status == 0)
  }

  @Test(arguments: [
    "p > 100", "p=null", "n=x", "n != 5", "t = 10", "d >= 2026", "d<\"2026-02\"", "o.s!=false",
    "n~9", "o=null", "p!=null",
  ])
  func `a condition that can be met has no remark`(condition: String) throws {
    let list = try place.json("kinds.json", Self.kinds)
    let result = try Livelist.run("watch", "--until-eof", "--where", condition, list)
    #expect(result.errors == "")
    #expect(result.status == 0)
  }

  @Test func `a selection follows its source`() throws {
    let watching = try Livelist(
      "watch", "-k", "id", "--where", "p<10", "--sort", "p desc", "--limit", "2", "--fields", "p",
      file)
    #expect(try watching.line() == Self.line(#"[{"id":3,"p":7},{"id":1,"p":5}]"#).dropLast())
    // A change of another member is no change.
    try place.json("a.json", #"[{"id":1,"n":"x","p":5},{"id":2,"p":30},{"id":3,"p":7}]"#)
    try place.json("a.json", #"[{"id":1,"p":8},{"id":2,"p":30},{"id":3,"p":7},{"id":4,"p":9}]"#)
    #expect(
      try watching.line()
        == #"{"event":"change","since":0,"revision":1,"deletes":[{"at":0,"element":{"id":3,"p":7}}],"#
        + #""inserts":[{"at":0,"element":{"id":4,"p":9}}],"updates":[{"from":1,"at":1,"old":{"id":1,"p":5},"#
        + #""element":{"id":1,"p":8}}],"moves":[]}"#)
    watching.send("swap \(try place.json("b.json", #"[{"id":1,"p":8}]"#))\nquit\n")
    #expect(try watching.line().contains(#""deletes":[{"at":0,"element":{"id":4,"p":9}}]"#))
    #expect(try watching.restOfOutput() == "")
  }

  @Test func `text is for people`() throws {
    let watching = try Livelist("watch", "-k", "id", "--format", "text", "--fields", "n", file)
    #expect(try watching.line() == #"{"id":1,"n":"b"}"#)
    _ = try watching.line()
    _ = try watching.line()
    #expect(try watching.line() == "3 elements")
    try place.json("a.json", #"[{"id":1,"n":"x"},{"id":3,"n":"c"}]"#)
    #expect(try watching.line() == #"~ [0] 1: n: "b" → "x""#)
    #expect(try watching.line() == #"- [1] 2: {"n":"a"}"#)
    #expect(try watching.line() == "1 deleted, 1 updated")
    try place.json("a.json", "{}")
    #expect(try watching.line().hasPrefix("failed: cannot read"))
  }

  @Test func `snapshots are initial events that apply accepts`() throws {
    let watching = try Livelist("watch", "-k", "id", "--snapshot", file)
    _ = try watching.line()
    try place.json("a.json", #"[{"id":7}]"#)
    let line = try watching.line()
    #expect(line == #"{"event":"initial","revision":1,"elements":[{"id":7}]}"#)
    let input = Self.line(#"[{"id":1}]"#) + line + "\n"
    #expect(try Livelist.run("apply", input: input).output == "[\n{\"id\":7}\n]\n")
  }

  @Test func `only changes are printed`() throws {
    let result = try Livelist.run(
      "watch", "-k", "id", "--until-eof", "--changes-only", file,
      input: "swap \(try place.json("b.json", "[]"))\n")
    #expect(result.output.split(separator: "\n").count == 1)
    #expect(result.output.hasPrefix(#"{"event":"change","since":0,"revision":1,"#))
  }

  @Test func `a field that no element has is reported`() throws {
    let result = try Livelist.run("watch", "--until-eof", file, "--sort", "price", "--where", "n=a")
    #expect(result.status == 0)
    #expect(
      result.errors == "livelist: no element has the field \"price\"; the fields are id, n, p, o\n")
    let quiet = try Livelist.run("watch", "--until-eof", file, "--sort", "o", "--fields", "id,p")
    #expect(quiet.errors == "")
  }

  @Test func `mistakes are reported when the list has its first elements, and after a swap`() throws
  {
    let list = try place.json("list.json", "[]")
    let watching = try Livelist("watch", "--where", "p > abc", list)
    _ = try watching.line()
    try place.json("list.json", #"[{"p":1}]"#)
    #expect(try watching.errorLine().contains("no element meets \"p > abc\""))
    let texts = try place.json("b.json", #"[{"p":"x"}]"#)
    let flags = try place.json("c.json", #"[{"p":true}]"#)
    watching.send("swap \(texts)\n")
    #expect(try watching.line().contains(#""inserts":[{"at":0,"element":{"p":"x"}}]"#))
    watching.send("swap \(flags)\nquit\n")
    #expect(try watching.errorLine().contains("the values of \"p\" are true or false"))
  }

  @Test func `a view shows what is selected`() throws {
    let result = try Livelist.run(
      "view", "-k", "id", "--where", "p<10", "--sort", "n desc", "--fields", "n", file)
    let rows = result.output.split(separator: "\n").map { $0.split(separator: " ") }
    #expect(rows == [["id", "n"], ["3", "c"], ["1", "b"]])
  }

  @Test func `nested members are sorted and grouped by their path`() throws {
    let nested = try place.json("n.json", #"[{"a":{"b":2}},{"a":{"b":1}},{"a.b":0}]"#)
    let result = try Livelist.run("watch", "--until-eof", "--sort", ".a.b", nested)
    #expect(result.output == Self.line(#"[{"a.b":0},{"a":{"b":1}},{"a":{"b":2}}]"#))
    #expect(try Livelist.run("view", "--group-by", "a.b", nested).output.contains("2 (1)"))
  }

  @Test func `elements that are equal in the first field are sorted by the second one`() throws {
    let file = try place.json(
      "s.json",
      #"[{"id":1,"k":"b","p":1},{"id":2,"k":"a","p":1},{"id":3,"k":"b","p":2},{"id":4,"k":"a"}]"#)
    func sorted(_ order: String) throws -> String {
      let arguments = ["-kid", "--sort", order, "--fields", "id", file]
      return try Livelist.run(["watch", "--until-eof"] + arguments).output
    }
    #expect(try sorted("k,p") == Self.line(#"[{"id":4},{"id":2},{"id":1},{"id":3}]"#))
    #expect(try sorted("k desc, p") == Self.line(#"[{"id":1},{"id":3},{"id":4},{"id":2}]"#))
    #expect(try sorted("k,p desc") == Self.line(#"[{"id":2},{"id":4},{"id":3},{"id":1}]"#))
    #expect(try Livelist.parse("watch", "--sort", "k,", file).status == 2)
    let wrong = try Livelist.run("watch", "--until-eof", "--sort", "k,x", file)
    #expect(wrong.errors.contains("no element has the field \"x\""))
    // An element whose second field changes moves among those with the same first field.
    let watching = try Livelist(
      "watch", "-kid", "--snapshot", "--sort", "k,p", "--fields=id,p", file)
    _ = try watching.line()
    try place.json(
      "s.json",
      #"[{"id":1,"k":"b","p":5},{"id":2,"k":"a","p":1},{"id":3,"k":"b","p":2},{"id":4,"k":"a"}]"#)
    #expect(
      try watching.line().hasSuffix(
        #"[{"id":4},{"id":2,"p":1},{"id":3,"p":2},{"id":1,"p":5}]}"#))
  }

  @Test func `a natural order sorts numbers in texts by their values, and missing values last`()
    throws
  {
    let file = try place.json(
      "n.json",
      #"[{"id":1,"n":"file10","d":1},{"id":2,"n":"File2","d":1},{"id":3,"d":2},{"id":4,"n":"file2","d":3},"#
        + #"{"id":5,"n":null,"d":9},{"id":6,"n":7}]"#)
    func sorted(_ order: String) throws -> [Substring] {
      let result = try Livelist.run("view", "--sort", order, "--fields", "id", file)
      #expect(result.errors.isEmpty && result.status == 0)
      return result.output.split(separator: "\n").dropFirst().map { $0.dropFirst() }
    }
    #expect(try sorted("n natural, d desc") == ["6", "2", "4", "1", "5", "3"])
    #expect(try sorted("n natural desc, d desc") == ["1", "4", "2", "6", "5", "3"])
    #expect(try sorted("n DESC NATURAL") == ["1", "4", "2", "6", "3", "5"])
    #expect(try sorted("n") == ["3", "5", "6", "2", "1", "4"])
  }

  @Test func `conditions are joined in the order of their precedence`() throws {
    let condition = "p = 5 or not (n = a or n ~ /^c/) and p > 5 or o.s = true"
    #expect(try watch("--where", condition, "--fields", "id") == Self.line(#"[{"id":1},{"id":3}]"#))
    let result = try Livelist.run(
      "watch", "--until-eof", "--where", "p = 5 or m? = 1 or x = 2", file)
    #expect(result.errors.contains("no element has the field \"x\""))
  }

  @Test func `an order in the words of other programs is explained`() throws {
    let place = try Workplace()
    for field in ["-n", "n:desc", "n des", "n dsc", "n DESCENDING", "n ascending", "n reverse"] {
      let result = try Livelist.run("view", "--sort=\(field)", place.json("a.json", #"[{"n":1}]"#))
      #expect(result.errors.contains("use --sort 'FIELD desc'"))
    }
  }

  @Test(arguments: ["a,a", "id,a,id"])
  func `a member that is named twice occurs once`(fields: String) throws {
    try place.json("a.jsonl", #"{"id":1,"a":2}"# + "\n")
    let result = try Livelist.run(
      "watch", "--until-eof", "--key", "id", "--fields", fields, place("a.jsonl"))
    #expect(result.output.contains(#""elements":[{"id":1,"a":2}]"#), "\(result.output)")
  }
}
