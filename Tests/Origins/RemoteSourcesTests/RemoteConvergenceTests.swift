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

/// Rules W1 and W2: clients follow the server over restarts, swaps and failures.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct RemoteConvergenceTests {
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
    try await wait(for: "the end of the other connections") { server.connectionCount <= 1 }
  }

  @Test(.reaches(.changes, "cut", "parts", "duplicate"), arguments: 1...10 as ClosedRange<UInt64>)
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
      Coverage.note(client.operations)
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

  @Test(.reaches("deletion", "insertion", "update"), arguments: 1...6 as ClosedRange<UInt64>)
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
    Coverage.note(recorder.operations)
  }
}
