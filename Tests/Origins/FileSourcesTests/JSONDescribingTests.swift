import ChangeDescriptions
import Diffing
import FileSources
import Testing

@Suite struct JSONDescribingTests {
  private func changes(_ old: String, _ new: String) throws -> [String] {
    let fields = try JSONElement(parsing: new).changedFields(from: JSONElement(parsing: old))
    return fields.map { "\($0.name): \($0.old ?? "none") → \($0.new ?? "none")" }
  }

  @Test func `the key is the label, and the other members are the text`() throws {
    let element = try JSONElement(parsing: #"{"a":1,"id":"x","b":{"id":2}}"#, key: "id")
    #expect(element.changeLabel == #""x""#)
    #expect(element.changeText == #"{"a":1,"b":{"id":2}}"#)
    let keyOnly = try JSONElement(parsing: #"{"id":5}"#, key: "id")
    #expect(keyOnly.changeLabel == "5")
    #expect(keyOnly.changeText == "")
    for text in [#"{"id":5}"#, "7", "[]", #""s""#] {
      let element = try JSONElement(parsing: text)
      #expect(element.changeLabel == nil)
      #expect(element.changeText == text)
    }
  }

  @Test func `members are compared by name`() throws {
    #expect(try changes(#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#) == [])
    #expect(try changes(#"{"a":1,"b":2}"#, #"{"a":1,"b":3}"#) == ["b: 2 → 3"])
    #expect(
      try changes(#"{"a":1,"b":2,"c":3}"#, #"{"d":4,"c":1,"a":1}"#)
        == ["d: none → 4", "c: 3 → 1", "b: 2 → none"])
    #expect(try changes(#"{"a":[{"x":1,"y":2}]}"#, #"{"a":[{"y":2,"x":1}]}"#) == [])
    #expect(try changes(#"{"a":null}"#, #"{}"#) == ["a: null → none"])
  }

  @Test func `nested members are named by their path`() throws {
    #expect(
      try changes(
        #"{"a":{"b":{"c":1,"d":2}},"e":{}}"#, #"{"a":{"b":{"d":2,"c":"1"}},"e":{"f":[]}}"#)
        == [#"a.b.c: 1 → "1""#, "e.f: none → []"])
    #expect(try changes(#"{"a":{"b":1}}"#, #"{"a":[1]}"#) == [#"a: {"b":1} → [1]"#])
  }

  @Test func `members with the same name are compared in order`() throws {
    #expect(try changes(#"{"a":1,"a":2}"#, #"{"a":1,"a":3}"#) == ["a: 2 → 3"])
    #expect(try changes(#"{"a":1,"a":2}"#, #"{"a":1}"#) == ["a: 2 → none"])
    #expect(try changes(#"{"a":1}"#, #"{"b":0,"a":1,"a":2}"#) == ["b: none → 0", "a: none → 2"])
  }

  @Test func `a value that is not an object has no fields`() throws {
    #expect(try changes("1", "2") == [])
    #expect(try changes("[1]", #"{"a":1}"#) == [])
  }
}
