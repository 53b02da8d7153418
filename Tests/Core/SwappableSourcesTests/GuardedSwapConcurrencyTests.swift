import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

/// Rule G1, while threads edit both sources, accept and reject.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct GuardedSwapConcurrencyTests {
  @Test func `a refused state is never visible, whatever happens meanwhile`() throws {
    // Elements of 1,000 and more belong to the guarded sources. One of them in a list that is too short is a violation.
    let old = Source((0..<20).map { TestElement($0) })
    let container = Container(old)
    let recorder = RecordingObserver(container)
    let accepted = Shared(false)
    let faults = Shared<[String]>([])
    let observation = container.observe { event in
      let foreign = event.snapshot.count { $0.id >= 1_000 }
      if foreign > 0, foreign < 10, !accepted.value { faults.append("\(event.snapshot)") }
    }
    for round in 0..<TestRun.rounds(40, long: 2_000) {
      accepted.value = false
      let new = Source([TestElement(1_000)])
      let handle = container.swap(to: new, guardedBy: .count(atLeast: 10))
      let editingOld = Worker {
        for n in 0..<50 { old.update(at: n % old.count) { $0 = TestElement($0.id, n) } }
      }
      let editingNew = Worker {
        // It stays below the limit in most rounds.
        for n in 1..<(round % 4 == 0 ? 12 : 9) { new.append(TestElement(1_000 + n)) }
      }
      let deciding = Worker {
        for _ in 0..<20 { _ = container.pendingChange.value?.change.changeset.changeCount }
        guard round % 4 != 0 else { return }
        if round % 2 == 0 {
          accepted.value = true
          container.pendingChange.value?.accept()
        } else {
          container.pendingChange.value?.reject()
        }
      }
      for worker in [editingOld, editingNew, deciding] { try worker.join() }
      handle.cancel()
      #expect(handle.outcomeIfKnown != nil)
      accepted.value = true
      container.swap(to: old)
      #expect(container.pendingChange.value == nil)
    }
    #expect(faults.value == [])
    try recorder.check(against: container)
    withExtendedLifetime(observation) {}
  }
}
