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
            path: directory("a"), key: nil, decoding: decoding, system: system)
        case .lines:
          JSONLinesDataSource(
            path: directory("a"), key: nil, decoding: decoding, system: system)
        }
      let log = try await SourceLog.afterLoading(source)

      let blockage = Blockage()
      let token = try center.watch(directory.path, name: "block", for: { blockage.receive($0) })
        .get()
      try directory.write("", to: "block")
      #expect(blockage.isReached.pass())
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
  }
#endif
