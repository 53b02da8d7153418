import Foundation
import TestSupport
import TestTags
import Testing

@testable import livelist

@Suite(.tags(.system)) struct MergeDriverTests {
  /// Runs the driver over three texts, and returns the merged text, the status and the errors.
  private func merge(
    _ base: String, _ mine: String, _ theirs: String, _ arguments: String...,
    name: String = "list.json"
  ) throws -> (text: String, status: Int32, errors: String) {
    let place = try Workplace()
    let names = ["base", "mine", "theirs"]
    for (name, text) in zip(names, [base, mine, theirs]) { try place.json(name, text) }
    let files = names.map { place($0) }
    let result = try Livelist.run(["merge-driver"] + arguments + files + [name])
    return (
      try String(contentsOfFile: place("mine"), encoding: .utf8), result.status, result.errors
    )
  }

  private let base = """
    [
        {"id": 1, "name": "one", "tags": ["a", "b"]},
        {
            "id":   2,
            "name": "two", "price": 1.50,
            "size": {"w": 1, "h": 2}
        },
        {"id": 3}
    ]

    """

  @Test func `edits of different members keep the bytes of all others`() throws {
    let mine = base.replacingOccurrences(of: "1.50", with: "2.00")
    let theirs = base.replacingOccurrences(of: "\"h\": 2", with: "\"h\": 3")
      .replacingOccurrences(of: "\"one\"", with: "\"uno\"")
    let result = try merge(base, mine, theirs, "-k", "id")
    #expect(
      result.text
        == theirs.replacingOccurrences(of: "1.50", with: "2.00"))
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
  }

  @Test func `a member that both edited is marked in lines of its own`() throws {
    let mine = base.replacingOccurrences(of: "\"h\": 2", with: "\"h\": 5")
      .replacingOccurrences(of: "\"one\"", with: "\"uno\"")
    let theirs = base.replacingOccurrences(of: "\"h\": 2", with: "\"h\": 6")
    let result = try merge(base, mine, theirs)
    #expect(
      result.text == """
        [
            {"id": 1, "name": "uno", "tags": ["a", "b"]},
            {
                "id":   2,
                "name": "two", "price": 1.50,
        <<<<<<< ours
                "size": {"w": 1, "h": 5}
        =======
                "size": {"w": 1, "h": 6}
        >>>>>>> theirs
            },
            {"id": 3}
        ]

        """)
    #expect(result.status == 1)
    #expect(
      result.errors
        == "livelist: conflict at list.json, member [2].size.h: it is 5 in mine and 6 in theirs\n")
  }

  @Test func `an element in one line that both edited is marked as a whole`() throws {
    let mine = base.replacingOccurrences(of: "\"one\"", with: "\"uno\"")
    let theirs = base.replacingOccurrences(of: "\"one\"", with: "\"ein\"")
      .replacingOccurrences(of: "\"b\"]", with: "\"c\"]")
    let result = try merge(base, mine, theirs)
    #expect(
      result.text.hasPrefix(
        """
        [
        <<<<<<< ours
            {"id": 1, "name": "uno", "tags": ["a", "c"]},
        =======
            {"id": 1, "name": "ein", "tags": ["a", "c"]},
        >>>>>>> theirs
            {
        """))
    #expect(result.status == 1)
  }

  @Test(arguments: [true, false])
  func `a text with marks is valid whichever side is kept`(isLast: Bool) throws {
    let edited = isLast ? "{\"id\": 3}" : "{\"id\": 1, \"name\": \"one\", \"tags\": [\"a\", \"b\"]}"
    let mine = base.replacingOccurrences(of: edited, with: edited.dropLast() + ", \"x\": 1}")
    let theirs =
      isLast
      ? base.replacingOccurrences(of: ",\n    {\"id\": 3}", with: "")
      : base.replacingOccurrences(of: "\n    \(edited),", with: "")
    for (ours, others) in [(mine, theirs), (theirs, mine)] {
      let result = try merge(base, ours, others)
      #expect(result.status == 1)
      let sides = try [true, false].map { isMine in
        try Marks.resolve(result.text, keepingMine: isMine)
      }
      #expect(try elements(sides[0]) == elements(ours))
      #expect(try elements(sides[1]) == elements(others))
    }
  }

  private func elements(_ text: String) throws -> [String] {
    let array = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [Any]
    return try (array ?? []).map { element in
      String(
        decoding: try JSONSerialization.data(withJSONObject: element, options: .sortedKeys),
        as: UTF8.self)
    }
  }

  @Test func `identical sides, one side unchanged, and an empty base keep all bytes`() throws {
    let edited = base.replacingOccurrences(of: "\"two\", ", with: "\"zwei\",\n   ")
    for (mine, theirs) in [(edited, edited), (edited, base), (base, edited)] {
      let result = try merge(base, mine, theirs)
      #expect(result.text == edited)
      #expect(result.status == 0)
    }
    #expect(try merge("", edited, edited).text == edited)
    // One side changes the layout only, and the other one a value.
    let compact = base.replacingOccurrences(of: "\"id\":   2", with: "\"id\": 2")
    let priced = base.replacingOccurrences(of: "1.50", with: "7")
    let both = compact.replacingOccurrences(of: "1.50", with: "7")
    #expect(try merge(base, compact, priced).text == both)
    #expect(try merge(base, priced, compact).text == both)
  }

  @Test func `an insertion, a deletion and a move of both sides are kept`() throws {
    let base = "[\n\t{\"id\":1},\n\t{\"id\":2},\n\t{\"id\":3},\n\t{\"id\":4}\n]\n"
    let mine = "[\n\t{\"id\":1},\n\t{\"id\":2, \"x\":1},\n\t{\"id\":3},\n\t{\"id\":5}\n]\n"
    let theirs = "[\n\t{\"id\":3},\n\t{\"id\":1},\n\t{\"id\":2},\n\t{\"id\":4},\n\t{\"id\":6}\n]\n"
    let result = try merge(base, mine, theirs)
    #expect(
      result.text
        == "[\n\t{\"id\":3},\n\t{\"id\":5},\n\t{\"id\":1},\n\t{\"id\":2, \"x\":1},\n\t{\"id\":6}\n]\n"
    )
    #expect(result.status == 0)
  }

  @Test func `lines keep their bytes and are marked`() throws {
    let base = "{\"id\": 1}\n{\"id\": 2, \"n\": 0}\n{\"id\": 3}\n"
    let mine = "{\"id\": 1}\n{\"id\": 2, \"n\": 1}\n{\"id\": 3}\n{\"id\":4}\n"
    let theirs = "{\"id\": 1, \"m\": 1}\n{\"id\": 2, \"n\": 2}\n{\"id\": 3}\n"
    let result = try merge(base, mine, theirs, name: "list.jsonl")
    #expect(
      result.text == """
        {"id": 1, "m": 1}
        <<<<<<< ours
        {"id": 2, "n": 1}
        =======
        {"id": 2, "n": 2}
        >>>>>>> theirs
        {"id": 3}
        {"id":4}

        """)
    #expect(result.status == 1)
  }

  @Test func `an object is merged member by member, and an array in it by its key`() throws {
    let base = "{\n  \"version\": 1,\n  \"items\": [\n    {\"id\": 1, \"n\": 0}\n  ]\n}"
    let mine = base.replacingOccurrences(of: "\"version\": 1", with: "\"version\": 2")
    let theirs = base.replacingOccurrences(of: "0}", with: "0},\n    {\"id\": 2, \"n\": 0}")
    let result = try merge(base, mine, theirs, "--nested-key", "items=id")
    #expect(
      result.text == theirs.replacingOccurrences(of: "\"version\": 1", with: "\"version\": 2"))
    #expect(result.status == 0)
  }

  @Test func `marks are not nested`() throws {
    let base = "{\"v\": 1, \"list\": [\n  {\"id\":1,\"x\":1},\n  {\"id\":2}\n]}\n"
    let mine = base.replacing("\"v\": 1", with: "\"v\": 2").replacing("\"x\":1", with: "\"x\":2")
    let theirs = base.replacing("\"v\": 1", with: "\"v\": 3").replacing("\"x\":1", with: "\"x\":3")
    let result = try merge(base, mine, theirs, "--nested-key", "list=id")
    #expect(result.status == 1)
    #expect(try Marks.resolve(result.text, keepingMine: true) == mine)
    #expect(try Marks.resolve(result.text, keepingMine: false) == theirs)
  }

  @Test(arguments: [
    (
      "[\n{\"id\":1,\"x\":1},\n{\"id\":2,\"x\":1}\n]\n", "[\n{\"id\":2,\"x\":2}\n]\n",
      "[\n{\"id\":1,\"x\":2}\n]\n"
    ),
    (
      "[\n  {\"id\":1}\n,   {\"id\":2}\n,   {\"id\":3}\n]", "[\n  {\"id\":1}\n,   {\"id\":3}\n]",
      "[\n  {\"id\":1}\n,   {\"id\":2,\"x\":1}\n,   {\"id\":3}\n]"
    ),
    (
      "[\r\n{\"id\":1,\"x\":1}\r\n]\r\n", "[\r\n{\"id\":1,\"x\":2}\r\n]\r\n",
      "[\r\n{\"id\":1,\"x\":3}\r\n]\r\n"
    ),
  ])
  func `either side of a conflict is what was there`(base: String, mine: String, theirs: String)
    throws
  {
    let result = try merge(base, mine, theirs)
    #expect(result.status == 1)
    for (isMine, side) in [(true, mine), (false, theirs)] {
      let text = try Marks.resolve(result.text.replacing("\r\n", with: "\n"), keepingMine: isMine)
      #expect(try elements(text) == elements(side))
    }
  }

  @Test func `another order of members is kept`() throws {
    let base =
      "[\n  {\"id\": 1, \"t\": {\"a\": 1, \"b\": 2}, \"n\": 1},\n  {\"id\": 2, \"n\": 1}\n]\n"
    let mine = base.replacing("{\"a\": 1, \"b\": 2}", with: "{\"b\": 2, \"a\": 1}")
    for theirs in [
      base, base.replacing("\"id\": 2, \"n\": 1", with: "\"id\": 2, \"n\": 2"),
      base.replacing("}, \"n\": 1", with: "}, \"n\": 2"),
    ] {
      let expected = theirs.replacing("{\"a\": 1, \"b\": 2}", with: "{\"b\": 2, \"a\": 1}")
      #expect(try merge(base, mine, theirs).text == expected)
      #expect(try merge(base, theirs, mine).text == expected)
    }
  }

  @Test func `different orders of both sides are told, and are no conflict`() throws {
    func list(_ ids: Int...) -> String {
      "[\n" + ids.map { "{\"id\":\($0)}" }.joined(separator: ",\n") + "\n]\n"
    }
    let result = try merge(list(1, 2, 3), list(3, 2, 1), list(2, 3, 1))
    #expect(result.text == list(3, 2, 1))
    #expect(result.status == 0)
    #expect(result.errors.contains("both sides moved it, to different places"))
  }

  @Test func `a mistake in the configuration is an error that git does not take for a conflict`()
    throws
  {
    #expect(try Livelist.run("merge-driver", "--kee", "id", "a", "b", "c").status == 129)
    #expect(try Livelist.run("merge-driver", "a").status == 129)
  }

  @Test func `a text that is no keyed list is merged line by line`() throws {
    let base = "a\nb\nc\nd\n"
    let result = try merge(base, "A\nb\nc\nd\n", "a\nb\nc\nD\n", name: "notes.txt")
    #expect(result.text == "A\nb\nc\nD\n")
    #expect(result.status == 0)
    #expect(result.errors.contains("merges notes.txt line by line: "))
    let conflict = try merge("[1]\n", "[2]\n", "[3]\n")
    #expect(conflict.status == 1)
    #expect(conflict.text.contains("<<<<<<< ours"))
    #expect(conflict.errors.contains("use merge-driver --key FIELD"))
  }

  @Test func `a file that cannot be read is an error that git does not take for a conflict`() throws
  {
    let result = try Livelist.run(
      "merge-driver", "/nowhere/a", "/nowhere/b", "/nowhere/c", "x.json")
    #expect(result.status == 129)
    #expect(result.errors.contains("cannot read /nowhere/a"))
  }

  @Test func `git merges two branches with the printed lines`() throws {
    let place = try Workplace()
    let program = try Program.find("livelist")
    let setup = try Livelist.run("merge-driver", "--install", "--key", "id", "*.json")
    #expect(
      setup.output == """
        git config merge.livelist.driver 'livelist merge-driver --key id %O %A %B %P'
        echo '*.json merge=livelist' >> .gitattributes

        """)
    let script = """
      set -e
      export PATH="$(dirname '\(program)'):$PATH" GIT_CONFIG_GLOBAL=/dev/null
      cd '\(place(""))'
      git init -q -b main .
      git config user.name a; git config user.email a@b
      \(setup.output)
      printf '[\\n  {"id": 1, "a": 1, "b": 1},\\n  {"id": 2}\\n]\\n' > list.json
      git add . && git commit -qm base
      git checkout -qb side
      printf '[\\n  {"id": 2},\\n  {"id": 1, "a": 1, "b": 2}\\n]\\n' > list.json
      git commit -qam side
      git checkout -q main
      printf '[\\n  {"id": 1, "a": 2, "b": 1},\\n  {"id": 2}\\n]\\n' > list.json
      git commit -qam main
      git merge -q side -m merged >/dev/null
      cat list.json
      git checkout -q side
      printf '[\\n  {"id": 2},\\n  {"id": 1, "a": 9, "b": 2}\\n]\\n' > list.json
      git commit -qam side2
      git checkout -q main
      printf '[\\n  {"id": 2}\\n]\\n' > list.json
      git commit -qam deleted
      git merge -q side -m merged >/dev/null 2>&1 || git status --short
      """
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/sh")
    shell.arguments = ["-c", script]
    let pipe = Pipe()
    shell.standardOutput = pipe
    try shell.run()
    let output = String(
      decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    shell.waitUntilExit()
    #expect(
      output == """
        [
          {"id": 2},
          {"id": 1, "a": 2, "b": 2}
        ]
        UU list.json

        """)
  }
}

/// A reader of the marks of conflicts.
private enum Marks {
  static func resolve(_ text: String, keepingMine isMine: Bool) throws -> String {
    var (kept, side) = ([Substring](), Bool?.none)
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("<<<<<<<") { side = true; continue }
      if line == "=======" { side = false; continue }
      if line.hasPrefix(">>>>>>>") { side = nil; continue }
      if side == nil || side == isMine { kept.append(line) }
    }
    return kept.joined(separator: "\n")
  }
}
