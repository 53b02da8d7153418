import Diffing
import FileWatching
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import Testing

@testable import FileSources

/// Errors of a file's text and path, for both formats, on real files.
@Suite(.timeLimit(.minutes(10)))
struct JSONFileFaultTests {
  enum Format: CaseIterable, Sendable {
    case array, lines

    /// Returns the text of a file with some values.
    func text(_ values: String...) -> String {
      self == .array
        ? "[" + values.joined(separator: ",") + "]" : values.map { $0 + "\n" }.joined()
    }
  }

  let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func source(
    _ format: Format, _ name: String = "a", key: String? = "id", system: WatchSystem = .live
  ) -> any DataSource<JSONElement> {
    var timing = FileTiming()
    timing.grace = .milliseconds(1)
    timing.retry = .milliseconds(1)
    let decoding = ElementDecoding<JSONElement>(each: { $0 })
    return switch format {
    case .array:
      JSONFileDataSource(
        path: ByteString(directory(name)), key: key, decoding: decoding, system: system,
        timing: timing)
    case .lines:
      JSONLinesDataSource(
        path: ByteString(directory(name)), key: key, isStrict: true, decoding: decoding,
        system: system,
        timing: timing)
    }
  }

  private func replace(_ name: String, _ text: String) throws {
    try directory.write(text, to: "new")
    try directory.move("new", to: name)
  }

