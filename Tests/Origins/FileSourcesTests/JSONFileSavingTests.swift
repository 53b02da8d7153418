import Diffing
import Foundation
import ObservableCollections
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import FileSources

/// Each way to save a file causes one change, on real files.
@Suite(.tags(.system), .timeLimit(.minutes(10)))
struct JSONFileSavingTests {
  static let old = #"[{"id":1,"v":0},{"id":2,"v":0},{"id":3,"v":0}]"#
  /// 1 is deleted, 2 is updated, 3 is moved before 2, and 4 is inserted at the end.
  static let new = #"[{"id":3,"v":0},{"id":2,"v":1},{"id":4,"v":0}]"#
  static let last = #"[{"id":9,"v":0}]"#

  @Test(arguments: FileSave.all)
  func `a save is one change`(_ save: FileSave) async throws {
    let directory = try TemporaryDirectory()
    try save.prepare(directory, Self.old)
    let log = try await SourceLog.afterLoading(source(directory("a.json")))
    try await expectChanges(log) { try save.save(directory, $0) }
  }

  @Test(arguments: ["truncate", "chunks", "overwrite", "rename", "sed", "vim", "recreate"])
  func `a save by another process is one change`(kind: String) async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let process = try SavingProcess(directory("a.json"), kind)
    let log = try await SourceLog.afterLoading(source(directory("a.json")))
    try await expectChanges(log) { try process.save($0) }
  }

  /// The system does not report writes through memory. The regular checks of the file's times find them.
  @Test func `a write to a mapping is one change`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    guard try notesWritesToMappings(in: directory) else { return }
    let process = try SavingProcess(directory("a.json"), "map")
    let log = try await SourceLog.afterLoading(source(directory("a.json")))
    try await expectChanges(log) { try process.save($0) }
  }

  private func expectChanges(
    _ log: SourceLog<JSONElement>, by save: (String) throws -> Void
  ) async throws {
    #expect(Array(log.source.snapshot) == elements(Self.old))
    try save(Self.new)
    let change = try await log.nextChange()
    #expect(Array(change.before) == elements(Self.old))
    #expect(Array(change.after) == elements(Self.new))
    #expect(change.changeset.deletions == [0])
    #expect(change.changeset.insertions == [2])
    #expect(change.changeset.moves.count == 1)
    #expect(change.changeset.updates.count == 1)
    #expect(change.revision == 2)

    // No other change was made in between.
    try save(Self.last)
    let next = try await log.nextChange()
    #expect(Array(next.after) == elements(Self.last))
    #expect(next.revision == 3)
    #expect(log.source.status == .loaded)
  }

  @Test func `a slow writer causes one change when it closes the file`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let reads = ReadLog()
    let log = try await SourceLog.afterLoading(source(directory("a.json"), reads))
    try await reads.nextRead()
    do {
      let file = try OpenFile(directory("a.json"), O_WRONLY | O_TRUNC)
      for part in [#"[{"id":3,"v":0}"#, #",{"id":2,"#, #""v":1},{"id":4,"v":0"#, "}]"] {
        try file.write(part)
        // The source has read this part of the file, and waits for more.
        try await reads.nextRead()
      }
    }
    let change = try await log.nextChange()
    #expect(Array(change.after) == elements(Self.new))
    #expect(change.revision == 2)
  }

  @Test func `a directory that is moved away and back is one change`() async throws {
    let directory = try TemporaryDirectory()
    try directory.makeDirectory("parent")
    try directory.write(Self.old, to: "parent/a.json")
    let reads = ReadLog()
    let log = try await SourceLog.afterLoading(source(directory("parent/a.json"), reads))
    try await reads.nextRead()
    try directory.move("parent", to: "elsewhere")
    try await reads.nextRead()
    try directory.write(Self.new, to: "elsewhere/a.json")
    try directory.move("elsewhere", to: "parent")
    let change = try await log.nextChange()
    #expect(Array(change.after) == elements(Self.new))
    #expect(change.revision == 2)
    #expect(log.source.status == .loaded)
  }

  @Test func `parents that are created later are one change`() async throws {
    let directory = try TemporaryDirectory()
    let log = SourceLog(source(directory("x/y/a.json")))
    _ = try await log.missing()
    try directory.makeDirectory("x/y")
    try directory.write(Self.old, to: "x/y/a.json")
    let change = try await log.nextChange()
    #expect(Array(change.after) == elements(Self.old))
    #expect(change.revision == 1)
    try directory.write(Self.last, to: "x/y/a.json")
    #expect(try await log.nextChange().revision == 2)
  }

  @Test func `a file that is deleted for a while never shows an empty list`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let reads = ReadLog()
    let log = try await SourceLog.afterLoading(source(directory("a.json"), reads))
    try await reads.nextRead()
    try directory.remove("a.json")
    try await reads.nextRead()
    try directory.write(Self.new, to: "a.json")
    let change = try await log.nextChange()
    #expect(change.changeset.updates.count == 1)
    #expect(change.revision == 2)
  }

  @Test func `equal contents and new attributes are no event`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let reads = ReadLog()
    let log = try await SourceLog.afterLoading(source(directory("a.json"), reads))
    try await reads.nextRead()
    try directory.write(Self.old, to: "a.json")
    try await reads.nextRead()
    guard utimes(directory("a.json"), nil) == 0 else { throw POSIXError.last }
    try await reads.nextRead()
    guard chmod(directory("a.json"), 0o600) == 0 else { throw POSIXError.last }
    try await reads.nextRead()
    // The white space, the escapes and the order of members differ.
    try directory.write(
      #"[ {"v":0,"id":1}, {"\u0069d":2,"v":0},{"id":3,"v":0}]"#, to: "b.json")
    try directory.move("b.json", to: "a.json")
    try await reads.nextRead()
    try directory.write(Self.last, to: "a.json")
    let change = try await log.nextChange()
    #expect(change.revision == 2)
    #expect(Array(change.after) == elements(Self.last))
  }

  /// The grace period never ends, so the source only shows complete files.
  private func source(
    _ path: String, _ reads: ReadLog = ReadLog()
  ) -> JSONFileDataSource<JSONElement> {
    var timing = FileTiming()
    timing.grace = .seconds(3_600)
    return JSONFileDataSource(
      path: ByteString(path), key: "id", decoding: ElementDecoding(each: { $0 }),
      system: reads.system,
      timing: timing)
  }

  private func elements(_ text: String) -> [JSONElement] {
    (try? JSONElement.elements(ofArray: Array(text.utf8), key: "id")) ?? []
  }
}
