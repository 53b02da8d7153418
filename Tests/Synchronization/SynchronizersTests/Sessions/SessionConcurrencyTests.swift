import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import Synchronizers
import TestTags
import Testing
import TestSupport

/// Tests of sessions that many threads use. Run them under the thread sanitizer.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct SessionConcurrencyTests {
  private typealias Session = SynchronizationSession<InMemoryRemote<TestElement>>

  /// Performs random edits of keys that no other thread uses.
  private static func edit(_ contents: Items, by editor: Int, _ random: inout SeededGenerator) {
    contents.transaction { draft in
      let mine = draft.elements.indices.filter { draft[$0].id / 1000 == editor }
      switch random.below(4) {
      case 0: if let index = mine.randomElement(using: &random) { draft.remove(at: index) }
      case 1:
        if let index = mine.randomElement(using: &random) {
          draft.update(at: index) { $0.content += 1 }
        }
      case 2:
        guard !draft.isEmpty else { return }
        draft.move(from: random.below(draft.count), to: random.below(draft.count))
      default:
        let key = editor * 1000 + random.below(20)
        if draft.firstIndex(identifiedBy: key) == nil {
          draft.insert(TestElement(key), at: random.below(draft.count + 1))
        }
      }
    }
  }

  @Test(.reaches(.changes)) func `threads edit while sessions synchronize, cancel and save`()
    async throws
  {
    let remote = InMemoryRemote<TestElement>()
    let disks = (0..<3).map { _ in Disk<TestElement>(nil) }
    var sessions: [Session] = []
    for disk in disks {
      sessions.append(try await Session(remote: remote, store: HookedStore(disk)))
    }
    let recorders = sessions.map { RecordingObserver($0.client, keeps: 8) }
    await withTaskGroup(of: Void.self) { group in
      for (number, session) in sessions.enumerated() {
        for editor in [2 * number, 2 * number + 1] {
          group.addTask {
            var random = SeededGenerator(seed: UInt64(editor))
            for _ in 1...150 {
              Self.edit(session.client, by: editor, &random)
              if random.oneIn(4) { await Task.yield() }
            }
          }
        }
        group.addTask { for _ in 1...40 { _ = try? await session.synchronize() } }
        group.addTask {
          for turn in 1...40 {
            if turn % 4 == 0 { session.cancel() }
            let waiting = Task { try await session.synchronize() }
            if turn % 3 == 0 { waiting.cancel() }
            _ = try? await waiting.value
          }
        }
        group.addTask {
          for _ in 1...40 {
            try? await session.save()
            _ = (session.unsynchronizedChanges, session.shadow, session.status.value)
          }
        }
      }
    }
    for _ in 1...2 { for session in sessions { try await session.synchronize() } }
    let end = Array(remote.contents.snapshot)
    #expect(Set(end.map(\.id)).count == end.count)
    for (session, recorder) in zip(sessions, recorders) {
      #expect(Array(session.client.snapshot) == end)
      #expect(Array(session.shadow) == end)
      try recorder.check(against: session.client)
      Coverage.note(recorder)
    }
    for (session, disk) in zip(sessions, disks) {
      try await session.save()
      #expect(disk.value.map { Array($0.client) } == end)
    }
  }

  @Test(.reaches(.changes)) func `sessions come and go over one client`() async throws {
    let remote = InMemoryRemote<TestElement>()
    let client = Items()
    let edits = RecordingObserver(counting: client)
    let disk = Disk<TestElement>(nil)
    await withTaskGroup(of: Void.self) { group in
      group.addTask {
        var random = SeededGenerator(seed: 7)
        for _ in 1...300 { Self.edit(client, by: 1, &random) }
      }
      group.addTask {
        var random = SeededGenerator(seed: 8)
        for _ in 1...300 { Self.edit(remote.contents, by: 2, &random) }
      }
      for _ in 1...2 {
        group.addTask {
          for turn in 1...30 {
            let session = Session(client: client, remote: remote)
            let waiting = Task { [weak session] in try await session?.synchronize() }
            let observation = session.status.observe { _ in }
            if turn % 2 == 0 { session.cancel() }
            if turn % 3 == 0 { observation.dispose() }
            if turn % 5 != 0 { _ = try? await waiting.value }
          }
        }
      }
      group.addTask {
        for _ in 1...30 {
          // Each session has its own disk.
          guard let session = try? await Session(remote: remote, store: HookedStore(disk)) else {
            return
          }
          session.client.append(TestElement(3_000))
          session.client.remove(identifiedBy: 3_000)
          _ = try? await session.synchronize()
          try? await session.save()
        }
      }
    }
    let session = Session(client: client, remote: remote)
    try await session.synchronize()
    Coverage.note(edits)
    #expect(Array(client.snapshot) == Array(remote.contents.snapshot))
  }

  @Test(.reaches(.changes)) func `a session runs continuously during edits`() async throws {
    let remote = InMemoryRemote<TestElement>()
    let sessions = (0..<2).map { _ in Session(remote: remote) }
    let edits = sessions.map { RecordingObserver(counting: $0.client) }
    let loops = sessions.map { session in
      Task {
        await session.synchronizeContinuously(
          every: .milliseconds(2), afterEdit: .milliseconds(1))
      }
    }
    await withTaskGroup(of: Void.self) { group in
      for (number, session) in sessions.enumerated() {
        group.addTask {
          var random = SeededGenerator(seed: UInt64(number))
          for _ in 1...200 {
            Self.edit(session.client, by: number, &random)
            await Task.yield()
          }
        }
      }
    }
    for loop in loops { loop.cancel() }
    for loop in loops { await loop.value }
    for _ in 1...2 { for session in sessions { try await session.synchronize() } }
    for recorder in edits { Coverage.note(recorder) }
    #expect(Array(sessions[0].client.snapshot) == Array(sessions[1].client.snapshot))
  }
}
