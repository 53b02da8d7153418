import TestTags
import Testing

/// Keys that are equal as numbers and written in different ways.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct NumberKeyTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  private func errors(_ old: String, _ new: String) throws -> String {
    try Livelist.run(
      "diff", "--key", "id", place.json("old.json", old), place.json("new.json", new)
    ).errors
  }

  @Test(arguments: [
    ("1E5", "100000"), ("1.0", "1"), ("-0", "0"), ("1.50", "15e-1"), ("0.1", "1e-1"),
    ("12345678901234567890.0", "12345678901234567890"),
  ]) func `keys of one list are compared as numbers`(one: String, other: String) throws {
    let errors = try errors("[]", #"[{"id":\#(one)},{"id":7},{"id":\#(other)}]"#)
    #expect(errors.contains("the keys \(one) and \(other) are equal as numbers"))
    #expect(errors.split(separator: "\n").count == 1)
  }

  @Test func `other keys have no warning`() throws {
    let errors = try errors(
      #"[{"id":1},{"id":"1.0"},{"id":1.5},{"id":-1},{"id":0.0}]"#,
      #"[{"id":1},{"id":"1"},{"id":1e1},{"id":-1.5},{"id":null}]"#)
    #expect(errors == "")
  }

  @Test(arguments: [
    (#""6F9619FF-8B86-D011-B42D-00CF4FC964FF""#, #""6f9619ff-8b86-d011-b42d-00cf4fc964ff""#, true),
    ("1", #""1""#, true), (#""7""#, "7.0", true), ("10", "1e1", true),
    (#""a""#, #""A""#, false), (#""1.0""#, #""1""#, false), ("1", "2", false),
  ])
  func `a key in another spelling is named`(old: String, new: String, isSame: Bool) throws {
    try place.json("1.json", "[{\"id\":\(old)},{\"id\":-9}]")
    try place.json("2.json", "[{\"id\":\(new)},{\"id\":-9}]")
    let result = try Livelist.run(
      "watch", "--until-eof", "--key", "id", place("1.json"), input: "swap \(place("2.json"))\n")
    #expect(result.errors.contains("are one identifier in two spellings") == isSame)
    #expect(result.errors.split(separator: "\n").count == (isSame ? 1 : 0))
  }

  @Test func `a member that could be the key is named at the first edit`() throws {
    try place.json("1.json", #"[{"n":1,"uuid":"a"},{"n":1,"uuid":"b"}]"#)
    try place.json("2.json", #"[{"n":2,"uuid":"a"},{"n":1,"uuid":"b"}]"#)
    try place.json("3.json", #"[{"n":3,"uuid":"a"},{"n":1,"uuid":"b"}]"#)
    let result = try Livelist.run(
      "watch", "--until-eof", place("1.json"),
      input: "swap \(place("2.json"))\nswap \(place("3.json"))\n")
    #expect(result.errors.contains(#"every element has a member "uuid"; with --key uuid"#))
    #expect(result.errors.split(separator: "\n").count == 1)
    // Another element is no edit.
    try place.json("4.json", #"[{"n":1,"uuid":"c"},{"n":1,"uuid":"b"}]"#)
    let replaced = try Livelist.run(
      "watch", "--until-eof", place("1.json"), input: "swap \(place("4.json"))\n")
    #expect(replaced.errors == "")
  }

  @Test func `inserted and deleted keys are compared`() throws {
    try place.json("1.json", #"[{"id":1},{"id":2.5}]"#)
    try place.json("2.json", #"[{"id":2.5},{"id":1.0}]"#)
    try place.json("3.json", #"[{"id":2.5},{"id":1.0},{"id":2.50}]"#)
    let changed = try Livelist.run(
      "watch", "--until-eof", "--key", "id", place("1.json"), input: "swap \(place("2.json"))\n")
    #expect(changed.errors.contains("the keys 1 and 1.0 are one identifier in two spellings"))
    let repeated = try Livelist.run(
      "watch", "--until-eof", "--key", "id", place("2.json"), input: "swap \(place("3.json"))\n")
    #expect(repeated.errors.contains("the keys 2.5 and 2.50 are equal as numbers"))
  }
}
