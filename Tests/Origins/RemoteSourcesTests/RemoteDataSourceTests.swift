import DataSourceTesting
import Diffing
import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives
@testable import RemoteSources
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system), .timeLimit(.minutes(10))) struct RemoteDataSourceTests {
  @Test func `a remote source follows a list on a socket`() async throws {
    let directory = try TemporaryDirectory()
    let source = ArrayDataSource([Item(1), Item(2)])
    let server = try FeedServer(path: directory("s"), feeds: ["items": Feed(source, key: "id")])
    let remote = RemoteDataSource<Item>(.unixSocket(path: server.path, list: "items"))
    #expect(remote.status == .idle)
    let recorder = SourceRecorder(remote)
    try await recorder.wait(for: [Item(1), Item(2)])
    source.transaction { draft in
      draft.move(from: 0, to: 1)
      draft.append(Item(3))
    }
    let record = try await recorder.wait(for: [Item(2), Item(1), Item(3)])
    #expect(record.violations.isEmpty)
    #expect(record.changes.last?.changeset.moves.count == 1)
    #expect(record.changes.last?.changeset.insertions == [2])
  }

  @Test func `while the server is away the contents stay, and one change follows`() async throws {
    let directory = try TemporaryDirectory()
    let source = ArrayDataSource((0..<10).map { Item($0) })
    let feed = Feed(source, key: "id")
    var server: FeedServer? = try FeedServer(path: directory("s"), feeds: ["items": feed])
    let remote = RemoteDataSource<Item>(
      fast: .unixSocket(path: directory("s"), list: "items"))
    let recorder = SourceRecorder(remote)
    try await recorder.wait { $0.contents.count == 10 && $0.state == .loaded }
    server = nil
    let away = try await recorder.wait { $0.statuses.last?.error != nil }
    #expect(away.statuses.last?.error?.code == "disconnected")
    #expect(away.contents == Array(source.snapshot))
    for round in 1...50 { source.update(at: round % 10) { $0.n = round } }
    source.remove(at: 0)
    server = try FeedServer(path: directory("s"), feeds: ["items": feed])
    let record = try await recorder.wait(for: Array(source.snapshot))
    #expect(record.events.count == away.events.count + 1)
    #expect(record.violations.isEmpty)
    withExtendedLifetime(server) {}
  }

  @Test func `a server that starts again with the same contents sends nothing`() async throws {
    let directory = try TemporaryDirectory()
    let items = (0..<10).map { Item($0) }
    var server: FeedServer? = try FeedServer(
      path: directory("s"), feeds: ["items": Feed(ArrayDataSource(items))])
    let remote = RemoteDataSource<Item>(
      fast: .unixSocket(path: directory("s"), list: "items"))
    let recorder = SourceRecorder(remote)
    let before = try await recorder.wait(for: items)
    server = nil
    try await recorder.wait { $0.statuses.last?.error != nil }
    let source = ArrayDataSource(items)
    server = try FeedServer(path: directory("s"), feeds: ["items": Feed(source)])
    let record = try await recorder.wait(for: items)
    #expect(record.events.count == before.events.count)
    source.append(Item(100))
    try await recorder.wait(for: items + [Item(100)])
    withExtendedLifetime(server) {}
  }

  @Test func `10,000 changes of one row are one update on the wire`() async throws {
    let source = ArrayDataSource((0..<100).map { Item($0) })
    let feed = Feed(source, key: "id")
    let token = try #require(feed.snapshot()?.token)
    for n in 1...10_000 { source.update(at: 50) { $0.n = n } }
    var lines = feed.lines(since: token).makeAsyncIterator()
    #expect(await lines.next()?.text.hasPrefix(#"{"event":"alive","revision":0,"#) == true)
    let change = try #require(await lines.next()?.text)
    #expect(
      change.hasSuffix(
        #""deletes":[],"inserts":[],"updates":[{"from":50,"at":50,"old":{"id":50,"n":0},"#
          + #""element":{"id":50,"n":10000}}],"moves":[]}"#))
  }

  @Test func `a cut at every byte loses nothing`() async throws {
    let items = [Item(1), Item(2)]
    let total = try #require(Feed(ArrayDataSource(items)).snapshot()).bytes.count + 200
    for cut in 0..<total {
      let source = ArrayDataSource(items)
      let proxy = CuttingProxy(Feed(source), cuts: [cut, cut / 2, cut])
      let recorder = SourceRecorder(RemoteDataSource<Item>(fast: proxy))
      try await recorder.wait(for: items)
      source.transaction { draft in
        draft.remove(at: 0)
        draft.append(Item(3))
      }
      let record = try await recorder.wait(for: [Item(2), Item(3)])
      #expect(record.violations.isEmpty, "cut at \(cut)")
      #expect(record.changes.count <= 2, "cut at \(cut)")
    }
  }

  @Test(
    .reaches(.changes, FaultProxy.Fault.cases), .timeLimit(.minutes(10)),
    arguments: 1...12 as ClosedRange<UInt64>)
  func `every state that observers see is a state of the server`(seed: UInt64) async throws {
    var editor = RandomEditor<Item>(seed: seed, repeats: seed % 2 == 0)
    let source = ArrayDataSource(editor.makeElements())
    let states = Shared([Array(source.snapshot)])
    let feed = Feed(source, key: "id", retaining: .init(revisions: seed % 3 == 0 ? 3 : 100))
    let proxy = FaultProxy(feed, seed: seed)
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: proxy))
    for _ in 0..<60 {
      try editor.step(source)
      states.append(Array(source.snapshot))
      if editor.random.oneIn(3) { try await recorder.wait(for: Array(source.snapshot)) }
    }
    let record = try await recorder.wait(for: Array(source.snapshot))
    #expect(record.violations.isEmpty, "seed \(seed)")
    var next = 0
    for event in record.events.dropFirst() {
      let contents = Array(event.snapshot)
      let found = states.value[next...].firstIndex(of: contents)
      #expect(found != nil, "seed \(seed): \(contents)")
      next = found ?? next
    }
    Coverage.note(recorder.operations)
  }

  @Test func `a remote source keeps the event contract over a bad connection`() async throws {
    let source = ArrayDataSource<Item>()
    let feed = Feed(source, key: "id")
    let proxies = Shared<[FaultProxy]>([])
    let editor = Shared(RandomEditor<Item>(seed: 5))
    let isDown = Shared(false)
    try await checkDataSource(
      makeSource: {
        let proxy = FaultProxy(feed, seed: UInt64(proxies.value.count + 1), sparesEveryThird: true)
        proxy.isDown.modify { $0 = isDown.value }
        proxies.append(proxy)
        return RemoteDataSource<Item>(fast: proxy)
      },
      mutate: { _, _ in
        var copy = editor.value
        try copy.step(source)
        let new = copy
        editor.modify { $0 = new }
      },
      expected: { _ in Array(source.snapshot) },
      damage: { _ in
        isDown.modify { $0 = true }
        for proxy in proxies.value { proxy.breakDown() }
      },
      repair: { _ in
        isDown.modify { $0 = false }
        for proxy in proxies.value { proxy.isDown.modify { $0 = false } }
      })
  }

  @Test func `a server that sends nonsense is left, and the contents stay`() async throws {
    let lines = [
      #"{"event":"initial","revision":1,"token":"a","elements":[{"id":1,"n":0}]}"#, "garbage",
    ]
    let transport = ScriptedTransport([lines, [#"{"event":"unknown"}"#], ["\u{0}"]])
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: transport))
    let record = try await recorder.wait { $0.statuses.count(where: { $0.error != nil }) >= 3 }
    #expect(record.contents == [Item(1)])
    #expect(record.statuses.contains { $0.error?.message.contains("not valid JSON") == true })
    // A server whose answer cannot be used is asked for the contents.
    #expect(transport.tokens.value.prefix(3) == [nil, "a", nil])
  }

  @Test func `contents of an earlier revision are reported with the address`() async throws {
    let initial = #"{"event":"initial","revision":1,"token":"a","elements":[{"id":1,"n":0}]}"#
    let transport = ScriptedTransport([[initial, initial]], isKept: true)
    let recorder = SourceRecorder(RemoteDataSource<Item>(transport, clock: ManualClock()))
    let record = try await recorder.wait { $0.statuses.last?.error != nil }
    #expect(
      record.statuses.last?.error?.message
        == "script: the server sent the contents of an earlier revision")
  }

  @Test func `a change that does not fit makes the client ask for the contents`() async throws {
    let initial = #"{"event":"initial","revision":1,"token":"a","elements":[{"id":1,"n":0}]}"#
    let change =
      #"{"event":"change","since":1,"revision":2,"token":"b","deletes":[{"at":5,"element":{}}],"#
      + #""inserts":[],"updates":[],"moves":[]}"#
    let transport = ScriptedTransport([[initial, change], [initial]])
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: transport))
    let record = try await recorder.wait { $0.statuses.contains { $0.error != nil } }
    #expect(
      record.statuses.contains { $0.error?.message.contains("offset 5, which is out of") == true })
    try await recorder.wait { _ in transport.tokens.value.count >= 2 }
    #expect(transport.tokens.value.prefix(2) == [nil, nil])
  }

  @Test func `an element that cannot be decoded is named, and the contents stay`() async throws {
    let initial = #"{"event":"initial","revision":1,"token":"a","elements":[{"id":1,"n":0}]}"#
    let change =
      #"{"event":"change","since":1,"revision":2,"token":"b","deletes":[],"#
      + #""inserts":[{"at":0,"element":{"id":"x"}}],"updates":[],"moves":[]}"#
    let transport = ScriptedTransport([[initial, change]])
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: transport))
    let record = try await recorder.wait { $0.statuses.contains { $0.error != nil } }
    #expect(record.contents == [Item(1)])
    #expect(
      record.statuses.contains {
        $0.error?.message.contains("the element 0 cannot be decoded as Item: at .id") == true
      })
  }

  @Test func `the last contents of a failed source come with its status`() async throws {
    let error = SourceError(code: "x", message: "the file is broken")
    for status in [SourceStatus.failed(error), .missing(error)] {
      let source = ArrayDataSource([Item(1)])
      source.setStatus(status)
      // Each connection has one line, so no other line brings the status.
      let proxy = FirstLineProxy(Feed(source, key: "id"))
      let remote = RemoteDataSource<Item>(fast: proxy)
      #expect(try await remote.loaded().map(\.id) == [1])
      #expect(remote.status.error?.message == "the file is broken")
      #expect(remote.status.state.name == status.state.name)

      let recorder = SourceRecorder(remote)
      try await recorder.wait { $0.contents == [Item(1)] }
      // The first end of a connection is not shown.
      proxy.cut()
      try await wait(for: "the second connection") { proxy.openCount == 1 }
      proxy.cut()
      let record = try await recorder.wait { record in
        record.statuses.contains { $0.error?.code == "disconnected" }
          && record.statuses.last?.error?.code == "reported"
      }
      #expect(!record.statuses.contains { $0.state == .loaded })
      #expect(record.violations.isEmpty)
    }
  }

  @Test func `an empty list whose source has failed arrives in one step`() async throws {
    let source = ArrayDataSource<Item>([])
    source.setStatus(.failed(SourceError(code: "x", message: "the file is broken")))
    let remote = RemoteDataSource<Item>(fast: FirstLineProxy(Feed(source, key: "id")))
    let statuses = Shared<[String]>([])
    let observation = remote.observeStatus { statuses.append($0.state.name) }
    #expect(try await remote.loaded().isEmpty)
    #expect(remote.state.hasLoaded)
    #expect(!statuses.value.contains("loaded") && statuses.value.last == "failed")
    observation.dispose()
  }

  @Test func `a source that has never been loaded is awaited while it loads`() async throws {
    let source = ArrayDataSource<Item>(status: .loading)
    let proxy = FirstLineProxy(Feed(source)) { number in
      if number == 3 {
        source.publish([Item(1)], status: .failed(SourceError(code: "x", message: "broken again")))
      }
      return number >= 3
    }
    let remote = RemoteDataSource<Item>(fast: proxy)
    #expect(try await remote.loaded().map(\.id) == [1])
    #expect(remote.status.error?.message == "broken again")
  }

  @Test func `an unknown list is reported`() async throws {
    let directory = try TemporaryDirectory()
    let server = try FeedServer(path: directory("s"), feeds: [:])
    let remote = RemoteDataSource<Item>(.unixSocket(path: server.path, list: "items"))
    let error = await #expect(throws: SourceError.self) { try await remote.loaded() }
    #expect(error?.message.contains(#"the server reports: there is no list "items""#) == true)
  }

  @Test func `a missing socket is reported`() async throws {
    let directory = try TemporaryDirectory()
    let remote = RemoteDataSource<Item>(.unixSocket(path: directory("s"), list: "items"))
    let error = await #expect(throws: SourceError.self) { try await remote.loaded() }
    let reason = "unix:\(directory("s"))#items: cannot connect: No such file or directory"
    #expect(error?.message.contains(reason) == true)
  }

  @Test func `a line that is too long is refused`() throws {
    var splitter = LineSplitter(limit: 10)
    #expect(
      try splitter.lines(in: Array("one\ntwo\nthr".utf8)) == [Array("one".utf8), Array("two".utf8)])
    #expect(try splitter.lines(in: Array("ee\n".utf8)) == [Array("three".utf8)])
    #expect(throws: SourceError.self) { try splitter.lines(in: Array("more than ten".utf8)) }
  }

  @Test func `a silent connection is given up`() async throws {
    let clock = ManualClock()
    let initial = #"{"event":"initial","revision":1,"token":"a","elements":[{"id":1,"n":0}]}"#
    let transport = ScriptedTransport([[initial]], isKept: true)
    let remote = RemoteDataSource<Item>(transport, clock: clock)
    let recorder = SourceRecorder(remote)
    try await recorder.wait(for: [Item(1)])
    clock.advance(by: .seconds(45))
    let record = try await recorder.wait { $0.statuses.last?.error != nil }
    #expect(
      record.statuses.last?.error?.message.contains("has sent nothing for 45.0 seconds") == true)
  }

  @Test(arguments: [Duration.milliseconds(100), .milliseconds(250), .seconds(15)])
  func `pauses grow to the longest one`(longest: Duration) async throws {
    let clock = ManualClock()
    let transport = ScriptedTransport([])
    let remote = RemoteDataSource<Item>(transport, longestPause: longest, clock: clock)
    remote.start()
    var pause = Duration.zero
    for attempt in 1...10 {
      try await wait(for: "the pause after attempt \(attempt)") {
        guard transport.tokens.value.count == attempt, let next = clock.nextDeadline else {
          return false
        }
        pause = clock.now.duration(to: next)
        // While the source is connected, the clock waits for a silence of 45 seconds.
        return pause < .seconds(45)
      }
      #expect(pause <= longest)
      clock.advanceToNextDeadline()
    }
    // A pause is shortened by up to a half, at random.
    #expect(pause >= longest / 2)
    withExtendedLifetime(remote) {}
  }

  @Test func `pauses grow while each connection ends early, and begin anew after one that lasts`()
    async throws
  {
    let clock = ManualClock()
    let contents = #"{"event":"initial","revision":1,"token":"a","elements":[{"id":1,"n":0}]}"#
    let alive = #"{"event":"alive","revision":1,"token":"a"}"#
    let early = Array(repeating: [contents, alive, "not valid"], count: 6)
    let transport = ScriptedTransport(early + [[contents]], isKept: true)
    let remote = RemoteDataSource<Item>(transport, clock: clock)
    remote.start()

    /// Returns the next time of the clock that is in a range: all pauses are shorter than five seconds.
    func time(in range: Range<Duration>, attempt: Int) async throws -> Duration {
      var time = Duration.zero
      try await wait(for: "the next time after attempt \(attempt)") {
        guard transport.tokens.value.count == attempt, let next = clock.nextDeadline else {
          return false
        }
        time = clock.now.duration(to: next)
        return range.contains(time)
      }
      return time
    }

    for attempt in 1...6 {
      let pause = try await time(in: .zero..<(.seconds(5)), attempt: attempt)
      // A pause is shortened by up to a half, at random.
      let longest = Duration.milliseconds(100) * (1 << (attempt - 1))
      #expect((longest / 2...longest).contains(pause))
      clock.advanceToNextDeadline()
    }
    _ = try await time(in: .seconds(5)..<(.seconds(6)), attempt: 7)
    clock.advanceToNextDeadline()
    // The connection is silent from now on.
    _ = try await time(in: .seconds(40)..<(.seconds(41)), attempt: 7)
    clock.advanceToNextDeadline()
    let pause = try await time(in: .zero..<(.seconds(5)), attempt: 7)
    #expect(pause <= .milliseconds(100))
    withExtendedLifetime(remote) {}
  }

  @Test func `by default, pauses grow to 15 seconds`() {
    let timing = RemoteTiming()
    #expect(timing.backoff.longest == .seconds(15))
    #expect(RemoteTiming(longestPause: .seconds(15)).backoff == timing.backoff)
  }

  @Test func `a longest pause of less than 100 milliseconds traps`() async {
    await #expect(processExitsWith: .failure) {
      _ = RemoteDataSource<Item>(ScriptedTransport([]), longestPause: .milliseconds(99))
    }
  }

  @Test func `a released source ends its connection`() async throws {
    let directory = try TemporaryDirectory()
    let feed = Feed(ArrayDataSource([Item(1)]))
    let server = try FeedServer(path: directory("s"), feeds: ["items": feed])
    do {
      let remote = RemoteDataSource<Item>(.unixSocket(path: server.path, list: "items"))
      _ = try await remote.loaded()
      #expect(server.connectionCount == 1)
    }
    try await wait(for: "the connection to end") { server.connectionCount == 0 }
  }

  @Test func `the key that the server names identifies elements`() async throws {
    let directory = try TemporaryDirectory()
    let source = ArrayDataSource([Item(1), Item(2)])
    let server = try FeedServer(path: directory("s"), feeds: ["items": Feed(source, key: "id")])
    let remote = RemoteDataSource<JSONElement>(.unixSocket(path: server.path, list: "items"))
    let recorder = SourceRecorder(remote)
    try await recorder.wait { $0.contents.count == 2 }
    source.update(at: 0) { $0.n = 5 }
    // The first contents may have come before the observation.
    let record = try await recorder.wait { $0.contents[0].description == #"{"id":1,"n":5}"# }
    #expect(record.changes.last?.changeset.updates.count == 1)
  }

  @Test func `a server that starts again with another key is followed`() async throws {
    let first = #"{"event":"initial","revision":1,"key":"id","token":"a","elements":[{"id":1}]}"#
    let other =
      #"{"event":"initial","revision":1,"key":"name","token":"b","elements":[{"name":"x"}]}"#
    let none = #"{"event":"initial","revision":1,"token":"c","elements":[5]}"#
    let transport = ScriptedTransport([[first], [other], [none]])
    let remote = RemoteDataSource<JSONElement>(fastJSON: transport)
    let recorder = SourceRecorder(remote)
    let record = try await recorder.wait { $0.contents.map(\.description) == ["5"] }
    // The first contents may have come before the observation.
    let shown = record.events.map { $0.snapshot.map(\.description) }
    let all = [[], [#"{"id":1}"#], [#"{"name":"x"}"#], ["5"]]
    #expect(shown == Array(all.suffix(shown.count)))
    for event in record.events {
      guard let element = event.snapshot.first, element["name"] != nil else { continue }
      #expect(element.keyName == "name")
    }
  }

  @Test func `a source is released in each state`() async throws {
    let directory = try TemporaryDirectory()
    let feed = Feed(ArrayDataSource([Item(1)]))
    let initial = #"{"event":"initial","revision":1,"token":"a","elements":[{"id":1,"n":0}]}"#
    let scripts: [[String]] = [
      [], ["garbage"], [initial], [initial, "garbage"],
      [#"{"event":"status","state":"loading"}"#],
    ]
    let count = openDescriptors()
    for _ in 0..<20 {
      let server = try FeedServer(path: directory("s"), feeds: ["items": feed])
      var transports: [any RemoteTransport] = [
        UnixSocketTransport.unixSocket(path: directory("s"), list: "items"),
        UnixSocketTransport.unixSocket(path: directory("s"), list: "other"),
        UnixSocketTransport.unixSocket(path: directory("none"), list: "items"),
      ]
      for script in scripts {
        transports.append(ScriptedTransport([script]))
        transports.append(ScriptedTransport([script], isKept: true))
      }
      for (number, transport) in transports.enumerated() {
        weak var released: RemoteDataSource<Item>?
        weak var collection: LiveCollection<Item>?
        do {
          let remote = RemoteDataSource<Item>(fast: transport)
          (released, collection) = (remote, remote.collection)
          let observation = remote.observe { _ in }
          for _ in 0..<number { await Task.yield() }
          if number % 2 == 0 {
            observation.dispose()
            remote.observe { _ in }.dispose()
          }
        }
        #expect(released == nil, "\(transport)")
        try await wait(for: "the release of the collection") { collection == nil }
      }
      try await wait(for: "the end of all connections") { server.connectionCount == 0 }
      server.stop()
    }
    try await wait(for: "the close of all descriptors") { openDescriptors() <= count }
  }

  /// Returns the number of open descriptors of this process.
  private func openDescriptors() -> Int {
    (0..<1_024).count { fcntl($0, F_GETFD) != -1 }
  }
}

/// Connections that send given lines and end. Further connections send nothing and end.
final class ScriptedTransport: RemoteTransport {
  private let scripts: Shared<[[String]]>
  private let isKept: Bool
  /// The tokens of all connections.
  let tokens = Shared<[String?]>([])
  let description = "script"

  /// - Parameter isKept: A Boolean value that indicates whether connections stay open after the last line.
  init(_ scripts: [[String]], isKept: Bool = false) {
    (self.scripts, self.isKept) = (Shared(scripts), isKept)
  }

  func connect(since token: String?) async throws -> any AsyncSequence<[UInt8], any Error> {
    tokens.append(token)
    let lines = scripts.modify { $0.isEmpty ? [] : $0.removeFirst() }
    let (parts, continuation) = AsyncThrowingStream.makeStream(of: [UInt8].self)
    for line in lines { continuation.yield(Array((line + "\n").utf8)) }
    if !isKept { continuation.finish() }
    return parts
  }
}

extension RemoteDataSource<JSONElement> {
  /// Creates a source that connects again without a pause.
  fileprivate convenience init(fastJSON transport: any RemoteTransport) {
    self.init(
      transport, key: nil, decoding: ElementDecoding(),
      timing: RemoteTiming(backoff: Backoff(first: .microseconds(10), longest: .milliseconds(1))),
      clock: .continuous)
  }
}
