import DataSourceTesting
import ObservableCollections
import RemoteSources
import Testing
import TestSupport

@Suite struct EventStreamParserTests {
  @Test func `the lines of the data are joined by line feeds`() {
    expect("data: 3 tasks\ndata: 2 open\ndata: 1 done\n\n", ["message|3 tasks\n2 open\n1 done|"])
  }

  @Test func `comments are ignored, and an identifier lasts until it changes`() {
    expect(
      ": welcome\n\ndata: one\nid: 1\n\ndata: two\n\ndata:three\nid\n\ndata:  four\n\n",
      ["message|one|1", "message|two|1", "message|three|", "message| four|"])
    expect(":\n: x\n:data: no\ndata: yes\n:\n\n", ["message|yes|"])
  }

  @Test func `empty data is data, and an unfinished event is dropped`() {
    expect("data\n\ndata\ndata\n\ndata:", ["message||", "message|\n|"])
    expect("data: never ended\n", [])
    expect("data: a\n\ndata: b", ["message|a|"])
  }

  @Test func `one space after the colon is not part of the value`() {
    expect("data:x\n\ndata: x\n\n", ["message|x|", "message|x|"])
    expect("data:  x\n\ndata:\tx\n\ndata: x \n\n", ["message| x|", "message|\tx|", "message|x |"])
    expect("data: : a: b\n\n", ["message|: a: b|"])
  }

  @Test func `an event names its type`() {
    expect(
      "event: added\ndata: 7\n\nevent:removed\ndata: 8\n\ndata: 9\n\n",
      ["added|7|", "removed|8|", "message|9|"])
    expect("event: first\nevent: second\ndata: x\n\n", ["second|x|"])
    expect("event: first\nevent\ndata: x\n\n", ["message|x|"])
  }

  @Test func `an event without data is not returned, and its type is forgotten`() {
    expect("event: lost\n\ndata: x\n\n", ["message|x|"])
    expect("\n\n\n\n", [])
  }

  @Test func `carriage returns and line feeds end lines alone and in pairs`() {
    for end in ["\n", "\r", "\r\n"] {
      expect(
        "data: a\(end)data: b\(end)\(end)id: 5\(end)data: c\(end)\(end)",
        ["message|a\nb|", "message|c|5"])
    }
    expect("data: a\rdata: b\r\ndata: c\n\r\ndata: d\r\r\n", ["message|a\nb\nc|", "message|d|"])
    expect("data: a\n\rdata: b\n\n", ["message|a|", "message|b|"])
  }

  @Test func `an event is complete at the first byte of its last line ending`() throws {
    var parser = EventStreamParser()
    #expect(try parser.parse(Array("data: a\r\n\r".utf8)).count == 1)
    #expect(try parser.parse(Array("\ndata: b\r\n\r".utf8)).map(\.data) == ["b"])
    #expect(try parser.parse([]).isEmpty)
    #expect(try parser.parse(Array("\n\n".utf8)).isEmpty)
  }

  @Test func `only a byte order mark at the start is ignored`() {
    expect("\u{FEFF}data: a\n\n", ["message|a|"])
    expect("\u{FEFF}\u{FEFF}data: a\n\n", [])
    expect("data: a\n\n\u{FEFF}data: b\n\n", ["message|a|"])
    expect("data: \u{FEFF}a\n\n", ["message|\u{FEFF}a|"])
    expect("\n\u{FEFF}data: a\n\n", [])
    expect([0xEF, 0xBB] + Array("data: a\n\n".utf8), [])
  }

  @Test func `field names are exact`() {
    expect("Data: a\n data: b\ndata : c\nDATA: d\ndat: e\ndataa: f\n\n", [])
    expect("unknown: a\nanother\nevents: c\nids: 1\ndata: b\n\n", ["message|b|"])
  }

  @Test func `characters of several bytes are whole, and bytes that are no UTF-8 are replaced`() {
    expect("event: größe\nid: 日本\ndata: 👩‍👩‍👧 é\n\n", ["größe|👩‍👩‍👧 é|日本"])
    expect(Array("data: a".utf8) + [0xFF, 0xE2, 0x82, 0x0A, 0x0A], ["message|a\u{FFFD}\u{FFFD}|"])
  }

  @Test func `an identifier with a null character is ignored`() {
    expect("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", ["message|a|1", "message|b|1"])
  }

