import FileSources
import TestTags
import Testing

@testable import livelist

/// Numbers with more digits, or larger exponents, than a `Double` has.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct NumberOrderTests {
  /// The numbers in a group are equal. The groups are in ascending order, and begin with the text of their header.
  private static let groups = [
    ["-2e400", "-20e399"], ["-1e400"], ["-9007199254740993"], ["-9007199254740992"],
    ["-1.5", "-15e-1", "-1.50"], ["0", "-0", "0.0", "-0e5"], ["1e-400"], ["1e-7", "0.0000001"],
    ["0.000001", "1e-6"], ["0.1"], ["0.10000000000000000001"], ["1", "1.0", "10e-1", "0.1E+1"],
    ["9"], ["10", "1e1"], ["1760000000000000100"], ["1760000000000000150"],
    ["1760000000000000200", "1.7600000000000002e18"], ["12345678901234567890.1"],
    ["12345678901234567890.12", "12345678901234567890.120"], ["100000000000000000000", "1e20"],
    ["1e400"], ["2e400"], ["1e999999999999"], ["1e1000000000000", "10e999999999999"],
  ]

  @Test func `numbers are ordered and grouped exactly`() throws {
    let groups = try Self.groups.map { group in
      try group.map { ViewGroup(of: try JSONElement(parsing: "{\"n\":\($0)}"), by: "n") }
    }
    for (left, ones) in groups.enumerated() {
      #expect(ones.allSatisfy { $0.text == Self.groups[left][0] }, "\(ones)")
      for (right, others) in groups.enumerated() {
        for (one, other) in ones.flatMap({ one in others.map { (one, $0) } }) {
          #expect((one == other) == (left == right), "\(one) \(other)")
          #expect((one.key < other.key) == (left < right), "\(one) \(other)")
          #expect(one != other || one.hashValue == other.hashValue)
        }
      }
    }
  }

  @Test func `values of other kinds have their own places`() throws {
    let values = ["null", "false", "true", "-1e400", "7", "\"\"", "\"10\"", "\"9\"", "[1]"]
    let keys = try values.map { ViewOrder.Key(try JSONElement(parsing: $0)) }
    for (left, one) in keys.enumerated() {
      for (right, other) in keys.enumerated() {
        #expect((one < other) == (left < right))
        #expect((one == other) == (left == right))
      }
    }
  }

  @Test(arguments: [("t", "2 3 1"), ("t desc", "1 3 2")])
  func `a list is sorted by numbers that no Double tells apart`(
    order: String, ids: String
  ) throws {
    let place = try Workplace()
    let numbers = ["1760000000000000200", "1760000000000000100", "1760000000000000150"]
    let list = numbers.enumerated().map { #"{"id":\#($0 + 1),"t":\#($1)}"# }.joined(separator: ",")
    try place.sql(
      "t.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, t)",
      "INSERT INTO t (t) VALUES (\(numbers.joined(separator: "), (")))")
    for source in [try place.json("list.json", "[\(list)]"), "\(place("t.db"))#t"] {
      let sorted = try Livelist.run("view", "--fields", "id", "--sort", order, source)
      #expect(
        sorted.output.split(whereSeparator: \.isWhitespace).dropFirst().joined(separator: " ")
          == ids)
    }
  }

  @Test func `equal numbers are one section, whatever their digits`() throws {
    let place = try Workplace()
    let result = try Livelist.run(
      "view", "--group-by", "n",
      place.json("list.json", #"[{"n":1.0},{"n":2e400},{"n":1},{"n":1e400},{"n":10e-1}]"#))
    #expect(
      result.output.split(separator: "\n").map { $0.trimming(while: \.isWhitespace) }
        == ["n", "1 (3)", "1.0", "1", "10e-1", "1e400 (1)", "1e400", "2e400 (1)", "2e400"])
  }
}

extension Substring {
  fileprivate func trimming(while condition: (Character) -> Bool) -> Substring {
    var text = drop(while: condition)
    while text.last.map(condition) == true { text.removeLast() }
    return text
  }
}
