import FileSources
import Foundation
import ObservableCollections
import TestSupport
import Testing

@Suite struct JSONPointerTests {
  /// The document of RFC 6901, with a list at each place.
  private let document = Array(
    #"""
    {"foo": ["bar", "baz"], "": [0], "a/b": [1], "c%d": [2], "e^f": [3], "g|h": [4],
     "i\\j": [5], "k\"l": [6], " ": [7], "m~n": [8], "é": [9], "deep": [[], {"x": [10]}], "foo2": [11], "foo2": [12]}
    """#.utf8)

  private func list(_ pointer: String, in document: [UInt8]? = nil, spread: Bool = false) throws
    -> String
  {
    let pointer = try #require(JSONPointer(pointer))
    let list = try pointer.list(in: document ?? self.document, spreadsMembers: spread)
    return String(decoding: list.text, as: UTF8.self)
  }

  @Test func `the places of RFC 6901 are found`() throws {
    let places = [
      "/foo": #"["bar", "baz"]"#, "/": "[0]", "/a~1b": "[1]", "/c%d": "[2]", "/e^f": "[3]",
      "/g|h": "[4]",
      "/i\\j": "[5]", "/k\"l": "[6]", "/ ": "[7]", "/m~0n": "[8]", "/é": "[9]", "/deep/1/x": "[10]",
      "/deep/0": "[]", "/foo2": "[12]",
    ]
    for (pointer, text) in places { #expect(try list(pointer) == text, "\(pointer)") }
  }

  @Test(arguments: ["foo", "/a~2b", "/a~"])
  func `a text that is no pointer is refused`(text: String) {
    #expect(JSONPointer(text) == nil)
  }

  @Test func `the members of an object are elements`() throws {
    let document = Array(#"{"o": {"a": {"n": 1}, "b": {}, "c": [2] }}"#.utf8)
    #expect(
      try list("/o", in: document)
        == #"[{"key":"a","value":{"n": 1}},{"key":"b","value":{}},{"key":"c","value":[2]}]"#)
    #expect(
      try list("/o", in: document, spread: true)
        == #"[{"key":"a","n": 1},{"key":"b"},{"key":"c","value":[2]}]"#)
    // A name is not replaced, and is found however it is written.
    let names = Array(#"{"o": {"a": {"key": 1}}, "\ud83d\ude00": [3]}"#.utf8)
    #expect(try list("/o", in: names, spread: true) == #"[{"key":"a","value":{"key": 1}}]"#)
    #expect(try list("/😀", in: names) == "[3]")
  }

  @Test(arguments: [
    ("/bar", "there is no \"bar\" in the document; the members are foo, , a/b"),
    ("/deep/1/y", "there is no \"y\" at #/deep/1; the members are x"),
    ("/deep/2", "there is no item 2 at #/deep, which has 2 items"),
    ("/deep/01", "there is no item 01 at #/deep"),
    ("/foo/0/x", "a string is at #/foo/0, so there is no \"x\""),
    ("/foo/0", "a string is at #/foo/0 instead of an array or an object"),
  ])
  func `what is not there is named with what is`(pointer: String, message: String) throws {
    let error = try #require(throws: JSONElement.ParsingError.self) { try list(pointer) }
    #expect("\(error)".hasPrefix(message))
    #expect(error.code == .notFound)
  }

  @Test func `errors of elements have their place in the document`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write("{\n  \"items\": [\n    {\"id\": 1},\n    {\"n\": 1}\n  ]\n}", to: "a.json")
    let log = SourceLog(
      JSONFileDataSource<JSONElement>(path: directory("a.json"), at: "/items", key: "id"))
    #expect(try await log.failure().message.contains("line 4, column 5, element 1: "))
    try directory.write("{\n  \"items\": [\n    {\"id\": 1}, {\"id\": 2}", to: "a.json")
    try await log.status { $0.error?.message.contains("line 3, column 25: ") == true }
    try directory.write("{\"items\": [{\"id\": 1}]}", to: "a.json")
    try await log.status { $0.error == nil }
    #expect(log.source.snapshot.map(\.description) == ["{\"id\":1}"])
  }
}
