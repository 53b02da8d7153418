import DataSourceTesting
import Diffing
import FileWatching
import Foundation
import ObservableCollections
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import FileSources

/// Malformed lines of a source that is not strict.
@Suite(.timeLimit(.minutes(10)))
struct MalformedLinesTests {
  let directory: TemporaryDirectory
  let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory("a.jsonl")
  }

  private func source(
    key: String? = "id", grace: Duration = .milliseconds(1), system: WatchSystem = .live
  ) -> JSONLinesDataSource<JSONElement> {
    var timing = FileTiming()
    timing.grace = grace
    timing.retry = .milliseconds(1)
    return JSONLinesDataSource(
      path: ByteString(path), key: key, decoding: ElementDecoding(each: { $0 }), system: system,
      timing: timing)
  }

  private func append(_ text: String) throws {
    try OpenFile(path, O_WRONLY | O_APPEND).write(text)
  }

  private func replace(_ text: String) throws {
    try directory.write(text, to: "new")
    try directory.move("new", to: "a.jsonl")
  }

  private func texts(_ snapshot: Snapshot<JSONElement>) -> [String] {
    snapshot.map(\.description)
  }

  /// Waits for the status of skipped lines that begins and ends as expected.
  @discardableResult
  private func skipped<Element>(
    _ log: SourceLog<Element>, _ count: String, _ latest: String
  ) async throws -> SourceStatus {
    try await log.status { status in
      status.state == .loaded && status.diagnostics.map(\.code) == ["malformed-lines"]
        && status.diagnostics[0].message.hasPrefix("\(count) of \(path) ")
        && status.diagnostics[0].message.contains(latest)
    }
  }

  @Test(arguments: [
    ("{\"id\" 2}\n", "line 4, column 7: a colon"),
    ("\u{FEFF}{\"id\" 2}\n", "line 4, column 7: a colon"),
    ("{\"id\":2\n", "line 4, column 8: the text ends inside an object"),
    ("{\"id\":2} {\"id\":3}\n", "line 4, column 10: the end of the line"),
    ("\"no end\n", "line 4, column 1: the text ends inside a string"),
    ("12x\n", "line 4, column 3"), ("tru\n", "line 4, column 4"), (",\n", "line 4, column 1"),
    ("[{\"id\":2}]\n", "line 4, column 1: the element is an array and has no member \"id\""),
    ("{\"no\":2}\n", "line 4, column 1: the element has no member \"id\""),
    ("{\"id\":[]}\n", "line 4, column 1: the key \"id\" is an array"),
    ("\"\u{0}\"\n", "line 4, column 2"),
    (String(repeating: "[", count: 600) + "\n", "line 4, column 513: arrays and objects"),
  ])
  func `a malformed line is skipped, and the lines around it are read`(
    text: String, latest: String
  ) async throws {
    let good = "\u{FEFF}{\"id\":1}\n\n{\"id\":0}\r\n"
    try directory.write(good + text + "{\"id\":5}\n", to: "a.jsonl")
    let loaded = try await SourceLog.afterLoading(source())
    #expect(texts(loaded.source.snapshot) == ["{\"id\":1}", "{\"id\":0}", "{\"id\":5}"])
    #expect(loaded.source.revision == 1)
    try await skipped(loaded, "1 line", latest)

    // The same lines are appended one by one.
    try replace(good)
    let log = try await SourceLog.afterLoading(source())
    #expect(log.source.status == .loaded)
    try append(text)
    try await skipped(log, "1 line", latest)
    #expect(log.source.revision == 1)
    try append("{\"id\":5}\n")
    #expect(try await log.nextChange().changeset == Changeset(insertions: [2]))
    try append(text)
    try await skipped(log, "2 lines", latest.replacing("line 4", with: "line 6"))
  }

  @Test func `the diagnostic has the number of lines, the place and the reason`() async throws {
    try directory.write("1\noops\n", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source(key: nil))
    func message() -> String? { log.source.status.diagnostics.first?.message }
    let reason = "a value is expected, but o is found; put words in double quotes."
    #expect(
      message() == "1 line of \(path) is skipped because it cannot be read: "
        + "line 2, column 1: " + reason)
    try append("2\n\n  oops\n")
    try await skipped(log, "2 lines", "line 5, column 3")
    #expect(
      message() == "2 lines of \(path) are skipped because they cannot be read; "
        + "the latest is line 5, column 3: " + reason)
  }

  @Test func `a line that is not UTF-8 is skipped`() async throws {
    try Data([0x31, 0x0A, 0x22, 0xFF, 0x22, 0x0A, 0x32, 0x0A])
      .write(to: URL(fileURLWithPath: path))
    let log = try await SourceLog.afterLoading(source(key: nil))
    #expect(texts(log.source.snapshot) == ["1", "2"])
    try await skipped(log, "1 line", "line 2, column 2: a byte that is not UTF-8")
  }

  @Test(arguments: ["[\n1 2,\n  \"x\n]\n", "{\"a\":\n[\n\"b\"\"c\",\nd]}\n"])
  func `a file may have only malformed lines`(text: String) async throws {
    try directory.write(text, to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source())
    #expect(log.source.snapshot.isEmpty)
    try await skipped(log, "4 lines", "line 4, column 1")
    try append("{\"id\":1}\n")
    #expect(try await log.nextChange().changeset == Changeset(insertions: [0]))
    #expect(log.source.status.diagnostics.map(\.code) == ["malformed-lines"])
  }

  @Test func `a value that cannot be decoded is skipped`() async throws {
    struct Person: Codable, Hashable, Differentiable, Sendable {
      var id: Int
      var name: String
      var differenceIdentifier: Int { id }
    }
    try directory.write("{\"id\":1,\"name\":\"a\"}\n{\"id\":2}\n", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(JSONLinesDataSource<Person>(path: path))
    #expect(Array(log.source.snapshot) == [Person(id: 1, name: "a")])
    try await skipped(log, "1 line", "line 2, column 1: there is no member \"name\"")
    // The latest malformed line is not JSON, and then it is.
    try append("{\"id\":3,\"name\":7}\noops\n{\"id\":4,\"name\":\"d\"}\n")
    try await skipped(log, "3 lines", "line 4, column 1: a value is expected")
    #expect(log.source.snapshot.map(\.id) == [1, 4])
    try append("oops\n{\"id\":5,\"name\":7}\n")
    try await skipped(log, "5 lines", "line 7, column 1: at .name: a value of type String")
  }

  @Test func `an error of a closure skips its line`() async throws {
    struct Odd: Error {}
    // Some lines lack their key, so their values never reach the closure.
    let lines = (0..<998).map { "{\"\($0 % 3 == 0 ? "no" : "id")\":\($0)}\n" }
    try directory.write(lines.joined(), to: "a.jsonl")
    let decoded = Shared<[Int]>([])
    let source = JSONLinesDataSource<Int>(
      path: ByteString(path), key: "id",
      decoding: ElementDecoding(each: { element in
        let id = element["id"]?.integer ?? -1
        decoded.append(id)
        if id % 2 == 1 { throw Odd() }
        return id
      }))
    let log = try await SourceLog.afterLoading(source)
    let withKey = (0..<998).filter { $0 % 3 != 0 }
    #expect(Array(source.snapshot) == withKey.filter { $0 % 2 == 0 })
    #expect(decoded.value == withKey)
    // The closure refuses the last line.
    try await skipped(log, "666 lines", "line 998, column 1: Odd()")
    try append("{\"no\":1}\n")
    try await skipped(log, "667 lines", "line 999, column 1: the element has no member \"id\"")
  }

  @Test func `many malformed lines of a large file are decoded once`() async throws {
    struct Odd: Error {}
    // The file is read in several parts.
    let text = String(repeating: "x", count: 1_000)
    func lines(_ ids: Range<Int>) -> String {
      ids.map { $0 % 5 == 0 ? "{\n" : "{\"id\":\($0),\"text\":\"\(text)\"}\n" }.joined()
    }
    try directory.write(lines(0..<9_999), to: "a.jsonl")
    let calls = Shared(0)
    let source = JSONLinesDataSource<Int>(path: path) { element in
      calls.modify { $0 += 1 }
      guard let id = element["id"]?.integer, id % 2 == 0 else { throw Odd() }
      return id
    }
    let log = try await SourceLog.afterLoading(source)
    #expect(Array(source.snapshot) == (0..<9_999).filter { $0 % 2 == 0 && $0 % 5 != 0 })
    #expect(calls.value == 7_999)
    try await skipped(log, "5999 lines", "line 9998, column 1: Odd()")
  }

  @Test func `JSONDecoder decodes each line at most twice`() async throws {
    struct Row: Decodable, Differentiable, Hashable, Sendable {
      static let calls = Shared(0)
      var id: Int
      var differenceIdentifier: Int { id }
      enum CodingKeys: CodingKey { case id }

      init(from decoder: any Decoder) throws {
        Self.calls.modify { $0 += 1 }
        id = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .id)
      }
    }
    let lines = (0..<3_000).map { "{\"id\":\($0 % 100 == 0 ? "null" : "\($0)")}\n" }
    try directory.write(lines.joined(), to: "a.jsonl")
    let log = try await SourceLog.afterLoading(JSONLinesDataSource<Row>(path: path))
    #expect(log.source.snapshot.map(\.id) == (0..<3_000).filter { $0 % 100 != 0 })
    #expect(Row.calls.value <= 2 * 3_000)
    try await skipped(log, "30 lines", "line 2901, column 1: at .id: a value of type Int")
  }

  @Test func `a malformed line is not read again`() async throws {
    let ranges = Shared<[Range<Int>]>([])
    var system = WatchSystem.live
    system.files.open = { path in
      FileAccess.live.open(path).map { file in
        OpenedFile(path: path, stamp: file.stamp) { offset, buffer in
          ranges.append(Int(offset)..<Int(offset) + buffer.count)
          return file.read(offset, buffer)
        }
      }
    }
    let text = String(repeating: "x", count: 50_000)
    try directory.write("oops\n\"a\(text)\"\n\"b\(text)\"\n", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source(key: nil, system: system))
    try await skipped(log, "1 line", "line 1, column 1")
    ranges.value = []
    try append("oops\n")
    try await skipped(log, "2 lines", "line 4, column 1")
    for line in 5...7 {
      try append("\(line)\n")
      #expect(try await log.nextChange().changeset == Changeset(insertions: [line - 3]))
    }
    try append("oops\n")
    try await skipped(log, "3 lines", "line 8, column 1")
    // Only the margins and the appended lines are read.
    let middle = 8_192..<90_000
    #expect(!ranges.value.isEmpty && !ranges.value.contains { $0.overlaps(middle) })
  }

  @Test func `a diagnostic alone is a status step`() async throws {
    try directory.write("1\n", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source(key: nil))
    try append("oops\n")
    try await skipped(log, "1 line", "line 2, column 1")
    #expect(log.source.revision == 1)
    // The new contents are equal.
    try replace("1\n")
    #expect(try await log.status { $0.diagnostics.isEmpty } == .loaded)
    #expect(log.source.revision == 1)
  }

  @Test func `the count begins again when the file is replaced or rewritten`() async throws {
    try directory.write("1\noops\noops\n", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source(key: nil))
    try await skipped(log, "2 lines", "line 3, column 1")
    try replace("1\n2\noops\n3\n")
    #expect(try await log.nextChange().changeset == Changeset(insertions: [1, 2]))
    try await skipped(log, "1 line", "line 3, column 1")
    // The file is truncated and written again. Between the two, the source may see that it is empty.
    try directory.write("a\nb\nc\n1\n", to: "a.jsonl")
    try await log.change { texts($0.after) == ["1"] }
    try await skipped(log, "3 lines", "line 3, column 1")
    // The file is rotated. The new one is not empty when it appears.
    try directory.move("a.jsonl", to: "a.jsonl.1")
    try replace("oops\n1\n4\n")
    #expect(try await log.nextChange().changeset == Changeset(insertions: [1]))
    try await skipped(log, "1 line", "line 1, column 1")
    try append("oops\n")
    try await skipped(log, "2 lines", "line 4, column 1")
    try replace("1\n4\n5\n")
    #expect(try await log.nextChange().changeset == Changeset(insertions: [2]))
    #expect(log.source.status == .loaded)
  }

  @Test func `a missing file keeps the diagnostic of the contents`() async throws {
    try directory.write("1\noops\n", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source(key: nil))
    try directory.move("a.jsonl", to: "b.jsonl")
    _ = try await log.missing()
    #expect(log.source.status.diagnostics.map(\.code) == ["malformed-lines"])
    try directory.move("b.jsonl", to: "a.jsonl")
    try await skipped(log, "1 line", "line 2, column 1")
    #expect(log.source.revision == 1)
  }

  @Test func `a last line that is malformed is skipped when its newline is written`() async throws {
    try directory.write("{\"id\":1}\noops\n{\"id\":", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source())
    #expect(texts(log.source.snapshot) == ["{\"id\":1}"])
    var status = log.source.status
    #expect(status.diagnostics.map(\.code) == ["malformed-lines", "incomplete-line"])
    #expect(status.diagnostics.last?.message.contains("line 3, column 7") == true)
    try append("\n")
    status = try await skipped(log, "2 lines", "line 3, column 7")
    try append("{\"id\":2}\n")
    #expect(try await log.nextChange().changeset == Changeset(insertions: [1]))
    #expect(log.source.status == status)
    #expect(log.source.revision == 2)
  }

  @Test(arguments: ["", "3\n", "3", "{\"id"])
  func `a line that was read too early and is malformed is deleted`(rest: String) async throws {
    try directory.write("1\n2", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source(key: nil))
    #expect(texts(log.source.snapshot) == ["1", "2"])
    try append(" oops\n" + rest)
    let expected = rest.hasPrefix("3") ? ["1", "3"] : ["1"]
    if texts(log.source.snapshot) != expected {
      try await log.change { texts($0.after) == expected }
    }
    try await log.status { $0.diagnostics.first?.message.contains("line 2, column 3") == true }
    try append("\n4\n")
    try await log.change { texts($0.after) == expected + ["4"] }
  }

  @Test func `malformed lines and duplicate keys are both reported`() async throws {
    try directory.write("{\"id\":1}\n{\"id\":1}}\n", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source())
    try await skipped(log, "1 line", "line 2, column 9")
    try append("{\"id\":1}\n")
    let status = try await log.status { $0.diagnostics.count == 2 }
    #expect(status.diagnostics.map(\.code) == ["duplicate-identity", "malformed-lines"])
  }

  /// A source that follows a file, and a source that loads it later, agree.
  @Test(
    .reaches("beginning of a line", "end of a line", "line without a key", "blank line", "line"))
  func `appended lines and a fresh load have the same elements and status`() async throws {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    try directory.write("", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source())
    var id = 0
    for _ in 0..<(TestRun.isLong ? 2_000 : 120) {
      var text = ""
      for _ in 0...random.below(5) {
        id += 1
        let value = "{\"id\":\(id),\"a\":[1,{\"b\":\"c\"}]}"
        switch random.below(8) {
        case 0:
          text += value.prefix(random.below(value.count - 1) + 1) + "\n"
          Coverage.note("beginning of a line")
        case 1:
          text += value.suffix(random.below(value.count - 1) + 1) + "\r\n"
          Coverage.note("end of a line")
        case 2:
          text += "{\"no\":\(id)}\n"
          Coverage.note("line without a key")
        case 3:
          text += " \n"
          Coverage.note("blank line")
        default:
          text += value + "\n"
          Coverage.note("line")
        }
      }
      // The last line of each append is malformed, so each append changes the status.
      try append(text + "[\n")
      let fresh = source()
      try await fresh.loaded()
      let status = try await log.status { $0 == fresh.status }
      #expect(status.diagnostics.map(\.code) == ["malformed-lines"], "seed \(seed)")
      #expect(log.source.snapshot.elementsEqual(fresh.snapshot), "seed \(seed)")
    }
  }
}
