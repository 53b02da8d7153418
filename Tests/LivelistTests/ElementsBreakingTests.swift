import Foundation
import TestSupport
import TestTags
import Testing

/// Elements and lines that are unusual.
@Suite(.tags(.system)) struct ElementsBreakingTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  @Test(arguments: ["a,a", "id,a,id"])
  func `a member that is named twice occurs once`(fields: String) throws {
    try place.json("a.jsonl", #"{"id":1,"a":2}"# + "\n")
    let result = try Livelist.run(
      "watch", "--until-eof", "--key", "id", "--fields", fields, place("a.jsonl"))
    #expect(result.output.contains(#""elements":[{"id":1,"a":2}]"#), "\(result.output)")
  }

  @Test func `a line that begins with zero bytes is skipped`() throws {
    let text = String(repeating: "\0", count: 10) + "1\n2\n"
    try place.json("a.jsonl", text)
    let result = try Livelist.run("watch", "--until-eof", place("a.jsonl"))
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.output.contains(#""elements":[2]"#))
  }
}
