import Foundation
import TestSupport
import TestTags
import Testing

/// Tests of commands in the background of a terminal.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct BackgroundTests {
  private let place: Workplace
  private let terminal: PseudoTerminal

  init() throws {
    place = try Workplace()
    terminal = try PseudoTerminal(rows: 12, columns: 100)
  }

  /// Starts the program as a job in the background.
  private func start(_ arguments: [String]) throws -> Program {
    try Program(
      "TestHelper", ["job", "--background", Program.find("livelist")] + arguments,
      environment: ["NO_COLOR": nil], terminal: terminal)
  }

  @Test func `lines that are typed before the foreground are commands in the foreground`() throws {
    let program = try start(["watch", place.json("a.json", "[1]")])
    try terminal.wait(for: #""elements":[1]}"#)
    // The program does not read it in the background, and does not stop.
    try terminal.type("swap \(place.json("b.json", "[1,2]"))\n")
    try terminal.wait(for: "swap ")
    try place.json("a.json", "[3]")
    try terminal.wait(for: #""element":3}"#)
    program.send(SIGUSR1)
    try terminal.wait(for: #""element":2}"#)
    try terminal.type("quit\n")
    #expect(try program.waitForEnd() == 0)
  }

  @Test func `a view in the background stops until it is in the foreground`() throws {
    let program = try start(["view", place.json("a.json", "[1,2,3]")])
    try terminal.wait(for: "stopped")
    #expect(!terminal.text.contains("\u{1B}"))
    try terminal.type("fg\n")
    try terminal.wait(until: "the list is drawn") { $0.display.lines[11].contains("1/3") }
    try terminal.type("\u{1A}")
    try terminal.wait(for: "stopped")
    try terminal.type("bg\n")
    try terminal.wait(for: "stopped")
    #expect(!terminal.display.isAlternate)
    try terminal.type("fg\n")
    try terminal.wait(until: "the list is drawn") { $0.display.lines[11].contains("1/3") }
    try terminal.type("q")
    #expect(try program.waitForEnd() == 0)
    #expect(try terminal.leftovers.isEmpty)
  }
}
