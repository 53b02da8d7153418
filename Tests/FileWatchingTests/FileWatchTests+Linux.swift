#if os(Linux)
  import FileWatching
  import Foundation
  import Testing

  extension FileWatchTests {
    @Test func thousandWatchesOnOneDirectoryUseOneDescriptorAndLeaveNone() async throws {
      #expect(inotifyDescriptors() == 0)
      var logs: [EventLog] = []
      for index in 0..<1_000 { logs.append(EventLog(directory("file\(index)"))) }
      #expect(inotifyDescriptors() == 1)
      for index in [0, 500, 999] {
        try directory.write("new", to: "file\(index)")
        try await logs[index].next(.created, .written)
      }
      logs = []
      #expect(inotifyDescriptors() == 0)
    }

    /// How many descriptors of this process are of this kind.
    private func inotifyDescriptors() -> Int {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return names.filter {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + $0))
          == "anon_inode:inotify"
      }.count
    }
  }
#endif
