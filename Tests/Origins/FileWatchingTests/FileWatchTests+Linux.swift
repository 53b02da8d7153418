#if os(Linux)
  import Foundation
  import TestSupport
  import Testing

  @testable import FileWatching

  extension FileWatchTests {
    @Test func `a thousand watches use one descriptor`() async throws {
      // The test has its own center, because other tests of the process use the shared one.
      let center = WatchCenter()
      var system = WatchSystem.live
      system.watch = { center.watch($0, name: $1, for: $2) }
      system.unwatch = { center.unwatch($0) }
      #expect(center.descriptor == nil)
      var logs: [EventLog] = []
      for index in 0..<1_000 {
        logs.append(EventLog(directory("file\(index)"), system: system))
      }
      let descriptor = try #require(center.descriptor)
      #expect(try descriptorsThatWatch(directory.path) == [descriptor])
      for index in [0, 500, 999] {
        try directory.write("new", to: "file\(index)")
        try await logs[index].next(.created, .written)
      }
      logs = []
      #expect(center.descriptor == nil)
      #expect(try descriptorsThatWatch(directory.path) == [])
    }

    /// The inotify descriptors of this process that have a watch on a directory, as the kernel lists
    /// them.
    private func descriptorsThatWatch(_ path: String) throws -> [Int32] {
      var status = stat()
      guard stat(path, &status) == 0 else { throw POSIXError.last }
      let watch = "ino:" + String(status.st_ino, radix: 16) + " "
      return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fdinfo")
        .filter { name in
          let info = try? String(contentsOfFile: "/proc/self/fdinfo/" + name, encoding: .utf8)
          return info?.split(separator: "\n").contains {
            $0.hasPrefix("inotify ") && $0.contains(watch)
          } ?? false
        }
        .compactMap { Int32($0) }
    }
  }
#endif
