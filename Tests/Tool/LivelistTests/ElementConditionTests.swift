import DataSourceTesting
import FileSources
import TestSupport
import Testing

@testable import livelist

@Suite struct ElementConditionTests {
  private func matches(_ condition: String, _ element: String) throws -> Bool {
    try ElementCondition(condition).matches(JSONElement(parsing: element))
  }

  @Test(arguments: [
    ("n=10", true), ("n==10", true), ("n=10.0", true), ("n=1e1", true), ("n=\"10\"", false),
    ("n!=10", false), ("n!=\"10\"", true), ("n<11", true), ("n<10", false), ("n<=10", true),
    ("n>9.99", true), ("n>=10", true), ("n>10", false), ("n<abc", false), ("n>=abc", false),
    ("n!=abc", true), (" n >= 10 ", true), ("text=10", false), ("text=abc", true),
    ("text=\"abc\"", true), ("text = abc", true), ("text<abd", true), ("text>=abc", true),
    ("text<5", false), ("text>5", true), ("digits=7", true), ("digits=\"7\"", true),
    ("digits=7.0", false), ("digits<8", true), ("flag=true", true), ("flag!=false", true),
    ("flag>false", true), ("flag=1", false), ("nothing=null", true), ("nothing!=null", false),
    ("missing=null", true), ("missing!=5", true), ("missing<5", false), ("missing<=null", true),
    ("n=null", false), ("text!=null", true), ("word=null", false), ("word=\"null\"", true),
    ("list=[1,2]", true), ("list=[2]", false), ("list<[2]", false), ("empty=", true),
    ("text=", false), ("text!=", true), ("text=~/notes", false), ("text='", false),
  ])
  func `values are compared by their kinds`(condition: String, isMatch: Bool) throws {
    let element = #"""
      {"n":10,"text":"abc","digits":"7","flag":true,"nothing":null,"word":"null","list":[1, 2],
       "empty":""}
      """#
    #expect(try matches(condition, element) == isMatch)
  }

  @Test(arguments: [
    ("name~LIB", true), ("name~c6", true), ("name~x", false), ("name!~x", true),
    ("name!~lib", false), ("size~23", true), ("size~5", false), ("flag~RU", true),
    ("nothing~nul", false), ("nothing!~nul", true), ("missing~", true), ("tags~amd", true),
    ("name ~ \"c 6\"", false), ("name~ärger", true),
  ])
  func `a text contains another one without regard to case`(
    condition: String, isMatch: Bool
  ) throws {
    let element = #"""
      {"name":"libc6 ÄRGER","size":1234,"flag":true,"nothing":null,"tags":["amd64"]}
      """#
    #expect(try matches(condition, element) == isMatch)
  }

  @Test(arguments: [
    ("a=1", true), (".a=1", true), ("o.b=2", true), (".o.b=2", true), ("o.p.q=3", true),
    ("o.p.q.r=null", true), ("x.y=4", true), (".z=5", true), ("..z=5", true), ("o.c.d=6", true),
    (#""a<b"=7"#, true), (#""a<b" = 7"#, true), (#""q\"=" = 8"#, true), ("a!b=9", true),
    ("o~2", true), ("value=1", false),
  ])
  func `a field is a name or a path`(condition: String, isMatch: Bool) throws {
    let element = #"""
      {"a":1,"o":{"b":2,"p":{"q":3},"c.d":6},"x.y":4,".z":5,"a<b":7,"q\"=":8,"a!b":9}
      """#
    #expect(try matches(condition, element) == isMatch)
  }

  @Test func `an element without members is the field value`() throws {
    #expect(try matches("value>=5", "5"))
    #expect(try matches(".value~b", "\"abc\""))
    #expect(try matches("value=null", "null"))
    #expect(try matches("value~2", "[1,2]"))
    #expect(try !matches("other=5", "5"))
  }

  @Test(arguments: ["", "abc", "=5", " <5", "\"a=5", "\"a\" b=5", "\"\\x\"=5"])
  func `other texts are no conditions`(text: String) {
    let error = #expect(throws: LivelistError.self) { try ElementCondition(text) }
    #expect(error?.status == 2)
    #expect(error?.message.contains("\"\(text)\"") == true)
    #expect(error?.message.contains("; use FIELD") == true)
  }

  @Test func `numbers are compared exactly`() throws {
    // The numbers in a group are equal. The groups are in ascending order.
    let groups = [
      ["-1e400"], ["-9007199254740993"], ["-9007199254740992"], ["-1.5", "-15e-1"],
      ["0", "-0", "0.0", "0e5"], ["1e-99999999999999999999"], ["0.0001", "1e-4", "0.1E-3"],
      ["0.1"], ["0.10000000000000000001"], ["1", "1.0", "10e-1"], ["9"], ["10", "1e+1"], ["99.9"],
      ["9007199254740992"], ["9007199254740993", "9007199254740993.0"],
      ["123456789012345678901234567890"], ["1e400"], ["2e400"], ["1e99999999999999999999"],
    ]
    for (left, ones) in groups.enumerated() {
      for (right, others) in groups.enumerated() {
        for one in ones {
          for other in others {
            #expect(try matches("n=\(other)", "{\"n\":\(one)}") == (left == right))
            #expect(try matches("n<\(other)", "{\"n\":\(one)}") == (left < right))
            #expect(try matches("n>=\(other)", "{\"n\":\(one)}") == (left >= right))
          }
        }
      }
    }
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func `integers are in the order of their values`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      let digits = Int.random(in: 0..<63, using: &random)
      let one = Int.random(in: .min ... .max, using: &random) >> digits
      let other = Int.random(in: .min ... .max, using: &random) >> digits
      let condition = try ElementCondition("n<\(other)")
      #expect(
        try condition.matches(JSONElement(parsing: "{\"n\":\(one)}")) == (one < other),
        "seed \(seed): \(one) < \(other)")
    }
  }

  @Test func `a field is in the column of its first name`() throws {
    for (condition, isColumn) in [
      ("a=1", true), (".a=1", true), ("a.b=1", true), ("x.y=1", true), ("x=1", false),
      ("ab=1", false),
    ] {
      #expect(try ElementCondition(condition).isInColumn(of: ["a", "x.y"]) == isColumn)
    }
  }
}
