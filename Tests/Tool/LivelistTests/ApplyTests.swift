import Foundation
import TestTags
import Testing

@Suite(.tags(.system)) struct ApplyTests {
  private let initial = #"{"event":"initial","revision":4,"elements":["a","b","c"]}"#

  private func change(
    since: Int = 4, revision: Int = 5, deletes: String = "", inserts: String = "",
    updates: String = "", moves: String = ""
  ) -> String {
    "{\"event\":\"change\",\"since\":\(since),\"revision\":\(revision),\"deletes\":[\(deletes)],"
      + "\"inserts\":[\(inserts)],\"updates\":[\(updates)],\"moves\":[\(moves)]}"
  }

  @Test func `events are applied and the elements are printed one a line`() throws {
    let lines = [
      initial, #"{"event":"status","state":"failed","message":"x"}"#, "",
      change(
        deletes: #"{"at":0,"element":"a"}"#, inserts: #"{"at":1,"element":{"n": 1}}"#,
        updates: #"{"from":1,"at":2,"old":"b","element":"B"}"#, moves: #"{"from":2,"to":0}"#),
      change(
        since: 5, revision: 9,
        updates: #"{"from":0,"at":0,"old":"c","element":12345678901234567890}"#
      ),
    ]
    let result = try Livelist.run("apply", input: lines.joined(separator: "\n"))
    #expect(result.output == "[\n12345678901234567890,\n{\"n\":1},\n\"B\"\n]\n")
    #expect(result.errors.contains("has failed") && result.status == 1)
  }

  @Test func `an empty list is an empty array`() throws {
    let result = try Livelist.run(
      "apply", input: #"{"event":"initial","revision":0,"elements":[]}"# + "\n")
    #expect(result.output == "[\n]\n")
  }

  @Test func `the old elements are required only without an initial event`() throws {
    let place = try Workplace()
    let old = try place.json("old.json", #"["a", "b"]"#)
    let insert = change(inserts: #"{"at":2,"element":"c"}"#)
    #expect(try Livelist.run("apply", old, input: insert).output == "[\n\"a\",\n\"b\",\n\"c\"\n]\n")
    #expect(try Livelist.run("apply", old).output == "[\n\"a\",\n\"b\"\n]\n")
    let both = try Livelist.run("apply", old, input: initial)
    #expect(both.output == "[\n\"a\",\n\"b\",\n\"c\"\n]\n")
    for input in ["", #"{"event":"status","state":"loaded"}"#, insert] {
      let result = try Livelist.run("apply", input: input)
      #expect(result.status == 1)
      #expect(result.errors.contains("livelist apply OLD"))
      #expect(result.output.isEmpty)
    }
  }

  @Test func `the events of watch lead to the target`() throws {
    let place = try Workplace()
    let old = try place.json("old.json", #"[{"id":1,"n":"x"},{"id":2},{"id":3},{"id":4}]"#)
    let new = try place.json("new.json", #"[{"id":4},{"id":9,"f":1.0},{"id":1,"n":"y"},{"id":3}]"#)
    let watched = try Livelist.run(
      "watch", "--until-eof", "--key", "id", old, input: "swap \(new)\n")
    let target = "[\n{\"id\":4},\n{\"id\":9,\"f\":1.0},\n{\"id\":1,\"n\":\"y\"},\n{\"id\":3}\n]\n"
    #expect(try Livelist.run("apply", input: watched.output).output == target)
    let difference = try Livelist.run("diff", "--key", "id", old, new)
    #expect(try Livelist.run("apply", old, input: difference.output).output == target)
    #expect(try Livelist.run("apply", new).output == target)
  }

  @Test func `elements of events are nested as deeply as elements of files`() throws {
    let place = try Workplace()
    let arrays = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
    let objects =
      String(repeating: "{\"a\":", count: 511) + "{}" + String(repeating: "}", count: 511)
    let keyed = "{\"id\":1,\"value\":\(objects.dropFirst(5).dropLast())}"
    try "\(keyed)\n".write(toFile: place("old.jsonl"), atomically: true, encoding: .utf8)
    try "\(keyed.replacing(":1,", with: ":2,"))\n\(keyed.replacing("{}", with: "[]"))\n".write(
      toFile: place("new.jsonl"), atomically: true, encoding: .utf8)
    let watched = try Livelist.run(
      "watch", "--key", "id", place("old.jsonl"), "--until-eof",
      input: "swap jsonl:\(place("new.jsonl"))\n")
    #expect(watched.output.contains("\"old\":{\"id\":1"))
    let result = try Livelist.run("apply", input: watched.output)
    #expect(result.errors == "")
    #expect(
      result.output
        == "[\n\(keyed.replacing(":1,", with: ":2,")),\n\(keyed.replacing("{}", with: "[]"))\n]\n")
    let inserted = try Livelist.run(
      "apply", input: initial + "\n" + change(inserts: "{\"at\":0,\"element\":\(arrays)}"))
    #expect(inserted.output.contains(arrays))
    let deeper = try Livelist.run(
      "apply", input: initial + "\n" + change(inserts: "{\"at\":0,\"element\":[\(arrays)]}"))
    #expect(deeper.errors.contains("levels deep"))
  }

  @Test func `an event that cannot be applied ends with status 1 and its line number`() throws {
    let deleteA = #"{"at":0,"element":"a"}"#
    let cases: [(line: String, hint: String)] = [
      ("nonsense", "not valid JSON"), ("[1]", "not a JSON object"), ("{}", "\"event\""),
      (#"{"event":"frob"}"#, "frob"), (#"{"event":"initial","revision":1}"#, "\"elements\""),
      (#"{"event":"initial","revision":1,"elements":{}}"#, "not an array"),
      (#"{"event":"change","since":4,"revision":5}"#, "\"deletes\""),
      (change(since: 3), "\"since\" is 3"), (change(since: 5, revision: 6), "\"since\" is 5"),
      (change(since: 4, revision: 4), "must be greater"), (change(), "has no deletes"),
      (change(deletes: "5"), "not a JSON object"), (change(deletes: #"{"at":0}"#), "\"element\""),
      (change(deletes: #"{"at":-1,"element":"a"}"#), "whole number"),
      (change(deletes: #"{"at":0.5,"element":"a"}"#), "whole number"),
      (change(deletes: #"{"at":3,"element":"a"}"#), "out of range 0..<3"),
      (change(deletes: #"{"at":1,"element":"a"}"#), "but the list has"),
      (change(deletes: deleteA + "," + deleteA), "ascend"),
      (change(inserts: #"{"at":4,"element":"x"}"#), "out of range 0..<4"),
      (change(inserts: #"{"at":1,"element":"x"},{"at":1,"element":"y"}"#), "ascend"),
      (change(updates: #"{"from":0,"at":0,"old":"b","element":"x"}"#), "but the list has"),
      (change(updates: #"{"from":0,"at":1,"old":"a","element":"x"}"#), "comes from 1"),
      (change(updates: #"{"from":3,"at":3,"old":"a","element":"x"}"#), "out of range 0..<3"),
      (
        change(deletes: deleteA, updates: #"{"from":0,"at":0,"old":"a","element":"x"}"#),
        "comes from 1"
      ),
      (change(moves: #"{"from":3,"to":0}"#), "out of range 0..<3"),
      (change(moves: #"{"from":0,"to":3}"#), "out of range 0..<3"),
      (change(moves: #"{"from":0,"to":1},{"from":0,"to":2}"#), "another move"),
      (change(deletes: deleteA, moves: #"{"from":0,"to":1}"#), "a deletion"),
      (
        change(
          deletes: deleteA, inserts: #"{"at":1,"element":"x"}"#, moves: #"{"from":2,"to":1}"#),
        "an insertion"
      ),
    ]
    for (line, hint) in cases {
      let result = try Livelist.run("apply", input: initial + "\n\n" + line + "\n")
      #expect(result.status == 1, "\(line)")
      #expect(result.output.isEmpty)
      #expect(result.errors.contains("line 3: "), "\(line): \(result.errors)")
      #expect(result.errors.contains(hint), "\(line): \(result.errors)")
      #expect(result.errors.split(separator: "\n").count == 1)
    }
  }
}
