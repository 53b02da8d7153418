import DataSourceTesting
import Diffing
import Dispatch
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

typealias Source = ArrayDataSource<TestElement>
typealias Container = SwappableContainer<TestElement>

/// A source that is idle until it is observed, and then loads when a test asks for it.
final class LazySource: DataSource {
  let contents = Items(status: .idle)
  let starts = Shared(0)

  var collection: LiveCollection<TestElement> { contents.collection }

  func start() {
    if contents.status == .idle { contents.setStatus(.loading) }
    // Last: a test that waits for the start sets the status next.
    starts.modify { $0 += 1 }
  }

  func load(_ elements: [TestElement]) { contents.publish(elements, status: .loaded) }
}

/// Rules S1, S2 and S4: each row of the table of swap cases.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct SwapCaseTests {
  private let old = Source([1, 2, 3])
  private let error = SourceError(code: "gone", message: "it is gone")

  @Test func `a loaded source is committed and delivered before swap returns`() throws {
    let container = Container(old)
    let recorder = RecordingObserver(container)
    let handle = container.swap(to: Source([3, TestElement(1, 5), 4]))
    #expect(container.snapshot.map(\.id) == [3, 1, 4])
    #expect(recorder.eventCount == 2)
    #expect(handle.outcomeIfKnown == .swapped)
    // Elements of both sources are kept.
    let changeset = try #require(recorder.changes.first).changeset
    #expect(changeset.deletions == [1] && changeset.insertions == [2])
    #expect(changeset.moves.count == 1 && changeset.updates == [.init(from: 0, to: 1)])
    try recorder.check(against: container)
  }

  @Test func `a source that is loaded and empty deletes everything`() throws {
    let container = Container(old)
    let recorder = RecordingObserver(container)
    #expect(container.swap(to: Source()).outcomeIfKnown == .swapped)
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3]", "0-1:[]"])
    #expect(container.status == .loaded)
  }

  @Test func `a container is printed with the status and contents of its source`() {
    let container = Container()
    #expect("\(container)" == "SwappableContainer<TestElement>: 0 elements, idle")
    container.swap(to: old)
    #expect("\(container)" == "SwappableContainer<TestElement>: 3 elements, loaded: [1, 2, 3]")
    old.setStatus(.failed(error))
    #expect("\(container)".hasSuffix(": 3 elements, failed: it is gone: [1, 2, 3]"))
  }

  @Test func `equal contents are no event`() throws {
    let container = Container(old)
    let recorder = RecordingObserver(container)
    let new = Source([1, 2, 3])
    #expect(container.swap(to: new).outcomeIfKnown == .unchanged)
    #expect(recorder.eventCount == 1)
    #expect(container.source === new)
    new.append(4)
    old.append(9)
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3]", "0-1:[1, 2, 3, 4]"])
    try recorder.check(against: container)
  }

  @Test func `attaching an idle source starts it`() async {
    let container = Container(old)
    let new = LazySource()
    let handle = container.swap(to: new)
    #expect(new.starts.value == 1 && new.status == .loading)
    new.load([7])
    #expect(await handle.outcome == .swapped)
    #expect(Array(container.snapshot) == [7])
  }

  @Test func `the old source stays live while the new one loads`() async throws {
    let container = Container(old)
    let recorder = RecordingObserver(container)
    let new = LazySource()
    let handle = container.swap(to: new)
    #expect(handle.outcomeIfKnown == nil)
    #expect(container.status == .loaded && container.source === old)
    old.append(4)
    #expect(recorder.events.last?.brief == "0-1:[1, 2, 3, 4]")
    new.load([4, 5])
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(recorder.events.last?.brief == "1-2:[4, 5]")
    #expect(recorder.changes.last?.changeset.deletions == [0, 1, 2])
    try recorder.check(against: container)
  }

  @Test func `a source that is empty when it has loaded deletes everything then`() {
    let container = Container(old)
    let new = LazySource()
    let handle = container.swap(to: new)
    #expect(container.snapshot.count == 3)
    new.load([])
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(container.snapshot.isEmpty)
  }

  @Test func `a source made from the shown one takes effect before it has loaded`() throws {
    let container = Container(old)
    let recorder = RecordingObserver(container)
    let slow = LazySource()
    // Through an operator over another domain, and through a container.
    let joined = Container(old.filter { $0.id > 1 }.concatenated(with: slow))
    #expect(container.swap(to: joined).outcomeIfKnown == .swapped)
    #expect(container.source === joined && container.status == joined.status)
    #expect(container.status != .loaded)
    #expect(recorder.events.last?.brief == "0-1:[2, 3]")
    old.append(4)
    #expect(recorder.events.last?.brief == "1-2:[2, 3, 4]")
    slow.load([9])
    #expect(recorder.events.last?.brief == "2-3:[2, 3, 4, 9]")
    #expect(container.status == .loaded)
    try recorder.check(against: container)
  }

  @Test(arguments: [false, true])
  func `a search over files that are all missing takes effect, and finds what appears`(
    isMissing: Bool
  ) throws {
    let files = [LazySource(), LazySource(), LazySource()]
    for file in files {
      file.contents.setStatus(isMissing ? .missing(error) : .failed(error))
    }
    let all = files[0].concatenated(with: files[1], files[2])
    let found = Container(all)
    let recorder = RecordingObserver(found)
    #expect(found.swap(to: all.filter { $0.id > 1 }).outcomeIfKnown == .unchanged)
    #expect(found.status == all.status)
    files[1].load([1, 2, 3])
    #expect(recorder.events.last?.brief == "0-1:[2, 3]")
    #expect(found.swap(to: all.filter { $0.id > 2 }).outcomeIfKnown == .swapped)
    files[0].load([4, 0])
    #expect(found.snapshot.map(\.id) == [4, 3])
    try recorder.check(against: found)
  }

  @Test
  func `a failed source made from one that has not loaded takes effect, whatever was shown before`()
  {
    let container = Container(old)
    let file = LazySource()
    file.contents.setStatus(.loading)
    let both = old.intersection(file)
    #expect(container.swap(to: both).outcomeIfKnown == .swapped)
    file.contents.setStatus(.failed(error))
    let derived = both.filter { _ in true }
    #expect(container.swap(to: derived).outcomeIfKnown == .unchanged)
    #expect(container.source === derived)
    file.load([2])
    #expect(container.snapshot.map(\.id) == [2])
  }

  @Test func `a source made from loaded contents keeps them visible if it has failed`() {
    let container = Container(old)
    let file = LazySource()
    file.contents.setStatus(.missing(error))
    #expect(container.swap(to: old.intersection(file)).outcomeIfKnown == .failed(error))
    #expect(container.snapshot.map(\.id) == old.snapshot.map(\.id))
  }

  @Test func `a source that is made from the shown one takes effect even if it is empty`() throws {
    let container = Container(old)
    let recorder = RecordingObserver(container)
    let slow = LazySource()
    let joined = old.filter { $0.id > 7 }.concatenated(with: slow)
    #expect(container.swap(to: joined).outcomeIfKnown == .swapped)
    #expect(recorder.events.last?.brief == "0-1:[]")
    #expect(container.status == joined.status)
    slow.load([9])
    #expect(recorder.events.last?.brief == "1-2:[9]")
    try recorder.check(against: container)
  }

  @Test func `a source that is made from a loading source takes its place while it loads`() throws {
    let slow = LazySource()
    let container = Container(slow)
    let recorder = RecordingObserver(container)
    let derived = slow.filter { $0.id > 1 }
    #expect(container.swap(to: derived).outcomeIfKnown == .unchanged)
    #expect(container.source === derived && container.status == .loading)
    slow.load([1, 2])
    #expect(recorder.events.map(\.brief) == ["0:[]", "0-1:[2]"])
    try recorder.check(against: container)
  }

  @Test func `a source that is made from the shown one and has failed is not shown`() {
    let slow = LazySource()
    let container = Container(old)
    slow.contents.setStatus(.failed(error))
    let joined = old.subtracting(slow)
    #expect(container.swap(to: joined).outcomeIfKnown == .failed(error))
    #expect(container.source === old && container.status == .loaded)
  }

  @Test func `a source that is made from an earlier source of the container waits`() {
    let container = Container(old)
    let slow = LazySource()
    let joined = old.concatenated(with: slow)
    container.swap(to: Source([7]))
    let handle = container.swap(to: joined)
    #expect(handle.outcomeIfKnown == nil && Array(container.snapshot) == [7])
    slow.load([9])
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(Array(container.snapshot) == [1, 2, 3, 9])
  }

  @Test(arguments: [false, true], [false, true])
  func `a source that fails before it has loaded is released`(isMissing: Bool, failsAtOnce: Bool)
    async
  {
    let container = Container(old)
    let recorder = RecordingObserver(container)
    weak var leftover: LazySource?
    let handle: SwapHandle
    do {
      let new = LazySource()
      leftover = new
      let status = isMissing ? SourceStatus.missing(error) : .failed(error)
      if failsAtOnce { new.contents.setStatus(status) }
      handle = container.swap(to: new)
      if !failsAtOnce { new.contents.setStatus(status) }
    }
    #expect(await handle.outcome == .failed(error))
    #expect(container.source === old && container.status == .loaded)
    #expect(recorder.eventCount == 1)
    #expect(leftover == nil)
    old.append(4)
    #expect(recorder.eventCount == 2)
  }

  @Test func `a source that fails later keeps its contents and recovers by one change`() throws {
    let container = Container(old)
    let new = LazySource()
    let statuses = Log<SourceStatus>([])
    let recorder = RecordingObserver(container)
    let observation = container.observeStatus { statuses.append($0) }
    container.swap(to: new)
    new.load([7])
    new.contents.setStatus(.failed(error))
    #expect(Array(container.snapshot) == [7])
    #expect(container.status == .failed(error))
    new.load([7, 8])
    #expect(statuses.value == [.loaded, .failed(error), .loaded])
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3]", "0-1:[7]", "1-2:[7, 8]"])
    try recorder.check(against: container)
    observation.dispose()
  }

  @Test func `a source that has loaded and failed is shown with its status`() {
    let container = Container(old)
    let new = Items([7])
    new.setStatus(.failed(error))
    #expect(container.swap(to: new).outcomeIfKnown == .swapped)
    #expect(Array(container.snapshot) == [7])
    #expect(container.status == .failed(error))
  }

  @Test func `the latest of two swaps wins`() async {
    let container = Container(old)
    let recorder = RecordingObserver(container)
    let (first, second) = (LazySource(), LazySource())
    let handles = [container.swap(to: first), container.swap(to: second)]
    #expect(await handles[0].outcome == .superseded)
    first.load([8])
    #expect(recorder.eventCount == 1)
    second.load([9])
    #expect(await handles[1].outcome == .swapped)
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3]", "0-1:[9]"])
    first.load([10])
    #expect(recorder.eventCount == 2)
  }

  @Test func `a swap to the current source changes nothing and supersedes the staged one`() async {
    let container = Container(old)
    let staged = LazySource()
    let handle = container.swap(to: staged)
    #expect(container.swap(to: old).outcomeIfKnown == .unchanged)
    #expect(await handle.outcome == .superseded)
    staged.load([9])
    #expect(Array(container.snapshot) == [1, 2, 3])
  }

  @Test func `a swap to the staged source shares its outcome`() async {
    let container = Container(old)
    let staged = LazySource()
    let handles = [container.swap(to: staged), container.swap(to: staged)]
    #expect(handles[0] === handles[1])
    staged.load([9])
    #expect(await handles[1].outcome == .swapped)
  }

  @Test func `a cycle changes nothing and leaves the staged source`() async {
    let container = Container(old)
    let recorder = RecordingObserver(container)
    let staged = LazySource()
    let handle = container.swap(to: staged)
    #expect(container.swap(to: container).outcomeIfKnown == .cycle)
    #expect(container.swap(to: container.filter { _ in true }).outcomeIfKnown == .cycle)
    let joined = container.concatenated(with: Source([8])).sorted { $0.id < $1.id }
    #expect(container.swap(to: joined).outcomeIfKnown == .cycle)
    let outer = Container(Container(container))
    #expect(container.swap(to: outer).outcomeIfKnown == .cycle)
    #expect(recorder.eventCount == 1)
    #expect(handle.outcomeIfKnown == nil)
    staged.load([9])
    #expect(await handle.outcome == .swapped)
    #expect(Array(outer.snapshot) == [9])
  }

  @Test func `a swap succeeds after its cycle is undone`() {
    let inner = Container(old)
    let outer = Container(inner)
    #expect(inner.swap(to: outer).outcomeIfKnown == .cycle)
    outer.swap(to: Source([5]))
    #expect(inner.swap(to: outer).outcomeIfKnown == .swapped)
    #expect(Array(inner.snapshot) == [5])
    #expect(outer.swap(to: inner).outcomeIfKnown == .cycle)
  }

  @Test
  func `a source inside a transaction shows its contents before, and then the commit`() throws {
    let container = Container(old)
    let recorder = RecordingObserver(container)
    let new = Source([7])
    new.transaction { draft in
      draft.append(8)
      #expect(container.swap(to: new).outcomeIfKnown == .swapped)
      #expect(Array(container.snapshot) == [7])
    }
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3]", "0-1:[7]", "1-2:[7, 8]"])
    try recorder.check(against: container)
  }

  @Test func `containers and operators nest`() throws {
    let inner = Container(old)
    let container = Container(inner.filter { $0.id > 1 })
    let recorder = RecordingObserver(container)
    inner.swap(to: Source([3, 4]))
    #expect(Array(container.snapshot) == [3, 4])
    container.swap(to: inner)
    inner.swap(to: old)
    #expect(Array(container.snapshot) == [1, 2, 3])
    old.append(9)
    #expect(recorder.eventCount == 4)
    try recorder.check(against: container)
  }

  @Test func `the initial event of the new source never reaches the observers`() throws {
    let container = Container(Source())
    let recorder = RecordingObserver(container)
    for count in 0..<5 { container.swap(to: Source((0..<count).map { TestElement($0) })) }
    #expect(recorder.events.count { if case .initial = $0 { true } else { false } } == 1)
    try recorder.check(against: container)
  }

  @Test func `an empty container is idle until its first swap`() async throws {
    let container = Container()
    #expect(container.status == .idle && container.source == nil)
    let recorder = RecordingObserver(container)
    async let loaded = container.loaded()
    let handle = container.swap(to: old)
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(try await loaded.count == 3)
    #expect(recorder.events.map(\.brief) == ["0:[]", "0-1:[1, 2, 3]"])
  }

  @Test func `an empty container swapped to an empty source has loaded`() async throws {
    let container = Container()
    #expect(container.swap(to: Source()).outcomeIfKnown == .unchanged)
    #expect(container.status == .loaded)
    #expect(try await container.loaded().isEmpty)
  }

  @Test func `a container of a loading source loads by a change`() throws {
    let first = LazySource()
    let container = Container(first)
    #expect(first.starts.value == 1 && container.status == .loading)
    let recorder = RecordingObserver(container)
    first.load([1])
    #expect(recorder.events.map(\.brief) == ["0:[]", "0-1:[1]"])
    #expect(container.status == .loaded)
  }

  @Test func `a canceled swap leaves the old source`() async {
    let container = Container(old)
    let new = LazySource()
    let handle = container.swap(to: new)
    handle.cancel()
    #expect(await handle.outcome == .cancelled)
    new.load([9])
    #expect(Array(container.snapshot) == [1, 2, 3])
    // A swap that is done stays done.
    let done = container.swap(to: Source([5]))
    done.cancel()
    #expect(done.outcomeIfKnown == .swapped)
    #expect(Array(container.snapshot) == [5])
  }

  @Test func `a swap inside an observer of the container is the next revision`() throws {
    let container = Container(old)
    let log = Log<String>([])
    let outcome = Shared<SwapHandle.Outcome?>(nil)
    let bag = DisposeBag()
    container.observe { event in
      log.append("a " + event.brief)
      if event.revision == 1 { outcome.value = container.swap(to: Source([9])).outcomeIfKnown }
    }.store(in: bag)
    container.observe { log.append("b " + $0.brief) }.store(in: bag)
    log.value = []
    old.removeAll()
    #expect(log.value == ["a 0-1:[]", "b 0-1:[]", "a 1-2:[9]", "b 1-2:[9]"])
    #expect(outcome.value == .swapped)
  }

  @Test func `a swap inside an observer of a larger transaction is delivered immediately`() throws {
    let other = Source([7])
    let container = Container(Source([9]))
    let recorder = RecordingObserver(container)
    let seen = Log<Int>([])
    let observation = old.observe { event in
      guard case .change = event else { return }
      container.swap(to: Source([8]))
      seen.append(recorder.eventCount)
    }
    withTransaction {
      old.append(4)
      other.append(8)
    }
    #expect(seen.value == [2])
    observation.dispose()
    try recorder.check(against: container)
  }

  @Test(.reaches(.changes)) func `random swaps keep the contract`() throws {
    for seed in UInt64(0)..<30 {
      var editor = RandomEditor(seed: seed)
      let sources = (0..<3).map { _ in Source(editor.makeElements()) }
      let inner = Container(sources[0])
      let container = Container(inner)
      let all: [any DataSource<TestElement>] =
        sources + [
          inner, sources[1].filter { $0.content == 0 }, sources[2].sorted { $0.id < $1.id },
        ]
      let recorder = RecordingObserver(container, seed: seed)
      for _ in 0..<60 {
        if editor.random.oneIn(3) {
          (editor.random.oneIn(2) ? inner : container).swap(to: all[editor.random.below(6)])
        } else {
          try editor.step(sources[editor.random.below(3)])
        }
        let shown = try #require(container.source)
        #expect(container.snapshot.hasSameContents(as: shown.snapshot))
      }
      try recorder.check(against: container)
      Coverage.note(recorder)
    }
  }

  @Test func `a list that enters another one through two containers causes one event`() throws {
    let items = Items([1, 2, 3])
    let small = Container(items.filter { $0.id < 10 })
    let even = Container(items.filter { $0.id % 2 == 0 })
    let both = small.concatenated(with: even)
    let events = RecordingObserver(both)
    items.append(4)
    #expect(events.changes.map(\.changeset) == [Changeset(insertions: [3, 5])])
    try events.check(against: both)
  }

  @Test(.timeLimit(.minutes(10)), arguments: ["loads", "is held", "is in a group"])
  func `a transaction that completes a swap is one event`(kind: String) throws {
    let container = Container(Source([1]))
    let other = Source([2])
    let both = container.concatenated(with: other)
    let recorder = RecordingObserver(both)
    let new = Items(status: kind == "is held" ? .loaded : .loading)
    let handle =
      kind == "is in a group"
      ? swapTogether([container.swapping(to: new)])
      : container.swap(to: new, guardedBy: kind == "loads" ? nil : .count(atLeast: 1))
    withTransaction {
      new.publish([5], status: .loaded)
      other[0] = 6
    }
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(recorder.changes.map { $0.after.map(\.id) } == [[5, 6]])
    try recorder.check(against: both)
  }
}
