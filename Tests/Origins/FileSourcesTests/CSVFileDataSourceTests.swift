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

@Suite(.timeLimit(.minutes(10)))
struct CSVFileDataSourceTests {
  let directory: TemporaryDirectory
  let path: String
  private let decodedCount = Shared(0)

  init() throws {
    directory = try TemporaryDirectory()
    path = directory("a.csv")
  }

  /// Returns a source that counts the rows that it decodes.
  private func source(
    key: String? = nil, isStrict: Bool = false, partSize: Int = 256 << 10,
    rotation: CSVFileDataSource<JSONElement>.Rotation = .replace, system: WatchSystem = .live
  ) -> CSVFileDataSource<JSONElement> {
    var timing = FileTiming()
    timing.grace = .milliseconds(1)
    timing.retry = .milliseconds(1)
    return CSVFileDataSource(
      path: ByteString(path), form: CSVForm(delimiter: ",", partSize: partSize), key: key,
      isStrict: isStrict, rotation: rotation,
      decoding: ElementDecoding(each: { [decodedCount] element in
        decodedCount.modify { $0 += 1 }
        return element
      }), system: system, timing: timing)
  }

  private func write(_ text: String) throws { try directory.write(text, to: "a.csv") }

  private func append(_ text: String) throws {
    try OpenFile(path, O_WRONLY | O_APPEND).write(text)
  }

  private func replace(_ text: String) throws {
    try directory.write(text, to: "new")
    try directory.move("new", to: "a.csv")
  }

  private func texts(_ snapshot: Snapshot<JSONElement>) -> [String] {
    snapshot.map(\.description)
  }

