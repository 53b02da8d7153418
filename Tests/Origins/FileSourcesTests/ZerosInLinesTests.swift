import FileWatching
import Foundation
import ObservableCollections
import SwappablePrimitives
import TestSupport
import Testing

@testable import FileSources

/// Zero bytes in files of JSON Lines, as a truncation leaves them if the writer goes on at its old place.
@Suite(.timeLimit(.minutes(10))) struct ZerosInLinesTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory("a.jsonl")
  }

  private func source() -> JSONLinesDataSource<JSONElement> {
    JSONLinesDataSource(path: path, key: "id")
  }

  private func ids(_ source: JSONLinesDataSource<JSONElement>) -> [Int] {
    source.snapshot.map { Int($0["id"]?.integer ?? -1) }
  }

  private func zeroCount(_ source: JSONLinesDataSource<JSONElement>) -> Int? {
    let remark = source.status.diagnostics.first { $0.code == "nul-bytes" }
    return remark.flatMap { Int($0.message.prefix { $0 != " " }) }
  }

  @Test(arguments: [1, 2, 3, 4, 5, 1_000, 9_000, (4 << 20) + 1])
  func `zeros before lines are skipped and counted`(count: Int) async throws {
    let zeros = Data(count: count)
    try (zeros + Data("{\"id\":1}\n".utf8) + zeros + Data("\u{FEFF}{\"id\":2}\n".utf8)).write(
      to: URL(fileURLWithPath: path))
    let source = source()
    try await source.loaded()
    #expect(ids(source) == [1, 2])
    #expect(zeroCount(source) == 2 * count)
    try OpenFile(path, O_WRONLY | O_APPEND).write("{\"id\":3}\n")
    try await wait(for: "the third line") { source.count == 3 }
    #expect(zeroCount(source) == 2 * count)
  }

  @Test func `a hole is not read`() async throws {
    let size = 1 << 40
    try Data("{\"id\":1}\n".utf8).write(to: URL(fileURLWithPath: path))
    try #require(truncate(path, off_t(size)) == 0)
    try OpenFile(path, O_WRONLY | O_APPEND).write("{\"id\":2}\n{\"id\":3}\n")
    let source = source()
    try await source.loaded()
    #expect(ids(source) == [1, 2, 3])
    #expect(zeroCount(source) == size - 9)
  }

  @Test func `zeros at the end may be space that the writer has reserved`() async throws {
    try (Data("{\"id\":1}\n".utf8) + Data(count: 100)).write(to: URL(fileURLWithPath: path))
    let source = source()
    try await source.loaded()
    #expect(ids(source) == [1] && zeroCount(source) == nil)
    let file = try OpenFile(path, O_WRONLY)
    let line = Array("{\"id\":2}\n".utf8)
    try #require(pwrite(file.descriptor, line, line.count, 9) == line.count)
    try await wait(for: "the second line") { source.count == 2 }
    #expect(ids(source) == [1, 2] && zeroCount(source) == nil)
  }

  @Test(arguments: [String.Encoding.utf16BigEndian, .utf16LittleEndian, .utf32BigEndian])
  func `another encoding is still an error`(encoding: String.Encoding) async throws {
    try #require("{\"id\":1}\n".data(using: encoding)).write(to: URL(fileURLWithPath: path))
    let source = source()
    await #expect(throws: SourceError.self) { try await source.loaded() }
    #expect(source.status.error?.message.contains("UTF-16") == true)
  }
}
