import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// A source that is idle until it is observed.
final class LazySource: DataSource {
  let contents = Items(status: .idle)
  let starts = Shared(0)
  private let isStarted = Shared(false)
  private let load: @Sendable (Items) -> Void

  init(_ load: @escaping @Sendable (Items) -> Void = { $0.setStatus(.loading) }) {
    self.load = load
  }

  var collection: LiveCollection<TestElement> { contents.collection }

  func start() {
    if !isStarted.exchange(true) { load(contents) }
    // Last: a test that waits for the start sets the status next.
    starts.modify { $0 += 1 }
  }
}

/// Rule E7.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct LoadingTests {
  private let error = SourceError(code: "gone", message: "it is gone")

  @Test func `an unloaded source is empty at revision 0, and its first load is a change`() throws {
    let items = Items(status: .loading)
    let recorder = RecordingObserver(items)
    #expect(recorder.events.map(\.brief) == ["0:[]"])
    #expect(!items.state.hasLoaded)
    items.publish([1, 2], status: .loaded)
    #expect(recorder.events.map(\.brief) == ["0:[]", "0-1:[1, 2]"])
    #expect(items.state.hasLoaded)
    try recorder.check(against: items)
  }

  @Test func `a source whose first load is empty sends no event, and has loaded`() async throws {
    let items = Items(status: .loading)
    let recorder = RecordingObserver(items)
    async let loaded = items.loaded()
    items.publish([], status: .loaded)
    #expect(try await loaded.isEmpty)
    #expect(recorder.eventCount == 1)
    #expect(items.state.hasLoaded)
  }

  @Test func `loaded returns immediately if the source has loaded`() async throws {
    #expect(try await Array(Items([1]).loaded()) == [1])
    #expect(try await Items().loaded().isEmpty)
  }

  @Test func `loaded starts an idle source and waits`() async throws {
    let source = LazySource { contents in
      contents.setStatus(.loading)
      contents.publish([4], status: .loaded)
    }
    #expect(source.status == .idle)
    #expect(try await Array(source.loaded()) == [4])
    #expect(source.starts.value > 0)
  }

  @Test func `loaded waits for a loading source`() async throws {
    let source = LazySource()
    let task = Task { try await source.loaded() }
    source.contents.publish([5], status: .loaded)
    #expect(try await Array(task.value) == [5])
  }

  @Test func `loaded throws the error of a source that fails before it has loaded`() async {
    let source = LazySource { [error] in $0.setStatus(.failed(error)) }
    await #expect(throws: error) { try await source.loaded() }
  }

  @Test func `loaded throws the error of a missing source`() async {
    let source = Items(status: .loading)
    let task = Task { try await source.loaded() }
    source.setStatus(.missing(error))
    await #expect(throws: error) { try await task.value }
  }

  @Test func `a source that publishes elements together with a failure has loaded`() async throws {
    let error = SourceError(code: "x", message: "x")
    let items = ArrayDataSource<Int>(status: .loading)
    items.publish([], status: .failed(error))
    await #expect(throws: error) { try await items.loaded() }
    items.publish([1], status: .failed(error))
    #expect(Array(try await items.loaded()) == [1])
    #expect(items.status == .failed(error))
  }

  @Test func `loaded returns the last contents of a source that failed later`() async throws {
    let items = Items([1])
    items.setStatus(.failed(error))
    #expect(try await Array(items.loaded()) == [1])
  }

  @Test func `loaded throws when its task is canceled`() async {
    let items = Items(status: .loading)
    let task = Task { try await items.loaded() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `loaded throws in a task that was canceled before`() async {
    let items = Items(status: .loading)
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await items.loaded()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `a canceled wait keeps nothing alive`() async {
    weak var leftover: Items?
    do {
      let loading = Items(status: .loading)
      leftover = loading
      let task = Task { [loading] in _ = try? await loading.loaded() }
      task.cancel()
      await task.value
    }
    #expect(leftover == nil)
  }

  @Test func `creating an operator starts an idle source`() {
    let source = LazySource()
    let filtered = source.filter { _ in true }
    #expect(source.starts.value == 1)
    #expect(filtered.status == .loading)
  }

  @Test func `a boundary over an idle source starts it`() {
    let source = LazySource { $0.publish([1], status: .loaded) }
    let joined = source.concatenated(with: Items([2]))
    #expect(Array(joined.snapshot) == [1, 2])
  }
}
