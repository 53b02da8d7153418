import DataSourceTesting
import Diffing
@testable import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rules E1 to E5.
@Suite struct EventTests {
  @Test func `the initial event is delivered before observe returns`() {
    let items = Items([1, 2])
    let log = Log<String>([])
    let observation = items.observe { log.append($0.brief) }
    #expect(log.value == ["0:[1, 2]"])
    observation.dispose()
  }

  /// Rule C6.
  @Test func `a change can be read in steps`() throws {
    let items = Items([1, 2, 3, 4])
    let recorder = RecordingObserver(items)
    items.replace(with: [4, TestElement(1, 7), 5, 3])
    let change = try #require(recorder.changes.last)
    #expect(change.patch.applying(to: change.before) == Array(change.after))
    // The update alone, the deletion, and then the insertion and the move.
    #expect(change.stages.map { $0.data.map(\.id) } == [[1, 2, 3, 4], [1, 3, 4], [4, 1, 5, 3]])
    #expect(change.stages.first?.changeset == Changeset(updates: [.init(from: 0, to: 0)]))
  }

  @Test func `an empty collection sends an initial event, too`() {
    let recorder = RecordingObserver(Items())
    #expect(recorder.eventCount == 1)
    #expect(recorder.revision == 0)
    #expect(recorder.snapshot.isEmpty)
  }

  @Test func `a late observer receives the current contents and revision`() throws {
    let items = Items([1])
    items.append(2)
    items.append(3)
    let late = RecordingObserver(items)
    #expect(late.events.map(\.brief) == ["2:[1, 2, 3]"])
    items.remove(at: 0)
    #expect(late.events.map(\.brief) == ["2:[1, 2, 3]", "2-3:[2, 3]"])
    try late.check(against: items)
  }

  @Test
  func `an observer created inside an observer receives its initial event immediately`() throws {
    let items = Items([1])
    let inner = Shared<RecordingObserver<TestElement>?>(nil)
    let counts = Log<Int?>([])
    let outer = items.observe { event in
      guard case .change = event, inner.value == nil else { return }
      inner.value = RecordingObserver(items)
      counts.append(inner.value?.eventCount)
    }
    items.append(2)
    #expect(counts.value == [1])
    // The change in progress is part of its initial event, and is not delivered again.
    #expect(inner.value?.events.map(\.brief) == ["1:[1, 2]"])
    items.append(3)
    #expect(inner.value?.events.map(\.brief) == ["1:[1, 2]", "1-2:[1, 2, 3]"])
    try inner.value?.check(against: items)
    outer.dispose()
  }

  @Test func `an observer created inside an initial event receives its own immediately`() {
    let items = Items([1])
    let log = Log<String>([])
    let bag = DisposeBag()
    items.observe { outer in
      log.append("outer " + outer.brief)
      if case .initial = outer {
        items.observe { log.append("inner " + $0.brief) }.store(in: bag)
        log.append("outer returns")
      }
    }.store(in: bag)
    items.append(2)
    #expect(log.value.prefix(3) == ["outer 0:[1]", "inner 0:[1]", "outer returns"])
    #expect(Set(log.value.dropFirst(3)) == ["outer 0-1:[1, 2]", "inner 0-1:[1, 2]"])
  }

  @Test
  func `an observer created during another delivery receives its initial event immediately`() {
    let (one, other) = (Items([1]), Items([7]))
    let log = Log<String>([])
    let bag = DisposeBag()
    one.observe { event in
      guard case .change = event else { return }
      other.observe { log.append($0.brief) }.store(in: bag)
      log.append("made")
    }.store(in: bag)
    one.append(2)
    #expect(log.value == ["0:[7]", "made"])
  }

  @Test(.reaches(.changes)) func `each change continues from the previous event`() throws {
    var editor = RandomEditor(seed: 11)
    let items = Items([1, 2, 3])
    let recorder = RecordingObserver(items, seed: 11)
    for _ in 0..<500 { try editor.step(items) }
    try recorder.check(against: items)
    Coverage.note(recorder)
  }

  @Test func `an edit that changes nothing is no event`() throws {
    let items = Items([1, 2])
    let recorder = RecordingObserver(items)
    items.removeAll { _ in false }
    items.append(contentsOf: [])
    items[0] = 1
    items.move(from: 1, to: 1)
    items.replace(with: [1, 2])
    items.update(at: 1) { $0.content = 0 }
    items.removeSubrange(1..<1)
    #expect(items.remove(identifiedBy: 9) == nil)
    #expect(recorder.eventCount == 1)
    #expect(items.revision == 0)
  }

  @Test func `a change can be read as events of single elements`() throws {
    let items = Items([1, 2, 3])
    let recorder = RecordingObserver(items)
    items.replace(with: [3, TestElement(1, 5), 4])
    let change = try #require(recorder.changes.first)
    #expect(change.deleted.map(\.element) == [2])
    #expect(change.deleted.map(\.offset) == [1])
    #expect(change.inserted.map(\.element) == [4])
    #expect(change.inserted.map(\.offset) == [2])
    #expect(change.updated.map(\.old) == [1])
    #expect(change.updated.map(\.new) == [TestElement(1, 5)])
    #expect(change.moved.map(\.element).count == 1)
  }
}

