import Diffing
import Foundation
import ObservableCollections
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import FileSources
@testable import FileWatching

/// Each way to save a file of lines causes one change, on real files.
@Suite(.tags(.system), .timeLimit(.minutes(10)))
struct JSONLinesSavingTests {
  static let old = "{\"id\":1,\"v\":0}\n{\"id\":2,\"v\":0}\n{\"id\":3,\"v\":0}\n"
  /// 1 is deleted, 2 is updated, 3 is moved before 2, and 4 is inserted at the end.
  static let new = "{\"id\":3,\"v\":0}\n{\"id\":2,\"v\":1}\n{\"id\":4,\"v\":0}\n"
  static let last = "{\"id\":9,\"v\":0}\n"

  private func source(
    _ path: String, grace: Duration = .seconds(3_600), system: WatchSystem = .live
  ) -> JSONLinesDataSource<JSONElement> {
    var timing = FileTiming()
    timing.grace = grace
    return JSONLinesDataSource(
      path: ByteString(path), key: "id", decoding: ElementDecoding(each: { $0 }), system: system,
      timing: timing)
  }

  private func elements(_ text: String) throws -> [JSONElement] {
    try text.split(separator: "\n").map { try JSONElement(parsing: String($0), key: "id") }
  }

  private func expectChanges(
    _ log: SourceLog<JSONElement>, by save: (String) throws -> Void
  ) async throws {
    #expect(Array(log.source.snapshot) == (try elements(Self.old)))
    try save(Self.new)
    let change = try await log.nextChange()
    #expect(Array(change.before) == (try elements(Self.old)))
    #expect(Array(change.after) == (try elements(Self.new)))
    #expect(change.changeset.deletions == [0])
    #expect(change.changeset.insertions == [2])
    #expect(change.changeset.moves.count == 1)
    #expect(change.changeset.updates.count == 1)
    #expect(change.revision == 2)

    // No other change was made in between.
    try save(Self.last)
    let next = try await log.nextChange()
    #expect(Array(next.after) == (try elements(Self.last)))
    #expect(next.revision == 3)
    #expect(log.source.status == .loaded)
  }

  @Test(arguments: FileSave.all)
  func `a save is one change`(_ save: FileSave) async throws {
    let directory = try TemporaryDirectory()
    try save.prepare(directory, Self.old)
    // If the system reports the end of the writer, the source does not wait.
    let source = source(directory("a.json"), grace: save.needsRest ? .seconds(2) : .seconds(3_600))
    let log = try await SourceLog.afterLoading(source)
    try await expectChanges(log) { try save.save(directory, $0) }
  }

