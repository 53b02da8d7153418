import DataSourceTesting
import Foundation
import RemoteSources
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import livelist

@Suite(.tags(.system), .timeLimit(.minutes(10))) struct ServeTests {
  /// A running server whose lists are files in a temporary directory.
  struct Served {
    let place: Workplace
    let process: Livelist
    var socket: String { place("s") }

    /// - Parameter lists: The names and contents of the lists.
    init(_ lists: [(String, String)], in place: Workplace) throws {
      self.place = place
      let operands = try lists.map { "\($0)=\(try place.json("\($0).json", $1))" }
      process = try Livelist(
        ["serve", "--key", "id", "--listen", "unix:\(place("s"))"] + operands)
      let line = try process.errorLine()
      #expect(line.hasPrefix("livelist: serving "), "\(line)")
    }

    func source(_ name: String) -> String { "live:unix:\(socket)#\(name)" }
  }

  static let one = #"{"id":1,"n":0}"#
  static let two = #"{"id":2,"n":0}"#

  @Test func `watch shows the changes and swaps of a served list`() throws {
    let place = try Workplace()
    let served = try Served([("a", "[\(Self.one)]"), ("b", "[]")], in: place)
    let watching = try Livelist("watch", served.source("a"))
    #expect(
      try watching.line() == #"{"event":"initial","revision":0,"elements":[\#(Self.one)]}"#)
    try place.json("a.json", #"[{"id":1,"n":5},\#(Self.two)]"#)
    #expect(
      try watching.line()
        == #"{"event":"change","since":0,"revision":1,"deletes":[],"#
        + #""inserts":[{"at":1,"element":\#(Self.two)}],"updates":[{"from":0,"at":0,"#
        + #""old":\#(Self.one),"element":{"id":1,"n":5}}],"moves":[]}"#)
    served.process.send("swap a \(try place.json("c.json", "[\(Self.two)]"))\n")
    #expect(
      try watching.line()
        == #"{"event":"change","since":1,"revision":2,"deletes":[{"at":0,"element":{"id":1,"n":5}}],"#
        + #""inserts":[],"updates":[],"moves":[]}"#)
    served.process.send("quit\n")
    #expect(try served.process.waitForExit() == 0)
    #expect(
      try watching.line().hasPrefix(#"{"event":"status","state":"failed","message":"live:unix:"#))
    #expect(!FileManager.default.fileExists(atPath: served.socket))
  }

  @Test func `lists have keys of their own`() throws {
    let place = try Workplace()
    let a = try place.json("a.json", #"[{"id":1,"n":0}]"#)
    let b = try place.json("b.json", #"[{"x:y":2,"n":0}]"#)
    let c = try place.json("c.json", #"[{"n":3}]"#)
    let process = try Livelist(
      "serve", "--key", "a:id", "-k", "n", "--key=b:x:y", "--listen", "unix:\(place("s"))",
      "a=\(a)", "b=\(b)", "c=\(c)")
    #expect(try process.errorLine().hasPrefix("livelist: serving a, b, c "))
    for (name, element) in [("a", #"{"id":1,"n":5}"#), ("b", #"{"x:y":2,"n":5}"#)] {
      let watching = try Livelist("watch", "live:unix:\(place("s"))#\(name)")
      _ = try watching.line()
      try place.json("\(name).json", "[\(element)]")
      #expect(try watching.line().contains(#""updates":[{"from":0,"at":0,"#))
    }
    // The key of a list holds for each source that it is swapped to.
    process.send("swap a \(c)\n")
    #expect(try process.errorLine().contains("has no member \"id\""))
    process.send("swap c \(a)\nquit\n")
    #expect(try process.waitForExit() == 0)
  }

  @Test(arguments: [
    (["-k", "id", "-k", "n"], "use --key NAME:FIELD, where NAME is a"),
    (["-k", "a:id", "-k", "a:n"], "--key occurs twice for the list a"),
  ])
  func `a list has one key`(keys: [String], hint: String) throws {
    let result = try Livelist.parse(
      ["serve"] + keys + ["--listen", "unix:/tmp/none", "a=json:none.json"])
    #expect(result.status == 2)
    #expect(result.errors.contains(hint), "\(result.errors)")
  }

  @Test func `diff, apply and view read a served list, too`() throws {
    let place = try Workplace()
    let served = try Served([("a", "[\(Self.one)]")], in: place)
    let other = try place.json("other.json", "[\(Self.one),\(Self.two)]")
    let diff = try Livelist.run("diff", "--key", "id", served.source("a"), other)
    #expect(diff.output.contains(#""inserts":[{"at":1,"element":\#(Self.two)}]"#))
    let applied = try Livelist.run("apply", served.source("a"))
    #expect(applied.output == "[\n\(Self.one)\n]\n")
    let view = try Livelist.run("view", served.source("a"))
    #expect(view.output.contains("1"))
    #expect(view.status == 0)
  }

  @Test func `a reader of a list whose source has failed receives its contents, and the status`()
    throws
  {
    let place = try Workplace()
    let contents = #"{"id":1,"n":0}"#
    let other = try place.json("other.json", "[\(contents)]")
    for state in ["failed", "missing"] {
      let served = try Served([(state, "[\(contents)]")], in: place)
      let source = served.source(state)
      let watching = try Livelist("watch", source)
      _ = try watching.line()
      if state == "failed" {
        try place.json("failed.json", "[{")
      } else {
        try FileManager.default.removeItem(atPath: place("missing.json"))
      }
      let status = try watching.line()
      #expect(status.hasPrefix(#"{"event":"status","state":"\#(state)","message":"#))
      for _ in 0..<8 {
        let watch = try Livelist.run("watch", "--until-eof", source)
        #expect(watch.status == 1 && watch.errors.contains("\(state).json"), "\(watch.errors)")
        #expect(
          watch.output
            == #"{"event":"initial","revision":0,"elements":[\#(contents)]}"# + "\n\(status)\n")
        let view = try Livelist.run("view", "--format", "json", source)
        #expect(view.status == 1 && view.output == "[\n\(contents)\n]\n")
        let diff = try Livelist.run("diff", "--key", "id", "--exit-code", source, other)
        #expect(diff.status == 2 && diff.output == "")
        let applied = try Livelist.run("apply", source)
        #expect(applied.status == 1 && applied.output == "[\n\(contents)\n]\n")
        let merged = try Livelist.run("merge", "--key", "id", other, source, other)
        #expect(merged.status == 1 && merged.output == "[\n\(contents)\n]\n")
        let table = try Livelist.run("view", source)
        let changed = try Livelist.run("diff", "-q", source, source)
        let plain = try Livelist.run("diff", source, other)
        #expect((table.status, changed.status, plain.status) == (1, 2, 1))
        for result in [view, diff, applied, merged, table, changed, plain] {
          #expect(
            result.errors.hasPrefix(
              "livelist: the source has failed, and its last contents are used: "))
          #expect(result.errors.contains("\(state).json"), "\(result.errors)")
        }
        let explanation = try Livelist.run("explain", source)
        #expect(explanation.status == 1)
        #expect(explanation.output.contains("1 element, \(state)"), "\(explanation.output)")
      }
      // Another server reads the list, and the reader of another list swaps to it.
      let next = try Livelist(
        "serve", "--listen", "unix:\(place("t"))", "a=\(source)", "b=\(other)")
      #expect(try next.errorLine().hasPrefix("livelist: serving a, b "))
      let reader = try Livelist.run("watch", "--until-eof", "live:unix:\(place("t"))#a")
      #expect(reader.output.contains(contents) && reader.output.contains(status), "\(state)")
      let swap = try Livelist.run(
        "watch", "--until-eof", "--key", "id", other, input: "swap \(source)\n")
      #expect(swap.output.contains(status) && swap.status == 1)
      next.send("swap b \(source)\nquit\n")
      #expect(try next.waitForExit() == 0)
      #expect(try next.restOfErrors() == "")
      try served.process.killAndWait()
    }
  }

  @Test func `an empty list whose source has failed is read, too`() throws {
    let place = try Workplace()
    let served = try Served([("a", "[]")], in: place)
    let watching = try Livelist("watch", served.source("a"))
    _ = try watching.line()
    try place.json("a.json", "[{")
    let status = try watching.line()
    for _ in 0..<8 {
      let watch = try Livelist.run("watch", "--until-eof", served.source("a"))
      #expect(
        watch.output
          == #"{"event":"initial","revision":0,"elements":[]}"# + "\n\(status)\n")
      let view = try Livelist.run("view", "--format", "json", served.source("a"))
      #expect(view.status == 1 && view.output == "[\n]\n")
    }
  }

  @Test func `a part of several sources may have failed, but must have loaded`()
    throws
  {
    let place = try Workplace()
    let served = try Served([("a", "[\(Self.one)]")], in: place)
    let other = try place.json("b.json", "[\(Self.two)]")
    let watching = try Livelist("watch", served.source("a"))
    _ = try watching.line()
    try place.json("a.json", "[")
    _ = try watching.line()
    for sources in [[served.source("a"), other], [other, served.source("a")]] {
      let watch = try Livelist.run(["watch", "--until-eof"] + sources)
      #expect(watch.status == 1)
      #expect(watch.output.contains(Self.one) && watch.output.contains(Self.two))
      #expect(watch.output.contains(#""state":"failed""#))
      let more = try sources + [place.json("c.json", "[")]
      let broken = try Livelist.run(["watch", "--until-eof"] + more)
      #expect(broken.status == 1 && broken.output == "")
      #expect(broken.errors.contains("c.json"))
    }
  }

  @Test func `a reader that comes back receives a change if the window has its revision`() throws {
    let place = try Workplace()
    func element(_ n: Int) -> String {
      #"{"id":1,"n":\#(n),"text":"\#(String(repeating: "x", count: 400_000))"}"#
    }
    let file = try place.json("a.json", "[\(element(0))]")
    let process = try Livelist(
      "serve", "--key", "id", "--window", "1MB", "--listen", "unix:\(place("s"))", "a=\(file)")
    _ = try process.errorLine()
    let reader = try RawClient(place("s"))
    try reader.send("{\"list\":\"a\"}\n")
    var tokens: [String] = []
    for n in 0..<6 {
      if n > 0 { try place.json("a.json", "[\(element(n))]") }
      let line = try reader.line()
      #expect(line.contains(#""n":\#(n),"#))
      tokens.append(try #require(line.firstMatch(of: /"token":"([^"]+)"/)).1.description)
    }
    for (n, token) in tokens.enumerated() {
      let returning = try RawClient(place("s"))
      try returning.send(#"{"list":"a","since":"\#(token)"}"# + "\n")
      let event = n < 3 ? "initial" : "alive"
      #expect(try returning.line().hasPrefix(#"{"event":"\#(event)","#), "revision \(n)")
    }
  }

  @Test(arguments: [
    ([], 16 << 20), (["--window", "0"], 0), (["--window=4000"], 1_000),
    (["--window", "512kb"], 128 << 10), (["--window", "1G"], 256 << 20),
    (["--window", "8MB"], 2 << 20),
  ])
  func `each list has an equal part of the window`(option: [String], bytes: Int) throws {
    let words =
      option + ["--listen", "unix:s", "a=json:a", "b=json:b", "c=json:c", "d=json:d"]
    let serve = try Serve(Arguments(words.map { ByteString($0) }[...], of: .serve))
    #expect(serve.windowBytes == bytes)
  }

  @Test(arguments: ["", "-1", "MB", "1TB", "1.5MB", "1 MB", "99999999999GB", "٣MB"])
  func `a window that is not valid is explained`(size: String) throws {
    let result = try Livelist.parse(
      "serve", "--window=\(size)", "--listen", "unix:/tmp/none", "a=json:none.json")
    #expect(result.status == 2)
    #expect(result.errors.contains(#"--window cannot be "\#(size)"; use a size such as"#))
  }

  @Test func `the first column of a query identifies rows, also after a swap`() throws {
    let place = try Workplace()
    try place.sql(
      "a.db", "CREATE TABLE t (id, n)", "INSERT INTO t VALUES (1, 0), (2, 0)",
      "CREATE TABLE u (n, id)", "INSERT INTO u VALUES (5, 2)", "CREATE TABLE v (x)",
      "INSERT INTO v VALUES (1)")
    let serving = try Livelist(
      "serve", "--listen", "unix:\(place("s"))", "t=" + place.sqlite("a.db", "SELECT * FROM t"))
    _ = try serving.errorLine()
    let watching = try Livelist("watch", "live:unix:\(place("s"))#t")
    _ = try watching.line()
    serving.send("swap t \(place.sqlite("a.db", "SELECT * FROM v"))\n")
    #expect(try serving.errorLine().contains(#"the key column "id" is missing"#))
    serving.send("swap t \(place.sqlite("a.db", "SELECT * FROM u"))\n")
    #expect(
      try watching.line()
        == #"{"event":"change","since":0,"revision":1,"deletes":[{"at":0,"element":{"id":1,"n":0}}],"#
        + #""inserts":[],"updates":[{"from":1,"at":0,"old":{"id":2,"n":0},"#
        + #""element":{"n":5,"id":2}}],"moves":[]}"#)
  }

  @Test func `a failed swap and an unknown list are reported, and the server goes on`() throws {
    let place = try Workplace()
    let served = try Served([("a", "[\(Self.one)]")], in: place)
    for (command, message) in [
      ("swap b json:x", #"there is no list "b"; the lists are a"#),
      ("swap a json:\(place("none"))", "cannot swap to json:\(place("none"))"),
      ("swap a", "swap needs a name and a source"), ("hello", "unknown command"),
      ("swap a lines:-", "only livelist view supports the source lines:-"),
    ] {
      served.process.send(command + "\n")
      #expect(try served.process.errorLine().contains(message))
    }
    let watching = try Livelist("watch", served.source("a"))
    #expect(try watching.line().contains(Self.one))
    let unknown = try Livelist.run("watch", served.source("z"))
    #expect(unknown.status == 1)
    #expect(unknown.errors.contains(#"there is no list "z"; the lists are a"#))
  }

  @Test(arguments: [SIGTERM, SIGINT])
  func `a signal ends the server and removes its socket`(signal: Int32) throws {
    let place = try Workplace()
    let served = try Served([("a", "[]")], in: place)
    served.process.signalProcess(signal)
    #expect(try served.process.waitForExit() == 0)
    #expect(!FileManager.default.fileExists(atPath: served.socket))
  }

  @Test func `a signal ends the server although a source does not load`() throws {
    let place = try Workplace()
    // This server accepts a connection and sends nothing.
    let silent = try UnixSocket.makeListener(at: ByteString(place("silent")))
    defer { silent.remove() }
    let serving = try Livelist(
      "serve", "--listen", "unix:\(place("s"))", "a=live:unix:\(place("silent"))#a")
    var request = pollfd(fd: silent.descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&request, 1, 60_000) == 1)
    serving.signalProcess(SIGTERM)
    #expect(try serving.waitForExit() == 0)
  }

  /// In a user namespace without a map, the system shows all users of other namespaces as one.
  @Test(.enabled(if: Self.canMakeNamespaces, "the system allows no user namespaces"))
  func `a user whom a namespace does not know is refused, and both sides say so`() throws {
    let place = try Workplace()
    let tool = try Program.find("livelist")
    let serving = try Livelist(
      [
        "--user", tool, "serve", "--key", "id", "--listen", "unix:\(place("s"))",
        "a=\(try place.json("a.json", "[]"))",
      ], program: "/usr/bin/unshare")
    #expect(try serving.errorLine().hasPrefix("livelist: serving "))
    let watched = "live:unix:\(place("s"))#a"
    let unknown = "the number of every user whom this user namespace does not know,"
    // The client knows the user of the server, but not the other way around.
    let known = try Livelist.run("watch", watched)
    #expect(
      known.errors.contains("the server reports: the client runs as user 65534, \(unknown)"),
      "\(known.errors)")
    let watching = try Livelist(["--user", tool, "watch", watched], program: "/usr/bin/unshare")
    let line = try watching.errorLine()
    #expect(line.contains("cannot connect: the server runs as user 65534, \(unknown)"), "\(line)")
    #expect(line.contains("unshare --map-current-user"), "\(line)")
  }

  private static let canMakeNamespaces: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
    process.arguments = ["--user", "true"]
    guard geteuid() == 0, (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  @Test(arguments: [
    (["serve", "a=json:x"], "serve needs --listen unix:PATH"),
    (["serve", "--listen", "unix:s"], "serve needs at least one NAME=SOURCE"),
    (["serve", "--listen", "s", "a=json:x"], "--listen cannot be \"s\""),
    (["serve", "--listen", "unix:s", "json:x"], "is not NAME=SOURCE"),
    (["serve", "--listen", "unix:s", "a=json:x", "a=json:y"], "occurs twice"),
    (["serve", "--listen", "unix:s", "--listen", "unix:t", "a=json:x"], "--listen occurs twice"),
    (["serve", "--listen", "unix:s", "a=nothing"], "is no file and no source"),
    (["serve", "--listen", "unix:s", "a#b=json:x"], "contains white space or a \"#\""),
    (["watch", "live:unix:s"], "has no socket or no name"),
    (["watch", "live:tcp:x#y"], "has no socket or no name"),
    (["watch", "live:unix:#y"], "has no socket or no name"),
    (["watch", "live:/run/s#y"], "has no socket or no name; use live:unix:PATH#NAME"),
    (["watch", "live://h/y"], "has no socket or no name"),
    (["watch", "lines:/x"], "unknown source \"lines:/x\"; use lines:- for"),
  ])
  func `a command line that is not valid is explained`(
    arguments: [String], message: String
  ) throws {
    let result = try Livelist.parse(arguments)
    #expect(result.status == 2)
    #expect(result.errors.contains(message))
  }

  @Test func `a source that cannot be loaded ends the server at the start`() throws {
    let place = try Workplace()
    let result = try Livelist.run(
      "serve", "--listen", "unix:\(place("s"))", "a=json:\(place("missing"))")
    #expect(result.status == 1)
    #expect(result.errors.contains("cannot serve a=json:"))
    #expect(!FileManager.default.fileExists(atPath: place("s")))
  }

  @Test func `a key that no element of a served list has is a mistake of the reader`() throws {
    let place = try Workplace()
    let served = try Served([("a", "[\(Self.one)]")], in: place)
    let result = try Livelist.run("watch", "-k", "nope", "--until-eof", served.source("a"))
    #expect(result.status == 1)
    #expect(
      result.errors.contains(
        "the key of this source does not fit the list: the element has no member \"nope\""))
    #expect(!result.errors.contains("the server sent"))
    #expect(!result.errors.contains("start the server"))
  }

  @Test func `a socket in use is not taken over`() throws {
    let place = try Workplace()
    let served = try Served([("a", "[]")], in: place)
    let result = try Livelist.run(
      "serve", "--listen", "unix:\(served.socket)", try "b=" + place.json("b.json", "[]"))
    #expect(result.status == 1)
    #expect(result.errors.contains("another process listens there"))
  }

  @Test func `a server and its readers are killed at random moments, and nothing is lost`() throws {

    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let place = try Workplace()
    var text = "[\(Self.one)]"
    var served = try Served([("a", text)], in: place)
    let watching = try Livelist("watch", "--key", "id", served.source("a"))
    var folded = try Folded(watching.line())
    for round in 0..<(TestRun.isLong ? 200 : 8) {
      let isEdited = random.oneIn(2)
      if isEdited {
        text = #"[{"id":1,"n":\#(round)},{"id":\#(round + 10),"n":0}]"#
        try place.json("a.json", text)
      }
      // Another reader dies, too, in the middle of its first load.
      let doomed = try Livelist("watch", served.source("a"))
      if random.oneIn(2) { _ = try doomed.line() }
      doomed.signalProcess(SIGKILL)
      try served.process.killAndWait()
      if !isEdited, random.oneIn(2) {
        text = #"[{"id":1,"n":\#(round + 1000)}]"#
      }
      served = try Served([("a", text)], in: place)
      // The reader goes on, with or without a status in between.
      try folded.read(from: watching, until: text)
    }
  }

  /// The contents that the lines of `watch` lead to.
  struct Folded {
    var lines: [String]

    init(_ initial: String) {
      lines = [initial]
    }

    /// Reads lines until the contents are those of a text and the reader is connected.
    mutating func read(from watching: Livelist, until text: String) throws {
      while true {
        let contents = try Livelist.run("apply", input: lines.joined(separator: "\n") + "\n").output
        let isConnected =
          lines.last { $0.contains(#""event":"status""#) }?.contains("loaded") ?? true
        if contents.filter({ !$0.isWhitespace }) == text, isConnected { return }
        let line = try watching.line()
        lines.append(line)
      }
    }
  }
}
