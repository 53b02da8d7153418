import DataSourceTesting
import Diffing
import ObservableCollections
import Observation
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rule T10, for collections.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct CollectionTrackingTests {
  private let log = Log<String>([])

  private func track(_ name: String = "changed", _ read: () -> Void) {
    withObservationTracking(read) { [log] in log.append(name) }
  }

  @Test func `each way to read the contents is tracked`() {
    let items = Items([1, 2])
    track("snapshot") { _ = items.snapshot }
    track("state") { _ = items.state }
    track("revision") { _ = items.revision }
    track("count") { _ = items.count }
    track("subscript") { _ = items[0] }
    #expect(log.value == [])
    items.append(3)
    #expect(log.value.sorted() == ["count", "revision", "snapshot", "state", "subscript"])
    items.append(4)
    #expect(log.value.count == 5)
  }

  @Test func `a transaction is reported once and read as a whole`() {
    let items = Items([1])
    let counts = Log<Int>([])
    withObservationTracking {
      _ = items.count
    } onChange: {
      counts.append(items.count)
    }
    items.transaction { draft in
      draft.append(2)
      draft.append(3)
      #expect(counts.value == [])
    }
    #expect(counts.value == [3])
  }

  @Test func `a transaction that changes nothing is not reported`() {
    let items = Items([1])
    track { _ = items.snapshot }
    items.transaction { draft in
      draft.append(2)
      draft.remove(at: 1)
    }
    #expect(log.value == [])
  }

  @Test func `contents and status are tracked separately`() {
    let items = Items([1])
    track("contents") { _ = items.snapshot }
    track("status") { _ = items.status }
    track("state") { _ = items.state }
    items.setStatus(.loading)
    #expect(log.value.sorted() == ["state", "status"])
    items.append(2)
    #expect(log.value.sorted() == ["contents", "state", "status"])
  }

  @Test func `contents and status that are read together are reported once`() {
    let items = Items([1])
    @Sendable func follow() {
      withObservationTracking {
        let state = items.state
        log.append("\(state.snapshot) \(state.status.state)")
      } onChange: {
        follow()
      }
    }
    follow()
    items.publish([1, 2], status: .loading)
    items.setStatus(.loaded)
    items.append(3)
    #expect(log.value == ["[1] loaded", "[1, 2] loading", "[1, 2] loaded", "[1, 2, 3] loaded"])
  }

  @Test func `derived collections are tracked`() {
    let items = Items([1, 2])
    let even = items.filter { $0.id % 2 == 0 }
    let counts = Log<Int>([])
    withObservationTracking {
      counts.append(even.snapshot.count)
    } onChange: {
      counts.append(even.snapshot.count)
    }
    track { _ = even.state }
    items.append(3)
    #expect(counts.value == [1] && log.value == [])
    items.append(4)
    #expect(counts.value == [1, 2] && log.value == ["changed"])
  }

  @Test func `a change is reported before observers are called`() {
    let items = Items([1])
    let observation = items.observe { [log] event in log.append("\(event.snapshot.count)") }
    track { _ = items.snapshot }
    items.append(2)
    #expect(log.value == ["1", "changed", "2"])
    withExtendedLifetime(observation) {}
  }

  @Test func `an onChange closure that edits is called for the next change, too`() {
    let items = Items([])
    @Sendable func follow() {
      withObservationTracking {
        _ = items.count
      } onChange: {
        if items.count < 4 { items.append(9) }
        follow()
      }
    }
    follow()
    items.append(1)
    #expect(items.count == 4)
  }

  @Test @MainActor func `creating a mirror is no tracked read`() {
    let items = Items([1])
    var mirror: MainActorState<Snapshot<TestElement>>?
    track { mirror = MainActorState(items) }
    items.append(2)
    #expect(log.value == [])
    withExtendedLifetime(mirror) {}
  }

  @Test @MainActor func `a mirror follows the contents`() async {
    let items = Items([1])
    let mirror = MainActorState<Snapshot<TestElement>>(items)
    #expect(mirror.value.count == 1)
    await withCheckedContinuation { changed in
      withObservationTracking {
        _ = mirror.value
      } onChange: {
        changed.resume()
      }
      items.append(2)
    }
    await Task { @MainActor in }.value
    #expect(mirror.value.count == 2)
  }
}

@Suite(.tags(.concurrency)) struct CollectionTrackingConcurrencyTests {
  @Test func `reads inside onChange neither deadlock nor race while other threads edit`() throws {
    let items = Items([])
    let even = items.filter { $0.id % 2 == 0 }
    @Sendable func follow() {
      withObservationTracking {
        _ = items.count + even.snapshot.count
      } onChange: {
        follow()
      }
    }
    let workers = (0..<3).map { worker in
      Worker {
        follow()
        for number in 0..<100 { items.append(TestElement(worker * 100 + number)) }
      }
    }
    for worker in workers { try worker.join() }
    #expect(items.count == 300 && even.snapshot.count == 150)
  }
}