  @Test func `the last identifier changes at the end of an event`() throws {
    var parser = EventStreamParser()
    #expect(parser.lastEventID == "")
    _ = try parser.parse(Array("id: 1\ndata: a\n".utf8))
    #expect(parser.lastEventID == "")
    _ = try parser.parse(Array("\n".utf8))
    #expect(parser.lastEventID == "1")
    _ = try parser.parse(Array("id: 2\n\n".utf8))
    #expect(parser.lastEventID == "2")
    _ = try parser.parse(Array("id\n\n".utf8))
    #expect(parser.lastEventID == "")
  }

  @Test func `a parser of the next connection continues with the last identifier`() throws {
    var first = EventStreamParser()
    _ = try first.parse("id: 7\ndata: a\n\nid: 8\ndata: lost".utf8)
    #expect(first.lastEventID == "7")
    var next = EventStreamParser(lastEventID: first.lastEventID)
    #expect(next.lastEventID == "7")
    #expect(try next.parse(": welcome\n\ndata: b\n\n".utf8).map(\.id) == ["7"])
    #expect(next.lastEventID == "7")
    #expect(try next.parse("id: 9\ndata: c\n\nid\ndata: d\n\n".utf8).map(\.id) == ["9", ""])
    #expect(next.lastEventID == "")
  }

  @Test func `the reconnection time consists of digits`() throws {
    var parser = EventStreamParser()
    #expect(parser.reconnectionTime == nil)
    for value in ["", " ", "-1", "+1", "1.5", "2s", "0x10", "१", "99999999999999999999"] {
      _ = try parser.parse(Array("retry: \(value)\n\n".utf8))
      #expect(parser.reconnectionTime == nil, "\(value)")
    }
    _ = try parser.parse(Array("retry: 2500\n".utf8))
    #expect(parser.reconnectionTime == .milliseconds(2_500))
    _ = try parser.parse(Array("retry:007\nretry: soon\n".utf8))
    #expect(parser.reconnectionTime == .milliseconds(7))
  }

  // MARK: Limits

