import DataSourceTesting
import ObservableCollections
import ReactiveSignals
import SwappableSources
import Synchronizers
import TestSupport
import TestTags
import Testing

/// The calls of a run to its remote and its store.
@Suite(.timeLimit(.minutes(10))) struct OneWayStoreTests {
  /// A store that logs its calls.
  private struct RecordingStore: OneWayStore {
    typealias Item = TestElement
    typealias Content = String

    let log = Log<String>([])
    let local: Set<Int>

    func keys() async -> Set<Int> {
      log.append("keys")
      return local
    }

    func isOutdated(_ item: TestElement) async -> Bool {
      log.append("outdated? \(item)")
      return item.content > 0
    }

    func remove(_ keys: Set<Int>) async { log.append("remove \(keys.sorted())") }

    func storePreview(_ content: String, of item: TestElement) async {
      log.append("preview \(item) \(content)")
    }

    func store(_ content: String, of item: TestElement) async {
      log.append("store \(item) \(content)")
    }

    func finish(_ list: [TestElement]?) async throws {
      log.append("finish \(list.map { "\($0)" } ?? "nil")")
    }
  }

  private struct Remote: OneWayRemote {
    let list: Shared<[TestElement]?>

    func items() async throws -> [TestElement] {
      guard let list = list.value else { throw Refusal() }
      return list
    }

    func preview(of item: TestElement) async throws -> String? { item.id > 1 ? "small" : nil }
    func content(of item: TestElement) async throws -> String {
      if item.id == 9 { throw Refusal() }
      return "large"
    }
  }

  private let store = RecordingStore(local: [2, 3, 4])
  private let list = Shared<[TestElement]?>([1, TestElement(2, 1), 3, TestElement(1, 5)])

  private func sync(_ options: OneWaySynchronizer.Options) async throws -> [String] {
    var options = options
    options.concurrency = 1
    let synchronizer = OneWaySynchronizer(from: Remote(list: list), to: store, options: options)
    _ = try? await synchronizer.sync()
    return store.log.exchange([])
  }

  @Test func `a run calls the store in order`() async throws {
    #expect(
      try await sync(OneWaySynchronizer.Options(downloadsPreview: true)) == [
        "keys", "remove [4]", "outdated? 2.1", "outdated? 3", "preview 2.1 small", "store 1 large",
        "store 2.1 large", "finish [1, 2.1, 3]",
      ])
  }

  @Test func `a failed run finishes with the list`() async throws {
    list.value = [9, 1]
    #expect(
      try await sync(OneWaySynchronizer.Options()) == ["keys", "remove [2, 3, 4]", "finish [9, 1]"])
    #expect(
      try await sync(OneWaySynchronizer.Options(stopsOnError: false)) == [
        "keys", "remove [2, 3, 4]", "store 1 large", "finish [9, 1]",
      ])
  }

  @Test func `a run without a list finishes with nil`() async throws {
    let synchronizer = OneWaySynchronizer(from: Remote(list: list), to: store)
    synchronizer.options.downloadsContent = false
    try await synchronizer.sync()
    #expect(store.log.exchange([]).last == "finish [1, 2.1, 3]")
    list.value = nil
    await #expect(throws: OneWayError.self) { try await synchronizer.sync() }
    #expect(store.log.value == ["finish nil"])
  }
}

/// Tests of a data source as the remote list.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct DataSourceRemoteTests {
  private let gone = SourceError(code: "gone", message: "it is gone")

  @Test func `a run waits until the source has loaded`() async throws {
    let source = Items(status: .loading)
    let store = CollectionStore<TestElement>([7])
    let synchronizer = OneWaySynchronizer(from: source, to: store)
    async let outcome = synchronizer.sync()
    await synchronizer.progress.wait { $0.stage == .fetch }
    #expect(Array(store.snapshot) == [7])
    source.publish([1, 2], status: .loaded)
    #expect(try await outcome.contents == 2)
    #expect(Array(store.snapshot) == [1, 2])
  }

  @Test func `cancellation ends the wait for the source`() async throws {
    let source = Items(status: .loading)
    let synchronizer = OneWaySynchronizer(
      from: source, to: CollectionStore<TestElement>())
    let waiting = Task { try await synchronizer.sync() }
    await synchronizer.progress.wait { $0.stage == .fetch }
    synchronizer.cancel()
    let error = await #expect(throws: OneWayError.self) { try await waiting.value }
    #expect(error?.isCancelled == true && error?.stage == .fetch && error?.failures.isEmpty == true)
  }

  @Test func `a source that fails before loading is a failure`() async throws {
    let remote = DataSourceRemote(Items(status: .failed(gone)))
    await #expect(throws: gone) { try await remote.items() }
  }

  @Test func `a source that fails later lists its last good contents`() async throws {
    let source = Items([1, 2])
    source.setStatus(.failed(gone))
    #expect(try await DataSourceRemote(source).items() == [1, 2])
  }
}