  @Test(arguments: Format.allCases)
  func `a missing file returns without events`(format: Format) async throws {
    try directory.write(format.text(#"{"id":1}"#), to: "a")
    let log = try await SourceLog.afterLoading(source(format))
    try directory.move("a", to: "b")
    let error = try await log.missing()
    #expect(error.code == "file-missing")
    #expect(error.message.contains(directory("a")))
    #expect(log.source.snapshot.count == 1)
    try directory.move("b", to: "a")
    try await log.loaded()
    #expect(log.source.revision == 1)
    try directory.move("a", to: "b")
    _ = try await log.missing()
    try replace("a", format.text(#"{"id":1}"#, #"{"id":2}"#))
    #expect(try await log.nextChange().changeset == Changeset(insertions: [1]))
    try await log.loaded()
  }

  @Test(arguments: Format.allCases)
  func `a link loop is a status, and a switched target is one change`(format: Format) async throws {
    try directory.write(format.text(#"{"id":1}"#), to: "one")
    try directory.write(format.text(#"{"id":1,"v":2}"#, #"{"id":2}"#), to: "two")
    try directory.link("a", to: "one")
    let log = try await SourceLog.afterLoading(source(format))
    try directory.link("link", to: "two")
    try directory.move("link", to: "a")
    var change = try await log.nextChange()
    #expect(change.changeset.updates.count == 1)
    #expect(change.changeset.insertions == [1])
    try directory.link("link", to: "a")
    try directory.move("link", to: "a")
    #expect(try await log.failure().code == "file-loop")
    #expect(log.source.snapshot.count == 2)
    try directory.link("link", to: "one")
    try directory.move("link", to: "a")
    change = try await log.nextChange()
    #expect(change.changeset.deletions == [1])
    #expect(change.revision == 3)
    try await log.loaded()
  }

  @Test(arguments: Format.allCases)
  func `an unreadable file is a status until it can be read`(format: Format) async throws {
    try directory.write(format.text(#"{"id":1}"#), to: "a")
    let isDenied = Shared(false)
    var system = WatchSystem.live
    // Permissions of a file do not apply to the superuser.
    let failure = FileError(
      cause: .denied, operation: "open", path: ByteString(directory("a")), code: EACCES,
      reason: "Permission denied")
    system.files.open = { isDenied.value ? .failure(failure) : FileAccess.live.open($0) }
    let log = try await SourceLog.afterLoading(source(format, system: system))
    isDenied.value = true
    guard chmod(directory("a"), 0o000) == 0 else { throw POSIXError.last }
    let error = try await log.failure()
    #expect(error.code == "file-denied")
    #expect(error.message.contains("Permission denied; let this process read it"))
    isDenied.value = false
    guard chmod(directory("a"), 0o600) == 0 else { throw POSIXError.last }
    try await log.loaded()
    #expect(log.source.revision == 1)
  }

  @Test(arguments: Format.allCases)
  func `a pipe or directory is a status until a file replaces it`(format: Format) async throws {
    guard mkfifo(directory("a"), 0o600) == 0 else { throw POSIXError.last }
    let log = SourceLog(source(format))
    #expect(try await log.failure().message.contains("pipe, socket or device"))
    try directory.makeDirectory("b")
    try directory.remove("a")
    try directory.move("b", to: "a")
    let isDirectory = try await log.status {
      $0.error?.message.contains("it is a directory") == true
    }
    #expect(isDirectory.error?.code == "file-not-regular")
    try directory.remove("a")
    try replace("a", format.text(#"{"id":1}"#))
    #expect(try await log.nextChange().revision == 1)
  }

  @Test(arguments: Format.allCases)
  func `duplicate identities are kept and reported by a diagnostic`(format: Format) async throws {
    try directory.write(format.text(#"{"id":1}"#, #"{"id":2}"#, #"{"id":1,"v":1}"#), to: "a")
    let log = try await SourceLog.afterLoading(source(format))
    #expect(log.source.snapshot.count == 3)
    #expect(log.source.status.diagnostics.map(\.code) == ["duplicate-identity"])
    // Duplicates are matched in order: the first element stays, and the second is deleted.
    try replace("a", format.text(#"{"id":1}"#, #"{"id":2}"#))
    #expect(try await log.nextChange().changeset == Changeset(deletions: [2]))
    #expect(log.source.status == .loaded)
  }

  @Test(arguments: Format.allCases)
  func `a byte order mark and large or deep values are read`(format: Format) async throws {
    let deep = String(repeating: "[", count: 511) + String(repeating: "]", count: 511)
    let values = ["123456789012345678901234567890", "-1.5e999", #"{"a":1,"a":2}"#, deep]
    let text = "\u{FEFF}" + format.text(values[0], values[1], values[2], values[3])
    try directory.write(text, to: "a")
    let log = try await SourceLog.afterLoading(source(format, key: nil))
    #expect(log.source.snapshot.map(\.description) == values)
    #expect(log.source.snapshot[2]["a"]?.integer == 2)
    try replace("a", format.text("[[" + deep + "]]"))
    let error = try await log.failure()
    #expect(error.code == "json-depth")
    #expect(error.message.contains("512 levels"))
    try replace("a", "\u{0}" + format.text(values[0]).map { "\($0)\u{0}" }.joined())
    #expect(try await log.failure().code == "json-encoding")
    #expect(log.source.snapshot.count == 4)
  }

  @Test(arguments: Format.allCases)
  func `a source without watches polls and reports a diagnostic`(format: Format) async throws {
    try directory.write(format.text(#"{"id":1}"#), to: "a")
    var system = WatchSystem.live
    let isDenied = Shared(true)
    system.watch = { path, name, receiver in
      if !isDenied.value { return WatchSystem.live.watch(path, name, receiver) }
      return .failure(
        FileError(
          cause: .limit, operation: "watch", path: path, code: ENOSPC,
          reason: "No space left on device"))
    }
    let log = try await SourceLog.afterLoading(source(format, system: system))
    let diagnostic = try #require(log.source.status.diagnostics.first)
    #expect(diagnostic.code == "polling")
    #expect(diagnostic.message.contains("No space left on device"))
    try replace("a", format.text(#"{"id":1}"#, #"{"id":2}"#))
    #expect(try await log.nextChange().changeset == Changeset(insertions: [1]))
    // As soon as watches are available, the source uses them.
    isDenied.value = false
    try await log.status { $0 == .loaded }
  }
}
