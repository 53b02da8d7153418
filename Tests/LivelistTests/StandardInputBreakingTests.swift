import Foundation
import TestSupport
import TestTags
import Testing

/// Standard input as the source of `watch`.
@Suite(.tags(.system)) struct StandardInputBreakingTests {
  @Test func `lines of standard input are never read as commands`() throws {
    // The writer starts a process after each line, so the lines arrive one by one.
    let lines = "i=0; while [ $i -lt 500 ]; do i=$((i+1)); echo $i; (:); done"
    let livelist = try Livelist(
      ["-c", "(\(lines)) | '\(try Program.find("livelist"))' watch --format=text jsonl:-"],
      program: "/bin/sh")
    let shown = try livelist.restOfOutput().split(separator: "\n")
    #expect(try livelist.restOfErrors() == "")
    #expect(shown.count { $0.hasPrefix("+ ") } == 500)
    #expect(try livelist.waitForExit() == 0)
  }

  @Test(arguments: ["diff OLD -", "watch -", "watch jsonl:-"])
  func `standard input that cannot be read is an error`(command: String) throws {
    let place = try Workplace()
    try place.json("old.json", "[1]")
    let arguments = command.replacing("OLD", with: place("old.json"))
    let livelist = try Livelist(
      ["-c", "exec '\(try Program.find("livelist"))' \(arguments) < '\(place("."))'"],
      program: "/bin/sh")
    let status = try? livelist.waitForExit()
    #expect(status == 1)
  }
}
