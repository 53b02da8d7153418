import Foundation
import TestSupport
import TestTags
import Testing

@testable import livelist

/// The options that say how sources are read, and sources that are not there yet.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct SourceOptionsTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  // MARK: --wait

  @Test func `a file that appears is shown`() throws {
    let watching = try Livelist("watch", "--wait", "-k", "id", "json:\(place("a.json"))")
    try place.json("a.json", #"[{"id":1}]"#)
    #expect(try watching.line() == #"{"event":"initial","revision":0,"elements":[{"id":1}]}"#)
  }

  @Test func `a table that appears is shown`() throws {
    let watching = try Livelist("watch", "--wait", "\(place("a.db"))#t")
    try place.sql("b.db", "CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    try FileManager.default.moveItem(atPath: place("b.db"), toPath: place("a.db"))
    #expect(try watching.line().contains(#""elements":[{"id":1}]"#))
  }

  @Test func `a served list that appears is shown`() throws {
    let watching = try Livelist("watch", "--wait", "live:unix:\(place("s"))#a")
    let serving = try Livelist(
      "serve", "--listen", "unix:\(place("s"))", "a=\(place.json("a.json", "[7]"))")
    _ = try serving.errorLine()
    #expect(try watching.line().contains(#""elements":[7]"#))
  }

  @Test(arguments: [["watch", "--until-eof"], ["view", "--format", "json"], ["explain"]])
  func `the wait ends after its time`(command: [String]) throws {
    let result = try Livelist.run(command + ["--wait=50ms", "json:\(place("a.json"))"])
    #expect(result.status == 1)
    #expect(result.errors.contains("a.json"))
  }

  @Test func `a malformed file is no file to wait for`() throws {
    let source = try place.json("a.json", "[1,")
    #expect(try Livelist.run("watch", "--wait", source).status == 1)
    #expect(try Livelist.parse("watch", "--wait=soon", source).status == 2)
  }

  // MARK: --settle

  @Test func `a burst of saves is one change`() throws {
    let source = try place.json("a.json", "[0]")
    let watching = try Livelist("watch", "--settle", "300ms,1h", source)
    _ = try watching.line()
    for number in 1...20 { try place.json("a.json", "[0,\(number)]") }
    #expect(try watching.line().contains(#""inserts":[{"at":1,"element":20}]"#))
  }

  @Test func `a list that is never quiet is shown after the longest wait`() throws {
    let source = try place.json("a.json", "[0]")
    let watching = try Livelist("watch", "--settle", "1h,100ms", source)
    #expect(try watching.waitForExit() == 2)
    let other = try Livelist("watch", "--settle", "100ms,200ms", source)
    _ = try other.line()
    let saving = Worker {
      for number in 1...1_000 {
        _ = try? place.json("a.json", "[\(number)]")
        usleep(2_000)
      }
    }
    for _ in 1...2 {
      let line = try other.line()
      #expect(line.contains(#""event":"change""#), "\(line)")
    }
    try saving.join()
  }

  @Test(arguments: ["quit\n", ""])
  func `a change that is not settled is printed at the end`(input: String) throws {
    let source = try place.json("a.json", "[0]")
    let other = try place.json("b.json", "[0,1]")
    let result = try Livelist.run(
      "watch", "--until-eof", "--settle", "200ms", source, input: "swap \(other)\n\(input)")
    #expect(result.output.contains(#""inserts":[{"at":1,"element":1}]"#))
  }

  // MARK: --keep

  @Test func `the lines of a log stay when it rotates`() throws {
    try "1\n2\n3\n".write(toFile: place("a.jsonl"), atomically: true, encoding: .utf8)
    let watching = try Livelist("watch", "--keep", "2", place("a.jsonl"))
    #expect(try watching.line().contains(#""elements":[2,3]"#))
    try FileManager.default.moveItem(atPath: place("a.jsonl"), toPath: place("a.jsonl.1"))
    try "4\n".write(toFile: place("a.jsonl"), atomically: true, encoding: .utf8)
    #expect(
      try watching.line().contains(
        #""deletes":[{"at":0,"element":2}],"inserts":[{"at":1,"element":4}]"#))
    #expect(try Livelist.parse("watch", "--keep", "0", "a.jsonl").status == 2)
  }

  // MARK: Files that cannot be followed

  @Test func `an immutable database is read, and its status says so`() throws {
    try place.sql("a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    for source in ["\(place("a.db"))?immutable#t", "\(place("a.db"))?immutable?SELECT id FROM t"] {
      let result = try Livelist.run("view", "--format", "json", source)
      #expect(result.output == "[\n{\"id\":1}\n]\n")
      let watching = try Livelist("watch", source)
      #expect(try watching.line().contains(#""elements":[{"id":1}]"#))
      #expect(try watching.line().contains("is read as a file that nobody writes"))
    }
  }

  #if os(Linux)
    @Test(.enabled(if: geteuid() == 0))
    func `a file that is replaced outside of its mount is named`() throws {
      try place.json("a.json", "[1]")
      try place.json("m.json", "")
      let tool = try Program.find("livelist")
      let (inside, outside) = (place("m.json"), place("a.json"))
      let watching = try Livelist(
        ["-m", "sh", "-c", "mount --bind \(outside) \(inside) && exec \(tool) watch \(inside)"],
        program: "/usr/bin/unshare")
      #expect(try watching.line().contains(#""elements":[1]"#))
      try place.json("a.json", "[2]")
      let line = try watching.line()
      #expect(line.contains("was replaced outside of its mount"), "\(line)")
    }
  #endif
}
