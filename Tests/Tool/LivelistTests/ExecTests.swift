import Foundation
import TestSupport
import TestTags
import Testing

/// The option `--exec` of `watch`.
@Suite(.tags(.system)) struct ExecTests {
  private let place: Workplace
  private let file: String

  init() throws {
    place = try Workplace()
    try place.json("log.jsonl", "")
    file = place("log.jsonl")
  }

  private func append(_ text: String) throws {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
    try file.seekToEnd()
    try file.write(contentsOf: Data(text.utf8))
    try file.close()
  }

  private func watch(_ command: String, _ options: String...) throws -> Livelist {
    // The initial contents tell that the watch has begun.
    let watching = try Livelist(
      ["watch", file, "--exec-initial", "--exec"]
        + ["if [ $LIVELIST_EVENT = initial ]; then echo began; exit; fi; " + command] + options)
    #expect(try watching.line() == "began")
    return watching
  }

  private func watch(source: String, running command: String) throws -> Livelist {
    try Livelist("watch", source, "--exec-initial", "--exec", command)
  }

  @Test func `a command receives the change and its numbers`() throws {
    let watching = try watch(
      "cat; echo $LIVELIST_EVENT $LIVELIST_INSERTED $LIVELIST_DELETED $LIVELIST_UPDATED "
        + "$LIVELIST_MOVED $LIVELIST_COUNT $LIVELIST_REVISION")
    try append("1\n2\n")
    let inserts = #""inserts":[{"at":0,"element":1},{"at":1,"element":2}]"#
    #expect(
      try watching.line()
        == #"{"event":"change","since":0,"revision":1,"deletes":[],"# + inserts
        + #","updates":[],"moves":[]}"#)
    #expect(try watching.line() == "change 2 0 0 0 2 1")
    watching.send("quit\n")
    #expect(try watching.restOfOutput() == "")
    #expect(try watching.waitForExit() == 0)
  }

  @Test func `the initial contents run a command only if they shall`() throws {
    let result = try Livelist.run(
      "watch", "--until-eof", "--exec", "echo run", file,
      input: "swap \(try place.json("b", "[]"))\n")
    #expect(result.output == "")
    #expect(result.status == 0)
  }

  @Test func `the input is what would be printed`() throws {
    try append("5\n")
    let text = try watch("cat", "--format=text")
    try append("6\n")
    #expect(try text.line() == "+ [1] 6")
    #expect(try text.line() == "1 inserted")
    let snapshot = try watch("cat", "--snapshot")
    try append("7\n")
    #expect(try snapshot.line() == #"{"event":"initial","revision":1,"elements":[5,6,7]}"#)
  }

  @Test func `changes while a command runs are combined into one`() throws {
    // Each command waits for a file.
    let watching = try watch(
      "echo $LIVELIST_REVISION; while [ ! -e \(place("go")) ]; do sleep 0.01; done; cat")
    try append("1\n")
    #expect(try watching.line() == "1")
    for number in 2...50 { try append("\(number)\n") }
    try place.json("go", "")
    #expect(try Self.insertions(50, of: watching) <= 50)
    watching.send("quit\n")
    #expect(try watching.waitForExit() == 0)
  }

  @Test func `no change is lost while lines arrive faster than commands end`() throws {
    let watching = try watch("cat")
    for number in 1...2_000 { try append("\(number)\n") }
    _ = try Self.insertions(2_000, of: watching)
    watching.send("quit\n")
    #expect(try watching.restOfOutput() == "")
    #expect(try watching.waitForExit() == 0)
  }

  /// Reads changes until elements with all numbers are inserted, in their order.
  ///
  /// - Returns: The number of changes.
  private static func insertions(_ count: Int, of watching: Livelist) throws -> Int {
    var (next, changes) = (1, 0)
    while next <= count {
      changes += 1
      for match in try watching.line().matches(of: /"at":(\d+),"element":(\d+)/) {
        #expect(match.1 == "\(next - 1)" && match.2 == "\(next)")
        next += 1
      }
    }
    return changes
  }

  @Test func `a command that fails is reported and the next change runs it again`() throws {
    let watching = try watch("echo run; exit 3")
    try append("1\n")
    #expect(try watching.line() == "run")
    #expect(
      try watching.errorLine() == "livelist: the command exited with status 3 at revision 1")
    try append("2\n")
    #expect(try watching.line() == "run")
    #expect(try watching.errorLine().contains("at revision 2"))
    let killed = try watch("kill -9 $$")
    try append("3\n")
    #expect(try killed.errorLine().contains("was ended by signal 9"))
  }

  @Test func `a command may ignore its input, however large it is`() throws {
    let watching = try watch("exec 0<&-; echo run")
    let long = String(repeating: "x", count: 2_000_000)
    try append("\"\(long)\"\n")
    #expect(try watching.line() == "run")
    watching.send("quit\n")
    #expect(try watching.restOfOutput() == "")
  }

  @Test func `a status goes to standard error`() throws {
    let watching = try watch("cat")
    try FileManager.default.removeItem(atPath: file)
    #expect(try watching.errorLine().hasPrefix("livelist: missing: "))
    watching.send("quit\n")
    #expect(try watching.restOfOutput() == "")
  }

  /// The command starts a process that must not run after the end: by a signal, or by two times `quit`.
  @Test(arguments: [
    ("echo run; exec sleep 1000", SIGTERM), ("echo run; exec sleep 1000", SIGINT),
    ("echo run; exec sleep 1000", nil),
    ("trap '' TERM; echo run; while true; do sleep 1000; done", SIGHUP),
    ("sleep 1000 & echo run; wait", nil),
    ("trap '' TERM HUP; (trap '' TERM; sleep 1000) & echo run", SIGTERM),
  ])
  func `no process is left after the end`(command: String, signal: Int32?) throws {
    let watching = try watch(command)
    try append("1\n")
    #expect(try watching.line() == "run")
    if let signal {
      watching.signalProcess(signal)
    } else {
      watching.send("quit\nquit\n")
    }
    // The output ends when no process is left that could write to it.
    #expect(try watching.restOfOutput() == "")
    #expect(try watching.waitForExit() == 0)
  }

  @Test func `a first quit waits for the command`() throws {
    let watching = try watch(
      "echo run; while [ ! -e \(place("go")) ]; do sleep 0.01; done; echo done")
    try append("1\n")
    #expect(try watching.line() == "run")
    watching.send("quit\n")
    try place.json("go", "")
    #expect(try watching.restOfOutput() == "done\n")
    #expect(try watching.waitForExit() == 0)
  }

  @Test(arguments: ["signal", "quit twice", "closed output"])
  func `the end is quiet while a command runs`(ending: String) throws {
    try place.json("a.json", "[1]")
    let watching = try watch(source: place("a.json"), running: "echo run; exec sleep 1000")
    #expect(try watching.line() == "run")
    switch ending {
    case "signal": watching.signalProcess(SIGTERM)
    case "quit twice": watching.send("quit\nquit\n")
    default: watching.closeOutput()
    }
    #expect(try watching.waitForExit() == 0)
    #expect(try watching.restOfErrors() == "")
  }

  @Test func `a command does not inherit a pipe that is a source`() throws {
    let path = place("source.pipe")
    #expect(mkfifo(path, 0o600) == 0)
    // A reading end of its own, so that the writing end opens at once.
    let pipe = open(path, O_RDWR | O_CLOEXEC)
    defer { close(pipe) }
    // There is no such folder on all systems.
    let watching = try watch(
      source: "jsonl:" + path,
      running: "ls -l /proc/self/fd 2>/dev/null | grep -c source.pipe; echo end")
    #expect(try watching.line() == "0")
    #expect(try watching.line() == "end")
    watching.send("quit\nquit\n")
    #expect(try watching.waitForExit() == 0)
  }
}
