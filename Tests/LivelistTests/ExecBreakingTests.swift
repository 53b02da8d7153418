import Foundation
import TestSupport
import TestTags
import Testing

/// The end of `watch --exec`, and what its commands inherit.
@Suite(.tags(.system)) struct ExecBreakingTests {
  private let place: Workplace

  init() throws {
    place = try Workplace()
    try place.json("a.json", "[1]")
  }

  private func watch(_ source: String, _ command: String) throws -> Livelist {
    try Livelist("watch", source, "--exec-initial", "--exec", command)
  }

  @Test(arguments: ["signal", "quit twice", "closed output"])
  func `the end is quiet while a command runs`(ending: String) throws {
    let watching = try watch(place("a.json"), "echo run; exec sleep 1000")
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
      "jsonl:" + path, "ls -l /proc/self/fd 2>/dev/null | grep -c source.pipe; echo end")
    #expect(try watching.line() == "0")
    #expect(try watching.line() == "end")
    watching.send("quit\nquit\n")
    #expect(try watching.waitForExit() == 0)
  }
}
