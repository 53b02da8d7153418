import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

private typealias Guard = ChangeGuard<TestElement>

/// Rules G1 and G2: swaps that a guard may refuse, and previews.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct GuardedSwapTests {
  private let old = Source([1, 2, 3, 4])
  private let container: Container
  private let recorder: RecordingObserver<TestElement>

  init() {
    container = Container(old)
    recorder = RecordingObserver(container)
  }

  private var pending: Guard.PendingChange? { container.pendingChange.value }

  // MARK: Guards

  @Test func `a change that the guard allows is shown at once`() {
    let handle = container.swap(to: Source([2, 3, 4]), guardedBy: .deletions(atMost: .percent(25)))
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(pending == nil)
    #expect(recorder.events.last?.brief == "0-1:[2, 3, 4]")
  }

  @Test func `a canceled wait for the outcome ends, and the swap goes on`() async {
    let slow = ControlledSource<TestElement>()
    let handle = container.swap(to: slow)
    let waiting = Task { await handle.outcome }
    waiting.cancel()
    #expect(await waiting.value == .cancelled)
    #expect(handle.outcomeIfKnown == nil)
    slow.load([7])
    #expect(handle.outcomeIfKnown == .swapped)
    // A known outcome needs no wait.
    let late = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await handle.outcome
    }
    #expect(await late.value == .swapped)
  }

  @Test func `a refused change is pending, and the old source stays live`() throws {
    let handle = container.swap(to: Source([4]), guardedBy: .deletions(atMost: .percent(25)))
    #expect(handle.outcomeIfKnown == nil)
    #expect(container.source === old)
    #expect(recorder.eventCount == 1)
    let refused = try #require(pending)
    #expect(refused.reason == "3 of 4 elements would be deleted; the limit is 25 percent")
    #expect(refused.change.changeset.deletions == [0, 1, 2])
    #expect(container.status == .loaded)
    old.append(5)
    #expect(recorder.events.last?.brief == "0-1:[1, 2, 3, 4, 5]")
    #expect(pending?.change.changeset.deletions == [0, 1, 2, 4])
    refused.accept()
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(recorder.events.last?.brief == "1-2:[4]")
    #expect(pending == nil)
    try recorder.check(against: container)
  }

  @Test func `a later state of the new source shows itself`() throws {
    let new = Source([TestElement]())
    let handle = container.swap(to: new, guardedBy: .count(atLeast: 2))
    #expect(pending?.reason == "0 elements would be left; the limit is 2")
    new.append(7)
    #expect(pending?.reason == "1 elements would be left; the limit is 2")
    #expect(handle.outcomeIfKnown == nil && recorder.eventCount == 1)
    new.append(8)
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(pending == nil)
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3, 4]", "0-1:[7, 8]"])
    try recorder.check(against: container)
  }

  @Test func `a later state of the old source lets the change pass`() throws {
    let handle = container.swap(to: Source([3, 4]), guardedBy: .deletions(atMost: .elements(1)))
    #expect(pending != nil)
    old.remove(at: 0)
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(recorder.events.map(\.brief) == ["0:[1, 2, 3, 4]", "0-1:[2, 3, 4]", "1-2:[3, 4]"])
    try recorder.check(against: container)
  }

  @Test func `a rejected change is forgotten, and its source is released`() throws {
    var new: Source? = Source([9])
    weak let left = new
    let handle = container.swap(
      to: try #require(new), guardedBy: .changes(atMost: .elements(1)))
    let refused = try #require(pending)
    new = nil
    #expect(left != nil)
    refused.reject()
    #expect(handle.outcomeIfKnown == .cancelled)
    #expect(pending == nil && left == nil && recorder.eventCount == 1)
    // Both calls come too late.
    refused.accept()
    refused.reject()
    #expect(container.source === old)
  }

  @Test func `a further swap supersedes one that is held`() {
    let held = container.swap(to: Source([9]), guardedBy: .count(atLeast: 2))
    let refused = pending
    let next = container.swap(to: Source([5, 6]))
    #expect(held.outcomeIfKnown == .superseded)
    #expect(next.outcomeIfKnown == .swapped)
    #expect(pending == nil)
    refused?.accept()
    #expect(recorder.events.last?.brief == "0-1:[5, 6]")
  }

  @Test func `a further swap to the same source replaces the guard`() {
    let new = Source([9])
    let first = container.swap(to: new, guardedBy: .count(atLeast: 2))
    let second = container.swap(to: new, guardedBy: .count(atLeast: 3))
    #expect(pending?.reason == "1 elements would be left; the limit is 3")
    let third = container.swap(to: new)
    for handle in [first, second, third] { #expect(handle.outcomeIfKnown == .swapped) }
    #expect(container.source === new && pending == nil)
  }

  @Test func `a swap back to the shown source forgets the held one`() {
    let held = container.swap(to: Source([9]), guardedBy: .count(atLeast: 2))
    #expect(container.swap(to: old).outcomeIfKnown == .unchanged)
    #expect(held.outcomeIfKnown == .superseded)
    #expect(pending == nil && recorder.eventCount == 1)
  }

  @Test func `a source that loads late is held when it has loaded`() {
    let new = LazySource()
    let handle = container.swap(to: new, guardedBy: .count(atLeast: 2))
    #expect(pending == nil)
    new.load([1])
    #expect(handle.outcomeIfKnown == nil && pending != nil)
    new.contents.setStatus(.failed(SourceError(code: "gone", message: "it is gone")))
    // It keeps its contents, which can still be accepted.
    pending?.accept()
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(container.status.error?.code == "gone")
    #expect(recorder.events.last?.brief == "0-1:[1]")
  }

  @Test func `an empty container asks the guard, too`() throws {
    let empty = Container()
    let handle = empty.swap(to: Source([1]), guardedBy: .count(atLeast: 2))
    #expect(empty.status == .idle && empty.isEmpty)
    try #require(empty.pendingChange.value).accept()
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(Array(empty.snapshot) == [1])
  }

  @Test func `releasing a container cancels what is held`() {
    var container: Container? = Container(old)
    let handle = container?.swap(to: Source([9]), guardedBy: .count(atLeast: 2))
    let refused = container?.pendingChange.value
    container = nil
    #expect(handle?.outcomeIfKnown == .cancelled)
    refused?.accept()
  }

  @Test func `the pending change goes with the pass that shows it`() throws {
    let property = container.pendingChange
    let seen = Shared<[String]>([])
    let observation = property.observe { [container] change in
      seen.append("\(change?.change.changeset.changeCount ?? 0) of \(container.count)")
    }
    let contents = container.observe { [property] event in
      seen.append("contents \(event.snapshot.count), pending \(property.value != nil)")
    }
    container.swap(to: Source([4, 5]), guardedBy: .count(atLeast: 3))
    property.value?.accept()
    #expect(
      seen.value == [
        "0 of 4", "contents 4, pending false", "4 of 4", "contents 2, pending false", "0 of 2",
      ])
    withExtendedLifetime((observation, contents)) {}
  }

  @Test func `a guard and an observer may swap, accept and reject`() {
    let container = container
    let refused = Source([9])
    let observation = container.pendingChange.observe { change in
      if change?.change.after.first?.id == 9 { container.swap(to: Source([5])) }
    }
    let handle = container.swap(
      to: refused,
      guardedBy: ChangeGuard { _ in
        // The swap that is under way is canceled while its guard decides.
        container.pendingChange.value?.reject()
        return "no"
      })
    #expect(handle.outcomeIfKnown == .superseded)
    #expect(Array(container.snapshot) == [5])
    withExtendedLifetime(observation) {}
  }

  @Test func `elements of a replaced pending change may use the container when they are released`()
  {
    let reads = Shared(0)
    let old = ArrayDataSource<Parting>()
    let container = SwappableContainer(old)
    for id in 1...4 {
      old.append(
        Parting(id) { [weak container] in
          if container?.count != nil { reads.modify { $0 += 1 } }
        })
    }
    let new = ArrayDataSource([Parting(9) {}])
    let calls = Shared(0)
    container.swap(
      to: new,
      guardedBy: ChangeGuard { _ in
        calls.modify { $0 += 1 }
        // Another thread removes an element, and only the pending change still has it.
        if calls.value == 2 { try? Worker { old.remove(at: 0) }.join() }
        return "no"
      })
    new.append(Parting(10) {})
    #expect(calls.value == 3 && reads.value == 1)
    container.pendingChange.value?.reject()
    #expect(container.count == 3)
  }

  @Test func `several guards refuse what one of them refuses`() {
    let both = Guard.all([.count(atLeast: 2), .changes(atMost: .percent(50))])
    container.swap(to: Source([1]), guardedBy: both)
    #expect(pending?.reason == "1 elements would be left; the limit is 2")
    container.swap(to: Source([5, 6]), guardedBy: both)
    #expect(pending?.reason == "6 elements would change, and 4 are shown; the limit is 50 percent")
    #expect(container.swap(to: Source([1, 2]), guardedBy: both).outcomeIfKnown == .swapped)
  }

  @Test func `a held source that fails before it has loaded ends the swap`() {
    let error = SourceError(code: "gone", message: "it is gone")
    let shown = Items([1])
    let late = ControlledSource<TestElement>()
    let container = Container(shown)
    let handle = container.swap(
      to: shown.intersection(late),
      guardedBy: ChangeGuard { _ in "not yet" })
    late.fail(error)
    #expect(handle.outcomeIfKnown == .failed(error))
    #expect(container.pendingChange.value == nil)
    #expect(container.source === shown)
  }

  @Test func `a released container has no pending change`() throws {
    var container: Container? = Container(Source([1]))
    let property = try #require(container?.pendingChange)
    let log = Log<Bool>()
    let observation = property.observe { log.append($0 != nil) }
    container?.swap(to: Source([9]), guardedBy: .count(atLeast: 2))
    container = nil
    #expect(property.value == nil)
    #expect(log.value == [false, true, false])
    observation.dispose()
  }

  @Test func `a released container releases the elements of its pending change`() throws {
    weak var token: Token?
    var container: SwappableContainer<Meddler>? = SwappableContainer(
      ArrayDataSource([Meddler(id: 1)]))
    let property = try #require(container?.pendingChange)
    do {
      let new = Token()
      token = new
      container?.swap(
        to: ArrayDataSource([Meddler(id: 2, token: new)]), guardedBy: ChangeGuard { _ in "no" })
    }
    #expect(token != nil)
    container = nil
    #expect(token == nil)
    withExtendedLifetime(property) {}
  }

  @Test func `a guard that edits the new source until it is content does not nest`() {
    let container = Container(Source([1]))
    let new = Source([TestElement]())
    let handle = container.swap(
      to: new,
      guardedBy: Guard { change in
        if change.after.count >= 2_000 { return nil }
        new.append(TestElement(change.after.count))
        return "more"
      })
    #expect(handle.outcomeIfKnown == .swapped)
    #expect(container.count == 2_000)
  }

  @Test func `a refused source that fails keeps its contents and its pending change`() throws {
    let error = SourceError(code: "gone", message: "it is gone")
    let source = Items([1, 2, 3, 4])
    let guarded = source.guarded(by: .count(atLeast: 2))
    let recorder = RecordingObserver(guarded)
    let statuses = StatusWatch(guarded, behind: recorder)
    source.publish([1], status: .loading)
    source.setStatus(.failed(error))
    #expect(guarded.status == .failed(error) && guarded.count == 4)
    #expect(guarded.pendingChange.value?.change.after.count == 1)
    source.publish([5], status: .loaded)
    #expect(guarded.status == .loaded && guarded.count == 4)
    let container = Container(guarded)
    #expect(container.snapshot.count == 4)
    guarded.pendingChange.value?.accept()
    #expect(container.snapshot.map(\.id) == [5])
    #expect(statuses.fault == nil)
    try recorder.check(against: guarded)
  }

  // MARK: Previews

  @Test func `a preview tells what a swap would change`() async throws {
    let new = Source([4, 5])
    let preview = try await container.preview(of: new)
    #expect(preview.change.changeset.deletions == [0, 1, 2])
    #expect(preview.change.changeset.insertions == [1])
    #expect(recorder.eventCount == 1)
    // It follows both sides.
    new.append(6)
    old.remove(at: 0)
    #expect(pending?.change.changeset.deletions == [0, 1])
    #expect(pending?.change.changeset.insertions == [1, 2])
    preview.accept()
    #expect(recorder.changes.last?.changeset.deletions == [0, 1])
    #expect(Array(container.snapshot) == [4, 5, 6])
    try recorder.check(against: container)
  }

  @Test func `a preview of equal contents changes nothing until it is accepted`() async throws {
    let new = Source([1, 2, 3, 4])
    let preview = try await container.preview(of: new)
    #expect(preview.change.changeset.isEmpty)
    #expect(container.source === old)
    preview.accept()
    #expect(container.source === new)
    #expect(recorder.eventCount == 1)
  }

  @Test func `a preview waits until its source has loaded`() async throws {
    let new = LazySource()
    let task = Task { [container] in try await container.preview(of: new) }
    try await wait(for: "the source to be started") { new.starts.value > 0 }
    new.load([8])
    #expect(try await task.value.change.after.map(\.id) == [8])
    pending?.reject()
    #expect(container.source === old)
  }

  @Test func `a preview of the shown source is an empty change`() async throws {
    let preview = try await container.preview(of: old)
    #expect(preview.change.changeset.isEmpty)
    preview.accept()
    preview.reject()
    #expect(container.source === old)
    #expect(recorder.eventCount == 1)
    // An observer accepts before the preview is returned.
    let accepting = container.pendingChange.observe { $0?.accept() }
    let new = Source([1, 2])
    #expect(try await container.preview(of: new).change.changeset.isEmpty)
    #expect(container.source === new)
    withExtendedLifetime(accepting) {}
  }

  @Test func `a preview that cannot be made throws`() async throws {
    let failing = LazySource()
    let task = Task { [container] in try await container.preview(of: failing) }
    try await wait(for: "the source to be started") { failing.starts.value > 0 }
    failing.contents.setStatus(.failed(SourceError(code: "gone", message: "it is gone")))
    await #expect(throws: SourceError.self) { try await task.value }
    await #expect(throws: SourceError.self) {
      try await container.preview(of: container.filter { _ in true })
    }
    let canceled = LazySource()
    let waiting = Task { [container] in try await container.preview(of: canceled) }
    try await wait(for: "the source to be started") { canceled.starts.value > 0 }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    #expect(container.source === old && pending == nil)
  }
}

/// An element that calls a closure when its last reference is released.
private struct Parting: Differentiable, Sendable {
  private final class Call: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    deinit { body() }
  }

  let differenceIdentifier: Int
  private let call: Call

  init(_ id: Int, _ body: @escaping @Sendable () -> Void) {
    (differenceIdentifier, call) = (id, Call(body))
  }

  func isContentEqual(to source: Parting) -> Bool { true }
}
