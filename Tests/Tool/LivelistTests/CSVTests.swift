import Foundation
import TestSupport
import TestTags
import Testing

/// Tests of CSV and TSV as sources of all commands.
@Suite(.tags(.system)) struct CSVTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  private func save(_ name: String, _ text: String) throws -> String {
    let path = place(name)
    try Data(text.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    return path
  }

  private func initial(_ elements: String) -> String {
    #"{"event":"initial","revision":0,"elements":\#(elements)}"# + "\n"
  }

  /// Returns the first event of a source.
  private func watch(_ arguments: String..., input: String = "") throws -> String {
    let result = try Livelist.run(["watch", "--until-eof"] + arguments, input: input)
    #expect(result.errors == "")
    return result.output
  }

  @Test(arguments: [
    ("a.csv", ""), ("a.CSV", ""), ("a", "csv:"), ("a.json", "csv:"), ("a.tsv", ""), ("a", "tsv:"),
  ])
  func `each row is an object of strings`(name: String, scheme: String) throws {
    let delimiter = name.hasSuffix("tsv") || scheme == "tsv:" ? "\t" : ","
    let rows = ["id|name", "7|\"A \"\"x\"\"\n\"", "|b"].joined(separator: "\r\n")
    let path = try save(name, rows.replacing("|", with: delimiter))
    #expect(
      try watch(scheme + path)
        == initial(#"[{"id":"7","name":"A \"x\"\n"},{"id":"","name":"b"}]"#))
  }

  @Test func `numbers stay as they are written`() throws {
    let path = try save("a.csv", "id,n\n1,1.50\n\"2\",1e9\n3,007\n4,12345678901234567890\n")
    #expect(
      try watch("--numbers", path)
        == initial(
          #"[{"id":1,"n":1.50},{"id":"2","n":1e9},{"id":3,"n":"007"},{"id":4,"n":12345678901234567890}]"#
        ))
    let sorted = try Livelist.run(
      "view", "--format", "json", "--numbers", "--where", "a >= 9", "--sort", "a desc",
      try save("b.csv", "a\n9\n8\n10\n"))
    #expect(sorted.output == "[\n{\"a\":10},\n{\"a\":9}\n]\n")
  }

  @Test func `an edited row is an update, and an appended one is an insertion`() throws {
    let path = try save("a.csv", "id,n\n1,a\n2,b\n")
    let watching = try Livelist("watch", "-k", "id", path)
    _ = try watching.line()
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.seekToEnd()
    try file.write(contentsOf: Data("3,\"c\n".utf8))
    try file.write(contentsOf: Data("d\"\n".utf8))
    try file.close()
    #expect(
      try watching.line().contains(#""inserts":[{"at":2,"element":{"id":"3","n":"c\nd"}}]"#))
    _ = try save("a.csv", "id,n\n1,a\n2,x\n3,\"c\nd\"\n")
    let line = try watching.line()
    #expect(line.contains(#""inserts":[],"updates":[{"#))
    #expect(line.contains(#"{"id":"2","n":"x"}"#))
    watching.send("quit\n")
    #expect(try watching.waitForExit() == 0)
  }

  @Test(arguments: [
    ("3\n", "line 3, column 1: the row has 1 field, but the header has 2; add the missing fields"),
    ("3,4,5\n", "line 3, column 1: the row has 3 fields, but the header has 2; put a field"),
    ("\"3\"x,4\n", "line 3, column 4: text follows the closing quote of a field"),
  ])
  func `a row that does not fit is skipped, or fails if lines are strict`(
    row: String, reason: String
  ) throws {
    let text = "id,n\n1,2\n\(row)5,6\n"
    let path = try save("a.csv", text)
    let rows = #"[{"id":"1","n":"2"},{"id":"5","n":"6"}]"#
    for (source, input) in [(path, ""), ("csv:-", text)] {
      let diff = try Livelist.run(
        "diff", try place.json("rows.json", rows), source, input: input)
      #expect((diff.status, diff.output) == (0, ""))
      #expect(diff.errors.contains("1 line of "), "\(diff.errors)")
      #expect(diff.errors.contains(reason), "\(diff.errors)")
      let strict = try Livelist.run(
        "diff", "--strict-lines", place("rows.json"), source, input: input)
      #expect((strict.status, strict.output) == (1, ""))
      #expect(strict.errors.contains(reason), "\(strict.errors)")
    }
  }

  @Test(arguments: [
    ("id,id\n", "line 1, column 1: two columns are named \"id\""),
    ("id,\n1,2\n", "line 1, column 1: column 2 has no name"),
    ("a,b\n1,2\n", "line 1, column 1: the header has no column \"id\", which is the key"),
  ])
  func `a header that cannot be used is an error`(text: String, reason: String) throws {
    for (source, input) in [(try save("a.csv", text), ""), ("csv:-", text)] {
      let result = try Livelist.run("view", "-k", "id", source, input: input)
      #expect(result.status == 1)
      #expect(result.errors.contains(reason), "\(result.errors)")
      #expect(result.errors.split(separator: "\n").count == 1)
    }
  }

  @Test func `the advice for texts that are not JSON is not given for CSV, but names it`() throws {
    let path = try save("a.csv", "id,n\n1\n\"2\"x,3\n")
    let rows = try Livelist.run("view", "--format", "json", path)
    #expect(rows.output == "[\n]\n")
    #expect(rows.errors.split(separator: "\n").count == 1, "\(rows.errors)")
    let text = try Livelist.run("view", "--format", "json", "-", input: "id,n\n")
    #expect(text.errors.contains("for CSV, use csv:FILE, or csv:- for standard input"))
  }

  @Test func `rows from a pipe are shown when they arrive`() throws {
    let watching = try Livelist("watch", "--numbers", "tsv:-")
    #expect(try watching.line() + "\n" == initial("[]"))
    watching.send("id\tn\n1\t2\n3\t\"")
    #expect(try watching.line().contains(#""inserts":[{"at":0,"element":{"id":1,"n":2}}]"#))
    watching.send("x\ny\"\n")
    #expect(try watching.line().contains(#""element":{"id":3,"n":"x\ny"}}]"#))
    watching.send("4\t5")
    watching.endInput()
    #expect(try watching.line().contains(#""element":{"id":4,"n":5}}]"#))
  }

  @Test func `a named pipe has the format of its ending`() throws {
    #expect(mkfifo(place("pipe.csv"), 0o600) == 0)
    let viewing = try Livelist("view", "--format", "json", place("pipe.csv"))
    let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: place("pipe.csv")))
    try writer.write(contentsOf: Data("a\n1\n".utf8))
    try writer.close()
    #expect(try viewing.restOfOutput() == "[\n{\"a\":\"1\"}\n]\n")
  }

  @Test func `the files of a pattern are one list`() throws {
    _ = try save("1.csv", "a\n1\n")
    _ = try save("2.csv", "a,b\n2,3\n")
    _ = try save("3.txt", "a\n4\n")
    #expect(try watch(place("*.csv")) == initial(#"[{"a":"1"},{"a":"2","b":"3"}]"#))
    #expect(
      try watch("csv:" + place("[13].*"), "--numbers") == initial(#"[{"a":1},{"a":4}]"#))
  }

  @Test func `rows are compared with other sources`() throws {
    let path = try save("a.csv", "id,n\n1,x\n2,y\n")
    let array = try place.json("a.json", #"[{"n":"x","id":1},{"id":2,"n":"z"}]"#)
    let change = try Livelist.run("diff", "--numbers", "-k", "id", "--format", "text", path, array)
    #expect(change.output == "~ [1] 2: n: \"y\" → \"z\"\n1 updated\n")
    let events = try Livelist.run("diff", "--numbers", "-k", "id", path, array).output
    #expect(
      try Livelist.run("apply", "--numbers", path, input: events).output
        == "[\n{\"id\":1,\"n\":\"x\"},\n{\"id\":2,\"n\":\"z\"}\n]\n")
  }

  @Test func `a quote that is not closed is named`() throws {
    let text = "id,n\n1,2\n3,\"4\n5,6\n"
    for (source, input) in [(try save("a.csv", text), ""), ("csv:-", text)] {
      let result = try Livelist.run("view", "--format", "json", source, input: input)
      #expect(result.output == "[\n{\"id\":\"1\",\"n\":\"2\"}\n]\n")
      #expect(
        result.errors.contains("line 3, column 3: the quote that begins here is not closed"),
        "\(result.errors)")
    }
  }

  @Test func `the example of the page shows rows in their order`() throws {
    _ = try save("stock.csv", "id,price\n1,9\n2,10.5\n3,\n")
    let line = try #require(
      try Guide("CommandLineTool").lines.first { $0.hasPrefix("livelist view -k id --numbers") })
    let words = line.split(separator: "'").flatMap { part in
      part.hasPrefix("price") ? [String(part)] : part.split(separator: " ").map(String.init)
    }
    let result = try Livelist.run(
      words.dropFirst().map { $0 == "stock.csv" ? place($0) : $0 } + ["--format", "json"])
    #expect(
      result.output
        == "[\n{\"id\":3,\"price\":\"\"},\n{\"id\":2,\"price\":10.5},\n{\"id\":1,\"price\":9}\n]\n")
  }
}
