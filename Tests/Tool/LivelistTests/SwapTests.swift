import Foundation
import RemoteSources
import SwappablePrimitives
import TestTags
import Testing

@Suite(.tags(.system)) struct SwapTests {
  @Test func `equal contents of a file and a table are no event`() throws {
    let place = try Workplace()
    let file = try place.json(
      "a.json", #"[{"id":1,"name":"a","size":1.5},{"size":null,"id":2,"name":"\u0062"}]"#)
    try place.sql(
      "a.db", "CREATE TABLE t (id INTEGER PRIMARY KEY, name, size)",
      "INSERT INTO t VALUES (1, 'a', 1.5), (2, 'b', NULL)")
    let table = place.sqlite("a.db", "SELECT * FROM t ORDER BY id")
    let result = try Livelist.run(
      "watch", "--key", "id", file, input: "swap \(table)\nswap \(file)\nswap \(table)\nquit\n")
    #expect(result.output.split(separator: "\n").count == 1)
    #expect(result.errors.isEmpty)
    #expect(result.status == 0)
  }

  @Test func `the key applies to every source and numbers are not strings`() throws {
    let place = try Workplace()
    let file = try place.json("a.json", #"[{"n":"x","id":5}]"#)
    try place.sql(
      "a.db", "CREATE TABLE t (n, id)", "INSERT INTO t VALUES ('y', 5)",
      "CREATE TABLE s (n, id)", "INSERT INTO s VALUES ('y', '5')")
    let watching = try Livelist("watch", "--key", "id", file)
    _ = try watching.line()
    watching.send("swap \(place.sqlite("a.db", "SELECT * FROM t"))\n")
    let first = try watching.line()
    watching.send("swap \(place.sqlite("a.db", "SELECT * FROM s"))\nquit\n")
    let second = try watching.line()
    #expect(try watching.restOfOutput().isEmpty)
    #expect(
      first.hasSuffix(
        #""updates":[{"from":0,"at":0,"old":{"n":"x","id":5},"element":{"n":"y","id":5}}],"moves":[]}"#
      ))
    #expect(
      second.hasSuffix(
        #""deletes":[{"at":0,"element":{"n":"y","id":5}}],"#
          + #""inserts":[{"at":0,"element":{"n":"y","id":"5"}}],"updates":[],"moves":[]}"#))
  }

  @Test func `the default key is the first column of a query and the whole element of a file`()
    throws
  {
    let place = try Workplace()
    try place.sql(
      "a.db", "CREATE TABLE t (id, n)", "INSERT INTO t VALUES (1, 'x')",
      "CREATE TABLE s (id, n)", "INSERT INTO s VALUES (1, 'y')")
    let rows = try Livelist.run(
      "watch", "--until-eof", place.sqlite("a.db", "SELECT * FROM t"),
      input: "swap \(place.sqlite("a.db", "SELECT * FROM s"))\n")
    #expect(rows.output.contains(#""updates":[{"from":0"#))
    let old = try place.json("old.json", #"[{"id":1,"n":"x"}]"#)
    let new = try place.json("new.json", #"[{"id":1,"n":"y"}]"#)
    let elements = try Livelist.run("watch", "--until-eof", old, input: "swap \(new)\n")
    #expect(elements.output.contains(#""deletes":[{"at":0"#))
    #expect(elements.output.contains(#""updates":[]"#))
  }

  @Test func `a swap for which the writer waits is a change of its own`() throws {
    let place = try Workplace()
    for ending in ["quit\n", "quit", "  quit \r\n"] {
      let watching = try Livelist("watch", try place.json("1.json", "[1]"))
      _ = try watching.line()
      for revision in 1...10 {
        watching.send("swap \(try place.json("\(revision + 1).json", "[\(revision + 1)]"))\n")
        #expect(
          try watching.line()
            == "{\"event\":\"change\",\"since\":\(revision - 1),\"revision\":\(revision),"
            + "\"deletes\":[{\"at\":0,\"element\":\(revision)}],"
            + "\"inserts\":[{\"at\":0,\"element\":\(revision + 1)}],\"updates\":[],\"moves\":[]}")
      }
      watching.send(ending)
      watching.endInput()
      if ending == "quit" { _ = try watching.restOfOutput() }
      #expect(try watching.waitForExit() == 0)
      #expect(try watching.restOfErrors().isEmpty)
    }
  }

  @Test func `a swap replaces one that is still loading`() throws {
    let place = try Workplace()
    let silent = try SilentServer(path: place("silent.sock"))
    let watching = try Livelist("watch", try place.json("a.json", "[1]"))
    _ = try watching.line()
    watching.send("swap live:unix:\(place("silent.sock"))#list\n")
    watching.send("swap \(try place.json("b.json", "[2]"))\n")
    #expect(try watching.line().contains(#""inserts":[{"at":0,"element":2}]"#))
    watching.send("cancel\n")
    #expect(try watching.errorLine().contains("no swap is loading"))
    watching.send("swap live:unix:\(place("silent.sock"))#list\ncancel\n")
    #expect(try watching.errorLine().contains("the swap was canceled"))
    try place.json("b.json", "[2,3]")
    #expect(try watching.line().contains(#""inserts":[{"at":1,"element":3}]"#))
    watching.send("quit\n")
    #expect(try watching.waitForExit() == 0)
    withExtendedLifetime(silent) {}
  }

  @Test func `a second quit does not wait for a swap`() throws {
    let place = try Workplace()
    let silent = try SilentServer(path: place("silent.sock"))
    let watching = try Livelist("watch", try place.json("a.json", "[1]"))
    _ = try watching.line()
    watching.send("swap live:unix:\(place("silent.sock"))#list\nquit\n")
    // The first one waits, and the source is live until then.
    try place.json("a.json", "[1,2]")
    #expect(try watching.line().contains(#""inserts":[{"at":1,"element":2}]"#))
    watching.send("quit\n")
    #expect(try watching.restOfOutput().isEmpty)
    #expect(try watching.waitForExit() == 0)
    withExtendedLifetime(silent) {}
  }

  @Test func `a second quit does not wait for the first load`() throws {
    let place = try Workplace()
    let silent = try SilentServer(path: place("silent.sock"))
    let result = try Livelist.run(
      "watch", "live:unix:\(place("silent.sock"))#list", input: "quit\nquit\n")
    #expect(result.output + result.errors == "")
    #expect(result.status == 0)
    withExtendedLifetime(silent) {}
  }

  @Test func `cancel ends the first load`() throws {
    let place = try Workplace()
    let silent = try SilentServer(path: place("silent.sock"))
    let source = "live:unix:\(place("silent.sock"))#list"
    let result = try Livelist.run("watch", source, input: "cancel\n")
    #expect(result.output == "")
    #expect(result.errors == "livelist: cannot load \(source): the load was canceled\n")
    #expect(result.status == 1)
    withExtendedLifetime(silent) {}
  }

  @Test func `a swap that waits for the first load replaces it after cancel`() throws {
    let place = try Workplace()
    try place.sql("a.db", "CREATE TABLE t (a)")
    let endless = place.sqlite(
      "a.db",
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c")
    let result = try Livelist.run(
      "watch", endless,
      input: "swap json:none\nswap \(try place.json("b.json", "[2]"))\nhello\ncancel\nquit\n")
    #expect(result.output == "{\"event\":\"initial\",\"revision\":0,\"elements\":[2]}\n")
    #expect(result.errors.contains("unknown command \"hello\""))
    #expect(result.status == 0)
  }

  @Test(arguments: ["watch", "view", "diff", "explain"])
  func `a timeout ends a query without an end`(command: String) throws {
    let place = try Workplace()
    try place.sql("a.db", "CREATE TABLE t (a)")
    let endless = place.sqlite(
      "a.db",
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c")
    let sources = command == "diff" ? [endless, try place.json("b.json", "[]")] : [endless]
    let result = try Livelist.run([command, "--timeout", "0.05"] + sources)
    #expect(result.output == "")
    #expect(result.errors.contains("the query took longer than 0.05 seconds"), "\(result.errors)")
    #expect(result.status != 0)
  }

  @Test func `a timeout also ends a query of a swap`() throws {
    let place = try Workplace()
    try place.sql("a.db", "CREATE TABLE t (a)")
    let endless = place.sqlite(
      "a.db", "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"
    )
    let watching = try Livelist("watch", "--timeout=0.05", try place.json("b.json", "[2]"))
    _ = try watching.line()
    watching.send("swap \(endless)\n")
    #expect(try watching.errorLine().contains("the query took longer than 0.05 seconds"))
    try place.json("b.json", "[2,3]")
    #expect(try watching.line().contains(#""inserts":[{"at":1,"element":3}]"#))
    watching.send("quit\n")
    #expect(try watching.waitForExit() == 0)
  }

  @Test func `a failed swap or an unknown command is one line and the program continues`() throws {
    let place = try Workplace()
    let file = try place.json("a.json", "[1]")
    let broken = try place.json("broken.json", "[1")
    try place.sql("a.db", "CREATE TABLE t (a)")
    let watching = try Livelist("watch", file)
    _ = try watching.line()
    for (command, hint) in [
      ("frob it", "unknown command \"frob …\""), ("swap", "has no source"),
      ("quit now", "unknown command"), ("swpa json:a", "did you mean swap?"),
      ("swap http:x", "json:PATH"), ("swap json:a\0b", "NUL"),
      ("swap json:\(place("none"))", place("none")),
      ("swap \(broken)", "broken.json"), ("swap json:\(place.path)", "directory"),
      ("swap \(place.sqlite("none.db", "SELECT 1"))", "none.db"),
      ("swap \(place.sqlite("a.db", "SELECT * FROM nope"))", "nope"),
      ("swap \(place.sqlite("a.db", "DROP TABLE t"))", "writes"),
    ] {
      watching.send("\n\(command)\n")
      #expect(try watching.errorLine().contains(hint))
    }
    // The old source is still live.
    try place.json("a.json", "[1,2]")
    #expect(try watching.line().contains(#""inserts":[{"at":1,"element":2}]"#))
    watching.send("quit\n")
    #expect(try watching.restOfErrors().isEmpty)
    #expect(try watching.restOfOutput().isEmpty)
    #expect(try watching.waitForExit() == 0)
  }

  @Test func `only a source that is shown promises to read a missing file`() throws {
    let place = try Workplace()
    let watching = try Livelist("watch", try place.json("a.json", "[1]"))
    _ = try watching.line()
    watching.send("swap json:\(place("none"))\n")
    let failure = try watching.errorLine()
    #expect(failure.contains("; check the path, or create the file"))
    #expect(!failure.contains("as soon as it appears"))
    try FileManager.default.removeItem(atPath: place("a.json"))
    #expect(try watching.line().contains("create the file; it is read as soon as it appears"))
    watching.send("quit\n")
    #expect(try watching.waitForExit() == 1)
  }

  @Test func `a source that was swapped out is not observed`() throws {
    let place = try Workplace()
    let left = try place.json("a.json", "[1]")
    let shown = try place.json("b.json", "[2]")
    let watching = try Livelist("watch", left)
    _ = try watching.line()
    watching.send("swap \(shown)\n")
    _ = try watching.line()
    try place.json("a.json", "[1,7]")
    try place.json("b.json", "[2,3]")
    #expect(try watching.line().contains(#""inserts":[{"at":1,"element":3}]"#))
    watching.send("quit\n")
    #expect(try watching.restOfOutput().isEmpty)
  }

  @Test func `a slow reader receives a chain of changes that leads to the end`() throws {
    let place = try Workplace()
    let strings = (0..<2_000).map { "\"\($0)" + String(repeating: "x", count: 500) + "\"" }
    let text = { (count: Int) in "[" + strings.prefix(count).joined(separator: ",") + "]" }
    let watching = try Livelist("watch", try place.json("a.json", text(2_000)))
    // The initial event fills the pipe. All later changes are pending until the test reads it.
    try watching.waitForOutput()
    for count in stride(from: 1_900, through: 100, by: -100) {
      try place.json("a.json", text(count))
    }
    try place.json("a.json", #"["the end"]"#)
    var output = ""
    repeat {
      output += try watching.line() + "\n"
    } while !output.hasSuffix(
      #"{"at":0,"element":"the end"}],"updates":[],"moves":[]}"# + "\n")
    #expect(output.split(separator: "\n").count <= 21)
    #expect(try Livelist.run("apply", input: output).output == "[\n\"the end\"\n]\n")
  }
}

/// A server that accepts connections and never answers.
private struct SilentServer {
  private let listener: UnixSocket.Listener

  init(path: String) throws { listener = try UnixSocket.makeListener(at: ByteString(path)) }
}
