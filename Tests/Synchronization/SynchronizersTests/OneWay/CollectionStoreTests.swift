import DataSourceTesting
import Diffing
import ListViews
import ObservableCollections
import ReactiveSignals
import SwappableSources
import Synchronizers
import TestSupport
import TestTags
import Testing

/// A remote list that logs its downloads and can make them fail.
private final class TestRemote: OneWayRemote {
  typealias Content = TestElement

  let list: Shared<[TestElement]>
  let downloads = Log<TestElement>([])
  let hook = Shared<@Sendable (TestElement) async throws -> TestElement>({ $0 })
  let previewing = Shared<@Sendable (TestElement) -> TestElement?>({ _ in nil })

  init(_ list: [TestElement]) {
    self.list = Shared(list)
  }

  func items() async throws -> [TestElement] { list.value }

  func preview(of item: TestElement) async throws -> TestElement? { previewing.value(item) }

  func content(of item: TestElement) async throws -> TestElement {
    downloads.append(item)
    return try await hook.value(item)
  }
}

@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct CollectionStoreTests {
  private typealias Store = CollectionStore<TestElement>

  private let remote = TestRemote([3, 1, TestElement(2, 5)])
  private let store = Store([1, 2, 4])
  private let synchronizer: OneWaySynchronizer
  private let recorder: RecordingObserver<TestElement>

  init() {
    synchronizer = OneWaySynchronizer(
      from: remote, to: store, options: OneWaySynchronizer.Options(concurrency: 1))
    recorder = RecordingObserver(store)
  }

  private func sync() async throws -> OneWaySynchronizer.Outcome {
    let outcome = try await synchronizer.sync()
    try recorder.check(against: store)
    return outcome
  }

  @Test func `a run is one change that keeps unchanged items`() async throws {
    let outcome = try await sync()
    #expect(Array(store.snapshot) == [3, 1, TestElement(2, 5)])
    #expect(recorder.changes.count == 1)
    let changeset = try #require(recorder.changes.first?.changeset)
    #expect(
      changeset.deletions == [2] && changeset.insertions == [0] && changeset.moves.isEmpty
        && changeset.updates.map(\.from) == [1])
    // Equal items are not downloaded.
    #expect(remote.downloads.value == [3, TestElement(2, 5)])
    #expect(outcome.counts == [3, 1, 1, 1, 0, 2] && outcome.diagnostics.isEmpty)
  }

  @Test func `a run without changes sends no event`() async throws {
    _ = try await sync()
    let outcome = try await sync()
    #expect(outcome.counts == [3, 0, 0, 0, 0, 0] && outcome.diagnostics.isEmpty)
    #expect(recorder.changes.count == 1)
  }

  @Test func `moves follow the order of the remote`() async throws {
    _ = try await sync()
    remote.list.value.reverse()
    _ = try await sync()
    #expect(Array(store.snapshot) == [TestElement(2, 5), 1, 3])
    #expect(recorder.changes.count == 2)
    #expect(recorder.changes.last?.changeset.moves.count == 2)
    #expect(remote.downloads.value.count == 2)
  }

  @Test func `a failed run publishes its completed downloads`() async throws {
    remote.list.value = [3, 5, TestElement(2, 5), 1]
    remote.hook.value = { item in
      if item.id == 5 { throw Refusal() }
      return item
    }
    await #expect(throws: OneWayError.self) { try await synchronizer.sync() }
    #expect(Array(store.snapshot) == [3, 2, 1])
    #expect(recorder.changes.count == 1)
    remote.hook.value = { $0 }
    _ = try await sync()
    #expect(Array(store.snapshot) == remote.list.value)
    #expect(recorder.changes.count == 2)
  }

  @Test func `a canceled run publishes its completed downloads`() async throws {
    remote.hook.value = { [weak synchronizer] item in
      if item.id == 2 { synchronizer?.cancel() }
      return item
    }
    remote.list.value = [3, TestElement(2, 5), 6]
    await #expect(throws: OneWayError.self) { try await synchronizer.sync() }
    #expect(Array(store.snapshot) == [3, TestElement(2, 5)])
    #expect(recorder.changes.count == 1)
  }

  @Test func `a failed fetch changes nothing`() async throws {
    let broken = ArrayDataSource<TestElement>(
      status: .failed(SourceError(code: "gone", message: "it is gone")))
    let synchronizer = OneWaySynchronizer(from: broken, to: store)
    let error = await #expect(throws: OneWayError.self) { try await synchronizer.sync() }
    #expect(
      error?.description
        == "the synchronization failed: cannot fetch the remote list: it is gone")
    #expect(Array(store.snapshot) == [1, 2, 4] && recorder.changes.isEmpty)
  }

  @Test func `duplicate keys are one item and a diagnostic`() async throws {
    remote.list.value = [1, 2, TestElement(1, 9)]
    let outcome = try await sync()
    #expect(Array(store.snapshot) == [1, 2])
    #expect(outcome.diagnostics.map(\.code) == ["duplicate-identity"])
  }

  @Test func `the content replaces the preview`() async throws {
    remote.previewing.value = { TestElement($0.id, -1) }
    synchronizer.options.downloadsPreview = true
    synchronizer.options.downloadsContent = false
    let outcome = try await sync()
    #expect(outcome.previews == 2 && outcome.contents == 0)
    #expect(Array(store.snapshot) == [TestElement(3, -1), 1, TestElement(2, -1)])
    synchronizer.options.downloadsContent = true
    _ = try await sync()
    #expect(Array(store.snapshot) == remote.list.value)
    #expect(recorder.changes.count == 2)
  }

  @Test func `a closure decides if an item is outdated`() async throws {
    let store = Store([TestElement(1, 5), TestElement(2, 5)]) { $0.content < $1.content }
    let remote = TestRemote([TestElement(1, 4), TestElement(2, 6)])
    try await OneWaySynchronizer(from: remote, to: store).sync()
    #expect(remote.downloads.value == [TestElement(2, 6)])
    #expect(Array(store.snapshot) == [TestElement(1, 5), TestElement(2, 6)])
  }

  @Test func `each run compares with the present items`() async throws {
    #expect(await store.isOutdated(2) == false)
    store[1] = TestElement(2, 5)
    #expect(await store.keys() == [1, 2, 4])
    #expect(await store.isOutdated(2))
    #expect(await store.isOutdated(TestElement(2, 5)) == false)
    #expect(await store.isOutdated(9))
  }

  @Test func `a content with another key is an error`() async throws {
    remote.hook.value = { _ in 77 }
    let error = await #expect(throws: OneWayError.self) { try await synchronizer.sync() }
    #expect((error?.failures.first?.cause as? SourceError)?.code == "other-item")
    #expect(error?.description.hasSuffix(".") == false)
    #expect(error?.failures.first?.key == "3")
    #expect(!store.snapshot.contains(77))
  }

  @Test func `an item added during a run follows its predecessor`() async throws {
    remote.hook.value = { [store] item in
      if item.id == 3 {
        store.insert(50, at: 0)
        store.insert(51, at: 2)
        store.remove(identifiedBy: 2)
      }
      return item
    }
    _ = try await sync()
    #expect(Array(store.snapshot) == [50, 3, 1, 51, TestElement(2, 5)])
    // The next run removes unlisted items.
    _ = try await sync()
    #expect(Array(store.snapshot) == remote.list.value)
  }

  @Test func `duplicates of the user stay`() async throws {
    store.replace(with: [1, 2, TestElement(1, 7), 3])
    remote.list.value = [3, TestElement(1, 9), TestElement(2, 5)]
    _ = try await sync()
    let both: [TestElement] = [3, TestElement(1, 9), TestElement(1, 7), TestElement(2, 5)]
    #expect(Array(store.snapshot) == both)
    // The next run has nothing to do.
    store.replace(with: [TestElement(1, 9), TestElement(2, 5), TestElement(1, 7), 3])
    remote.list.value = [TestElement(2, 5), TestElement(1, 9), 3]
    _ = try await sync()
    #expect(try await synchronizer.sync().outdated == 0)
    #expect(
      Array(store.snapshot) == [TestElement(2, 5), TestElement(1, 9), TestElement(1, 7), 3])
  }

  @Test func `an item that is removed and stored again exists`() async throws {
    await store.remove([1, 2])
    try await store.store(TestElement(2, 7), of: 2)
    try await store.store(8, of: 8)
    await store.finish(nil)
    #expect(Array(store.snapshot) == [TestElement(2, 7), 4, 8])
    #expect(recorder.changes.count == 1)
  }

  @Test func `the first run loads an unloaded store`() async throws {
    let store = Store(status: .loading)
    let container = SwappableContainer(ArrayDataSource<TestElement>([8]))
    let handle = container.swap(to: store)
    #expect(handle.outcomeIfKnown == nil && Array(container.snapshot) == [8])
    let remote = TestRemote([])
    try await OneWaySynchronizer(from: remote, to: store).sync()
    #expect(await handle.outcome == .swapped)
    #expect(container.snapshot.isEmpty && store.status == .loaded)
  }

  // MARK: Data source

  @Test func `the store feeds a container and a filter`() async throws {
    let source = ArrayDataSource<TestElement>([1, 2, 3, 4])
    let store = Store()
    let synchronizer = OneWaySynchronizer(from: source, to: store)
    let container = SwappableContainer(store)
    let even = container.filter { $0.id.isMultiple(of: 2) }
    let shown = RecordingObserver(container)
    let filtered = RecordingObserver(even)
    try await synchronizer.sync()
    source.transaction { draft in
      draft.remove(at: 0)
      draft[0] = TestElement(2, 9)
      draft.move(from: 2, to: 0)
    }
    try await synchronizer.sync()
    #expect(shown.changes.count == 2 && filtered.changes.count == 2)
    #expect(Array(container.snapshot) == [4, TestElement(2, 9), 3])
    #expect(Array(even.snapshot) == [4, TestElement(2, 9)])
    try shown.check(against: container)
    try filtered.check(against: even)
  }

  @Test @MainActor func `the store feeds sections`() async throws {
    let source = ArrayDataSource<TestElement>([1, 2, 3, 4])
    let store = Store()
    let synchronizer = OneWaySynchronizer(from: source, to: store)
    let list = SectionedListDataSource<TestSection>()
    let view = StrictListView(sections: { list.sections })
    view.reloadData()
    list.proposalHandler = { list.commit($0, to: view) }
    let isShown = Property(0)
    let observation = store.observeOnMainActor { event in
      let (even, odd) = (
        event.snapshot.filter { $0.id.isMultiple(of: 2) },
        event.snapshot.filter { !$0.id.isMultiple(of: 2) }
      )
      list.propose([
        TestSection(model: 0, elements: even), TestSection(model: 1, elements: odd),
      ])
      isShown.value = event.revision
    }
    try await synchronizer.sync()
    source.replace(with: [4, 6, TestElement(2, 9), 3])
    try await synchronizer.sync()
    await ReadOnlyProperty(isShown).wait { $0 == store.revision }
    observation.dispose()
    try view.check()
    #expect(view.cells == [[4, 6, TestElement(2, 9)], [3]])
  }

  @Test func `a store can be the remote of another store`() async throws {
    let source = ArrayDataSource<TestElement>([1, 2, 3])
    let (near, far) = (Store(status: .loading), Store())
    let first = OneWaySynchronizer(from: source, to: near)
    let second = OneWaySynchronizer(from: near, to: far)
    async let outcome = second.sync()
    try await first.sync()
    #expect(try await outcome.contents == 3)
    #expect(Array(far.snapshot) == [1, 2, 3])
  }

  @Test func `the store keeps the event contract`() async throws {
    try await checkDataSource(
      makeSource: { Store([1, 2, 3]) },
      mutate: { store, random in
        // Runs and edits alternate.
        if random.oneIn(3) {
          store.insert(TestElement(random.below(9), random.below(3)), at: 0)
          return
        }
        let ids = (0..<9).shuffled(using: &random).prefix(random.below(9))
        let list = ids.map { [content = random.below(3)] in TestElement($0, content) }
        let synchronizer = OneWaySynchronizer(from: TestRemote(list), to: store)
        try await synchronizer.sync()
      },
      expected: { Array($0.snapshot) })
  }
}
