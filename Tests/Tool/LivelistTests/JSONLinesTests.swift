import Foundation
import TestTags
import Testing

/// Tests of `jsonl:PATH` as a source of all commands.
@Suite(.tags(.system)) struct JSONLinesTests {
  private let place: Workplace
  private let source: String

  init() throws {
    place = try Workplace()
    try place.json("log", #"{"id":1,"n":"x"}"# + "\n" + #"{"id":2}"# + "\n")
    source = "jsonl:" + place("log")
  }

  private func append(_ text: String) throws {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: place("log")))
    try file.seekToEnd()
    try file.write(contentsOf: Data(text.utf8))
    try file.close()
  }

  @Test func `watch reports each appended line as an insertion`() throws {
    let watching = try Livelist("watch", "--key", "id", source)
    #expect(
      try watching.line()
        == #"{"event":"initial","revision":0,"elements":[{"id":1,"n":"x"},{"id":2}]}"#)
    try append(#"{"id":3}"# + "\r\n" + #"{"id":"#)
    #expect(
      try watching.line()
        == #"{"event":"change","since":0,"revision":1,"deletes":[],"#
        + #""inserts":[{"at":2,"element":{"id":3}}],"updates":[],"moves":[]}"#)
    try append("4}\n")
    #expect(try watching.line().contains(#""inserts":[{"at":3,"element":{"id":4}}]"#))
    watching.send("quit\n")
    #expect(try watching.restOfOutput().isEmpty)
    #expect(try watching.waitForExit() == 0)
  }

  @Test func `a swap to an array of the same elements is no event`() throws {
    let array = try place.json("a.json", #"[{"n":"x","id":1},{"id":2}]"#)
    let result = try Livelist.run(
      "watch", "--until-eof", "--key=id", array, input: "swap \(source)\n")
    #expect(result.output.split(separator: "\n").count == 1)
    #expect(result.errors.isEmpty)
    #expect(result.status == 0)
  }

  @Test func `diff and apply accept JSON Lines`() throws {
    let array = try place.json("a.json", #"[{"id":2},{"id":1,"n":"y"}]"#)
    let change = try Livelist.run("diff", "--key", "id", source, array).output
    #expect(change.contains(#""old":{"id":1,"n":"x"},"element":{"id":1,"n":"y"}"#))
    #expect(
      try Livelist.run("apply", source, input: change).output
        == "[\n{\"id\":2},\n{\"id\":1,\"n\":\"y\"}\n]\n")
  }

  @Test func `a last line without a line break counts`() throws {
    try append(#"{"id":3}"#)
    let array = try place.json("a.json", #"[{"id":1,"n":"x"},{"id":2},{"id":3}]"#)
    #expect(try Livelist.run("diff", source, array).output.isEmpty)
  }

  @Test(arguments: [
    ("[1,\n2]\n", "line 3, column 4: the text ends"), ("{\"id\":5} 6\n", "line 3, column 10"),
    ("{\"name\":5}\n", "line 3, column 1: the element has no member \"id\""), ("x\n", "line 3"),
  ])
  func `a malformed line ends with status 1 if lines are strict`(
    text: String, hint: String
  ) throws {
    try append(text)
    for arguments in [["watch", "--until-eof"], ["diff", source]] {
      let result = try Livelist.run(arguments + ["--strict-lines", "--key", "id", source])
      #expect(result.status == 1)
      #expect(result.output.isEmpty)
      #expect(result.errors.contains(place("log")))
      #expect(result.errors.contains(hint), "\(result.errors)")
      #expect(result.errors.split(separator: "\n").count == 1)
    }
    let missing = try Livelist.run("watch", "jsonl:\(place("none"))")
    #expect(missing.status == 1)
    #expect(missing.errors.contains("check the path"))
  }

  @Test func `malformed lines are skipped and counted in the status`() throws {
    try append("x\n{\"id\":3}\n")
    let watching = try Livelist("watch", "--key", "id", source)
    #expect(try watching.line().hasSuffix(#""elements":[{"id":1,"n":"x"},{"id":2},{"id":3}]}"#))
    let one = try watching.line()
    #expect(one.hasPrefix(#"{"event":"status","state":"loaded","message":"1 line of "#))
    #expect(one.contains("line 3"))
    try append("{\"name\":4}\n")
    let two = try watching.line()
    #expect(two.contains("2 lines of "))
    #expect(two.contains("line 5"))
    try append("{\"id\":4}\n")
    #expect(try watching.line().contains(#""inserts":[{"at":3,"element":{"id":4}}]"#))
    try place.json("log", "{\"id\":1}\n")
    var line = ""
    repeat { line = try watching.line() } while !line.contains("status")
    #expect(line == #"{"event":"status","state":"loaded"}"#)
  }

  @Test func `commands that read once report skipped lines`() throws {
    try append("x\n{\"id\":3}\n")
    let array = try place.json("a.json", #"[{"id":1,"n":"x"},{"id":2},{"id":3}]"#)
    let result = try Livelist.run("diff", source, array)
    #expect(result.output == "")
    #expect(result.errors.contains("1 line of "))
    #expect(result.errors.split(separator: "\n").count == 1)
    // The result of these would lack the element.
    for arguments in [["apply", source], ["merge", "-kid", array, array, source]] {
      let failed = try Livelist.run(arguments)
      #expect(failed.status == 1)
      #expect(failed.output == "")
      #expect(failed.errors.contains("line 3, column 1"))
    }
  }

  @Test func `an incomplete last line is an error if lines are strict`() throws {
    let array = try place.json("a.json", #"[{"id":1,"n":"x"},{"id":2}]"#)
    try append(#"{"id":3,"#)
    for arguments in [
      ["apply", source], ["merge", "-kid", array, source, array],
      ["diff", "--strict-lines", array, source],
    ] {
      let failed = try Livelist.run(arguments)
      #expect(failed.status == 1)
      #expect(failed.output == "")
      #expect(failed.errors.contains("has no newline and is incomplete"))
    }
  }

  @Test(arguments: [["view"], ["watch", "--until-eof"], ["diff", "/dev/null"]])
  func `a text without JSON is explained`(command: [String]) throws {
    let place = try Workplace()
    let path = place("plain.log")
    try "2026-01-01 started\n2026-01-02 stopped\n".write(
      toFile: path, atomically: true, encoding: .utf8)
    var command = command
    if command.first == "diff" { command[1] = try place.json("empty.json", "[]") }
    let result = try Livelist.run(command + [path])
    #expect(result.status == (command.first == "diff" ? 1 : 0))
    #expect(result.errors.contains("jq -Rc . FILE"))
    #expect((result.errors + result.output).contains("2 lines of \(path) are skipped"))
  }

  @Test func `a piped value on several lines is read`() throws {
    for (input, output) in [
      ("{\n\"a\": [\nnull\n]\n}\n", "[\n{\"a\":[null]}\n]\n"),
      ("{\n\"a\":\n{\n}}\n", "[\n{\"a\":{}}\n]\n"),
    ] {
      let result = try Livelist.run("view", "--format", "json", "-", input: input)
      #expect(result.output == output)
      #expect(result.errors == "")
    }
  }

  @Test func `lines that lack only the key are not taken for a text`() throws {
    for line in ["{\"n\":1}\n", "5\n", "{\"id\":[]}\n"] {
      let result = try Livelist.run("view", "-kid", "-", input: line)
      #expect(result.errors.contains("1 line of standard input is skipped"))
      #expect(!result.errors.contains("no line is a JSON value"), "\(result.errors)")
    }
  }

  @Test func `zero bytes before a line are skipped`() throws {
    let text = String(repeating: "\0", count: 10) + "1\n2\n"
    try place.json("a.jsonl", text)
    let result = try Livelist.run("watch", "--until-eof", place("a.jsonl"))
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.contains(#""elements":[1,2]"#))
  }
}