/// Rule E6: status and contents.
@Suite struct StatusTests {
  private let error = SourceError(code: "gone", message: "it is gone")

  @Test func `a status step without a change is no event`() {
    let items = Items([1], status: .loaded)
    let recorder = RecordingObserver(items)
    let statuses = Log<SourceStatus>([])
    let observation = items.observeStatus { statuses.append($0) }
    items.setStatus(.failed(error))
    items.setStatus(.failed(error))
    items.setStatus(.loaded)
    #expect(recorder.eventCount == 1)
    #expect(items.revision == 0)
    #expect(statuses.value == [.loaded, .failed(error), .loaded])
    observation.dispose()
  }

  @Test func `a failure keeps the last good contents`() {
    let items = Items([1, 2])
    items.setStatus(.missing(error))
    #expect(Array(items.snapshot) == [1, 2])
    #expect(items.status == .missing(error))
  }

  @Test func `a change is delivered before its status step`() {
    let items = Items(status: .loading)
    let log = Log<String>([])
    let bag = DisposeBag()
    items.observeStatus { status in log.append("status \(status.state)") }.store(in: bag)
    items.observe { log.append($0.brief) }.store(in: bag)
    items.publish([1], status: .loaded)
    #expect(log.value == ["status loading", "0:[]", "0-1:[1]", "status loaded"])
  }

  @Test func `status and contents are read together`() {
    let items = Items(status: .loading)
    let seen = Log<Bool>([])
    let observation = items.observeStatus { _ in
      let state = items.state
      seen.append(state.snapshot.isEmpty == (state.status == .loading))
    }
    items.publish([1], status: .loaded)
    #expect(seen.value == [true, true])
    observation.dispose()
  }

  @Test func `a diagnostic alone is a status step`() {
    let items = Items([1])
    let steps = Log<Int>([])
    let observation = items.observeStatus { steps.append($0.diagnostics.count) }
    items.setStatus(
      SourceStatus(
        .loaded, diagnostics: [SourceStatus.Diagnostic(code: "polling", message: "polls")]))
    #expect(steps.value == [0, 1])
    observation.dispose()
  }

  @Test func `a late status observer receives the current status first`() {
    let items = Items(status: .idle)
    items.setStatus(.loading)
    let statuses = Log<SourceStatus>([])
    let observation = items.observeStatus { statuses.append($0) }
    #expect(statuses.value == [.loading])
    observation.dispose()
  }

  @Test func `an operator shows the worst status of its inputs`() {
    let (one, other) = (Items([1]), Items([2]))
    let joined = one.concatenated(with: other, one.filter { $0.id > 0 })
    let statuses = Log<SourceStatus>([])
    let recorder = RecordingObserver(joined)
    let observation = joined.observeStatus { statuses.append($0) }
    let missing = SourceStatus.missing(error)
    other.setStatus(.failed(error))
    withTransaction { one.setStatus(missing) }
    one.setStatus(.loaded)
    other.setStatus(.loaded)
    #expect(statuses.value.first == .loaded && statuses.value.last == .loaded)
    #expect(statuses.value.contains(.failed(error)) && statuses.value.contains(missing))
    #expect(recorder.eventCount == 1)
    observation.dispose()
  }

  @Test func `a concatenation has loaded once all parts are settled and one has loaded`() {
    func hasLoaded(_ states: SourceStatus...) -> Bool {
      let parts = states.map { Items(status: $0) }
      return parts[0].concatenated(with: Array(parts.dropFirst())).state.hasLoaded
    }
    let failures = [SourceStatus.failed(error), .missing(error)]
    #expect(hasLoaded(.loaded, .loaded))
    for failure in failures {
      #expect(hasLoaded(.loaded, failure) && hasLoaded(failure, .loaded, failure))
      #expect(!hasLoaded(failure, failure) && !hasLoaded(.loaded, failure, .loading))
    }
    #expect(!hasLoaded(.loaded, .loading) && !hasLoaded(.loading))
  }

  @Test func `an operator has loaded once its required inputs have, and the others are settled`() {
    let (required, optional) = (Items(status: .loading), Items(status: .loading))
    let output = LiveCollection { inputs in
      ConcatenationOperator(parts: [
        inputs.collection(required), inputs.collection(optional, isRequired: false),
      ])
    }
    let observation = output.observe { _ in }
    optional.publish([1], status: .loaded)
    #expect(!output.state.hasLoaded && output.status == .loading)
    required.setStatus(.failed(error))
    #expect(!output.state.hasLoaded && output.status == .failed(error))
    required.publish([], status: .loaded)
    #expect(output.state.hasLoaded && output.status == .loaded)

    let other = LiveCollection { inputs in
      ConcatenationOperator(parts: [
        inputs.collection(required),
        inputs.collection(Items(status: .missing(error)), isRequired: false),
      ])
    }
    #expect(other.state.hasLoaded && other.status == .missing(error))
    observation.dispose()
  }

  @Test func `a status step passes an operator whose contents stay the same`() {
    let items = Items(status: .loading)
    let even = items.filter { $0.id.isMultiple(of: 2) }
    let statuses = Log<SourceStatus>([])
    let observation = even.observeStatus { statuses.append($0) }
    items.publish([1, 3], status: .loaded)
    #expect(statuses.value == [.loading, .loaded])
    #expect(even.revision == 0)
    observation.dispose()
  }
}
