import DataSourceTesting
import Diffing
import ListViews
import ObservableCollections
import ReactiveSignals
import SwappableSources
import Synchronizers
import TestTags
import Testing
import TestSupport

/// Tests of the client as a data source.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct SessionSourceTests {
  private let remote = InMemoryRemote((1...6).map { TestElement($0) })

  @Test func `containers and operators over the client receive one change`() async throws {
    let session = SynchronizationSession(remote: remote)
    try await session.synchronize()
    let container = SwappableContainer<TestElement>(session.client)
    let odd = session.client.filter { $0.id % 2 == 1 }
    let sorted = container.sorted { $0.content > $1.content }
    let recorders = [container.collection, odd, sorted].map { RecordingObserver($0) }
    session.client.update(at: 0) { $0.content = 5 }
    remote.contents.transaction { draft in
      draft.move(from: 5, to: 0)
      draft.remove(identifiedBy: 3)
      draft.update(identifiedBy: 5) { $0.content = 9 }
      draft.append(TestElement(7, 7))
    }
    try await session.synchronize()
    #expect(Array(container.snapshot) == Array(remote.contents.snapshot))
    #expect(odd.snapshot.map(\.id) == [1, 5, 7])
    #expect(sorted.snapshot.map(\.id) == [5, 7, 1, 6, 2, 4])
    for (recorder, source) in zip(recorders, [container.collection, odd, sorted]) {
      // The initial event, the edit and the synchronization.
      #expect(recorder.eventCount == 3)
      try recorder.check(against: source)
    }

    let other = SynchronizationSession(remote: remote)
    try await other.synchronize()
    container.swap(to: other.client)
    #expect(recorders[0].eventCount == 3)
  }

  @MainActor @Test func `a sectioned view shows the client`() async throws {
    let session = SynchronizationSession(remote: remote)
    try await session.synchronize()
    let list = SectionedListDataSource<ArraySection<Int, TestElement>>()
    let view = StrictListView(sections: { list.sections })
    list.proposalHandler = { list.commit($0, to: view) }
    func sections(_ contents: Snapshot<TestElement>) -> [ArraySection<Int, TestElement>] {
      Dictionary(grouping: contents) { $0.id % 3 }.sorted { $0.key < $1.key }.map {
        ArraySection(model: $0.key, elements: $0.value)
      }
    }
    list.propose(sections(session.client.snapshot))
    for step in 1...5 {
      session.client.append(TestElement(10 + step))
      remote.contents.transaction { draft in
        draft.move(from: step, to: 0)
        draft.remove(at: 3)
        draft.update(at: 1) { $0.content = step }
      }
      try await session.synchronize()
      list.propose(sections(session.client.snapshot))
      try view.check()
    }
    #expect(list.sections.flatMap(\.elements).count == remote.contents.count)
  }

  @Test func `the client keeps the event contract`() async throws {
    try await checkDataSource(
      seeds: 1...2,
      makeSource: { [remote] in
        let session = SynchronizationSession(remote: remote)
        try await session.synchronize()
        return Mirror(session, watching: remote.contents)
      },
      mutate: { source, random in
        let contents = source.session.client.snapshot
        source.session.client.transaction { draft in
          if !contents.isEmpty, random.oneIn(2) { draft.remove(at: random.below(draft.count)) }
          draft.append(TestElement(random.below(1_000_000), random.below(5)))
          draft.move(from: random.below(draft.count), to: 0)
        }
        try await source.session.synchronize()
      },
      expected: { [remote] _ in Array(remote.contents.snapshot) })
  }
}

/// The client of a session that synchronizes after each edit of the remote.
private final class Mirror: DataSource {
  let session: SynchronizationSession<InMemoryRemote<TestElement>>
  private let watch: Disposable
  var collection: LiveCollection<TestElement> { session.client.collection }

  init(_ session: SynchronizationSession<InMemoryRemote<TestElement>>, watching contents: Items) {
    self.session = session
    watch = contents.observe { [weak session] _ in
      Task { [session] in try await session?.synchronize() }
    }
  }
}
