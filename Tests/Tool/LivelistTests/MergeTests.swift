import Foundation
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system)) struct MergeTests {
  @Test func `the edits of both sides are merged`() throws {
    let place = try Workplace()
    let base = try place.json("base.json", #"[{"id":1,"n":"a"},{"id":2,"n":"b"},{"id":3,"n":"c"}]"#)
    let mine = try place.json(
      "mine.json", #"[{"id":1,"n":"A"},{"id":2,"n":"b"},{"id":3,"n":"c"},{"id":4}]"#)
    try place.sql(
      "theirs.db", "CREATE TABLE t (id, n)", "INSERT INTO t VALUES (3, 'c'), (1, 'a'), (5, NULL)")
    let theirs = place.sqlite("theirs.db", "SELECT * FROM t")
    let result = try Livelist.run("merge", "--key", "id", base, mine, theirs)
    #expect(result.errors.isEmpty)
    #expect(
      result.output == """
        [
        {"id":3,"n":"c"},
        {"id":4},
        {"id":1,"n":"A"},
        {"id":5,"n":null}
        ]

        """)
    #expect(result.status == 0)
  }

  /// Returns base, mine and theirs with a conflict of each kind.
  private func conflicting(_ place: Workplace) throws -> [String] {
    [
      try place.json(
        "base.json",
        #"[{"id":1,"n":"a"},{"id":2,"n":1},{"id":3,"n":1},{"id":6},{"id":7},{"id":8},{"id":9}]"#),
      try place.json(
        "mine.json",
        #"[{"id":9},{"id":1,"n":"m"},{"id":3,"n":2},{"id":4,"n":1},{"id":6},{"id":7},{"id":8}]"#),
      try place.json(
        "theirs.json",
        #"[{"id":1,"n":"t","o":{}},{"id":9},{"id":2,"n":2},{"id":4,"n":2},{"id":6},{"id":7},{"id":8}]"#
      ),
    ]
  }

  private let conflictLines = [
    #"1: both sides edited it (n is "m" in mine and "t" in theirs, o is nothing in mine and {} in theirs)"#,
    "2: mine deleted it, theirs edited it (n: 1 → 2)",
    "3: theirs deleted it, mine edited it (n: 1 → 2)",
    "4: both sides added it (n is 1 in mine and 2 in theirs)",
    "9: both sides moved it, to different places",
  ]

  private func lines(_ winners: [String]) -> String {
    zip(conflictLines, winners).map { "livelist: conflict at \($0); \($1) wins\n" }.joined()
  }

  @Test func `each conflict is a line on standard error and theirs wins`() throws {
    let place = try Workplace()
    let sources = try conflicting(place)
    for preference in [[], ["--prefer", "theirs"]] {
      let result = try Livelist.run(["merge", "--key=id"] + preference + sources)
      #expect(result.errors == lines(Array(repeating: "theirs", count: 5)))
      #expect(
        result.output == """
          [
          {"id":1,"n":"t","o":{}},
          {"id":9},
          {"id":2,"n":2},
          {"id":4,"n":2},
          {"id":6},
          {"id":7},
          {"id":8}
          ]

          """)
      #expect(result.status == 0)
    }
  }

  @Test func `mine can be preferred`() throws {
    let place = try Workplace()
    let result = try Livelist.run(
      ["merge", "--key=id", "--prefer=mine"] + conflicting(place))
    #expect(result.errors == lines(["mine", "theirs", "mine", "mine", "mine"]))
    #expect(
      result.output == """
        [
        {"id":9},
        {"id":1,"n":"m"},
        {"id":2,"n":2},
        {"id":3,"n":2},
        {"id":4,"n":1},
        {"id":6},
        {"id":7},
        {"id":8}
        ]

        """)
    #expect(result.status == 0)
  }

  @Test func `a conflict with --strict prints no elements and ends with status 3`() throws {
    let place = try Workplace()
    let result = try Livelist.run(["merge", "--strict", "--key=id"] + conflicting(place))
    #expect(result.output.isEmpty)
    #expect(result.errors.hasPrefix(lines(Array(repeating: "theirs", count: 5))))
    #expect(
      result.errors.hasSuffix(
        "found 5 conflicts and printed no elements; edit the lists until they agree, or omit --strict\n"
      ))
    #expect(result.status == 3)
  }

  @Test func `the result with --strict and no conflict is printed`() throws {
    let place = try Workplace()
    let (one, two) = (try place.json("1.json", "[1,2]"), try place.json("2.json", "[2,3]"))
    let result = try Livelist.run("merge", "--strict", one, two, one)
    #expect(result.output == "[\n2,\n3\n]\n")
    #expect(result.errors.isEmpty)
    #expect(result.status == 0)
  }

  @Test func `scalars need no key`() throws {
    let place = try Workplace()
    let base = try place.json("base.json", #"["A","B","C"]"#)
    let mine = try place.json("mine.json", #"["A","B","C","D"]"#)
    let result = try Livelist.run("merge", base, mine, base)
    #expect(result.output == "[\n\"A\",\n\"B\",\n\"C\",\n\"D\"\n]\n")
  }

  @Test func `objects without a key are rejected`() throws {
    let place = try Workplace()
    let (numbers, objects) = (
      try place.json("n.json", "[1]"), try place.json("o.json", #"[1,{"id":1}]"#)
    )
    let result = try Livelist.run("merge", numbers, numbers, objects)
    #expect(result.output.isEmpty)
    #expect(
      result.errors.contains(
        "element 2 of \(objects) is an object, but there is no --key; use --key FIELD"))
    #expect(result.status == 2)
  }

  @Test func `a source that cannot be loaded ends with status 1 and one line`() throws {
    let place = try Workplace()
    let list = try place.json("1.json", #"[{"id":1}]"#)
    for missing in 0..<3 {
      var sources = [list, list, list]
      sources[missing] = "json:\(place("none.json"))"
      let result = try Livelist.run(["merge", "--key", "id"] + sources)
      #expect(result.output.isEmpty)
      #expect(result.errors.split(separator: "\n").count == 1)
      #expect(result.errors.contains("none.json"))
      #expect(result.status == 1)
    }
    let result = try Livelist.run("merge", "--key", "no", list, list, list)
    #expect(result.status == 1)
  }

  @Test func `duplicate keys cause a warning and all elements are kept`() throws {
    let place = try Workplace()
    let base = try place.json("1.json", #"[{"id":1,"n":1},{"id":1,"n":2}]"#)
    let mine = try place.json("2.json", #"[{"id":1,"n":1},{"id":1,"n":3}]"#)
    let result = try Livelist.run("merge", "--key", "id", base, mine, base)
    #expect(result.output == "[\n{\"id\":1,\"n\":1},\n{\"id\":1,\"n\":3}\n]\n")
    #expect(result.errors.contains("the key 1 occurs more than once"))
  }

  @Test func `a duplicate key in all lists causes one warning`() throws {
    let place = try Workplace()
    let list = try place.json("1.json", #"[{"id":1,"n":1},{"id":1,"n":2}]"#)
    let result = try Livelist.run("merge", "--key", "id", list, list, list)
    #expect(result.errors.split(separator: "\n").count == 1)
  }

  @Test func `the description of a conflict is short and names the differences`() throws {
    let place = try Workplace()
    let accents = "a" + String(repeating: "\u{301}", count: 5000)
    let long = String(repeating: "x", count: 5000)
    func list(_ name: String, _ end: String) throws -> String {
      let many = (0..<1000).map { #""k\#($0)":"\#(end)""# }.joined(separator: ",")
      return try place.json(
        name,
        #"[{"id":"\#(accents)","\#(accents)":"\#(end)"},{"id":2,"n":"\#(long)\#(end)"},"#
          + #"{"id":"\#u{202E}","n":"\#(end)"},{"id":4,\#(many)}]"#)
    }
    let sources = [try list("b.json", "1"), try list("m.json", "2"), try list("t.json", "3")]
    let lines = try Livelist.run(["merge", "--key", "id"] + sources).errors.split(separator: "\n")
    try #require(lines.count == 4)
    for line in lines { #expect(line.utf8.count < 1000) }
    #expect(lines[1].contains(#"xxx2" in mine and …xxx"#) && lines[1].contains(#"xxx3" in theirs"#))
    #expect(lines[2].contains(#"conflict at "\u{202E}": both sides edited it"#))
    #expect(lines[3].hasSuffix(#"in theirs, and 992 more); theirs wins"#))
  }

  @Test func `the status is the same with a closed output`() throws {
    let place = try Workplace()
    let sources = try conflicting(place)
    let livelist = try Program.find("livelist")
    func status(_ arguments: [String]) throws -> Int32 {
      let shell = Process()
      shell.executableURL = URL(fileURLWithPath: "/bin/sh")
      shell.arguments = ["-c", #"exec "$0" "$@" >&- 2>&- <&-"#, livelist] + arguments
      try shell.run()
      shell.waitUntilExit()
      return shell.terminationStatus
    }
    #expect(try status(["merge", "--strict", "--key=id"] + sources) == 3)
    #expect(try status(["merge", "--key=id"] + sources) == 0)
    #expect(try status(["merge", "--key=no"] + sources) == 1)
    #expect(try status(["merge"]) == 2)
    #expect(try status(["watch", sources[0]]) == 0)
  }

  @Test func `every conflict is reported if standard error is read slowly`() throws {
    let place = try Workplace()
    let count = 1000
    func list(_ name: String) throws -> String {
      let text = name + String(repeating: "x", count: 70)
      let elements = (0..<count).map { #"{"id":\#($0),"n":"\#(text)","o":"\#(text)"}"# }
      return try place.json(name, "[\(elements.joined(separator: ","))]")
    }
    let (pipe, livelist) = (Pipe(), Process())
    livelist.executableURL = URL(fileURLWithPath: try Program.find("livelist"))
    livelist.arguments =
      ["merge", "--strict", "--key=id", try list("b"), try list("m"), try list("t")]
    livelist.standardError = pipe
    // A process that shares standard error may have made it nonblocking.
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    #expect(fcntl(descriptor, F_SETFL, O_WRONLY | O_NONBLOCK) == 0)
    try livelist.run()
    try pipe.fileHandleForWriting.close()
    var (lines, byte) = (0, UInt8(0))
    while read(pipe.fileHandleForReading.fileDescriptor, &byte, 1) == 1 {
      if byte == UInt8(ascii: "\n") { lines += 1 }
    }
    livelist.waitUntilExit()
    #expect(lines == count + 1)
    #expect(livelist.terminationStatus == 3)
  }
}

/// Merges member by member.
@Suite(.tags(.system)) struct MemberMergeTests {
  private func merge(
    _ base: String, _ mine: String, _ theirs: String, _ options: String...
  ) throws -> (output: String, errors: String, status: Int32) {
    let place = try Workplace()
    let sources = try zip(["base", "mine", "theirs"], [base, mine, theirs]).map {
      try place.json("\($0).json", "[\($1)]")
    }
    let result = try Livelist.run(["merge", "--key", "id", "--by-field"] + options + sources)
    return (result.output, result.errors, result.status)
  }

  @Test func `edits of different members are both kept`() throws {
    let result = try merge(
      #"{"id":1,"name":"a","price":1,"tags":["x"]}"#,
      #"{"id":1,"name":"b","price":1,"tags":["x"]}"#,
      #"{"id":1,"name":"a","price":2,"tags":["x"],"new":true}"#, "--strict")
    #expect(
      result.output == "[\n{\"id\":1,\"name\":\"b\",\"price\":2,\"tags\":[\"x\"],\"new\":true}\n]\n"
    )
    #expect(result.errors.isEmpty && result.status == 0)
  }

  @Test func `nested objects are merged, and arrays are values`() throws {
    let result = try merge(
      #"{"id":1,"o":{"a":1,"b":{"c":1,"d":1}},"l":[1]}"#,
      #"{"id":1,"o":{"a":2,"b":{"c":1,"d":3}},"l":[1,2]}"#,
      #"{"id":1,"o":{"a":1,"b":{"c":2,"d":1}},"l":[1]}"#)
    #expect(
      result.output == "[\n{\"id\":1,\"o\":{\"a\":2,\"b\":{\"c\":2,\"d\":3}},\"l\":[1,2]}\n]\n")
    #expect(result.errors.isEmpty)
  }

  @Test func `one member that both sides changed is the conflict, named with its path`() throws {
    let versions = (
      #"{"id":"x","o":{"a.b":1},"n":1,"m":1}"#, #"{"id":"x","o":{"a.b":2},"n":5}"#,
      #"{"id":"x","o":{"a.b":3},"n":1,"m":2}"#
    )
    let theirs = try merge(versions.0, versions.1, versions.2)
    #expect(theirs.output == "[\n{\"id\":\"x\",\"o\":{\"a.b\":3},\"n\":5,\"m\":2}\n]\n")
    #expect(
      theirs.errors == """
        livelist: conflict at "x", member o."a.b": it is 2 in mine and 3 in theirs; theirs wins
        livelist: conflict at "x", member m: it is deleted in mine and 2 in theirs; theirs wins

        """)
    let mine = try merge(versions.0, versions.1, versions.2, "--prefer", "mine")
    #expect(mine.output == "[\n{\"id\":\"x\",\"o\":{\"a.b\":2},\"n\":5,\"m\":2}\n]\n")
    let strict = try merge(versions.0, versions.1, versions.2, "--strict")
    #expect(strict.status == 3 && strict.output.isEmpty)
    #expect(strict.errors.contains("found 2 conflicts"))
  }

  @Test func `a member that one side added to every element is no conflict`() throws {
    let elements = (1...40).map { #"{"id":\#($0),"n":\#($0)}"# }
    let added = (1...40).map { #"{"id":\#($0),"flag":false,"n":\#($0)}"# }
    var edited = elements
    edited[3] = #"{"id":4,"n":400}"#
    let result = try merge(
      elements.joined(separator: ","), edited.joined(separator: ","), added.joined(separator: ","),
      "--strict")
    #expect(result.errors.isEmpty && result.status == 0)
    #expect(result.output.contains(#"{"id":4,"flag":false,"n":400}"#))
  }

  @Test func `items of a nested array are merged by their key`() throws {
    let result = try merge(
      #"{"id":1,"items":[{"k":"a","n":1,"m":1},{"k":"b","n":1}]}"#,
      #"{"id":1,"items":[{"k":"a","n":2,"m":1},{"k":"b","n":1},{"k":"c"}]}"#,
      #"{"id":1,"items":[{"k":"a","n":1,"m":2}]}"#, "--nested-key", "items=k", "--strict")
    #expect(
      result.output
        == "[\n{\"id\":1,\"items\":[{\"k\":\"a\",\"n\":2,\"m\":2},{\"k\":\"c\"}]}\n]\n")
    #expect(result.errors.isEmpty)
  }

  @Test func `both sides may add an element, with other members`() throws {
    let result = try merge(
      "", #"{"id":1,"a":1,"n":1}"#, #"{"id":1,"n":1,"b":2}"#, "--strict")
    #expect(result.output == "[\n{\"id\":1,\"a\":1,\"n\":1,\"b\":2}\n]\n")
    let wrong = try merge("", "", "", "--nested-key", "items")
    #expect(wrong.status == 2 && wrong.errors.contains("use a path and a field"))
  }
}
