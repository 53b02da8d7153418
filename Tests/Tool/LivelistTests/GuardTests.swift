import Foundation
import TestTags
import Testing

/// The option `--guard` of `watch`.
@Suite(.tags(.system)) struct GuardTests {
  private let place: Workplace
  private let file: String
  private let watching: Livelist

  init() throws {
    place = try Workplace()
    file = try place.json("a.json", "[1,2,3,4]")
    watching = try Livelist("watch", "--guard", "deletions=25%,count=1", file)
    #expect(try watching.line() == #"{"event":"initial","revision":0,"elements":[1,2,3,4]}"#)
  }

  private static let held =
    #"{"event":"status","state":"held","message":"4 of 4 elements would be deleted; the limit is "#
    + #"25 percent","deletes":4,"inserts":0,"updates":0,"moves":0}"#

  private func quit() throws {
    watching.send("quit\n")
    #expect(try watching.waitForExit() == 0)
    #expect(try watching.restOfOutput() == "")
  }

  @Test func `an emptied file is held until it is accepted`() throws {
    try place.json("a.json", "[]")
    #expect(try watching.line() == Self.held)
    watching.send("accept\n")
    let change = try watching.line()
    #expect(change.hasPrefix(#"{"event":"change","since":0,"revision":1,"deletes":[{"at":0,"#))
    #expect(try watching.line() == #"{"event":"status","state":"loaded"}"#)
    try quit()
  }

  @Test func `an emptied file that is restored changes nothing`() throws {
    try place.json("a.json", "[]")
    #expect(try watching.line() == Self.held)
    try place.json("a.json", "[1,2,3,4]")
    #expect(try watching.line() == #"{"event":"status","state":"loaded"}"#)
    try place.json("a.json", "[1,2,3,4,5]")
    #expect(try watching.line().hasPrefix(#"{"event":"change","since":0,"revision":1,"#))
    try quit()
  }

  @Test func `a truncated file fails, and its end is judged as a whole`() throws {
    try place.json("a.json", "[1,2,")
    #expect(try watching.line().hasPrefix(#"{"event":"status","state":"failed""#))
    try place.json("a.json", "[]")
    #expect(try watching.line() == Self.held)
    try place.json("a.json", "[1,2,3]")
    #expect(try watching.line().contains(#""deletes":[{"at":3,"element":4}]"#))
    #expect(try watching.line() == #"{"event":"status","state":"loaded"}"#)
    try quit()
  }

  @Test func `rows that are deleted and a source that is swapped are held, too`() throws {
    try place.sql("a.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES (11), (12), (13)")
    watching.send("swap \(place.sqlite("a.db", "SELECT a FROM t"))\n")
    let refused = try watching.line()
    #expect(refused.hasPrefix(#"{"event":"status","state":"held","message":"4 of 4 elements"#))
    #expect(refused.hasSuffix(#""deletes":4,"inserts":3,"updates":0,"moves":0}"#))
    watching.send("accept\n")
    #expect(try watching.line().hasPrefix(#"{"event":"change","since":0,"revision":1,"#))
    #expect(try watching.line() == #"{"event":"status","state":"loaded"}"#)
    try place.sql("a.db", "DELETE FROM t WHERE a < 13")
    #expect(try watching.line().hasSuffix(#""deletes":2,"inserts":0,"updates":0,"moves":0}"#))
    try place.sql("a.db", "INSERT INTO t VALUES (11), (12)")
    // The rows come back in another order.
    let restored = try watching.line()
    #expect(restored.hasPrefix(#"{"event":"change","since":1,"revision":2,"deletes":[],"#))
    #expect(try watching.line() == #"{"event":"status","state":"loaded"}"#)
    try quit()
  }

  @Test func `while a swap is held, the old source stays live`() throws {
    watching.send("swap \(try place.json("b.json", "[9]"))\n")
    #expect(try watching.line().hasSuffix(#""deletes":4,"inserts":1,"updates":0,"moves":0}"#))
    try place.json("a.json", "[1,2,3,4,5]")
    #expect(
      try watching.line().hasPrefix(#"{"event":"change","since":0,"revision":1,"deletes":[],"#))
    // The difference from the new contents is another one.
    #expect(try watching.line().hasSuffix(#""deletes":5,"inserts":1,"updates":0,"moves":0}"#))
    watching.send("reject\n")
    #expect(try watching.line() == #"{"event":"status","state":"loaded"}"#)
    try place.json("b.json", "[1,2,3,4,5,9]")
    try place.json("a.json", "[1,2,3,4,5,6]")
    #expect(try watching.line().contains(#""inserts":[{"at":5,"element":6}]"#))
    try quit()
  }

  @Test func `a rejected change is forgotten until the file changes again`() throws {
    try place.json("a.json", "[]")
    #expect(try watching.line() == Self.held)
    watching.send("reject\n")
    #expect(try watching.line() == #"{"event":"status","state":"loaded"}"#)
    watching.send("accept\n")
    #expect(try watching.errorLine() == "livelist: no change is held")
    try place.json("a.json", "[9]")
    #expect(try watching.line().hasSuffix(#""deletes":4,"inserts":1,"updates":0,"moves":0}"#))
    try quit()
  }

  @Test func `without a guard there is nothing to accept`() throws {
    let result = try Livelist.run("watch", "--until-eof", file, input: "accept\nreject\n")
    let reason = "no change is held, because there is no guard; start with --guard LIMITS"
    #expect(result.errors == "livelist: \(reason)\nlivelist: \(reason)\n")
    #expect(result.status == 0)
  }
}
