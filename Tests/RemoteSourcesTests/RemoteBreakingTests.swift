import DataSourceTesting
import Diffing
import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
@testable import RemoteSources
import SwappablePrimitives
import SwappableSources
import TestSupport
import TestTags
import Testing

/// Remote sources in hard circumstances.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct RemoteBreakingTests {
  static let initial = #"{"event":"initial","revision":1,"token":"a","elements":[{"id":1,"n":0}]}"#

  static func change(
    _ since: String = "1", _ revision: String = "2", deletes: String = "[]", inserts: String = "[]",
    updates: String = "[]", moves: String = "[]"
  ) -> String {
    #"{"event":"change","since":\#(since),"revision":\#(revision),"token":"b","deletes":\#(deletes),"#
      + #""inserts":\#(inserts),"updates":\#(updates),"moves":\#(moves)}"#
  }

  @Test func `a change that does not follow the answer of the server is not applied`() async throws
  {
    let change = Self.change(inserts: #"[{"at":0,"element":{"id":2,"n":0}}]"#)
    let transport = ScriptedTransport([[Self.initial], [change], [change]])
    let recorder = SourceRecorder(RemoteDataSource<Item>(fast: transport))
    while transport.tokens.value.count < 4 { await Task.yield() }
    let record = recorder.record
    #expect(record.contents == [Item(1)])
    #expect(transport.tokens.value.prefix(4) == [nil, "a", "a", "a"])
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

  @Test func `a token of a server with another key is not valid`() async throws {
    let elements = try [JSONElement(parsing: #"{"a":1,"b":2}"#)]
    let token = try #require(Feed(ArrayDataSource(elements), key: "a").snapshot()?.token)
    var lines = Feed(ArrayDataSource(elements), key: "b").lines(since: token).makeAsyncIterator()
    #expect(await lines.next()?.text.hasPrefix(#"{"event":"initial""#) == true)
  }

  static let hostile: [String] = [
    "[]", "null", "1", #""x""#, "{}", #"{"event":null}"#, #"{"event":"initial"}"#,
    #"{"event":"initial","revision":-1,"elements":[]}"#,
    #"{"event":"initial","revision":1e400,"elements":[]}"#,
    #"{"event":"initial","revision":"1","elements":[]}"#,
    #"{"event":"initial","revision":\#(String(repeating: "9", count: 400)),"elements":[]}"#,
    #"{"event":"initial","revision":2,"elements":{}}"#,
    #"{"event":"initial","revision":2,"elements":[1]}"#,
    #"{"event":"initial","revision":2,"elements":[{"id":1}]}"#,
    #"{"event":"initial","revision":2,"token":5,"elements":[]}"#,
    #"{"event":"initial","revision":2,"key":5,"elements":[]}"#,
    #"{"event":"initial","revision":1,"token":"x","elements":[]}"#,
    #"{"event":"alive"}"#, #"{"event":"alive","revision":1}"#,
    #"{"event":"alive","revision":9,"token":"z"}"#, #"{"event":"alive","revision":-1,"token":"z"}"#,
    #"{"event":"alive","since":1,"revision":1,"token":"z"}"#,
    #"{"event":"status"}"#, #"{"event":"error"}"#, #"{"event":"error","message":7}"#,
    String(repeating: "[", count: 1_000_000), String(repeating: #"{"a":"#, count: 100_000),
    change("0"), change("1", "1"), change("1", "0"), change("-1"), change("1", "1e99"),
    change("1", "9223372036854775808"), change("null"), change(deletes: "{}"),
    change(deletes: "[1]"), change(deletes: "[{}]"),
    change(deletes: #"[{"at":1,"element":{"id":1,"n":0}}]"#),
    change(deletes: #"[{"at":9223372036854775807,"element":{"id":1,"n":0}}]"#),
    change(
      deletes: #"[{"at":0,"element":{"id":1,"n":0}},{"at":0,"element":{"id":1,"n":0}}]"#),
    change(inserts: #"[{"at":2,"element":{"id":2,"n":0}}]"#),
    change(inserts: #"[{"at":9223372036854775807,"element":{"id":2,"n":0}}]"#),
    change(inserts: #"[{"at":0,"element":{"id":2,"n":0}},{"at":0,"element":{"id":3,"n":0}}]"#),
    change(inserts: #"[{"at":1,"element":{"id":2,"n":0}},{"at":0,"element":{"id":3,"n":0}}]"#),
    change(inserts: #"[{"at":0}]"#), change(inserts: #"[{"at":0,"element":5}]"#),
    change(moves: #"[{"from":0,"to":1}]"#), change(moves: #"[{"from":1,"to":0}]"#),
    change(moves: #"[{"from":0,"to":0},{"from":0,"to":0}]"#),
    change(
      deletes: #"[{"at":0,"element":{"id":1,"n":0}}]"#, moves: #"[{"from":0,"to":0}]"#),
    change(
      deletes: #"[{"at":0,"element":{"id":1,"n":0}}]"#,
      updates: #"[{"from":0,"at":0,"old":{"id":1,"n":0},"element":{"id":1,"n":1}}]"#),
    change(
      inserts: #"[{"at":0,"element":{"id":2,"n":0}}]"#,
      updates: #"[{"from":0,"at":0,"old":{"id":1,"n":0},"element":{"id":1,"n":1}}]"#),
    change(updates: #"[{"from":0,"at":1,"old":{"id":1,"n":0},"element":{"id":1,"n":1}}]"#),
    change(updates: #"[{"from":-0.5,"at":0,"old":{"id":1,"n":0},"element":{"id":1,"n":1}}]"#),
  ]

  @Test func `a hostile line changes nothing`() async throws {
    for line in Self.hostile {
      let transport = ScriptedTransport([[Self.initial, line, Self.change()]], isKept: true)
      let recorder = SourceRecorder(RemoteDataSource<Item>(fast: transport))
      while transport.tokens.value.count < 2 { await Task.yield() }
      let record = recorder.record
      #expect(record.contents == [Item(1)], "\(line.prefix(200))")
      #expect(record.events.count <= 2, "\(line.prefix(200))")
      #expect(record.violations.isEmpty, "\(line.prefix(200))")
    }
  }

  @Test func `odd changes that fit are applied in normal form`() async throws {
    let odd = [
      // An update to equal contents, a deletion and an insertion of one identity, a move to its own place.
      Self.change(updates: #"[{"from":0,"at":0,"old":{"id":1,"n":0},"element":{"id":1,"n":0}}]"#),
      Self.change(
        deletes: #"[{"at":0,"element":{"id":1,"n":0}}]"#,
        inserts: #"[{"at":0,"element":{"id":1,"n":0}}]"#),
      Self.change(moves: #"[{"from":0,"to":0}]"#),
      Self.change(inserts: #"[{"at":0,"element":{"id":1,"n":0}}]"#),
      Self.change("1", "9223372036854775807"),
      Self.change(updates: #"[{"from":0,"at":0,"old":{"id":1,"n":0},"element":{"id":7,"n":0}}]"#),
    ]
    for line in odd {
      let next = #"{"event":"alive","revision":2,"token":"b"}"#
      let transport = ScriptedTransport([[Self.initial, line, next]], isKept: true)
      let recorder = SourceRecorder(RemoteDataSource<Item>(fast: transport))
      try await recorder.wait { $0.contents.count >= 1 }
      let remoteRevision = line.contains("9223372036854775807")
      if remoteRevision {
        // The sign of life has another revision.
        while transport.tokens.value.count < 2 { await Task.yield() }
      }
      #expect(recorder.record.violations.isEmpty, "\(line)")
    }
  }

  @Test func `a source is released in each state`() async throws {
    let directory = try TemporaryDirectory()
    let feed = Feed(ArrayDataSource([Item(1)]))
    let scripts: [[String]] = [
      [], ["garbage"], [Self.initial], [Self.initial, "garbage"],
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
        while collection != nil { await Task.yield() }
      }
      while server.connectionCount > 0 { await Task.yield() }
      server.stop()
    }
    while openDescriptors() > count { await Task.yield() }
  }

  private func openDescriptors() -> Int {
    (0..<1_024).count { fcntl($0, F_GETFD) != -1 }
  }

  @Test func `a container is swapped to remote sources and away while they connect`() async throws {
    let directory = try TemporaryDirectory()
    let source = ArrayDataSource([Item(1), Item(2)])
    let server = try FeedServer(path: directory("s"), feeds: ["items": Feed(source, key: "id")])
    let container = SwappableContainer<Item>(ArrayDataSource([Item(9)]))
    let recorder = SourceRecorder(container)
    for round in 0..<100 {
      let path = directory(round % 3 == 0 ? "none" : "s")
      let remote = RemoteDataSource<Item>(.unixSocket(path: path, list: "items"))
      for _ in 0..<3 { Thread.detachNewThread { remote.start() } }
      let swap = container.swap(to: remote)
      if round % 2 == 0 { container.swap(to: ArrayDataSource([Item(round)])) }
      if round % 5 == 0 { swap.cancel() }
      if round % 7 == 0 { _ = await swap.outcome }
    }
    container.swap(to: RemoteDataSource<Item>(.unixSocket(path: directory("s"), list: "items")))
    source.append(Item(3))
    let record = try await recorder.wait(for: [Item(1), Item(2), Item(3)])
    #expect(record.violations.isEmpty)
    while server.connectionCount > 1 { await Task.yield() }
  }

  @Test(arguments: 1...10 as ClosedRange<UInt64>)
  func `restarts, swaps, failures and small windows lead every client to the server's contents`(
    seed: UInt64
  ) async throws {
    var editor = RandomEditor<Item>(seed: seed, repeats: seed % 2 == 0)
    var source = ArrayDataSource(editor.makeElements())
    let container = SwappableContainer<Item>(source)
    let states = Shared([Array(container.snapshot)])
    let observation = container.observe { states.append(Array($0.snapshot)) }
    func makeFeed() -> Feed {
      Feed(container, key: "id", retaining: .init(revisions: Int(editor.random.below(4))))
    }
    let feed = Shared(makeFeed())
    let keepsOrder: [FaultProxy.Fault] = [.cut, .parts, .duplicate, .none]
    let faults = seed % 3 == 0 ? FaultProxy.Fault.allCases : keepsOrder
    let proxies = (0..<3 as Range<UInt64>).map { number in
      FaultProxy(feed.value, seed: seed * 10 + number, faults: faults)
    }
    let clients = proxies.map { SourceRecorder(RemoteDataSource<Item>(fast: $0)) }
    let error = SourceError(code: "x", message: "x")
    for step in 0..<60 {
      switch editor.random.below(8) {
      case 0:
        let new = makeFeed()
        feed.modify { $0 = new }
        for proxy in proxies { proxy.cut() }
      case 1:
        source = ArrayDataSource(editor.variation(of: Array(container.snapshot)))
        container.swap(to: source)
      case 2: source.setStatus(.failed(error))
      case 3: source.setStatus(.loaded)
      case 4:
        let before = Array(source.snapshot)
        try editor.step(source)
        source.replace(with: before)
      default: try editor.step(source)
      }
      if editor.random.oneIn(4) {
        // The source may have failed, which a client reports together with the contents.
        try await clients[step % 3].wait { $0.contents == Array(container.snapshot) }
      }
    }
    source.setStatus(.loaded)
    for client in clients {
      let record = try await client.wait {
        $0.contents == Array(container.snapshot) && (seed % 3 == 0 || $0.state == .loaded)
      }
      #expect(record.violations.isEmpty, "seed \(seed)")
      var next = 0
      for event in record.events.dropFirst() {
        let found = states.value[next...].firstIndex(of: Array(event.snapshot))
        #expect(found != nil, "seed \(seed): \(Array(event.snapshot))")
        next = found ?? next
      }
    }
    observation.dispose()
  }

  /// An element that cannot be encoded if its number is a multiple of 5.
  private struct Sometimes: Differentiable, Hashable, Codable, Sendable {
    struct Refused: Error {}

    var id: Int
    var n: Int
    var differenceIdentifier: Int { id }

    init(id: Int, n: Int) { (self.id, self.n) = (id, n) }

    func encode(to encoder: any Encoder) throws {
      if n.isMultiple(of: 5) { throw Refused() }
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(id, forKey: .id)
      try container.encode(n, forKey: .n)
    }
  }

  @Test(arguments: 1...6 as ClosedRange<UInt64>)
  func `clients see only contents that can be encoded`(seed: UInt64) async throws {
    var editor = RandomEditor<Sometimes>(
      seed: seed, size: 6,
      make: { random in Sometimes(id: random.below(100), n: 1 + random.below(20)) },
      change: { item, random in item.n += 1 + random.below(3) })
    let source = ArrayDataSource(editor.makeElements())
    let states = Shared([Array(source.snapshot)])
    let feed = Feed(source, key: "id", retaining: .init(revisions: Int(seed)))
    let proxy = FaultProxy(feed, seed: seed)
    let recorder = SourceRecorder(
      RemoteDataSource<Sometimes>(
        proxy, key: nil, decoding: ElementDecoding(configuring: { _ in }),
        timing: RemoteTiming(backoff: Backoff(first: .microseconds(10), longest: .milliseconds(1))),
        clock: .continuous))
    for _ in 0..<100 {
      try editor.step(source)
      states.append(Array(source.snapshot))
      if editor.random.oneIn(3) {
        source.removeAll { $0.n.isMultiple(of: 5) }
        states.append(Array(source.snapshot))
        try await recorder.wait(for: Array(source.snapshot))
      }
    }
    source.removeAll { $0.n.isMultiple(of: 5) }
    states.append(Array(source.snapshot))
    let record = try await recorder.wait(for: Array(source.snapshot))
    #expect(record.violations.isEmpty)
    for event in record.events.dropFirst() {
      #expect(!event.snapshot.contains { $0.n.isMultiple(of: 5) })
      #expect(states.value.contains(Array(event.snapshot)))
    }
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
