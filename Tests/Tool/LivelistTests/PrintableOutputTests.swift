import FileSources
import Foundation
import TestSupport
import TestTags
import Testing

/// Tests of text that acts on a terminal, in elements, names and messages.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct PrintableOutputTests {
  private let place: Workplace

  init() throws { place = try Workplace() }

  /// A sequence with a C1 control, a delete, changes of the text direction, a byte order mark, a line
  /// separator, and a tag outside of the basic plane.
  private static let hostile =
    "\u{9B}31m\u{85}\u{7F}a\u{202E}b\u{2066}c\u{200F}\u{FEFF}\u{2028}d\u{E0041}漢 👩‍👧 é"

  private static let elements =
    "[{\"id\":1,\"n\":\"\(hostile)\"},{\"id\":2,\"n\":\"\(hostile)\",\"\(hostile)\":[\"\(hostile)\"]}]"

  /// Expects that no character of a text acts on a terminal, except that lines end.
  private func expectPrintable(
    _ text: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let acting = text.unicodeScalars.filter { scalar in
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: scalar != "\n" && scalar != "\r"
      case .format: scalar != "\u{200D}"
      default: false
      }
    }
    #expect(
      acting.isEmpty, "\(acting.map { String($0.value, radix: 16) }) in \(text.debugDescription)",
      sourceLocation: sourceLocation)
  }

  /// The elements of a JSON array, whose texts are compared scalar by scalar.
  private func parsed(_ lines: some Sequence<Substring>) throws -> [[UInt8]] {
    try lines.map { line in
      try JSONElement(parsing: Array(line.utf8)).utf8
    }
  }

  private func elements() throws -> [[UInt8]] {
    let list = try JSONElement(parsing: Array("{\"e\":\(Self.elements)}".utf8))["e"]
    let text = try #require(list?.description)
    let parts = text.dropFirst().dropLast().split(separator: "},{")
    return try [parts[0] + "}", "{" + parts[1]].map { (part: Substring) in
      try JSONElement(parsing: Array(part.utf8)).utf8
    }
  }

  // MARK: Text

  @Test func `the text of initial contents and snapshots is printable, and its content is equal`()
    throws
  {
    let source = try place.json("a.json", "[]")
    let watching = try Livelist("watch", "--format", "text", "--snapshot", source)
    #expect(try watching.line() == "0 elements")
    try place.json("a.json", Self.elements)
    let lines = try [watching.line(), watching.line()]
    expectPrintable(lines.joined())
    #expect(try parsed(lines.map { $0[...] }) == elements())
    #expect(try watching.line() == "2 elements")
    watching.endInput()
    watching.signalProcess(SIGTERM)
    #expect(try watching.waitForExit() == 0)
    let result = try Livelist.run("watch", "--format", "text", "--until-eof", source)
    expectPrintable(result.output)
    #expect(try parsed(result.output.split(separator: "\n").prefix(2)) == elements())
  }

  @Test func `the status of a file with a hostile name is printable`() throws {
    let name = "\u{9B}2J\u{1B}c\u{202E}\u{2028}x\n.json"
    let source = try place.json(name, "[1]")
    let watching = try Livelist("watch", "--format", "text", source)
    _ = try [watching.line(), watching.line()]
    try place.json(name, "[1,")
    let failed = try watching.line()
    #expect(failed.hasPrefix("failed: ") && failed.contains("x .json"))
    expectPrintable(failed)
    try FileManager.default.removeItem(atPath: place(name))
    let missing = try watching.line()
    #expect(missing.hasPrefix("missing: ") && missing.contains("x .json"))
    expectPrintable(missing)
    watching.signalProcess(SIGTERM)
    #expect(try watching.waitForExit() == 0)
  }

  @Test(arguments: [
    ["watch"], ["view"], ["explain"], ["diff", "json:/dev/null"], ["apply"],
    ["merge", "--key", "id", "json:/dev/null", "json:/dev/null"],
    ["serve", "--listen", "unix:/nowhere/s", "a=json:/dev/null"],
  ])
  func `an error about a hostile name is printable`(arguments: [String]) throws {
    let source = "json:" + place("\u{9B}2J\u{1B}c\u{202E}\u{2067}\n.json")
    let operand = arguments[0] == "serve" ? "b=" + source : source
    for arguments in [arguments + [operand], arguments + ["--\u{202E}\u{9B}"]] {
      let result = try Livelist.run(arguments)
      #expect(result.status != 0)
      #expect(result.errors.hasPrefix("livelist: ") && result.errors.hasSuffix("\n"))
      #expect(result.errors.split(separator: "\n").count == 1)
      expectPrintable(result.errors)
    }
  }

  @Test func `the explanation of a hostile name is printable`() throws {
    let source = try place.json("a\u{9B}2J\u{202E}.json", "[1]")
    let result = try Livelist.run("explain", source)
    #expect(result.status == 0 && result.output.contains(".json\n"))
    expectPrintable(result.output)
  }

  @Test func `a difference is printable`() throws {
    let old = try place.json("old.json", Self.elements)
    let new = try place.json("new.json", Self.elements.replacing("31m", with: "32m"))
    for arguments in [["diff"], ["diff", "--key", "id"]] {
      let result = try Livelist.run(arguments + ["--format", "text", old, new])
      #expect(result.output.contains("32m"))
      expectPrintable(result.output)
    }
  }

  // MARK: JSON

  @Test func `JSON on a terminal escapes characters that act on it, and its content is equal`()
    throws
  {
    let empty = try place.json("empty.json", "[]")
    let source = try place.json("a.json", Self.elements)
    for arguments in [
      ["view", "--format", "json", source], ["diff", empty, source],
      ["merge", "--key", "id", source, source, source],
      ["watch", "--until-eof", source], ["watch", "--until-eof", "--format", "text", source],
    ] {
      let shown = try Livelist(arguments, isTerminal: true)
      shown.endInput()
      let output = try shown.restOfOutput()
      #expect(try shown.waitForExit() == 0)
      expectPrintable(output)
      let escaped = #"\u009b31m\u0085\u007fa\u202eb\u2066c\u200f\ufeff\u2028d\udb40\udc41"#
      #expect(output.contains(escaped + "漢 👩‍👧 é"))
      let piped = try Livelist.run(arguments)
      // The same content, which has the shortest form for another program.
      let lines = try [output, piped.output].map { text in
        try text.split { $0 == "\n" || $0 == "\r\n" }.map { line in
          let json = line.hasSuffix(",") ? line.dropLast() : line
          return json.count < 3 || json.hasSuffix("elements")
            ? String(json) : try JSONElement(parsing: Array(json.utf8)).description
        }
      }
      #expect(lines[0] == lines[1], "\(arguments)")
      if !arguments.contains("text") { #expect(piped.output.contains(Self.hostile)) }
    }
  }

  @Test func `a status as JSON on a terminal is printable`() throws {
    let source = try place.json("\u{202E}x.json", "[1]")
    let watching = try Livelist(["watch", source], isTerminal: true)
    expectPrintable(try watching.line())
    try FileManager.default.removeItem(atPath: place("\u{202E}x.json"))
    let status = try watching.line()
    #expect(status.contains(#"\u202e"#))
    expectPrintable(status)
    watching.signalProcess(SIGTERM)
    #expect(try watching.waitForExit() == 0)
  }
}