  @Test func `each row is an object of strings`() async throws {
    try write("\u{FEFF}id,\"full name\",note\r\n1,\"Ada, \"\"L.\"\"\",\r\n\r\n2,Gr\"ace,\"a\r\nb\"")
    let source = CSVFileDataSource(path: path, key: "id")
    try await source.loaded()
    #expect(
      texts(source.snapshot) == [
        #"{"id":"1","full name":"Ada, \"L.\"","note":""}"#,
        #"{"id":"2","full name":"Gr\"ace","note":"a\r\nb"}"#,
      ])
    #expect(source.snapshot.map { "\($0.differenceIdentifier)" } == ["\"1\"", "\"2\""])
    #expect(source.status == .loaded)
  }

  @Test func `another delimiter and numbers`() async throws {
    try write("id\tn\n1\t1.50\n2\t\"3\"\n3\ta,b\n")
    let source = CSVFileDataSource(path: path, delimiter: "\t", key: "id", hasNumbers: true)
    try await source.loaded()
    #expect(
      texts(source.snapshot)
        == [#"{"id":1,"n":1.50}"#, #"{"id":2,"n":"3"}"#, #"{"id":3,"n":"a,b"}"#])
  }

  @Test func `the types of properties tell how fields are decoded`() async throws {
    enum Size: Int, Codable { case small = 1, large = 2 }
    struct Item: Codable, Hashable, Identifiable, Differentiable, Sendable {
      var id: Int
      var productName: String
      var price: Double?
      var isNew: Bool
      var size: Size
      var total: Decimal
      var created: Date?
      var link: URL?
      var tags: [String]?
    }
    try write(
      """
      id,product_name,price,is_new,size,total,created,link,tags
      1,007,1.5,true,2,0.10,86400,https://a.example/b,"[""a"",""b""]"
      2,,,false,1,12,,,

      """)
    let source = CSVFileDataSource<Item>(path: path, isStrict: true) {
      $0.keyDecodingStrategy = .convertFromSnakeCase
      $0.dateDecodingStrategy = .secondsSince1970
    }
    try await source.loaded()
    #expect(
      Array(source.snapshot) == [
        Item(
          id: 1, productName: "007", price: 1.5, isNew: true, size: .large,
          total: try #require(Decimal(string: "0.1")), created: Date(timeIntervalSince1970: 86_400),
          link: URL(string: "https://a.example/b"), tags: ["a", "b"]),
        Item(
          id: 2, productName: "", price: nil, isNew: false, size: .small, total: 12, created: nil,
          link: nil, tags: nil),
      ])
  }

  @Test(arguments: [
    ("x,1", "at .id: a value of type Int is expected. The field is \"x\""),
    (",1", "at .id: a value of type Int is expected. The field is \"\""),
    ("1,yes", "at .flag: a value of type Bool is expected. The field is \"yes\""),
  ])
  func `a field of another type is a malformed row`(row: String, reason: String) async throws {
    struct Item: Codable, Hashable, Identifiable, Differentiable, Sendable {
      var id: Int
      var flag: Bool?
    }
    try write("id,flag\n5,true\n\(row)\n6,\n")
    let source = CSVFileDataSource<Item>(path: path)
    try await source.loaded()
    #expect(Array(source.snapshot) == [Item(id: 5, flag: true), Item(id: 6, flag: nil)])
    let remark = try #require(source.status.diagnostics.first)
    #expect(remark.code == "malformed-lines")
    #expect(
      remark.message
        == "1 line of \(path) is skipped because it cannot be read: line 3, column 1: \(reason).")
  }

  @Test func `a dictionary has all columns`() async throws {
    struct Row: Decodable, Hashable, Differentiable, Sendable {
      var counts: [String: Int]
      init(from decoder: any Decoder) throws { counts = try [String: Int](from: decoder) }
    }
    try write("a,b\n1,2\n")
    let source = CSVFileDataSource<Row>(path: path, isStrict: true)
    try await source.loaded()
    #expect(source.snapshot.map(\.counts) == [["a": 1, "b": 2]])
  }

  @Test func `rows that follow another header, or become it, are decoded again`() async throws {
    let long = String(repeating: "l", count: 300_000)
    for (old, new) in [
      ("x,y\n1,2\n", "x,y\nx,y\n1,2\n"), ("x,y\n\(long),1\n3,4\n5,6\n", "\(long),1\n3,4\n5,6\n"),
      ("a,b\nx,y\n1,2\n", "x,y\n1,2\n"),
    ] {
      try write(old)
      let log = try await SourceLog.afterLoading(source())
      try Data(new.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
      let live = texts(try await log.nextChange().after)
      let fresh = source()
      try await fresh.loaded()
      #expect(live == texts(fresh.snapshot))
    }
  }

  @Test func `an open row that becomes malformed is no longer shown`() async throws {
    try write("a,b\n1,2")
    let log = try await SourceLog.afterLoading(source())
    #expect(texts(log.source.snapshot) == [#"{"a":"1","b":"2"}"#])
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.seekToEnd()
    try file.write(contentsOf: Data(",\"9".utf8))
    try file.close()
    #expect(try await log.nextChange().after.isEmpty)
  }

  @Test func `malformed rows are skipped and named`() async throws {
    try write("a,b\n1,2\n3\n4,5,6\n\n\"7\"x,8\n\"9\n\",10\n")
    let log = try await SourceLog.afterLoading(source())
    #expect(texts(log.source.snapshot) == [#"{"a":"1","b":"2"}"#, #"{"a":"9\n","b":"10"}"#])
    let remark = try #require(log.source.status.diagnostics.first)
    #expect(remark.message.contains("3 lines of \(path) are skipped"))
    #expect(remark.message.contains("line 6, column 4: text follows the closing quote"))
    try append("11\n")
    try await log.status { $0.diagnostics.first?.message.contains("line 9, column 1") == true }
  }

  @Test func `a strict source fails at a malformed row until it is corrected`() async throws {
    try write("a,b\n1,2\n")
    let log = try await SourceLog.afterLoading(source(isStrict: true))
    try append("3,4\n5\n")
    let error = try await log.failure()
    #expect(error.code == "csv-syntax")
    #expect(
      error.message
        == "cannot read \(path): line 4, column 1: the row has 1 field, but the header has 2; "
        + "add the missing fields")
    #expect(texts(log.source.snapshot) == [#"{"a":"1","b":"2"}"#])
    try replace("a,b\n1,2\n3,4\n5,6\n")
    #expect(try await log.nextChange().changeset == Changeset(insertions: [1, 2]))
  }

  @Test(arguments: [false, true])
  func `a header that cannot be used is a failure`(isStrict: Bool) async throws {
    try write("a,b\n1,2\n")
    let log = try await SourceLog.afterLoading(source(isStrict: isStrict))
    try replace("a,a\n1,2\n")
    #expect(try await log.failure().message.contains("line 1, column 1: two columns are named"))
    #expect(log.source.snapshot.count == 1)
    try replace("b,a\n1,2\n")
    #expect(texts(try await log.nextChange().after) == [#"{"b":"1","a":"2"}"#])
  }

  @Test func `a key that is no column is a failure`() async throws {
    try write("a,b\n1,2\n")
    let error = await #expect(throws: SourceError.self) { try await source(key: "id").loaded() }
    #expect(error?.code == "csv-missingKey")
    #expect(error?.message.contains("the header has no column \"id\", which is the key") == true)
  }

  @Test func `another encoding is a failure`() async throws {
    try Data("a,b\n1,2\n".utf16.flatMap { [UInt8($0), 0] })
      .write(to: URL(fileURLWithPath: path))
    let error = await #expect(throws: SourceError.self) { try await source().loaded() }
    #expect(error?.code == "csv-encoding")
    #expect(error?.message.contains("save it as UTF-8") == true)
  }

  @Test(arguments: ["", "\r\n", "\u{FEFF}", "a,b", "a,b\n", "\na,b\r\n\r\n"])
  func `a file without rows is empty`(text: String) async throws {
    try write(text)
    let log = try await SourceLog.afterLoading(source())
    #expect(log.source.snapshot.isEmpty)
    #expect(log.source.status == .loaded)
    try append(text.contains("a") ? "\n1,2\n" : "\na,b\n1,2\n")
    #expect(texts(try await log.nextChange().after) == [#"{"a":"1","b":"2"}"#])
  }

  @Test func `an appended row is read by itself`() async throws {
    var rows = (0..<100_000).map { "\($0),\"row, \($0)\"\n" }.joined()
    try write("a,b\n" + rows)
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
    let log = try await SourceLog.afterLoading(source(key: "a", system: system))
    #expect(log.source.snapshot.count == 100_000)
    (decodedCount.value, bytesRead.value) = (0, 0)
    let row = "100000,\"two\nlines\"\n"
    try append(row)
    #expect(try await log.nextChange().changeset == Changeset(insertions: [100_000]))
    #expect(decodedCount.value == 1)
    #expect(bytesRead.value < 200_000)
    // The row is in a part of 256 KiB.
    decodedCount.value = 0
    rows.replace("\"row, 50000\"", with: "edited")
    try replace("a,b\n" + rows + row)
    let change = try await log.nextChange()
    #expect(change.changeset.updates.map(\.to) == [50_000])
    #expect(change.changeset.changeCount == 1)
    #expect(decodedCount.value < 16_000)
  }

  @Test func `a last row without a line break counts after a pause`() async throws {
    try write("a,b\n1,2\n3,4")
    let log = try await SourceLog.afterLoading(source())
    #expect(log.source.snapshot.count == 2)
    try append("5\n")
    #expect(texts(try await log.nextChange().after).last == #"{"a":"3","b":"45"}"#)
    try append("6")
    try await log.status {
      $0.diagnostics.first?.message.contains("line 4, column 1: the row has 1 field") == true
    }
    try append(",7\n")
    #expect(texts(try await log.nextChange().after).last == #"{"a":"6","b":"7"}"#)
  }

  @Test func `a quote that opens takes the rows after it until it is closed`() async throws {
    let rows = (0..<1_000).map { "\($0),x\n" }
    try write("a,b\n" + rows.joined())
    let log = try await SourceLog.afterLoading(source(key: "a", partSize: 512))
    var edited = rows
    edited[400] = "400,\"x\n"
    decodedCount.value = 0
    try replace("a,b\n" + edited.joined())
    #expect(try await log.nextChange().changeset == Changeset(deletions: Array(400..<1_000)))
    let remark = try #require(log.source.status.diagnostics.first)
    #expect(remark.code == "incomplete-line")
    #expect(remark.message.contains("line 402, column 5: the quote that begins here is not closed"))
    // The file is read once more when the grace period is over.
    #expect(decodedCount.value < 200)
    edited[700] = "700,x\"\n"
    try replace("a,b\n" + edited.joined())
    let change = try await log.nextChange()
    #expect(change.changeset == Changeset(insertions: Array(400..<700)))
    #expect(change.after[400]["b"]?.string?.hasSuffix("\n700,x") == true)
    decodedCount.value = 0
    try replace("a,b\n" + rows.joined())
    #expect(
      try await log.nextChange().after.map { $0["a"]?.string } == (0..<1_000).map(String.init))
    #expect(decodedCount.value < 500)
    #expect(log.source.status == .loaded)
  }

  @Test func `a quote that is never closed is a failure without much memory`() async throws {
    try write("a\n1\n")
    let largest = Shared(0)
    var system = WatchSystem.live
    system.files.open = { path in
      FileAccess.live.open(path).map { file in
        OpenedFile(path: path, stamp: file.stamp) { offset, buffer in
          largest.modify { $0 = max($0, buffer.count) }
          return file.read(offset, buffer)
        }
      }
    }
    let log = try await SourceLog.afterLoading(source(system: system))
    try directory.write("a\n1\n\n\"2\n", to: "new")
    // The rest of the gigabyte takes no space on disk.
    let file = try OpenFile(directory("new"), O_WRONLY)
    try #require(ftruncate(file.descriptor, 1 << 30) == 0)
    try directory.move("new", to: "a.csv")
    let error = try await log.failure()
    #expect(
      error.message
        == "cannot read \(path): line 4, column 1: the quote that begins here is not closed within "
        + "16777216 bytes; add the closing quote")
    #expect(log.source.snapshot.count == 1)
    #expect(largest.value <= 16 << 20)
  }

  @Test func `a truncation and a rewritten file are one change`() async throws {
    try write("a,b\n1,2\n3,4\n5,6\n")
    let log = try await SourceLog.afterLoading(source(key: "a"))
    try write("a,b\n1,2\n")
    #expect(try await log.nextChange().changeset == Changeset(deletions: [1, 2]))
    try write("b,a\n7,1\n8,9\n")
    let change = try await log.nextChange()
    #expect(texts(change.after) == [#"{"b":"7","a":"1"}"#, #"{"b":"8","a":"9"}"#])
    #expect(change.changeset.updates.map(\.to) == [0])
  }

  @Test func `the newest rows of files that rotate stay`() async throws {
    try write("a,b\n1,2\n3,\"4\n\"\n")
    let log = try await SourceLog.afterLoading(source(rotation: .keep(last: 3)))
    #expect(log.source.snapshot.count == 2)
    try directory.move("a.csv", to: "a.csv.1")
    try write("b,a\n5,6\n7,8\n")
    try await log.change { $0.after.count == 3 }
    #expect(
      texts(log.source.snapshot)
        == [#"{"a":"3","b":"4\n"}"#, #"{"b":"5","a":"6"}"#, #"{"b":"7","a":"8"}"#])
  }

  @Test func `the files of a pattern are one list`() async throws {
    struct Row: Codable, Hashable, Differentiable, Sendable {
      var a: Int
    }
    try directory.write("a\n1\n", to: "1.csv")
    try directory.write("a\n2\n", to: "2.csv")
    let list = CSVFileDataSource<Row>.files(matching: directory("*.csv"))
    try await list.loaded()
    #expect(list.snapshot.map(\.a) == [1, 2])
  }
}
