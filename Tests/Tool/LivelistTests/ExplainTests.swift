import Foundation
import TestTags
import Testing

/// The command `explain`, and the option `--trace` of `watch`.
@Suite(.tags(.system)) struct ExplainTests {
  private let place: Workplace

  init() throws {
    place = try Workplace()
    try place.sql(
      "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, price)",
      "INSERT INTO t VALUES (1, 7), (2, 7)")
  }

  private func explain(_ source: String) throws -> [String] {
    let result = try Livelist.run("explain", source)
    #expect(result.status == 0)
    #expect(result.errors == "")
    return result.output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  @Test func `a file is explained with its path`() throws {
    let lines = try explain(place.json("a.json", "[1,2,3]"))
    #expect(lines[0] == "1 JSONFileDataSource, 3 elements, loaded")
    #expect(lines[1].hasSuffix("/a.json"))
    #expect(lines[2].hasPrefix("notified: ") || lines[2].hasPrefix("polling: "))
    #expect(lines[3].hasPrefix("1 load in "))
  }

  @Test func `a query of changed rows is incremental`() throws {
    let lines = try explain(place.sqlite("a.db", "SELECT id, price FROM t WHERE price > 5"))
    #expect(lines[0] == "1 SQLiteDataSource, 2 elements, loaded")
    #expect(lines[1].hasSuffix("/a.db: SELECT id, price FROM t WHERE price > 5"))
    #expect(lines[2].hasPrefix("incremental: Each row of the result is one row of \"t\""))
  }

  @Test func `a query that runs again is explained with the reason`() throws {
    let lines = try explain(
      place.sqlite("a.db", "SELECT price, count(*) AS n FROM t GROUP BY price"))
    #expect(
      lines[2].hasPrefix(
        "refetch: The whole query runs again after each change, because it groups rows. To read "))
  }

  @Test func `a source that cannot be loaded is an error`() throws {
    let missing = try Livelist.run("explain", "json:" + place("none.json"))
    #expect(missing.status == 1)
    #expect(missing.output == "")
    #expect(missing.errors.contains("none.json"))
    let none = try Livelist.parse("explain")
    #expect(none.status == 2)
    #expect(
      none.errors
        == "livelist: explain needs a source, but there is none; "
        + "use livelist explain [OPTION …] SOURCE …\n")
  }

  @Test func `a watch prints the steps of its work`() throws {
    let file = try place.json("a.json", "[1,2]")
    let watching = try Livelist("watch", "--trace", file)
    #expect(try watching.line().hasPrefix(#"{"event":"initial""#))
    try expect(watching, "load JSONFileDataSource: 2 elements, ")
    try place.json("a.json", "[1,2,3]")
    try expect(watching, "reload JSONFileDataSource: ")
    try expect(watching, "commit SwappableContainer: 1 element")
    try expect(watching, "pass: 1 node, 1 changed, ")
    let query = place.sqlite("a.db", "SELECT price, count(*) AS n FROM t GROUP BY price")
    watching.send("swap \(query)\n")
    try expect(watching, "load SQLiteDataSource: 1 element, ")
    try expect(watching, "swap SwappableContainer: ")
    try place.sql("a.db", "INSERT INTO t VALUES (3, 8)")
    try expect(watching, "reload SQLiteDataSource: 2 elements, ")
    watching.send("quit\n")
    #expect(try watching.waitForExit() == 0)
    for line in try watching.restOfOutput().split(separator: "\n") {
      #expect(line.hasPrefix(#"{"event":"change","#))
    }
  }

  /// Waits for a line of the trace.
  private func expect(_ watching: Livelist, _ start: String) throws {
    while try !watching.errorLine().hasPrefix("livelist: " + start) {}
  }
}
