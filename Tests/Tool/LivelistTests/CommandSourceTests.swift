import Foundation
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Sources that run a command, and lists in documents.
@Suite(.tags(.system)) struct CommandSourceTests {
  private func view(_ arguments: String..., input: String = "") throws -> Livelist.Result {
    try Livelist.run(["view", "--format", "json"] + arguments, input: input)
  }

  private func oneLine(_ result: Livelist.Result) -> String {
    result.output.replacingOccurrences(of: "\n", with: "")
  }

  // MARK: Documents

  @Test func `a list in a document is read from files, patterns, pipes and commands`() throws {
    let place = try Workplace()
    let text = #"{"kind":"List","items":[{"id":1},{"id":2}]}"#
    try place.json("pods.json", text)
    let path = place("pods.json")
    let expected = #"[{"id":1},{"id":2}]"#
    for source in [path, "json:" + path, place("p*.json"), "cmd:cat '\(path)'"] {
      #expect(oneLine(try view(source + "#/items")) == expected, "\(source)")
    }
    #expect(oneLine(try view("json:-#/items", input: text)) == expected)
    // A file that does not exist yet.
    let missing = try view("missing-\(UInt64.random(in: 0 ... .max)).json#/items")
    #expect(missing.status == 1)
    #expect(!missing.errors.contains("no address"))
    // A number sign of the path, and one that is part of a path that exists.
    try place.json("a#b.json", text)
    #expect(oneLine(try view(place("a%23b.json") + "#/items")) == expected)
    try place.json("x.json", text)
    #expect(oneLine(try view(place("x.json#/kind"))) == "")
  }

  @Test func `members of an object become elements`() throws {
    let place = try Workplace()
    try place.json("a.json", #"{"services":{"web":{"port":80},"db":{"port":5432}}}"#)
    let source = place("a.json") + "#/services"
    #expect(
      oneLine(try view(source))
        == #"[{"key":"web","value":{"port":80}},{"key":"db","value":{"port":5432}}]"#)
    #expect(
      oneLine(try view("--spread", source))
        == #"[{"key":"web","port":80},{"key":"db","port":5432}]"#)
  }

  @Test func `a list that is not there is a status with the members, and appears`() throws {
    let place = try Workplace()
    try place.json("a.json", #"{"items":[{"id":1}]}"#)
    let watching = try Livelist("watch", "-kid", place("a.json") + "#/items")
    #expect(try watching.line().contains(#""elements":[{"id":1}]"#))
    try place.json("a.json", #"{"itemz":[],"kind":"x"}"#)
    let status = try watching.line()
    #expect(status.contains(#"there is no \"items\" in the document; the members are itemz, kind"#))
    try place.json("a.json", #"{"items":[{"id":1},{"id":2}]}"#)
    #expect(try watching.line().contains(#""element":{"id":2}"#))
  }

  @Test func `a path, or several fields, are the key`() throws {
    let place = try Workplace()
    let old = try place.json(
      "old.json", #"[{"m":{"ns":"a","id":1},"n":1},{"m":{"ns":"b","id":1},"n":1}]"#)
    let new = try place.json(
      "new.json", #"[{"m":{"ns":"a","id":1},"n":1},{"m":{"ns":"b","id":1},"n":2}]"#)
    #expect(
      try Livelist.run("diff", "--format", "text", "-k", "m.ns,m.id", old, new).output
        == "~ [1] [\"b\",1]: n: 1 → 2\n1 updated\n")
    // The identity stays if other members are shown.
    let result = try Livelist.run(
      "diff", "--format", "text", "-k", "m.ns", "--fields", "n", old, new)
    #expect(result.output == "~ [1] \"b\": n: 1 → 2\n1 updated\n")
    #expect(result.errors == "")
    // Rows of a query may have several columns as their key.
    try place.sql("a.db", "CREATE TABLE t (a, b, n)", "INSERT INTO t VALUES (1, 1, 1), (1, 2, 1)")
    let rows = place.sqlite("a.db", "SELECT * FROM t")
    let changed = place.sqlite("a.db", "SELECT a, b, n + (b = 2) AS n FROM t")
    #expect(
      try Livelist.run("diff", "--format", "text", "-k", "a,b", rows, changed).output
        == "~ [1] [1,2]: n: 1 → 2\n1 updated\n")
  }

  // MARK: Commands

  @Test func `a command runs again and its changes are printed`() throws {
    let place = try Workplace()
    try place.json("n.txt", "1")
    let script =
      "n=$(cat '\(place("n.txt"))'); echo \"[{\\\"id\\\":1,\\\"n\\\":$n}]\""
    let watching = try Livelist("watch", "-kid", "every:100ms:" + script)
    #expect(try watching.line().contains(#""elements":[{"id":1,"n":1}]"#))
    try place.json("n.txt", "2")
    #expect(try watching.line().contains(#""element":{"id":1,"n":2}"#))
    watching.send("quit\n")
    #expect(try watching.waitForExit() == 0)
  }

  @Test func `a failed run keeps the contents and tells why`() throws {
    let place = try Workplace()
    try place.json("good", "")
    let script =
      "[ -e '\(place("good"))' ] && { echo 1; exit; }; echo first >&2; echo 'no server' >&2; exit 7"
    let watching = try Livelist("watch", "every:100ms:" + script)
    #expect(try watching.line().contains(#""elements":[1]"#))
    try FileManager.default.removeItem(atPath: place("good"))
    let status = try watching.line()
    #expect(status.contains(#""state":"failed""#))
    #expect(status.contains("exited with status 7: no server"))
    try place.json("good", "")
    #expect(try watching.line().contains(#""state":"loaded""#))
    watching.send("quit\n")
    #expect(try watching.restOfOutput() == "")
  }

  @Test func `a command without an interval runs again when a reload is requested`() throws {
    let place = try Workplace()
    try place.json("n.txt", "1")
    let watching = try Livelist("watch", "cmd:cat '\(place("n.txt"))'")
    #expect(try watching.line().contains("[1]"))
    try place.json("n.txt", "2")
    watching.send("reload\n")
    #expect(try watching.line().contains(#""inserts":[{"at":0,"element":2}]"#))
    watching.send("quit\n")
    #expect(try watching.waitForExit() == 0)
    let other = try Livelist.run(
      "watch", "--until-eof", try place.json("b.json", "[]"), input: "reload\n")
    #expect(other.errors.contains("no source runs a command"))
  }

  @Test func `a run that takes too long is ended with all its processes`() throws {
    let place = try Workplace()
    // The shell ignores the request to end, and another process keeps the output open.
    let script = "trap '' TERM; echo $$ > '\(place("pid"))'; sleep 1000 & sleep 1000; sleep 1000"
    let result = try view("--timeout", "1", "cmd:" + script)
    #expect(result.status == 1)
    #expect(
      result.errors.contains(
        "took longer than 1.0 seconds, and was ended; --timeout gives it more time"))
    try expectEnded(place)
  }

  @Test func `a command that closes its outputs is waited for, but not for ever`() throws {
    #expect(oneLine(try view("cmd:echo 1; exec >&- 2>&-")) == "[1]")
    let result = try view("--timeout", "1", "cmd:echo 1; exec >&- 2>&-; sleep 1000")
    #expect(result.errors.contains("took longer than 1.0 seconds"))
  }

  @Test func `processes that a command leaves do not delay its output, and are ended`() throws {
    let place = try Workplace()
    let result = try view("cmd:echo $$ > '\(place("pid"))'; sleep 1000 & echo '[1]'")
    #expect(oneLine(result) == "[1]")
    try expectEnded(place)
  }

  /// Checks that the group of a command, whose number it has written to a file, has no process that runs.
  private func expectEnded(_ place: Workplace) throws {
    let text = try String(contentsOfFile: place("pid"), encoding: .utf8)
    let group = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    // A process that has ended may wait for its parent.
    process.arguments = ["-c", "ps -A -o pgid=,stat= | awk '$1 == \(group) && $2 !~ /^Z/'"]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let rest = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(String(decoding: rest, as: UTF8.self) == "")
  }

  @Test func `the end of the program ends a run`() throws {
    let place = try Workplace()
    let watching = try Livelist(
      "watch", "cmd:echo $$ > '\(place("pid"))'; echo ready >&2; sleep 1000")
    while !FileManager.default.fileExists(atPath: place("pid"))
      || (try? String(contentsOfFile: place("pid"), encoding: .utf8))?.isEmpty != false
    {
      usleep(1_000)
    }
    watching.signalProcess(SIGTERM)
    #expect(try watching.waitForExit() == 0)
    try expectEnded(place)
  }

  @Test(arguments: [
    ("yes", "has printed more than 256 MB, and was ended"),
    ("printf 'a\\0b'", "is no text, because it has zero bytes"),
    ("echo usage: me", "is no list: line 1, column 1: a value is expected"),
    (
      "head -c 10000000 /dev/zero | tr '\\0' x >&2; echo >&2; echo broken >&2; exit 1",
      "exited with status 1: broken"
    ),
    ("kill -9 $$", "was ended by signal 9"),
    ("no-such-program", "exited with status 127: "),
    ("TOKEN=secret no-such-program", "the command TOKEN=… … exited with status 127: "),
  ])
  func `what a command does wrong is told`(command: String, message: String) throws {
    let result = try view("cmd:" + command)
    #expect(result.status == 1)
    #expect(result.errors.contains(message))
  }

  @Test func `lines of a command are elements, and none is an empty list`() throws {
    #expect(oneLine(try view(#"cmd:echo '{"a":1}'; echo 2"#)) == #"[{"a":1},2]"#)
    #expect(oneLine(try view("cmd:true")) == "[]")
    #expect(
      oneLine(try view("--numbers", #"cmd:csv:printf 'a,b\n1,"x y"\n'"#)) == #"[{"a":1,"b":"x y"}]"#
    )
    // A pointer is the end of the text, and has no characters of the shell.
    #expect(oneLine(try view(#"cmd:echo '"/a"' | sed s#/a#/b#"#)) == #"["/b"]"#)
    #expect(oneLine(try view("cmd:echo 'x%2342' | tr -d 'x%23'")) == "[42]")
  }

  @Test func `values over several lines are read one by one`() throws {
    let text = """
      {
        "id": 1,
        "items": [
          {}
        ]
      }
      {"id": 2}
      {
        "id": 3
      {
        "id": 4
      }
      [
        5
      ]
      no value
      {
        "id": 6

      """
    for source in ["jsonl:-", "cmd:cat '\(try pathOfText(text))'"] {
      let result = try view(source, input: text)
      #expect(oneLine(result) == #"[{"id":1,"items":[{}]},{"id":2},{"id":4},[5]]"#)
      #expect(result.errors.contains("3 lines of"))
      #expect(result.errors.contains("the latest is line 17"))
    }
    // Any layout will do.
    for text in [
      "{\n\"id\": 1,\n\"items\": [\n{\n\"b\": \"}\\\"]\"\n},\n{\"b\": 2}\n]\n}\n",
      "  {\n    \"id\": 1,\n    \"items\": [ {\"b\": \"}\\\"]\"},\n {\"b\": 2} ]}\n",
    ] {
      #expect(
        oneLine(try view("jsonl:-", input: text)) == #"[{"id":1,"items":[{"b":"}\"]"},{"b":2}]}]"#)
    }
    // They are shown when they are complete.
    let watching = try Livelist("watch", "jsonl:-")
    watching.send("{\n  \"id\": 1\n}\n{\n")
    #expect(try watching.line().contains(#""elements":[]"#))
    #expect(try watching.line().contains(#""element":{"id":1}"#))
    watching.send("  \"id\": 2\n}\n")
    #expect(try watching.line().contains(#""element":{"id":2}"#))
    watching.endInput()
    #expect(try watching.waitForExit() == 0)
  }

  private let texts = try? Workplace()

  private func pathOfText(_ text: String) throws -> String {
    let place = try #require(texts)
    try place.json("text", text)
    return place("text")
  }

  @Test func `the newest lines of a pipe can be kept`() throws {
    let watching = try Livelist("watch", "--keep", "3", "jsonl:-")
    watching.send("1\n2\n")
    #expect(try watching.line().contains(#""elements":[]"#))
    #expect(try watching.line().contains(#""inserts":[{"at":0,"element":1},{"at":1,"element":2}]"#))
    watching.send("3\n4\n")
    let change = try watching.line()
    #expect(change.contains(#""deletes":[{"at":0,"element":1}]"#))
    #expect(change.contains(#""inserts":[{"at":1,"element":3},{"at":2,"element":4}]"#))
    watching.send("5\n6\n7\n8\n9\n")
    #expect(
      try watching.line().contains(
        #""inserts":[{"at":0,"element":7},{"at":1,"element":8},{"at":2,"element":9}]"#))
    watching.endInput()
    #expect(try watching.waitForExit() == 0)
  }

  @Test(arguments: [
    ("every:5s", "has no command; use every:TIME:COMMAND"),
    ("every:x:ls", #"cannot be "x"; use a time from 100ms to 24h"#),
    ("every:1ms:ls", "use a time from 100ms to 24h"), ("cmd: ", "has no command; use cmd:COMMAND"),
    ("cmd:csv:cat a.csv#/x", "has a JSON pointer, but the output is CSV"),
    ("a.json#/x~3", "is no JSON pointer; write ~0 for ~ and ~1 for /"),
  ])
  func `a source that is not valid is explained`(source: String, message: String) throws {
    let result = try Livelist.parse("watch", source)
    #expect(result.status == 2)
    #expect(result.errors.contains(message))
  }

  @Test func `messages show only the first word of a command`() throws {
    let result = try view("cmd:false --password secret")
    #expect(result.errors == "livelist: the command false … exited with status 1\n")
  }
}
