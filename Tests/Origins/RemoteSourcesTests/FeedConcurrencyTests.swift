import Diffing
import FileSources
import Foundation
import ObservableCollections
@testable import RemoteSources
import SwappablePrimitives
import SwappableSources
import Synchronization
import TestSupport
import TestTags
import Testing

/// Many clients and threads at the same time. The steps are counted, not timed.
@Suite(.tags(.concurrency, .system), .timeLimit(.minutes(10))) struct FeedConcurrencyTests {
  /// A list that a client has folded from lines.
  struct Folded {
    var items: [Item] = []
    var revision = 0
    var token: String?

    /// Applies a line. Records an issue if it does not fit.
    mutating func receive(_ line: String) throws {
      switch try InputEvent(Array(line.utf8), key: "id") {
      case .initial(let initial):
        items = try initial.elements.map(Self.item)
        (revision, token) = (initial.revision, initial.token)
      case .change(let change):
        try change.checkContinues(from: revision)
        let checked = try change.checked(count: items.count)
        items = try checked.changeset.applying(
          to: items, inserted: checked.inserted.map(Self.item),
          updated: checked.updated.map(Self.item))
        (revision, token) = (change.revision, change.token)
      case .alive(_, let revision, let token, _):
        if self.token != nil { #expect(revision >= self.revision) }
        (self.revision, self.token) = (revision, token)
      case .status, .error: Issue.record("\(line)")
      }
    }

    private static func item(_ element: JSONElement) throws -> Item {
      try JSONDecoder().decode(Item.self, from: Data(element.utf8))
    }
  }

  /// Makes a number of random commits.
  static func commit(_ count: Int, to source: ArrayDataSource<Item>) {
    for round in 1...count {
      source.transaction { draft in
        let offset = round * 7 % draft.count
        draft.update(at: offset) { $0.n = round }
        if round % 10 == 0 { draft.move(from: offset, to: draft.count - 1) }
        if round % 15 == 0 { draft.append(Item(10_000 + round)) }
      }
    }
    // All readers wait for this one.
    source.append(Item(-1))
  }

  @Test func `a hundred clients end with the contents of the server`() async throws {
    let directory = try TemporaryDirectory()
    let source = ArrayDataSource((0..<200).map { Item($0) })
    let feed = Feed(source, key: "id")
    let server = try FeedServer(path: directory("s"), feeds: ["items": feed])
    let path = server.path
    // A tenth never reads.
    let silent = try (0..<10).map { _ in
      let client = try RawClient(path)
      try client.send(FeedRequest(list: "items", token: nil).bytes)
      return client
    }
    let folded = try await withThrowingTaskGroup(of: [Folded].self) { group in
      for number in 0..<9 {
        group.addTask {
          try await onThread { try Self.read(path, clients: 10, isReconnecting: number == 0) }
        }
      }
      group.addTask {
        await onThread { Self.commit(TestRun.rounds(300, long: 300), to: source) }
        return []
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(folded.count == 90)
    for list in folded { #expect(list.items == source.snapshot.array) }
    withExtendedLifetime(silent) {}
  }

  /// Reads with several clients until each has the last item. Clients that reconnect do so after each change.
  private static func read(
    _ path: String, clients count: Int, isReconnecting: Bool
  ) throws -> [Folded] {
    func connect(_ token: String?) throws -> RawClient {
      let client = try RawClient(path)
      try client.send(FeedRequest(list: "items", token: token).bytes)
      return client
    }
    var clients = try (0..<count).map { _ in try connect(nil) }
    var lists = Array(repeating: Folded(), count: count)
    while let index = lists.firstIndex(where: { $0.items.last?.id != -1 }) {
      for other in index..<count where lists[other].items.last?.id != -1 {
        let line = try clients[other].line()
        try lists[other].receive(line)
        if isReconnecting, line.hasPrefix(#"{"event":"change""#) {
          clients[other] = try connect(lists[other].token)
        }
      }
    }
    return lists
  }

  @Test func `subscribers on many threads receive the revisions in order`() async throws {
    let source = ArrayDataSource((0..<50).map { Item($0) })
    let feed = Feed(source, key: "id")
    let lists = try await withThrowingTaskGroup(of: Folded?.self) { group in
      for _ in 0..<16 {
        group.addTask {
          var list = Folded()
          for await line in feed.lines() {
            try list.receive(line.text)
            _ = feed.snapshot()
            if list.items.last?.id == -1 { break }
          }
          return list
        }
      }
      group.addTask {
        await onThread { Self.commit(TestRun.rounds(2_000, long: 2_000), to: source) }
        return nil
      }
      return try await group.reduce(into: []) { lists, list in list.map { lists.append($0) } }
    }
    #expect(lists.count == 16)
    for list in lists { #expect(list.items == source.snapshot.array) }
  }

  @Test func `servers are started at one path at the same time`() async throws {
    let directory = try TemporaryDirectory()
    let feed = Feed(ArrayDataSource([Item(1)]), key: "id")
    for _ in 0..<200 {
      let path = directory("s")
      let servers = await withTaskGroup(of: FeedServer?.self) { group in
        for _ in 0..<2 {
          group.addTask {
            await onThread { try? FeedServer(path: path, feeds: ["items": feed]) }
          }
        }
        return await group.reduce(into: [FeedServer]()) { all, server in
          server.map { all.append($0) }
        }
      }
      // The loser sees the winner.
      #expect(servers.count == 1)
      let client = try RawClient(path)
      try client.send(FeedRequest(list: "items", token: nil).bytes)
      #expect(try client.line().hasPrefix(#"{"event":"initial""#))
      for server in servers { server.stop() }
    }
  }

  @Test func `a server is stopped at once, and released while its list changes`() async throws {
    let directory = try TemporaryDirectory()
    let source = ArrayDataSource((0..<50).map { Item($0) })
    let feed = Feed(source, key: "id")
    let flag = Flag()
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        await onThread {
          var round = 0
          while !flag.isSet.load(ordering: .relaxed) {
            round += 1
            source.update(at: round % 50) { $0.n = round }
          }
        }
      }
      group.addTask {
        await onThread {
          for round in 0..<TestRun.rounds(200, long: 200) {
            var server = try? FeedServer(path: directory("s"), feeds: ["items": feed])
            #expect(server != nil)
            let client = round % 3 == 0 ? nil : try? RawClient(directory("s"))
            _ = try? client?.send(FeedRequest(list: "items", token: nil).bytes)
            if round % 3 == 1 { _ = try? client?.line() }
            if round % 2 == 0 { server?.stop() }
            server = nil
            _ = try? client?.rest()
          }
          flag.isSet.store(true, ordering: .relaxed)
        }
      }
    }
    #expect(!FileManager.default.fileExists(atPath: directory("s")))
  }

  /// The thread sanitizer takes fewer swaps.
  @Test func `a source is swapped a thousand times while clients resume`() async throws {
    let directory = try TemporaryDirectory()
    let sources = (0..<4).map { number in
      ArrayDataSource((0..<60).map { Item($0 * (number + 1), number) })
    }
    let container = SwappableContainer(sources[0])
    let server = try FeedServer(
      path: directory("s"), feeds: ["items": Feed(container, key: "id")])
    let path = server.path
    let last = ArrayDataSource([Item(7), Item(-1)])
    let lists = try await withThrowingTaskGroup(of: [Folded].self) { group in
      for _ in 0..<4 {
        group.addTask {
          try await onThread { try Self.read(path, clients: 5, isReconnecting: true) }
        }
      }
      for round in 1...TestRun.rounds(1_000, long: 1_000) {
        _ = await container.swap(to: sources[round % 4]).outcome
      }
      _ = await container.swap(to: last).outcome
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(lists.count == 20)
    for list in lists { #expect(list.items == [Item(7), Item(-1)]) }
  }
}

private final class Flag: Sendable {
  let isSet = Atomic<Bool>(false)
}

/// Runs a closure that waits on a thread of its own.
private func onThread<Result: Sendable>(
  _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread {
      continuation.resume(with: Swift.Result { try body() })
    }
  }
}

private func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: body()) }
  }
}
