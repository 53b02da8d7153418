import FileSources
import TestSupport
import Testing

@testable import livelist

/// Conditions with `and`, `or`, `not` and parentheses.
@Suite struct ElementPredicateTests {
  private func matches(_ condition: String, _ element: String) throws -> Bool {
    try ElementPredicate(condition).matches(JSONElement(parsing: element))
  }

  @Test(arguments: [
    ("a = 1 or b ~ /x/", true), ("a = 2 or b ~ /x/", true), ("a = 2 or b ~ /z/", false),
    ("a = 1 and b = xy", true), ("a = 1 and b = x", false), ("a=1 and b=xy", true),
    ("not a = 1", false), ("not a = 2", true), ("not not a = 1", true), ("NOT a=2 AND b=xy", true),
    // `and` binds more closely than `or`, and `not` more closely than both.
    ("a = 1 or a = 1 and a = 2", true), ("(a = 1 or a = 1) and a = 2", false),
    ("not a = 1 or a = 1", true), ("not (a = 1 or a = 2)", false), ("not(a = 2)", true),
    ("( a = 1 )", true), ("((a=2) or (b=xy and c=3))", true), ("a = 1 and(b = xy)", true),
    ("(b = xy) and (a = 2 or c = 3)", true), ("a>0 and a<2 and c>=3", true),
    ("a = 2 or b = z or c = 3", true), ("o.p = 5 and \"x y\" = 6", true),
    ("\"a and b = c\" = 7 or a = 2", true), ("not \"a and b = c\" = 7", false),
    ("b~/^X/", true), ("b~/^y/", false), ("b!~/^y/ and a=1", true), ("b~/x|z/ and a=1", true),
    ("(b ~ /(x|z)y/)", true), ("b ~ /(x|z)y/ or a = 2", true), (#"d ~ /\/usr\/b/"#, true),
    (#"d~/\d$/"#, false), ("missing ~ /^$/", true), ("l ~ /1,2/", true),
  ])
  func `comparisons are joined`(condition: String, isMatch: Bool) throws {
    let element = #"""
      {"a":1,"b":"xy","c":3,"o":{"p":5},"x y":6,"a and b = c":7,"d":"/usr/bin","l":[1,2]}
      """#
    #expect(try matches(condition, element) == isMatch)
  }

  @Test func `conditions that are hardly meant are refused`() throws {
    for text in [
      String(repeating: "(", count: 20_000) + "a=1",
      String(repeating: "not ", count: 20_000) + "a=1",
    ] {
      #expect(throws: LivelistError.self) { try ElementPredicate(text) }
    }
    let error = try #require(throws: LivelistError.self) { try ElementPredicate("a=1 and !b=2") }
    #expect(error.message.contains("write not instead of !"))
    let nested = String(repeating: "(", count: 30) + "a=1" + String(repeating: ")", count: 30)
    #expect(try matches(nested, #"{"a":1}"#))
  }

  /// These conditions are single comparisons, whose values are all of the text.
  @Test(arguments: [
    ("t = salt and pepper", "salt and pepper"), ("t ~ this or that", "this or that"),
    ("t = a and not b", "a and not b"), ("t = (x)", "(x)"), ("t=x)", "x)"), ("t = or", "or"),
    ("t = \"a and b = c\"", "a and b = c"), ("t=android or", "android or"), ("t=and", "and"),
    ("t ~ /usr/bin", "/usr/bin"), ("t ~ \"/x/\"", "/x/"), ("t = /x/", "/x/"), ("t ~ /", "/"),
    ("t ~ //", "//"),
  ])
  func `a text may contain words and signs`(condition: String, text: String) throws {
    let element = try JSONElement(members: [("t", .string(text))], key: nil)
    #expect(try ElementPredicate(condition).matches(element))
    #expect(try ElementPredicate(condition).comparisons.count == 1)
    #expect(try !matches(condition, #"{"t":"y"}"#))
  }

  @Test func `the last and before a comparison ends a text`() throws {
    let condition = "t = this and that and n = 1"
    #expect(try matches(condition, #"{"t":"this and that","n":1}"#))
    #expect(try !matches(condition, #"{"t":"this and that","n":2}"#))
    #expect(try matches(#"t=["a or n = 5"] or n=2"#, #"{"t":["a or n = 5"]}"#))
  }

  @Test func `fields may have the names of operators`() throws {
    #expect(try matches("not = 5", #"{"not":5}"#))
    #expect(try matches("and = 5 and or = 6", #"{"and":5,"or":6}"#))
  }
}
