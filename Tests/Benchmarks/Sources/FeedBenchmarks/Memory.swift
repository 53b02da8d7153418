import AllocationMeter
import Foundation
import Measuring
import RemoteSources
import Swappable
import Synchronization

/// The memory of idle subscribers. Their number divides the memory that is allocated for all of them.
func measureMemory() {
  var rows = [["allocated", "resident", "for each of"]]
  func add(_ before: (Int, Int), _ count: Int, _ what: String) {
    let after = memory()
    rows.append([
      text(bytes: (after.0 - before.0) / count), text(bytes: (after.1 - before.1) / count), what,
    ])
  }
  for count in [1_000, 4_000] {
    let source = ArrayDataSource((0..<1_000).map { Row($0) })
    let feed = Feed(source, key: "id")
    guard let token = feed.snapshot()?.token else { return }
    withSocketPath { path in
      guard let server = try? FeedServer(path: path, feeds: ["rows": feed]) else { return }
      var descriptors = Array(repeating: Int32(0), count: count)
      receiveAll([connect(path, token)])
      let before = memory()
      for index in 0..<count { descriptors[index] = connect(path, token) }
      receiveAll(descriptors)
      add(before, count, "\(count) connections")
      change(source, 0)
      receiveAll(descriptors)
      add(before, count, "\(count) connections, after a commit")
      for descriptor in descriptors { close(descriptor) }
      server.stop()
    }
  }
  for count in [1_000, 4_000] {
    let source = ArrayDataSource((0..<1_000).map { Row($0) })
    let feed = Feed(source, key: "id")
    guard let token = feed.snapshot()?.token else { return }
    let received = Received()
    let before = memory()
    let tasks = (0..<count).map { _ in
      Task {
        for await _ in feed.lines(since: token) { received.add() }
      }
    }
    received.wait(for: count)
    add(before, count, "\(count) tasks that wait for Feed.lines")
    change(source, 0)
    received.wait(for: 2 * count)
    add(before, count, "\(count) tasks that wait for Feed.lines, after a commit")
    for task in tasks { task.cancel() }
  }
  print(table(rows), "\n")
}

/// Returns the memory that is allocated, and the resident memory, in bytes.
private func memory() -> (Int, Int) {
  (allocator_bytes_in_use(), ProcessMemory(getpid()).resident)
}

private func connect(_ path: String, _ token: String) -> Int32 {
  while true {
    guard let descriptor = ClientSocket.connect(path) else { continue }
    ClientSocket.send(ClientSocket.request("rows", since: token), to: descriptor)
    return descriptor
  }
}

/// Waits until each client has received something.
private func receiveAll(_ descriptors: [Int32]) {
  withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 16) { buffer in
    for descriptor in descriptors {
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      poll(&request, 1, 10_000)
      _ = read(descriptor, buffer.baseAddress, buffer.count)
    }
  }
}

/// A number of events to wait for.
private final class Received: Sendable {
  private let count = Atomic<Int>(0)

  func add() { count.add(1, ordering: .relaxed) }

  func wait(for total: Int) {
    while count.load(ordering: .relaxed) < total { usleep(1_000) }
    // The tasks wait again.
    usleep(100_000)
  }
}

/// The memory of a process, in bytes, or 0 if the system does not have `/proc`.
struct ProcessMemory {
  var resident = 0
  var highest = 0

  init(_ process: Int32) {
    let text = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    for line in text.split(separator: "\n") {
      let kilobytes = Int(line.split(whereSeparator: \.isWhitespace).dropFirst().first ?? "") ?? 0
      if line.hasPrefix("VmRSS:") { resident = kilobytes << 10 }
      if line.hasPrefix("VmHWM:") { highest = kilobytes << 10 }
    }
  }
}
