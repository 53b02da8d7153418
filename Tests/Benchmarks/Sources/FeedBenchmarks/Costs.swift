import AllocationMeter
import Foundation
import Measuring
import RemoteSources
import Swappable

// The server runs in the process that measures. Readers are sockets of the same process, on one other thread.

/// Runs an operation several times.
///
/// - Returns: The median of the wall-clock times, in nanoseconds.
func median(_ count: Int = 21, _ body: (Int) -> Void) -> Double {
  summary(
    (0..<count).map { round in
      let start = now()
      body(round)
      return now() - start
    }
  ).median
}

/// Changes a row, and notes the time.
func change(_ source: ArrayDataSource<Row>, _ offset: Int) {
  source.update(at: offset) { $0.time = now() }
}

/// The lines of one subscriber, requested synchronously.
final class Subscriber: @unchecked Sendable {
  // Sendable: the caller waits for the task that uses the iterator.
  private var iterator: Feed.Lines.Iterator

  init(_ feed: Feed, since token: String? = nil) {
    iterator = feed.lines(since: token).makeAsyncIterator()
  }

  func next() -> Feed.Line? {
    let done = DispatchSemaphore(value: 0)
    // The task writes the line before it signals, and this thread reads it after that.
    nonisolated(unsafe) var line: Feed.Line?
    Task {
      line = await iterator.next()
      done.signal()
    }
    done.wait()
    return line
  }
}

/// The cost of a commit, and of its line.
func measureCommits() {
  var rows = [["time", "processor", "what"]]
  func measure(_ title: String, _ source: ArrayDataSource<Row>, after: () -> Void = {}) {
    var (wall, processor) = ([Int](), [Int]())
    for round in 0..<2_000 {
      let (start, processorStart) = (now(), threadTime())
      change(source, round * 31 % source.count)
      processor.append(threadTime() - processorStart)
      wall.append(now() - start)
      after()
    }
    rows.append([
      text(nanoseconds: summary(wall).median), text(nanoseconds: summary(processor).median), title,
    ])
  }
  let source = ArrayDataSource(Row.list)
  measure("commit, no feed", source)
  let observation = source.observe { _ in }
  measure("commit, no feed, one observer", source)
  observation.dispose()
  let feed = Feed(source, key: "id")
  measure("commit, a feed without subscribers", source)
  let subscriber = Subscriber(feed)
  _ = subscriber.next()
  _ = subscriber.next()
  measure("commit, a feed with one subscriber in the process", source) { _ = subscriber.next() }
  withSocketPath { path in
    guard let server = try? FeedServer(path: path, feeds: ["rows": feed]) else { return }
    measure("commit, a feed with a server without clients", source)
    let swarm = Swarm([Reader(path)])
    swarm.wait()
    measure("commit, a feed with one client", source) { swarm.wait() }
    server.stop()
  }
  var encoding: [Int] = []
  var bytes = 0
  for round in 0..<2_000 {
    change(source, round)
    let start = now()
    bytes = subscriber.next()?.bytes.count ?? 0
    encoding.append(now() - start)
  }
  let encodingTime = text(nanoseconds: summary(encoding).median)
  rows.append([
    encodingTime, "", "a line of \(bytes) bytes with its fingerprint, and two task switches",
  ])
  print(table(rows), "\n")
}

/// The initial line: made, sent, and read by remote sources.
func measureFirstLoad() {
  var rows = [["time", "memory", "what"]]
  let source = ArrayDataSource(Row.list)
  var feed = Feed(source, key: "id")
  func add(_ time: Double, _ memory: Int?, _ what: String) {
    rows.append([text(nanoseconds: time), memory.map { text(bytes: $0) } ?? "", what])
  }
  add(
    median(5) { _ in feed = Feed(source, key: "id") }, nil, "create a feed (encodes all elements)")
  var bytes = 0
  let first = median(1) { _ in bytes = feed.snapshot()?.bytes.count ?? 0 }
  add(first, nil, "first initial line of \(text(bytes: bytes)), with all fingerprints")
  add(median(9) { _ in _ = feed.snapshot() }, nil, "a further initial line")
  withSocketPath { path in
    guard let server = try? FeedServer(path: path, feeds: ["rows": feed]) else { return }
    add(
      median(9) { _ in Swarm([Reader(path)]).wait() }, nil,
      "the initial line, received by one client")
    measureRemote("JSONElement", path, add) {
      RemoteDataSource<JSONElement>(.unixSocket(path: path, list: "rows"))
    }
    measureRemote("a struct", path, add) {
      RemoteDataSource<Row>(.unixSocket(path: path, list: "rows"))
    }
    server.stop()
  }
  print(table(rows), "\n")
}

