import FileSources
import Testing

@Suite struct JSONElementTests {
  @Test(arguments: [
    (#" { "a" : 1 , "b" : [ true , null ] } "#, #"{"a":1,"b":[true,null]}"#),
    ("[ ]", "[]"), ("{ }", "{}"), ("\t\r\n\"x\"", #""x""#), ("[[ ], { }]", "[[],{}]"),
    (#""a b  c""#, #""a b  c""#),
    (#""\u0041\/\u00e9\u20AC\uD83D\uDE00""#, #""A/é€😀""#),
    (#""\"\\\b\f\n\r\t""#, #""\"\\\b\f\n\r\t""#),
    (#""\u0022\u005C\u0008\u000C\u000a\u000D\u0009""#, #""\"\\\b\f\n\r\t""#),
    (#""\u0000\u001F\u007f""#, "\"\\u0000\\u001f\u{7F}\""),
    (#""\uD83D""#, #""\ud83d""#), (#""\uDE00x""#, #""\ude00x""#),
    (#""\uD83D\u0041""#, #""\ud83dA""#), (#""\uD83D\uD83D\uDE00""#, #""\ud83d😀""#),
    ("-0", "-0"), ("1.50E+007", "1.50E+007"), ("0.0", "0.0"),
    ("123456789012345678901234567890", "123456789012345678901234567890"),
    ("-9223372036854775809", "-9223372036854775809"), ("9e999", "9e999"),
    ("\u{FEFF}[1]", "[1]"), (#"{"a":1,"a":2}"#, #"{"a":1,"a":2}"#), (#""\u2028""#, "\"\u{2028}\""),
  ])
  func `the canonical form is compact`(text: String, expected: String) throws {
    let element = try JSONElement(parsing: text)
    #expect(element.description == expected)
    #expect(try JSONElement(parsing: expected).description == expected)
  }

  @Test func `equality ignores the order of members at each level`() throws {
    let one = try JSONElement(parsing: #"{"a":1,"b":{"c":[1,2],"d":"x"}}"#)
    let two = try JSONElement(parsing: #"{"b":{"d":"\u0078","c":[1,2]},"a":1}"#)
    #expect(one == two)
    #expect(one.hashValue == two.hashValue)
    #expect(one.differenceIdentifier == two.differenceIdentifier)
    #expect(one.differenceIdentifier.hashValue == two.differenceIdentifier.hashValue)
    #expect(one.isContentEqual(to: two))
  }

  @Test(arguments: [
    ("5", #""5""#), ("1.0", "1"), ("1e1", "10"), ("[1,2]", "[2,1]"), ("{}", "[]"),
    (#"{"a":1,"b":2}"#, #"{"a":2,"b":1}"#), (#"{"a":1,"a":2}"#, #"{"a":2,"a":1}"#),
    // The strings look the same, but consist of different scalars.
    (#""\u00e9""#, #""e\u0301""#), (#""\ud83d""#, #""\ud83c""#), ("true", "false"),
    (#"{"a":[{"x":1,"y":2}]}"#, #"{"a":[{"x":2,"y":1}]}"#),
  ])
  func `different contents are not equal`(left: String, right: String) throws {
    let (left, right) = try (JSONElement(parsing: left), JSONElement(parsing: right))
    #expect(left != right)
    #expect(left.differenceIdentifier != right.differenceIdentifier)
  }

  @Test func `the key is a scalar with its type`() throws {
    let number = try JSONElement(parsing: #"{"id":5,"x":1}"#, key: "id")
    let other = try JSONElement(parsing: #"{"x":2, "i\u0064": 5}"#, key: "id")
    let string = try JSONElement(parsing: #"{"id":"5","x":1}"#, key: "id")
    #expect(number.differenceIdentifier == other.differenceIdentifier)
    #expect(number.differenceIdentifier.hashValue == other.differenceIdentifier.hashValue)
    #expect(number != other)
    #expect(number.differenceIdentifier != string.differenceIdentifier)
    #expect(number.differenceIdentifier.description == "5")
    #expect(string.differenceIdentifier.description == #""5""#)
    for scalar in ["null", "true", "-1.5", #""""#, #""é\n""#] {
      let element = try JSONElement(parsing: "{\"id\":\(scalar)}", key: "id")
      #expect(element.differenceIdentifier.description == scalar)
    }
  }

  @Test func `the last of several members with the same name counts`() throws {
    let element = try JSONElement(parsing: #"{"id":1,"x":{"id":7},"id":2}"#, key: "id")
    #expect(element.differenceIdentifier.description == "2")
    #expect(element["id"]?.integer == 2)
    #expect(element.description == #"{"id":1,"x":{"id":7},"id":2}"#)
  }

  @Test func `members and items are found`() throws {
    let element = try JSONElement(
      parsing: #"{"a":"x\n\ud83d\u0000","b":[1,{"c":"]"},"}"],"":false,"n":null,"é":-3}"#)
    #expect(element["a"]?.scalar == .string("x\n\u{FFFD}\0"))
    #expect(element["b"]?.description == #"[1,{"c":"]"},"}"]"#)
    #expect(try element["b"]?.items()?.map(\.description) == ["1", #"{"c":"]"}"#, #""}""#])
    #expect(element[""]?.scalar == .bool(false))
    #expect(element["n"]?.scalar == .null)
    #expect(element["é"]?.integer == -3)
    #expect(element["missing"] == nil)
    #expect(element.members?.map(\.name) == ["a", "b", "", "n", "é"])
    #expect(element["a"]?.members == nil)
    #expect(try element.items() == nil)
    #expect(try JSONElement(parsing: "[]").items()?.isEmpty == true)
    #expect(try JSONElement(parsing: "{}").members?.isEmpty == true)
    let keyed = try #require(
      try JSONElement(parsing: #"[{"k":1},{"k":2}]"#).items(key: "k"))
    #expect(keyed.map(\.differenceIdentifier.description) == ["1", "2"])
  }

  @Test func `an element is built from members`() throws {
    let element = try JSONElement(
      members: [
        ("id", .integer(Int64.min)), ("s", .string("\u{1}\"\\/é\n")), ("r", .number("1.5e-7")),
        ("n", .null), ("b", .bool(true)),
      ], key: "id")
    #expect(
      element.description
        == #"{"id":-9223372036854775808,"s":"\u0001\"\\/é\n","r":1.5e-7,"n":null,"b":true}"#)
    #expect(element.differenceIdentifier.description == "-9223372036854775808")
    #expect(try JSONElement(parsing: element.description).description == element.description)
    #expect(throws: JSONElement.ParsingError.self) {
      try JSONElement(members: [("a", .number("1,\"b\":2"))])
    }
    for text in ["", " 1", "1 ", "01", "nan", "\"1\"", "[1]", "-", "1."] {
      #expect(throws: JSONElement.ParsingError.self) { try JSONElement(.number(text)) }
    }
    #expect(throws: JSONElement.ParsingError.self) {
      try JSONElement(members: [("a", .null)], key: "b")
    }
    #expect(try JSONElement(.string("x")).description == #""x""#)
  }

  @Test func `an element writes its text`() throws {
    var text = ""
    try JSONElement(parsing: "[ 1 ]").write(to: &text)
    #expect(text == "[1]")
    #expect(try JSONElement(parsing: "[ 1 ]").utf8 == Array("[1]".utf8))
  }

  @Test(arguments: [
    (["n", "id"], #"{"n":[1,{"n":2}],"id":5}"#), (["n"], #"{"id":5,"n":[1,{"n":2}]}"#),
    ([], #"{"id":5}"#), (["id", "none"], #"{"id":5}"#), (["é"], #"{"id":5,"é":"x"}"#),
    (["twice"], #"{"id":5,"twice":2}"#),
  ])
  func `some members are kept, and the key`(names: [String], expected: String) throws {
    let element = try JSONElement(
      parsing: #"{"id":5,"twice":1,"n":[1,{"n":2}],"\u00e9":"x","twice":2}"#, key: "id")
    let kept = element.keeping(members: names)
    #expect(kept.description == expected)
    #expect(kept.differenceIdentifier == element.differenceIdentifier)
    #expect(kept.keyName == "id")
  }

  @Test func `without a key, the kept members are the identity`() throws {
    let element = try JSONElement(parsing: #"{"a":1,"b":2}"#).keeping(members: ["b"])
    #expect(
      try element.differenceIdentifier == JSONElement(parsing: #"{"b":2}"#).differenceIdentifier)
    #expect(try JSONElement(parsing: "[1]").keeping(members: ["a"]).description == "[1]")
  }

  @Test func `objects that differ have different hashes`() throws {
    var hashes: Set<Int> = []
    for a in 0..<10 {
      for b in 0..<10 {
        for text in [
          "{\"a\":\(a),\"b\":\(b)}", "{\"a\":\"\(a)\",\"b\":\(b)}", "[\(a),\(b),\(a)]",
          "{\"a\":{\"b\":\(a),\"c\":\(b)}}", "[{\"a\":\(a)},{\"a\":\(b)}]",
        ] {
          hashes.insert(try JSONElement(parsing: text).hashValue)
        }
      }
    }
    #expect(hashes.count == 500)
    for text in ["[]", "{}", "[[]]", "[{}]", "{\"a\":[]}", "{\"a\":{}}"] {
      hashes.insert(try JSONElement(parsing: text).hashValue)
    }
    #expect(hashes.count == 506)
  }
}
