import Foundation
import TestTags
import Testing

@Suite(.tags(.system)) struct EndingTests {
  private func largeSource(_ place: Workplace) throws -> String {
    let element = "\"" + String(repeating: "x", count: 1_000) + "\""
    return try place.json(
      "large.json", "[" + (1...3_000).map { _ in element }.joined(separator: ",") + "]")
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a signal ends the program without a message`(signal: Int32) throws {
    let place = try Workplace()
    let watching = try Livelist("watch", try place.json("a.json", "[1]"))
    _ = try watching.line()
    watching.signalProcess(signal)
    #expect(try watching.waitForExit() == 0)
    #expect(try watching.restOfOutput().isEmpty)
    #expect(try watching.restOfErrors().isEmpty)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func `a signal in the middle of a line ends the program after the line`(signal: Int32) throws {
    let place = try Workplace()
    let watching = try Livelist("watch", try largeSource(place))
    // The line is larger than the buffer of the pipe. The program writes until the test reads it.
    try watching.waitForOutput()
    watching.signalProcess(signal)
    let output = try watching.restOfOutput()
    #expect(output.hasPrefix(#"{"event":"initial""#) && output.hasSuffix("]}\n"))
    #expect(output.utf8.count > 3_000_000)
    #expect(try watching.waitForExit() == 0)
  }

  @Test func `a closed output ends the program even if nothing is written`() throws {
    let place = try Workplace()
    let watching = try Livelist("watch", try place.json("a.json", "[1]"))
    _ = try watching.line()
    watching.closeOutput()
    #expect(try watching.waitForExit() == 0)
    #expect(try watching.restOfErrors().isEmpty)
  }

  @Test func `a closed output in the middle of a line ends the program without a message`() throws {
    let place = try Workplace()
    let watching = try Livelist("watch", try largeSource(place))
    try watching.waitForOutput()
    watching.closeOutput()
    #expect(try watching.waitForExit() == 0)
    #expect(try watching.restOfErrors().isEmpty)
  }

  @Test func `an output without a reader from the start ends the program without a message`() throws
  {
    let place = try Workplace()
    let source = try place.json("a.json", "[1]")
    let other = try place.json("b.json", "[2]")
    for arguments in [["watch", source], ["diff", source, other], ["apply", source], ["--help"]] {
      let livelist = try Livelist(arguments, isOutputClosed: true)
      livelist.endInput()
      #expect(try livelist.waitForExit() == 0)
      #expect(try livelist.restOfErrors().isEmpty)
    }
  }

  @Test func `the end of the input alone does not end the program`() throws {
    let place = try Workplace()
    let watching = try Livelist("watch", try place.json("a.json", "[1]"))
    watching.endInput()
    _ = try watching.line()
    try place.json("a.json", "[2]")
    _ = try watching.line()
    watching.signalProcess(SIGTERM)
    #expect(try watching.waitForExit() == 0)
  }

  @Test func `all pending events are printed before the end`() throws {
    let place = try Workplace()
    let large = try largeSource(place)
    let small = try place.json("a.json", "[1]")
    for ending in [["--until-eof"], []] {
      let watching = try Livelist(["watch", small] + ending)
      watching.send("swap \(large)\n" + (ending.isEmpty ? "quit\n" : ""))
      if !ending.isEmpty { watching.endInput() }
      let lines = try watching.restOfOutput().split(separator: "\n")
      #expect(lines.count == 2)
      #expect(lines.last?.hasSuffix(#""updates":[],"moves":[]}"#) == true)
      #expect(try watching.waitForExit() == 0)
    }
  }
}
