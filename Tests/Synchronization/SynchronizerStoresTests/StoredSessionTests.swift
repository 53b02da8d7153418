import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import SynchronizerStores
import Synchronizers
import TestSupport
import TestTags
import Testing

/// Tests of a process that ends before or after each external call.
private final class Mortality: Sendable {
  struct Death: Error {}

  private let momentsLeft: Shared<Int>

  init(after moments: Int) { momentsLeft = Shared(moments) }

  var isDead: Bool { momentsLeft.value < 0 }

  func live() throws {
    let left = momentsLeft.modify { left in
      left -= 1
      return left
    }
    if left < 0 { throw Death() }
  }
}

private struct MortalRemote: SynchronizationRemote {
  let base: InMemoryRemote<Note>
  let mortality: Mortality

  func fetch(unlessAt version: Int?) async throws -> RemoteContents<Note, Int>? {
    try mortality.live()
    let contents = await base.fetch(unlessAt: version)
    try mortality.live()
    return contents
  }

  func push(_ push: RemotePush<Note, Int>) async throws -> RemotePush<Note, Int>.Answer {
    try mortality.live()
    let answer = await base.push(push)
    try mortality.live()
    return answer
  }
}

private struct MortalStore: SynchronizationStore {
  let base: any SynchronizationStore<Note, Int>
  let mortality: Mortality

  func load() async throws -> NoteState? {
    try mortality.live()
    return try await base.load()
  }

  func save(_ state: NoteState) async throws {
    try mortality.live()
    try await base.save(state)
    try mortality.live()
  }
}

@Suite struct StoredSessionTests {
  enum Kind: String, CaseIterable, Sendable {
    case file, sqlite
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  /// Opens a store. It waits for the previous store, which running work may still retain.
  private func open(
    _ kind: Kind, _ name: String, _ mortality: Mortality = Mortality(after: .max)
  ) async throws -> MortalStore {
    let path = directory(name)
    if kind == .sqlite {
      let store = try SQLiteSynchronizationStore<Note, Int>(path: path, name: "a")
      return MortalStore(base: store, mortality: mortality)
    }
    let limit = ContinuousClock.now + .seconds(60)
    var store = Result { try FileSynchronizationStore<Note, Int>(path: path) }
    while case .failure(let error as StoreError) = store, error.code == .inUse,
      ContinuousClock.now < limit
    {
      await Task.yield()
      store = Result { try FileSynchronizationStore<Note, Int>(path: path) }
    }
    return MortalStore(base: try store.get(), mortality: mortality)
  }

  @Test(arguments: Kind.allCases) func `a restart loses no edit`(kind: Kind) async throws {
    for moments in 0..<100 {
      let name = "\(kind)-\(moments)"
      let remote = InMemoryRemote((1...3).map { Note(id: $0, text: "old") })
      do {
        let session = try await SynchronizationSession(
          remote: remote, store: try await open(kind, name))
        try await session.synchronize()
        session.client.append(Note(id: 10, text: "mine"))
        session.client.remove(at: 1)
        try await session.save()
      }
      remote.contents.append(Note(id: 20, text: "theirs"))
      remote.contents.update(at: 2) { $0.text = "edited" }

      let mortality = Mortality(after: moments)
      var isSaved = false
      do {
        let session = try await SynchronizationSession(
          remote: MortalRemote(base: remote, mortality: mortality),
          store: try await open(kind, name, mortality))
        session.client.append(Note(id: 11, text: "mine too"))
        try await session.save()
        isSaved = true
        try await session.synchronize()
      } catch {}
      // Another client deletes the new elements.
      let isTaken = remote.contents.snapshot.contains { $0.id == 10 }
      if isTaken { remote.contents.removeAll { $0.id == 10 } }

      let session = try await SynchronizationSession(
        remote: remote, store: try await open(kind, name))
      try await session.synchronize()
      try await session.synchronize()
      let client = Array(session.client.snapshot)
      try #require(client == Array(remote.contents.snapshot), "\(moments) moments")
      try #require(client == Array(session.shadow))
      let ids = Set(client.map(\.id))
      try #require(
        ids.isSuperset(of: isSaved ? [1, 3, 11, 20] : [1, 3, 20]), "\(moments) moments")
      try #require(!ids.contains(2) && ids.contains(10) != isTaken, "\(moments) moments")
      try #require(client.first { $0.id == 3 }?.text == "edited")
      if !mortality.isDead { return }
    }
    Issue.record("the session has no end")
  }

  @Test(.reaches("removal", "interruption", "complete session"), arguments: Kind.allCases)
  func `many restarts converge`(kind: Kind) async throws {
    var random = SeededGenerator(seed: 31)
    let remote = InMemoryRemote((0..<5).map { Note(id: $0, text: "0") })
    for round in 1...25 {
      for name in ["one", "two"] {
        let mortality = Mortality(after: random.below(30))
        do {
          let session = try await SynchronizationSession(
            remote: MortalRemote(base: remote, mortality: mortality),
            store: try await open(kind, name, mortality))
          session.client.append(Note(id: round * 10 + (name == "one" ? 1 : 2), text: name))
          if random.oneIn(2), !session.client.snapshot.isEmpty {
            session.client.remove(at: random.below(session.client.snapshot.count))
            Coverage.note("removal")
          }
          try await session.save()
          try await session.synchronize()
          Coverage.note("complete session")
        } catch {
          Coverage.note("interruption")
        }
      }
    }
    var last: [[Note]] = []
    for _ in 0..<2 {
      last = []
      for name in ["one", "two"] {
        let session = try await SynchronizationSession(
          remote: remote, store: try await open(kind, name))
        try await session.synchronize()
        last.append(Array(session.client.snapshot))
      }
    }
    #expect(last[0] == Array(remote.contents.snapshot))
    #expect(last[1] == Array(remote.contents.snapshot))
  }
}
