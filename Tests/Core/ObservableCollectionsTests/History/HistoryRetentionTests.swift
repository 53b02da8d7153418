import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rules H3 and H4: the revisions that a history keeps, and those that it forgets.
@Suite(.timeLimit(.minutes(10))) struct HistoryRetentionTests {
  /// A clock that runs a closure whenever it is read.
  private struct MeddlingClock: Clock {
    let clock = ManualClock()
    let meddle = Shared<@Sendable () -> Void>({})

    var now: ManualClock.Instant {
      meddle.exchange({})()
      return clock.now
    }
    var minimumResolution: Duration { clock.minimumResolution }
    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
      try await clock.sleep(until: deadline, tolerance: tolerance)
    }
  }

  @Test func `revisions that are forgotten for two reasons at the same time are forgotten once`() {
    let items = ArrayDataSource<TestElement>([])
    let clock = MeddlingClock()
    let history = items.history(retaining: .init(changes: 9, age: .seconds(60)), clock: clock)
    for id in 1...9 { items.append(TestElement(id)) }
    // The next change exceeds the limit. The clock is read when the change is recorded, and when each limit is checked.
    for reading in 0..<4 {
      @Sendable func meddle(_ rest: Int) -> @Sendable () -> Void {
        {
          if rest > 0 { return clock.meddle.modify { $0 = meddle(rest - 1) } }
          clock.clock.advance(by: .seconds(100))
          _ = history.revisions
        }
      }
      clock.meddle.modify { $0 = meddle(reading) }
      for id in 10...19 { items.append(TestElement(100 * reading + id)) }
      #expect(history.revisions.last?.number == items.revision)
      #expect(history.snapshot(at: items.revision).map(Array.init) == Array(items.snapshot))
    }
  }

  @Test(.reaches(.changes), arguments: 1...30 as ClosedRange<UInt64>)
  func `small windows, transactions and swaps keep each pair of revisions right`(
    seed: UInt64
  ) throws {
    var editor = RandomEditor<TestElement>(seed: seed)
    let items = ArrayDataSource(editor.makeElements())
    let window = Int(seed % 4)
    let history = items.history(
      retaining: .init(revisions: window, changes: seed % 5 == 0 ? 3 : nil))
    var states = [items.revision: Array(items.snapshot)]
    for _ in 0..<60 {
      let token = history.token
      let held = (items.revision, Array(items.snapshot))
      try editor.step(items)
      states[items.revision] = Array(items.snapshot)
      let revisions = history.revisions.map(\.number)
      #expect(revisions.count <= window + 1)
      #expect(revisions.last == items.revision)
      for one in revisions {
        for other in revisions {
          let change = history.change(from: one, to: other)
          let result = change.map {
            $0.changeset.applying(to: states[one] ?? [], with: Array($0.after))
          }
          #expect((result ?? states[one]) == states[other], "seed \(seed)")
          if let change { Coverage.note(change.changeset) }
        }
      }
      let events = Shared<[CollectionEvent<TestElement>]>([])
      history.observe(since: token) { events.append($0) }.dispose()
      if history.snapshot(at: held.0) == nil, held.0 != items.revision {
        #expect(events.value.count == 1)
      } else if case .change(let change)? = events.value.first {
        #expect(Array(change.before) == held.1 && change.revisionBefore == held.0)
      } else {
        #expect(held.1 == Array(items.snapshot))
      }
    }
  }
}
