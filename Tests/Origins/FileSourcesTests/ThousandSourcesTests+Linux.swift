import TestSupport

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

  /// The resources of a thousand sources. Each test runs in a process of its own.
  ///
  /// `SWAPPABLE_LONG=1 swift test --filter ThousandSources` prints the values.
  @Suite(.serialized, .timeLimit(.minutes(10)))
  struct ThousandSourcesTests {
    @Test func `arrays in one directory use one descriptor`() async {
      let result = await #expect(
        processExitsWith: .success, observing: [\.standardOutputContent]
      ) {
        try await Self.run(watches: 1_001, folder: { _ in "" }) {
          "[{\"id\":\($0)}]"
        } make: {
          JSONFileDataSource(path: $0, key: "id")
        }
      }
      Self.report("1,000 JSON files in one directory", result)
    }

    @Test func `arrays in a thousand directories use one descriptor`() async {
      let result = await #expect(
        processExitsWith: .success, observing: [\.standardOutputContent]
      ) {
        try await Self.run(watches: 2_000, folder: { "\($0)/" }) {
          "[{\"id\":\($0)}]"
        } make: {
          JSONFileDataSource(path: $0, key: "id")
        }
      }
      Self.report("1,000 JSON files in 1,000 directories", result)
    }

    @Test func `files of lines use one descriptor`() async {
      let result = await #expect(
        processExitsWith: .success, observing: [\.standardOutputContent]
      ) {
        try await Self.run(watches: 1_001, folder: { _ in "" }) {
          "{\"id\":\($0)}\n"
        } make: {
          JSONLinesDataSource(path: $0, key: "id")
        }
      }
      Self.report("1,000 files of JSON Lines in one directory", result)
    }

    private static func report(_ title: String, _ result: ExitTest.Result?) {
      guard TestRun.isLong, let result else { return }
      let text = String(decoding: result.standardOutputContent, as: UTF8.self)
      for line in text.split(separator: "\n") where line.hasPrefix("- ") { print(title, line) }
    }

    /// - Parameters:
    ///   - watches: The number of watches that the sources need.
    ///   - folder: A closure that returns the folder of a file.
    ///   - text: A closure that returns the text of a file.
    private static func run(
      watches: Int, folder: (Int) -> String, text: (Int) -> String,
      make: (String) -> any DataSource<JSONElement>
    ) async throws {
      let count = 1_000
      let directory = try TemporaryDirectory()
      let names = (0..<count).map { folder($0) + "\($0)" }
      for (index, name) in names.enumerated() {
        if !folder(index).isEmpty { try directory.makeDirectory(folder(index)) }
        try directory.write(text(index), to: name)
      }
      // Create and end the objects that exist once in a process.
      try await make(directory(names[0])).loaded()
      let before = try await Usage.after { $0.inotifyDescriptors == 0 }

      var logs: [SourceLog<JSONElement>] = []
      var sources: [WeakSource] = []
      for name in names {
        let log = SourceLog(make(directory(name)))
        sources.append(WeakSource(source: log.source))
        logs.append(log)
      }
      // Some sources have loaded before they are observed.
      for log in logs { try #require(try await log.source.loaded().count == 1) }
      let during = try Usage()
      try #require(during.inotifyDescriptors == 1)
      // One more wakes the thread that reads the notifications.
      try #require(during.watches == watches + 1)
      try #require(during.threads <= before.threads + 64)
      try #require(during.kilobytes - before.kilobytes < 32 * count)

      // Each source checks its file twice.
      let start = clock()
      let (stream, end) = AsyncStream.makeStream(of: Void.self)
      let alarm = WatchSystem.live.callLater(.seconds(2), DispatchQueue(label: "idle")) {
        end.finish()
      }
      for await _ in stream {}
      alarm.cancel()
      let processorTime = Double(clock() - start) / Double(CLOCKS_PER_SEC) / 2

      // All sources are live.
      for index in [0, 500, 999] {
        try directory.write(text(index).replacing("\(index)", with: "-1"), to: names[index])
        try await logs[index].change { $0.after.first?["id"]?.integer != index }
      }
      logs = []
      let after = try await Usage.after {
        $0.inotifyDescriptors == 0 && $0.descriptors <= before.descriptors
          && AlarmClock.shared.count == 0 && sources.allSatisfy { $0.source == nil }
      }
      print("- before: \(before)")
      print("- while they are watched: \(during); at rest \(processorTime * 100) % of a processor")
      print("- afterwards: \(after)")
    }

    private struct WeakSource {
      weak var source: (any AnyObject & DataSource<JSONElement>)?
    }
  }

  /// The resources of this process, as the kernel reports them.
  private struct Usage: CustomStringConvertible {
    private(set) var descriptors = 0
    private(set) var inotifyDescriptors = 0
    private(set) var watches = 0
    private(set) var threads = 0
    /// The resident memory.
    private(set) var kilobytes = 0

    init() throws {
      let files = FileManager.default
      for name in try files.contentsOfDirectory(atPath: "/proc/self/fd") {
        // The descriptor that lists the directory is closed.
        guard let target = try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + name)
        else { continue }
        descriptors += 1
        guard target.contains("inotify") else { continue }
        inotifyDescriptors += 1
        let info = try String(contentsOfFile: "/proc/self/fdinfo/" + name, encoding: .utf8)
        watches += info.split(separator: "\n").count { $0.hasPrefix("inotify ") }
      }
      threads = try files.contentsOfDirectory(atPath: "/proc/self/task").count
      let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
      let size = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") } ?? ""
      kilobytes = Int(size.filter(\.isNumber)) ?? 0
    }

    /// Waits until a condition is true, and records an error after a minute.
    static func after(_ isWanted: (Usage) -> Bool) async throws -> Usage {
      let deadline = ContinuousClock.now + .seconds(60)
      while true {
        let usage = try Usage()
        if isWanted(usage) { return usage }
        try #require(ContinuousClock.now < deadline, "\(usage)")
        await Task.yield()
      }
    }

    var description: String {
      "\(descriptors) descriptors, \(inotifyDescriptors) of them for inotify with \(watches) watches, "
        + "\(threads) threads, \(kilobytes) kB"
    }
  }
#endif