private func measureRemote<Element>(
  _ name: String, _ path: String, _ add: (Double, Int?, String) -> Void,
  _ make: () -> RemoteDataSource<Element>
) {
  func load() {
    let remote = make()
    let done = DispatchSemaphore(value: 0)
    let observation = remote.observe { if $0.snapshot.count == Row.count { done.signal() } }
    done.wait()
    withExtendedLifetime(observation) {}
  }
  let time = median(7) { _ in load() }
  let memory = peakBytes { load() }
  add(time, memory, "first load of a RemoteDataSource of \(name)")
}

/// The time from a commit until all readers have its line.
func measureReaders() {
  var rows = [["median", "99 %", "longest", "what"]]
  for count in [1, 100, 1_000] {
    withSocketPath { path in
      let source = ArrayDataSource(Row.list)
      let feed = Feed(source, key: "id")
      guard let server = try? FeedServer(path: path, feeds: ["rows": feed]),
        let token = feed.snapshot()?.token
      else { return }
      let swarm = Swarm((0..<count).map { _ in Reader(path, since: token) })
      swarm.wait()
      let times = (0..<200).map { round in
        let start = now()
        change(source, round * 31)
        swarm.wait()
        return now() - start
      }
      let result = summary(times)
      rows.append(
        [result.median, result.high, result.max].map { text(nanoseconds: $0) } + [
          "from a commit to \(count) readers"
        ])
      server.stop()
    }
  }
  print(table(rows))
  print("one line for 1,000 subscribers in the process: made \(countLines(1_000)) times\n")
}

/// Returns how many different lines in memory a number of subscribers receive for one commit.
private func countLines(_ count: Int) -> Int {
  let source = ArrayDataSource((0..<1_000).map { Row($0) })
  let feed = Feed(source, key: "id")
  let subscribers = (0..<count).map { _ in Subscriber(feed) }
  for subscriber in subscribers { _ = subscriber.next() }
  change(source, 5)
  let lines = subscribers.compactMap { $0.next() }
  let addresses = Set(
    lines.map { $0.bytes.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } })
  return addresses.count
}

/// Resuming after many changes.
func measureResuming() {
  var rows = [["time", "bytes", "what"]]
  for (title, step) in [("one row", 0), ("different rows", 1)] {
    let source = ArrayDataSource(Row.list)
    let retention = CollectionHistory<Row>.Retention(revisions: 20_000, changes: 100_000)
    let feed = Feed(source, key: "id", retaining: retention)
    guard let token = feed.snapshot()?.token else { return }
    for index in 1...10_000 { change(source, index * step) }
    for (time, count) in [("the first time", 1), ("further times", 9)] {
      var bytes = 0
      let result = median(count) { _ in
        let subscriber = Subscriber(feed, since: token)
        bytes = (subscriber.next()?.bytes.count ?? 0) + (subscriber.next()?.bytes.count ?? 0)
      }
      rows.append([
        text(nanoseconds: result), text(bytes: bytes), "after 10,000 changes of \(title), \(time)",
      ])
    }
    change(source, 20_000)
    let result = median(1) { _ in
      let subscriber = Subscriber(feed, since: token)
      _ = (subscriber.next(), subscriber.next())
    }
    rows.append([text(nanoseconds: result), "", "after one more change"])
  }
  print(table(rows), "\n")
}