  @Test(arguments: [
    ("truncate", false), ("chunks", false), ("overwrite", false), ("rename", false),
    ("sed", false), ("vim", true), ("recreate", true),
  ])
  func `a save by another process is one change`(kind: String, needsRest: Bool) async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let process = try SavingProcess(directory("a.json"), kind)
    let source = source(directory("a.json"), grace: needsRest ? .seconds(2) : .seconds(3_600))
    let log = try await SourceLog.afterLoading(source)
    try await expectChanges(log) { try process.save($0) }
  }

  /// The notifications of a deletion may arrive in parts, and after the next file was created.
  @Test(
    arguments: [
      [[.attributes, .displaced, .lost]], [[.attributes], [.displaced, .lost]],
      [[.written, .attributes, .displaced, .lost, .movedOut]],
    ] as [[FileSignal]])
  func `a file with a reused inode waits for its writer`(signals: [FileSignal]) async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let receivers = Log<WatchSystem.Receiver>([])
    var system = WatchSystem.live
    system.watch = { _, name, receiver in
      receivers.append(receiver)
      return .success(WatchSystem.Token(watch: 1, user: 1, name: name))
    }
    system.unwatch = { _ in }
    // The regular checks are turned off.
    system.callLater = { delay, queue, body in
      delay < .seconds(1) ? WatchSystem.live.callLater(delay, queue, body) : ScheduledTimer {}
    }
    let reads = ReadLog(system)
    let log = try await SourceLog.afterLoading(source(directory("a.json"), system: reads.system))
    try await reads.nextRead()
    func send(_ signal: FileSignal) async throws {
      let receive = try #require(receivers.value.first)
      receive(signal)
      try await reads.nextRead()
    }
    // A truncated file keeps its inode.
    guard truncate(directory("a.json"), 0) == 0 else { throw POSIXError.last }
    for signal in signals { try await send(signal) }
    try directory.write(Self.new, to: "a.json")
    try await send(.created)
    try await send(.written)
    let change = try await log.nextChange()
    #expect(Array(change.after) == (try elements(Self.new)))
    #expect(change.revision == 2)
  }

  /// The system does not report writes through memory. The regular checks of the file's times find them.
  @Test func `a write to a mapping is one change`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    guard try notesWritesToMappings(in: directory) else { return }
    let process = try SavingProcess(directory("a.json"), "map")
    let log = try await SourceLog.afterLoading(source(directory("a.json"), grace: .seconds(1)))
    try await expectChanges(log) { try process.save($0) }
  }

  @Test func `a line that another process appends is inserted when it is complete`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let process = try SavingProcess(directory("a.json"), "append")
    let log = try await SourceLog.afterLoading(source(directory("a.json")))
    for id in 4..<100 {
      try process.save("{\"id\":\(id),\"v\":0}\n{\"id\":")
      #expect(try await log.nextChange().changeset == Changeset(insertions: [2 * id - 5]))
      try process.save("\(-id),\"v\":0}\n")
      #expect(try await log.nextChange().changeset == Changeset(insertions: [2 * id - 4]))
    }
    #expect(log.source.snapshot.count == 195)
  }

  @Test func `equal contents and new attributes are no event`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let reads = ReadLog()
    let log = try await SourceLog.afterLoading(source(directory("a.json"), system: reads.system))
    try await reads.nextRead()
    try directory.write(Self.old, to: "b.json")
    try directory.move("b.json", to: "a.json")
    try await reads.nextRead()
    guard utimes(directory("a.json"), nil) == 0 else { throw POSIXError.last }
    try await reads.nextRead()
    guard chmod(directory("a.json"), 0o600) == 0 else { throw POSIXError.last }
    try await reads.nextRead()
    try directory.write(
      "\u{FEFF}\r\n { \"v\" : 0, \"id\" : 1 } \r\n\n{\"\\u0069d\":2,\"v\":0}\r\n{\"id\":3,\"v\":0}\r\n \n",
      to: "b.json")
    try directory.move("b.json", to: "a.json")
    try await reads.nextRead()
    try directory.write(Self.last, to: "b.json")
    try directory.move("b.json", to: "a.json")
    let change = try await log.nextChange()
    #expect(change.revision == 2)
    #expect(Array(change.after) == (try elements(Self.last)))
  }

  @Test func `a rotated file is one change that keeps common lines`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let log = try await SourceLog.afterLoading(source(directory("a.json"), grace: .seconds(2)))
    try directory.move("a.json", to: "a.json.1")
    let file = try OpenFile(directory("a.json"), O_WRONLY | O_CREAT | O_APPEND)
    try file.write("{\"id\":3,\"v\":1}\n")
    let change = try await log.nextChange()
    #expect(change.changeset.deletions == [0, 1])
    #expect(change.changeset.updates.count == 1)
    #expect(change.revision == 2)
    // Later writes to the old file have no effect.
    let rotated = try OpenFile(directory("a.json.1"), O_WRONLY | O_APPEND)
    try rotated.write("{\"id\":7,\"v\":1}\n")
    try file.write("{\"id\":4,\"v\":1}\n")
    #expect(try await log.nextChange().changeset == Changeset(insertions: [1]))
  }

  @Test func `a copied and truncated file is one change`() async throws {
    let directory = try TemporaryDirectory()
    try directory.write(Self.old, to: "a.json")
    let log = try await SourceLog.afterLoading(source(directory("a.json"), grace: .seconds(1)))
    let file = try OpenFile(directory("a.json"), O_WRONLY | O_APPEND)
    try #require(truncate(directory("a.json"), 0) == 0)
    let change = try await log.nextChange()
    #expect(change.after.isEmpty)
    #expect(log.source.status == .loaded)
    try file.write("{\"id\":4,\"v\":1}\n")
    #expect(try await log.nextChange().changeset == Changeset(insertions: [0]))
  }

  @Test func `a directory that is moved away and back is one change`() async throws {
    let directory = try TemporaryDirectory()
    try directory.makeDirectory("parent")
    try directory.write(Self.old, to: "parent/a.json")
    let log = try await SourceLog.afterLoading(
      source(directory("parent/a.json"), grace: .seconds(1)))
    try directory.move("parent", to: "elsewhere")
    try directory.write(Self.new, to: "elsewhere/a.json")
    try directory.move("elsewhere", to: "parent")
    let change = try await log.nextChange()
    #expect(Array(change.after) == (try elements(Self.new)))
    #expect(change.revision == 2)
    #expect(log.source.status == .loaded)
  }
}
