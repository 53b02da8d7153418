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
struct JSONFileStatusTests {
  let directory: TemporaryDirectory
  let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory("a.json")
  }

  /// Creates a source with a short grace period, so errors are reported soon.
  private func source(
    key: String? = "id", system: WatchSystem = .live
  ) -> JSONFileDataSource<JSONElement> {
    var timing = FileTiming()
    timing.grace = .milliseconds(1)
    timing.retry = .milliseconds(1)
    return JSONFileDataSource(
      path: ByteString(path), key: key, decoding: ElementDecoding(each: { $0 }), system: system,
      timing: timing)
  }

  private func ids(_ snapshot: Snapshot<JSONElement>) -> [String] {
    snapshot.map(\.differenceIdentifier.description)
  }

  @Test func `a source is idle until it is observed, then loads with one change`() async throws {
    try directory.write(#"[{"id":1}]"#, to: "a.json")
    let gate = DispatchSemaphore(value: 0)
    var system = WatchSystem.live
    system.files.open = { path in
      gate.wait()
      return FileAccess.live.open(path)
    }
    let source = source(system: system)
    #expect(source.status == .idle)
    let (stream, continuation) = AsyncStream.makeStream(of: CollectionEvent<JSONElement>.self)
    let observation = source.observe { continuation.yield($0) }
    #expect(source.status == .loading)
    #expect(source.revision == 0)
    gate.signal()
    var events = stream.makeAsyncIterator()
    guard case .initial(let empty, revision: 0) = await events.next() else {
      Issue.record("no initial")
      return
    }
    #expect(empty.isEmpty)
    guard case .change(let change) = await events.next() else {
      Issue.record("no change")
      return
    }
    #expect(ids(change.after) == ["1"])
    #expect(change.changeset.insertions == [0])
    #expect(source.status == .loaded)
    #expect(try await ids(source.loaded()) == ["1"])
    withExtendedLifetime(observation) {}
  }

  @Test func `an empty array is loaded`() async throws {
    try directory.write("[]", to: "a.json")
    #expect(try await source().loaded().isEmpty)
  }

  @Test(arguments: [
    ("", "json-empty", "line 1, column 1"), ("[{\"id\":1},\n{\"id\":", "json-truncated", "line 2"),
    ("[{\"id\":1},\n{\"id\" 2}]", "json-syntax", "line 2, column 7, element 1"),
    ("{\"id\":1}", "json-notAnArray", "put [ and ] around"),
    ("[{\"id\":1},{\"name\":2}]", "json-missingKey", "element 1: the element has no member \"id\""),
    ("[{\"id\":[]}]", "json-invalidKey", "element 0"),
    ("\u{0}[\u{0}]", "json-encoding", "UTF-16"),
  ])
  func `a malformed file is a status until it is corrected`(
    text: String, code: String, mentions: String
  ) async throws {
    try directory.write(#"[{"id":1},{"id":2}]"#, to: "a.json")
    let log = try await SourceLog.afterLoading(source())
    try directory.write(text, to: "b.json")
    try directory.move("b.json", to: "a.json")
    let error = try await log.failure()
    #expect(error.code == code)
    #expect(error.message.contains(path))
    #expect(error.message.contains(mentions), "\(error)")
    #expect(ids(log.source.snapshot) == ["1", "2"])
    try directory.write(#"[{"id":2},{"id":3}]"#, to: "a.json")
    try await log.loaded()
    let change = try await log.nextChange()
    #expect(change.changeset.deletions == [0])
    #expect(change.changeset.insertions == [1])
    #expect(change.revision == 2)
    #expect(log.source.status == .loaded)
  }

  @Test func `a file that exceeds the memory is a status`() async throws {
    try directory.write("[]", to: "a.json")
    let log = try await SourceLog.afterLoading(source())
    // The file is sparse and needs no space on the disk.
    try #require(truncate(path, 8 << 40) == 0)
    let error = try await log.failure()
    #expect(error.message.contains(path))
    try directory.write(#"[{"id":1}]"#, to: "a.json")
    try await log.loaded()
    #expect(log.source.snapshot.count == 1)
  }

  @Test func `a malformed file fails the load`() async throws {
    try directory.write("[", to: "a.json")
    let source = source()
    let error = await #expect(throws: SourceError.self) { try await source.loaded() }
    #expect(error?.code == "json-truncated")
    let log = SourceLog(source)
    try directory.write(#"[{"id":1}]"#, to: "a.json")
    #expect(try await ids(log.nextChange().after) == ["1"])
  }

  @Test func `a missing file appears with its directories`() async throws {
    let deep = directory("x/y/a.json")
    let log = SourceLog(JSONFileDataSource(path: deep, key: "id"))
    let error = try await log.missing()
    #expect(error.code == "file-missing")
    #expect(error.message.contains(directory("x")))
    #expect(error.message.hasSuffix("; check the path, or create the file"))
    try directory.makeDirectory("x/y")
    try directory.write(#"[{"id":1}]"#, to: "x/y/a.json")
    #expect(try await ids(log.nextChange().after) == ["1"])
    try await log.loaded()
  }

  @Test func `a removed file returns without events`() async throws {
    try directory.write(#"[{"id":1}]"#, to: "a.json")
    let log = try await SourceLog.afterLoading(source())
    try directory.remove("a.json")
    #expect(try await log.missing().code == "file-missing")
    #expect(ids(log.source.snapshot) == ["1"])
    try directory.write(#"[{"id":1}]"#, to: "a.json")
    try await log.loaded()
    #expect(log.source.revision == 1)
    try directory.write(#"[{"id":2}]"#, to: "a.json")
    #expect(try await log.nextChange().revision == 2)
  }

  @Test func `a directory at the path is a status`() async throws {
    try directory.write(#"[{"id":1}]"#, to: "a.json")
    let log = try await SourceLog.afterLoading(source())
    try directory.remove("a.json")
    try directory.makeDirectory("a.json")
    let error = try await log.failure()
    #expect(error.code == "file-not-regular")
    #expect(error.message.contains("use the path of a file in it"))
    try directory.remove("a.json")
    try directory.write(#"[{"id":2}]"#, to: "a.json")
    try await log.loaded()
    #expect(try await ids(log.nextChange().after) == ["2"])
  }

  @Test func `a pipe is refused without waiting for a writer`() async throws {
    guard mkfifo(path, 0o600) == 0 else { throw POSIXError.last }
    let log = SourceLog(source())
    #expect(try await log.failure().code == "file-not-regular")
  }

  @Test func `a link loop is a status until it is broken`() async throws {
    try directory.link("a.json", to: "b.json")
    try directory.link("b.json", to: "a.json")
    let log = SourceLog(source())
    #expect(try await log.failure().code == "file-loop")
    try directory.write(#"[{"id":2}]"#, to: "c.json")
    try directory.move("c.json", to: "b.json")
    #expect(try await ids(log.nextChange().after) == ["2"])
  }

  @Test func `an unreadable file is a status until it can be read`() async throws {
    try directory.write(#"[{"id":1}]"#, to: "a.json")
    let isDenied = Holder(Locked(false))
    var system = WatchSystem.live
    system.files.open = { path in
      if isDenied.value.withLock({ $0 }) {
        return .failure(
          FileError(
            cause: .denied, operation: "open", path: path, code: EACCES,
            reason: "Permission denied"))
      }
      return FileAccess.live.open(path)
    }
    let log = try await SourceLog.afterLoading(source(system: system))
    isDenied.value.withLock { $0 = true }
    guard chmod(path, 0o000) == 0 else { throw POSIXError.last }
    let error = try await log.failure()
    #expect(error.code == "file-denied")
    #expect(error.message.contains("Permission denied; let this process read it"))
    isDenied.value.withLock { $0 = false }
    guard chmod(path, 0o600) == 0 else { throw POSIXError.last }
    try await log.loaded()
    #expect(log.source.revision == 1)
  }

  @Test func `a refused read is repeated`() async throws {
    try directory.write(#"[{"id":1}]"#, to: "a.json")
    let isRefused = Holder(Locked(true))
    var system = WatchSystem.live
    system.files.open = { path in
      guard isRefused.value.withLock({ $0 }) else { return FileAccess.live.open(path) }
      return .failure(
        FileError(
          cause: .limit, operation: "open", path: path, code: EMFILE,
          reason: "Too many open files"))
    }
    let log = SourceLog(source(system: system))
    #expect(try await log.failure().code == "file-limit")
    isRefused.value.withLock { $0 = false }
    #expect(try await ids(log.nextChange().after) == ["1"])
  }

  @Test func `a diagnostic names duplicate keys`() async throws {
    try directory.write(#"[{"id":1,"v":1},{"id":"1"},{"id":1,"v":2}]"#, to: "a.json")
    let log = try await SourceLog.afterLoading(source())
    #expect(ids(log.source.snapshot) == ["1", #""1""#, "1"])
    let status = try await log.status { $0.state == .loaded }
    #expect(status.diagnostics.map(\.code) == ["duplicate-identity"])
    #expect(status.diagnostics.first?.message.contains("Elements 0 and 2") == true)
    #expect(status.diagnostics.first?.message.contains("same key, 1;") == true)
    try directory.write(#"[{"id":1,"v":2}]"#, to: "a.json")
    try await log.status { $0 == .loaded }
  }

  @Test func `loading a file hashes each identity once`() async throws {
    let count = 1_000
    let elements = (0..<count).map { "{\"id\":\($0)}" }.joined(separator: ",")
    try directory.write("[\(elements)]", to: "a.json")
    let source = JSONFileDataSource<CountedElement>(path: path)
    #expect(try await source.loaded().count == count)
    // About one in thirty hashes shares its bit with another one, and is compared.
    #expect(CountedElement.hashCount.withLock { $0 } < count * 3 / 2)
  }

  @Test func `polling is a diagnostic`() async throws {
    try directory.write(#"[{"id":1}]"#, to: "a.json")
    var system = WatchSystem.live
    system.watch = { path, _, _ in
      .failure(
        FileError(
          cause: .limit, operation: "watch", path: path, code: ENOSPC,
          reason: "No space left on device"))
    }
    let log = try await SourceLog.afterLoading(source(system: system))
    let status = log.source.status
    #expect(status.diagnostics.map(\.code) == ["polling"])
    #expect(status.diagnostics.first?.message.contains("every 0.25 seconds") == true)
    try directory.write(#"[{"id":22}]"#, to: "a.json")
    #expect(try await ids(log.nextChange().after) == ["22"])
  }
}

/// A lock that closures share.
final class Holder<State: Sendable>: Sendable {
  let value: Locked<State>
  init(_ value: consuming Locked<State>) { self.value = value }
}

/// An element that counts how often its identity is hashed.
private struct CountedElement: Differentiable, Codable, Equatable, Sendable {
  struct Identifier: Hashable, Sendable {
    let id: Int

    func hash(into hasher: inout Hasher) {
      hashCount.withLock { $0 += 1 }
      hasher.combine(id)
    }
  }

  static let hashCount = Locked(0)

  let id: Int

  var differenceIdentifier: Identifier { Identifier(id: id) }
}
