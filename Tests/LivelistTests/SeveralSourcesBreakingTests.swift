import Foundation
import TestSupport
import TestTags
import Testing

/// Several sources as one list, some of which cannot be loaded at the start.
@Suite(.tags(.system)) struct SeveralSourcesBreakingTests {
  private let place: Workplace

  init() throws {
    place = try Workplace()
    try FileManager.default.createDirectory(
      atPath: place("conf.d"), withIntermediateDirectories: true)
    try place.json("conf.d/a.json", #"[{"id":1}]"#)
    try place.json("conf.d/b.json", "[")
    try place.json("base.json", #"[{"id":1},{"id":2}]"#)
  }

  @Test func `diff fails if a file of a pattern cannot be loaded`() throws {
    let result = try Livelist.run(
      "diff", "--exit-code", place("base.json"), place("conf.d/*.json"))
    #expect(result.status == 2)
    #expect(result.output == "")
    #expect(result.errors.contains("b.json"))
  }

  @Test func `merge fails if a file of a pattern cannot be loaded`() throws {
    let result = try Livelist.run(
      "merge", "--key", "id", place("base.json"), place("base.json"), place("conf.d/*.json"))
    #expect(result.status == 1)
    #expect(result.output == "")
    #expect(result.errors.contains("b.json"))
  }

  @Test func `watch fails if the second source cannot be loaded`() throws {
    let result = try Livelist.run(
      "watch", "--until-eof", place("base.json"), place("conf.d/b.json"))
    #expect(result.status == 1)
    #expect(result.output == "")
  }
}