  @Test func `data above the limit is an error`() throws {
    var parser = EventStreamParser(maximumEventSize: 20)
    let line = "data: 0123456789abcd\n"  // 20 bytes, of which 14 are data.
    #expect(try parser.parse(Array("\(line)\n".utf8)).count == 1)
    #expect(try parser.parse(Array("\(line)data:abcde\n\n".utf8)).count == 1)
    let error = #expect(throws: SourceError.self) {
      try parser.parse(Array("\(line)data:abcdef\n\n".utf8))
    }
    #expect(error?.code == "size")
    #expect(
      error?.message == "an event of the stream has more than 20 bytes. "
        + "If the stream needs larger events, increase maximumEventSize.")
    #expect(throws: SourceError.self) { try parser.parse(Array("data: a\n\n".utf8)) }
  }

  @Test func `a line above the limit is an error before it ends`() throws {
    for start in ["data: ", ": ", "id: ", "event: ", "retry: ", "", "unknown: "] {
      var parser = EventStreamParser(maximumEventSize: 1_000)
      var fed = 0
      #expect(throws: SourceError.self, "\(start)") {
        _ = try parser.parse(Array(start.utf8))
        while fed < 2_000 {
          _ = try parser.parse([UInt8(ascii: "1")])
          fed += 1
        }
      }
      #expect(fed == 1_000 - start.utf8.count)
    }
  }

  @Test func `events before a large one are returned first`() throws {
    var parser = EventStreamParser(maximumEventSize: 10)
    let stream = "id: 1\ndata: a\n\nid: 2\ndata: 0123456789\n\nid: 3\ndata: c\n\n"
    #expect(try parser.parse(Array(stream.utf8)).map(\.data) == ["a"])
    #expect(throws: SourceError.self) { try parser.parse([]) }
    #expect(parser.lastEventID == "1")
  }

  @Test func `many short lines, comments and identifiers stay below the limit`() throws {
    var parser = EventStreamParser(maximumEventSize: 100)
    for index in 0..<1_000 {
      _ = try parser.parse(Array(": alive\nid: \(index)\nevent: a\nunknown: b\n".utf8))
    }
    let events = try parser.parse(Array("data: x\n\n".utf8))
    #expect(events.map(\.id) == ["999"])
    // An empty line of data counts too.
    #expect(throws: SourceError.self) {
      for _ in 0..<200 { _ = try parser.parse(Array("data\n".utf8)) }
    }
  }

  @Test func `a limit of no bytes traps`() async {
    await #expect(processExitsWith: .failure) { _ = EventStreamParser(maximumEventSize: 0) }
  }

  // MARK: Random streams

  @Test func `random streams give the same events in chunks of any size`() {
    let parts = [
      "data", "data: ", ":", " ", "\n", "\r", "\r\n", "\n\n", "id: 4", "id", "event: e", "retry: 1",
      "é", "\u{FEFF}", "\0", "x", "👋🏽",
    ]
    for seed in (TestRun.seed ?? 0)..<(TestRun.seed ?? 0) + (TestRun.isLong ? 20_000 : 300) {
      var random = SeededGenerator(seed: seed)
      var stream = (0..<random.below(60)).flatMap { _ in
        Array(parts[random.below(parts.count)].utf8)
      }
      if random.oneIn(4) {
        stream = stream.map { random.oneIn(8) ? UInt8(random.below(256)) : $0 }
      }
      let whole = outcome([stream])
      var chunks: [[UInt8]] = []
      var rest = stream[...]
      while !rest.isEmpty {
        let count = random.below(min(9, rest.count + 1))
        chunks.append(Array(rest.prefix(count)))
        rest = rest.dropFirst(count)
      }
      #expect(outcome(chunks) == whole, "seed \(seed)")
      #expect(whole == reference(stream), "seed \(seed)")
    }
  }

  // MARK: Helpers

  /// Checks the events of a stream, as a whole and cut at each byte.
  private func expect(
    _ stream: String, _ events: [String], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    expect(Array(stream.utf8), events, sourceLocation: sourceLocation)
  }

  private func expect(
    _ stream: [UInt8], _ events: [String], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(outcome([stream]) == events, sourceLocation: sourceLocation)
    #expect(outcome(stream.map { [$0] }) == events, sourceLocation: sourceLocation)
    #expect(reference(stream) == events, sourceLocation: sourceLocation)
    for cut in 0...stream.count {
      let chunks = [Array(stream[..<cut]), Array(stream[cut...])]
      #expect(outcome(chunks) == events, "cut at \(cut)", sourceLocation: sourceLocation)
    }
  }

  /// Returns the events of a stream in chunks, each as its type, data and identifier.
  private func outcome(_ chunks: [[UInt8]]) -> [String] {
    var parser = EventStreamParser()
    do throws(SourceError) {
      var events: [String] = []
      for chunk in chunks {
        // A sequence without contiguous storage gives the same events.
        let new =
          chunk.count % 2 == 0 ? try parser.parse(chunk) : try parser.parse(chunk.lazy.map { $0 })
        events += new.map { "\($0.type)|\($0.data)|\($0.id)" }
      }
      return events
    } catch {
      return [error.message]
    }
  }

  /// Returns the events of a stream, by a simple reading of the standard: decode the text, split it, interpret each line.
  private func reference(_ stream: [UInt8]) -> [String] {
    var scalars = String(decoding: stream, as: UTF8.self).unicodeScalars.map { $0 }
    if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
    var lines: [[Unicode.Scalar]] = []
    var line: [Unicode.Scalar] = []
    for (offset, scalar) in scalars.enumerated() {
      if scalar == "\n", offset > 0, scalars[offset - 1] == "\r" { continue }
      if scalar == "\n" || scalar == "\r" {
        lines.append(line)
        line = []
      } else {
        line.append(scalar)
      }
    }
    var (events, data, type, id): ([String], [String], String, String) = ([], [], "", "")
    for line in lines {
      if line.isEmpty {
        let name = type.isEmpty ? "message" : type
        if !data.isEmpty { events.append("\(name)|\(data.joined(separator: "\n"))|\(id)") }
        (data, type) = ([], "")
        continue
      }
      let colon = line.firstIndex(of: ":") ?? line.count
      var value = line[min(colon + 1, line.count)...]
      if value.first == " " { value.removeFirst() }
      switch text(line[..<colon]) {
      case "data": data.append(text(value))
      case "event": type = text(value)
      case "id" where !value.contains("\0"): id = text(value)
      default: break
      }
    }
    return events
  }

  private func text(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    var text = String.UnicodeScalarView()
    text.append(contentsOf: scalars)
    return String(text)
  }
}
