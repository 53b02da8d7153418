import Diffing
import FileWatching
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import Testing

@testable import FileSources

@Suite(.timeLimit(.minutes(10)))
struct JSONLinesDataSourceTests {
  let directory: TemporaryDirectory
  let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory("a.jsonl")
  }

  private func source(
    key: String? = "id", isStrict: Bool = false, grace: Duration = .milliseconds(1),
    system: WatchSystem = .live
  ) -> JSONLinesDataSource<JSONElement> {
    var timing = FileTiming()
    timing.grace = grace
    timing.retry = .milliseconds(1)
    return JSONLinesDataSource(
      path: ByteString(path), key: key, isStrict: isStrict, decoding: ElementDecoding(each: { $0 }),
      system: system, timing: timing)
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

  @Test(arguments: [false, true])
  func `byte order marks at the starts of lines are skipped`(isStrict: Bool) async throws {
    let mark = "\u{FEFF}"
    try directory.write(
      "\(mark){\"id\":1}\n\(mark)\(mark){\"id\":2}\r\n\(mark)\n", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source(isStrict: isStrict))
    #expect(texts(log.source.snapshot) == ["{\"id\":1}", "{\"id\":2}"])
    #expect(log.source.status == .loaded)
    try append("\(mark){\"id\":3}\n")
    _ = try await log.nextChange()
    try append("\(mark){\"id\":4}")
    _ = try await log.nextChange()
    #expect(log.source.snapshot.map { $0["id"]?.integer } == [1, 2, 3, 4])
    #expect(log.source.status == .loaded)
  }

  @Test func `an append reads and decodes only the new lines`() async throws {
    struct Row: Codable, Differentiable, Hashable, Sendable {
      var id: Int
      var text: String
      var differenceIdentifier: Int { id }
    }
    func lines(_ ids: Range<Int>) throws -> String {
      let encoder = JSONEncoder()
      return try ids.map {
        let row = Row(id: $0, text: String(repeating: "x", count: 1_000))
        return String(decoding: try encoder.encode(row), as: UTF8.self) + "\n"
      }.joined()
    }
    let bytesRead = Shared(0)
    let looks = Shared(0)
    let decoded = Shared(0)
    var system = WatchSystem.live
    system.files.open = { path in
      looks.modify { $0 += 1 }
      return FileAccess.live.open(path).map { file in
        OpenedFile(path: path, stamp: file.stamp) { offset, buffer in
          let count = file.read(offset, buffer)
          bytesRead.modify { $0 += (try? count.get()) ?? 0 }
          return count
        }
      }
    }
    // The text is longer than the margins and is written in several parts.
    try directory.write(try lines(0..<5_000), to: "a.jsonl")
    let source = JSONLinesDataSource<Row>(
      path: ByteString(path), key: nil,
      decoding: ElementDecoding(each: { element in
        decoded.modify { $0 += 1 }
        return Row(id: element["id"]?.integer ?? -1, text: element["text"]?.string ?? "")
      }), system: system)
    let log = try await SourceLog.afterLoading(source)
    #expect(source.snapshot.count == 5_000)
    #expect(source.snapshot.last == Row(id: 4_999, text: String(repeating: "x", count: 1_000)))
    bytesRead.value = 0
    looks.value = 0
    decoded.value = 0
    let more = try lines(5_000..<5_010)
    try append(more)
    let change = try await log.nextChange()
    #expect(change.changeset == Changeset(insertions: Array(5_000..<5_010)))
    #expect(decoded.value == 10)
    // Each read includes two margins of 8 KiB, and once more if the file has changed meanwhile.
    #expect(bytesRead.value <= more.utf8.count + looks.value * 4 * 8_192)
    #expect(source.snapshot[5_003].id == 5_003)
  }

  @Test func `a configured decoder decodes the elements`() async throws {
    struct Person: Codable, Hashable, Identifiable, Differentiable, Sendable {
      var id: Int
      var firstName: String
    }
    try directory.write("{\"id\":1,\"first_name\":\"a\"}\n", to: "a.jsonl")
    let source = JSONLinesDataSource<Person>(path: path, isStrict: true) {
      $0.keyDecodingStrategy = .convertFromSnakeCase
    }
    let log = try await SourceLog.afterLoading(source)
    #expect(Array(source.snapshot) == [Person(id: 1, firstName: "a")])
    try append("\n{\"id\":2,\"first_name\":\"b\"}\n{\"id\":3,\"first_name\":7}\n")
    let error = try await log.failure()
    #expect(error.code == "json-undecodable")
    #expect(
      ["firstName", "first_name"].contains {
        error.message.contains("line 4, column 1: at .\($0): a value of type String is expected")
      }, "\(error)")
    #expect(source.snapshot.count == 1)
  }

  @Test(arguments: ["\n", "\r\n"])
  func `a line waits for its newline`(newline: String) async throws {
    try directory.write("{\"id\":1}" + newline, to: "a.jsonl")
    let reads = ReadLog()
    let log = try await SourceLog.afterLoading(
      source(grace: .seconds(3_600), system: reads.system))
    try await reads.nextRead()
    for part in ["{\"i", "d\":", "2}"] {
      try append(part)
      try await reads.nextRead()
    }
    try append(newline)
    let change = try await log.nextChange()
    #expect(change.changeset == Changeset(insertions: [1]))
    #expect(change.revision == 2)
  }

  @Test func `a line without a newline counts after the grace period`() async throws {
    try directory.write("{\"id\":1}\n{\"id\":2}", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source())
    #expect(texts(log.source.snapshot) == ["{\"id\":1}", "{\"id\":2}"])
    #expect(log.source.revision == 1)
    // The newline causes no event. The next line does.
    try append("\n{\"id\":3}")
    #expect(try await log.nextChange().changeset == Changeset(insertions: [2]))
    try append(" \r\n{\"id\":4}\n")
    #expect(try await log.nextChange().changeset == Changeset(insertions: [3]))
    #expect(log.source.status == .loaded)
  }

  @Test func `a line that was read too early is corrected`() async throws {
    try directory.write("1\n2", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source(key: nil))
    #expect(texts(log.source.snapshot) == ["1", "2"])
    try append("3\n4\n")
    let change = try await log.nextChange()
    #expect(texts(change.after) == ["1", "23", "4"])
    #expect(change.changeset == Changeset(deletions: [1], insertions: [1, 2]))
    try append("5")
    #expect(try await texts(log.nextChange().after) == ["1", "23", "4", "5"])
    try append("6")
    #expect(try await texts(log.nextChange().after) == ["1", "23", "4", "56"])
  }

  @Test(arguments: ["1\n2\n \n\n", "1\n2\n  "])
  func `a line that is overwritten with blanks is deleted`(text: String) async throws {
    try directory.write("1\n2\n3", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source(key: nil))
    #expect(texts(log.source.snapshot) == ["1", "2", "3"])
    try OpenFile(path, O_WRONLY).write(text)
    #expect(try await log.nextChange().changeset == Changeset(deletions: [2]))
    try append("\n4\n")
    #expect(try await texts(log.nextChange().after) == ["1", "2", "4"])
  }

  @Test func `an incomplete last line is a diagnostic until it is complete`() async throws {
    try directory.write("{\"id\":1}\n{\"id\":", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source())
    #expect(texts(log.source.snapshot) == ["{\"id\":1}"])
    #expect(log.source.status.state == .loaded)
    #expect(log.source.status.diagnostics.map(\.code) == ["incomplete-line"])
    let message = log.source.status.diagnostics.first?.message ?? ""
    #expect(message.contains(path) && message.contains("line 2, column 7"), "\(message)")
    try append("2}\n")
    #expect(try await texts(log.nextChange().after) == ["{\"id\":1}", "{\"id\":2}"])
    try await log.status { $0 == .loaded }
  }

  @Test(arguments: [
    ("{\"id\" 2}\n", "json-syntax", "line 4, column 7"),
    ("{\"id\":2\n", "json-truncated", "line 4, column 8: the text ends inside an object"),
    ("{\n\"id\":2}\n", "json-truncated", "line 4"),
    ("{\"id\":2} {\"id\":3}\n", "json-syntax", "line 4, column 10: the end of the line"),
    ("\n\r\n{\"id\":5}\n[{\"id\":2}]\n", "json-missingKey", "line 7, column 1"),
    ("{\"id\":[]}\n", "json-invalidKey", "line 4"),
    ("\"\u{0}\"\n", "json-syntax", "line 4, column 2"),
  ])
  func `a strict source fails at a malformed line until the file is corrected`(
    text: String, code: String, mentions: String
  ) async throws {
    let good = "\u{FEFF}{\"id\":1}\n\n{\"id\":0}\n"
    try directory.write(good, to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source(isStrict: true))
    try append(text)
    let error = try await log.failure()
    #expect(error.code == code)
    #expect(error.message.contains(path) && error.message.contains(mentions), "\(error)")
    // More lines do not correct the error.
    try append("{\"id\":6}\n")
    #expect(texts(log.source.snapshot) == ["{\"id\":1}", "{\"id\":0}"])
    try replace(good + "{\"id\":6}\n")
    try await log.loaded()
    let change = try await log.nextChange()
    #expect(change.changeset == Changeset(insertions: [2]))
    #expect(change.revision == 2)
  }

  @Test func `a strict source reports the first malformed line`() async throws {
    try directory.write("{\"id\":1}\n{\"no\":2}\n{\"id\":3}\n{\"id\" 4}\n", to: "a.jsonl")
    let error = await #expect(throws: SourceError.self) {
      try await source(isStrict: true).loaded()
    }
    #expect(error?.code == "json-missingKey")
    #expect(error?.message.contains("line 2, column 1") == true)
  }

  @Test func `a strict source does not read a malformed line again with each append`() async throws
  {
    let line = "{\"id\":1,\"text\":\"" + String(repeating: "x", count: 50_000) + "\"}\n"
    try directory.write(line + "oops\n" + line, to: "a.jsonl")
    let bytesRead = Shared(0)
    var system = WatchSystem.live
    system.files.open = { path in
      FileAccess.live.open(path).map { file in
        OpenedFile(path: path, stamp: file.stamp) { offset, buffer in
          bytesRead.modify { $0 += buffer.count }
          return file.read(offset, buffer)
        }
      }
    }
    let reads = ReadLog(system)
    let log = SourceLog(source(isStrict: true, system: reads.system))
    #expect(try await log.failure().message.contains("line 2, column 1"))
    // The first read, and the read after the grace period.
    try await reads.nextRead()
    try await reads.nextRead()
    bytesRead.value = 0
    try append(line)
    try await reads.nextRead()
    #expect(bytesRead.value <= 2 * 8_192)
    try replace("{\"id\":1}\n")
    #expect(try await log.nextChange().after.count == 1)
  }

  @Test func `a strict source fails to load a malformed file`() async throws {
    try directory.write("[\n1,\n2\n]\n", to: "a.jsonl")
    let source = source(isStrict: true)
    let error = await #expect(throws: SourceError.self) { try await source.loaded() }
    #expect(error?.message.contains("each value is on one line") == true)
    let log = SourceLog(source)
    try replace("{\"id\":1}\n")
    #expect(try await log.nextChange().after.count == 1)
  }

  @Test(arguments: [false, true])
  func `other encodings are a status`(isStrict: Bool) async throws {
    for text in ["\u{0}{\u{0}}\u{0}\n", "{\u{0}}\u{0}\n\u{0}"] {
      try replace(text)
      let error = await #expect(throws: SourceError.self) {
        try await source(isStrict: isStrict).loaded()
      }
      #expect(error?.code == "json-encoding")
      #expect(error?.message.contains("line 1, column 1") == true)
    }
  }

  @Test func `a strict source fails at a line that is not UTF-8`() async throws {
    try Data([0x31, 0x0A, 0x22, 0xFF, 0x22, 0x0A]).write(to: URL(fileURLWithPath: path))
    let error = await #expect(throws: SourceError.self) {
      try await source(key: nil, isStrict: true).loaded()
    }
    #expect(error?.message.contains("line 2, column 2: a byte that is not UTF-8") == true)
  }

  @Test func `empty files and blank lines are loaded`() async throws {
    for text in ["", "\n", "\r\n  \n\n", "\u{FEFF}", "\u{FEFF}\n"] {
      try replace(text)
      let source = source()
      #expect(try await source.loaded().isEmpty)
      #expect(source.status == .loaded)
    }
  }

  @Test func `deep and large values and duplicate members are kept`() async throws {
    let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
    let lines = [
      deep, "123456789012345678901234567890.5e-400", "{\"a\":1,\"a\":2}", "\"\u{1F600}\"",
    ]
    try directory.write(lines.joined(separator: "\n") + "\n", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source(key: nil, isStrict: true))
    #expect(texts(log.source.snapshot) == lines)
    try append("[" + deep + "]\n")
    let error = try await log.failure()
    #expect(error.code == "json-depth")
    #expect(error.message.contains("line 5, column 513"))
  }

  @Test func `contents that are replaced in place are noticed at any length`() async throws {
    // The file is longer than the margins, so they do not include its middle.
    func text(_ marker: String, _ suffix: String = "") -> String {
      let lines = (0..<2_000).map { "{\"id\":\($0),\"v\":\"\($0 == 1_000 ? marker : "xyz")\"}\n" }
      return lines.joined() + suffix
    }
    try directory.write(text("old"), to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source())
    let before = try FileAccess.live.stamp(ByteString(path)).get().modified
    // The length is the same, so the file system's clock must tick.
    repeat {
      try directory.write(text("new"), to: "a.jsonl")
    } while try FileAccess.live.stamp(ByteString(path)).get().modified == before
    var change = try await log.nextChange()
    #expect(change.changeset == Changeset(updates: [.init(from: 1_000, to: 1_000)]))
    // The file is longer, and the bytes before its old end differ.
    try directory.write(text("newer", "{\"id\":-1}\n"), to: "a.jsonl")
    change = try await log.nextChange()
    #expect(change.changeset.updates.count == 1)
    #expect(change.changeset.insertions == [2_000])
    // The start differs.
    try directory.write("{\"id\":-2}\n" + text("newer", "{\"id\":-1}\n"), to: "a.jsonl")
    change = try await log.nextChange()
    #expect(change.changeset == Changeset(insertions: [0]))
  }

  @Test func `contents whose time is set back are noticed`() async throws {
    func text(_ marker: String) -> String {
      (0..<2_000).map { "{\"id\":\($0),\"v\":\"\($0 == 1_000 ? marker : "xyz")\"}\n" }.joined()
    }
    func write(_ marker: String) throws {
      let file = try OpenFile(path, O_WRONLY | O_CREAT)
      try file.write(text(marker))
      let time = timespec(tv_sec: 1_000_000_000, tv_nsec: 0)
      try #require(futimens(file.descriptor, [time, time]) == 0)
    }
    try write("old")
    let log = try await SourceLog.afterLoading(source())
    let before = try FileAccess.live.stamp(ByteString(path)).get().changed
    repeat {
      try write("new")
    } while try FileAccess.live.stamp(ByteString(path)).get().changed == before
    let change = try await log.nextChange()
    #expect(change.changeset == Changeset(updates: [.init(from: 1_000, to: 1_000)]))
  }

  /// This happens after two quick renames, or if a new file has the inode of a deleted one.
  @Test func `another file with the same inode is read from the start`() async throws {
    func text(_ marker: String) -> String {
      (0..<2_000).map { "{\"id\":\($0),\"v\":\"\($0 == 1_000 ? marker : "xyz")\"}\n" }.joined()
    }
    @Sendable func numbered(_ stamp: Result<FileStamp, FileError>) -> Result<
      FileStamp, FileError
    > {
      stamp.map { stamp in
        var stamp = stamp
        if stamp.kind == .regular { stamp.identity.inode = 1 }
        return stamp
      }
    }
    var system = WatchSystem.live
    system.files.stamp = { numbered(FileAccess.live.stamp($0)) }
    system.files.open = { path in
      FileAccess.live.open(path).map { file in
        OpenedFile(path: path, stamp: { numbered(file.stamp()) }, read: file.read)
      }
    }
    try directory.write(text("old"), to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source(system: system))
    try replace(text("new") + "{\"id\":-1}\n")
    let change = try await log.nextChange()
    #expect(change.changeset.updates == [.init(from: 1_000, to: 1_000)])
    #expect(change.changeset.insertions == [2_000])
  }

  @Test func `a small file is compared as a whole`() async throws {
    func text(_ marker: String) -> String {
      (0..<500).map { "{\"id\":\($0),\"v\":\"\($0 == 250 ? marker : "xyz")\"}\n" }.joined()
    }
    try directory.write(text("old"), to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source())
    // One save changes the middle and appends a line.
    try directory.write(text("new") + "{\"id\":-1}\n", to: "a.jsonl")
    let change = try await log.nextChange()
    #expect(change.changeset.updates == [.init(from: 250, to: 250)])
    #expect(change.changeset.insertions == [500])
  }

  @Test func `a diagnostic of duplicate keys stays while lines are appended`() async throws {
    try directory.write("{\"id\":1}\n{\"id\":2}\n", to: "a.jsonl")
    let log = try await SourceLog.afterLoading(source())
    try append("{\"id\":1}\n")
    var status = try await log.status { !$0.diagnostics.isEmpty }
    #expect(status.diagnostics.map(\.code) == ["duplicate-identity"])
    #expect(status.diagnostics.first?.message.contains("Elements 0 and 2") == true)
    _ = try await log.nextChange()
    try append("{\"id\":1}\n")
    _ = try await log.nextChange()
    #expect(log.source.status == status)
    try replace("{\"id\":1}\n{\"id\":2}\n")
    status = try await log.status { $0.diagnostics.isEmpty }
    #expect(status == .loaded)
  }

  @Test func `a file that is missing from the start is a status and appears`() async throws {
    let log = SourceLog(source(grace: .seconds(1)))
    #expect(try await log.missing().code == "file-missing")
    let file = try OpenFile(path, O_WRONLY | O_CREAT)
    try file.write("{\"id\":1}\n")
    #expect(try await texts(log.nextChange().after) == ["{\"id\":1}"])
    try file.write("{\"id\":2}\n")
    #expect(try await log.nextChange().changeset == Changeset(insertions: [1]))
  }

  @Test func `a directory or a refused file is a status`() async throws {
    try directory.makeDirectory("a.jsonl")
    let log = SourceLog(source())
    #expect(try await log.failure().code == "file-not-regular")
    try directory.remove("a.jsonl")
    try directory.write("{\"id\":1}\n", to: "a.jsonl")
    _ = try await log.nextChange()

    let isRefused = Shared(true)
    var system = WatchSystem.live
    system.files.open = { path in
      guard isRefused.value else { return FileAccess.live.open(path) }
      return .failure(
        FileError(
          cause: .limit, operation: "open", path: path, code: EMFILE,
          reason: "Too many open files"))
    }
    let refused = SourceLog(source(system: system))
    #expect(try await refused.failure().code == "file-limit")
    isRefused.value = false
    #expect(try await refused.nextChange().after.count == 1)
  }

  @Test func `a file that changes during each read is a status`() async throws {
    try directory.write("{\"id\":1}\n", to: "a.jsonl")
    let isBusy = Shared(true)
    var system = WatchSystem.live
    system.files.open = { opened in
      FileAccess.live.open(opened).map { file in
        var file = file
        file.stamp = { [stamp = file.stamp] in
          stamp().map { found in
            var found = found
            if isBusy.value { found.modified = .random(in: 0 ... .max) }
            return found
          }
        }
        return file
      }
    }
    let log = SourceLog(source(system: system))
    #expect(try await log.failure().code == "file-unstable")
    isBusy.value = false
    #expect(try await log.nextChange().after.count == 1)
  }

  @Test func `releasing the source stops watching`() async throws {
    try directory.write("{\"id\":1}\n", to: "a.jsonl")
    let watches = WatchCount()
    var source: JSONLinesDataSource<JSONElement>? = source(system: watches.system)
    weak let weakSource = source
    try await source?.loaded()
    #expect(watches.count > 0)
    source = nil
    await watches.ended()
    #expect(weakSource == nil)
  }
}
