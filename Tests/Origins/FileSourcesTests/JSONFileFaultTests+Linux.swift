#if os(Linux)
  import Diffing
  import Dispatch
  import Foundation
  import ObservableCollections
  import SwappablePrimitives
  import TestSupport
  import Testing

  @testable import FileSources
  @testable import FileWatching

  extension JSONFileFaultTests {
    /// A receiver that blocks until the kernel's queue is full.
    private final class Blockage: Sendable {
      let isReached = Signpost()
      let isOver = Signpost()

      func receive(_ signal: FileSignal) {
        isReached.open()
        isOver.pass()
      }
    }

    @Test(arguments: Format.allCases)
    func `an overflow reads the file again`(format: Format) async throws {
      let center = WatchCenter()
      var system = WatchSystem.live
      system.watch = { center.watch($0, name: $1, for: $2) }
      system.unwatch = { center.unwatch($0) }
      // The regular checks of each second are turned off.
      system.callLater = { delay, queue, body in
        delay < .seconds(1) ? WatchSystem.live.callLater(delay, queue, body) : ScheduledTimer {}
      }
      try directory.write(format.text("1"), to: "a")
      let decoding = ElementDecoding<JSONElement>(each: { $0 })
      let source: any DataSource<JSONElement> =
        switch format {
        case .array:
          JSONFileDataSource(
            path: ByteString(directory("a")), key: nil, decoding: decoding, system: system)
        case .lines:
          JSONLinesDataSource(
            path: ByteString(directory("a")), key: nil, decoding: decoding, system: system)
        }
      let log = try await SourceLog.afterLoading(source)

      let blockage = Blockage()
      let token = try center.watch(
        ByteString(directory.path), name: "block", for: { blockage.receive($0) }
      )
      .get()
      try directory.write("", to: "block")
      blockage.isReached.pass()
      let limit = try String(
        contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
      let count = try #require(Int(limit.filter(\.isNumber)))
      // Two events alternate, because the kernel merges equal events.
      for _ in 0...(count / 2) {
        let file = try OpenFile(directory("noise"), O_WRONLY | O_CREAT)
        withExtendedLifetime(file) {}
        unlink(directory("noise"))
      }
      try directory.write(format.text("1", "2"), to: "b")
      try directory.move("b", to: "a")
      blockage.isOver.open()
      #expect(try await log.nextChange().changeset == Changeset(insertions: [1]))
      center.unwatch([token])
    }

    @Test(arguments: Format.allCases)
    func `a file whose contents are made when they are read is refused`(format: Format)
      async throws
    {
      try directory.write(format.text("1", "2"), to: "real")
      symlink(directory("real"), directory("a"))
      let log = try await SourceLog.afterLoading(
        format == .array
          ? JSONFileDataSource<JSONElement>(path: directory("a"))
          : JSONLinesDataSource<JSONElement>(path: directory("a")))
      symlink("/proc/sys/kernel/pid_max", directory("b"))
      try directory.move("b", to: "a")
      let error = try await log.failure()
      #expect(error.code == "file-not-regular")
      #expect(error.message.contains("reports no size"))
      #expect(log.source.snapshot.count == 2)
      try directory.write(format.text("1"), to: "d")
      try directory.move("d", to: "a")
      #expect(try await log.nextChange().changeset == Changeset(deletions: [1]))
    }
  }
#endif
