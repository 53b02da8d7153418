import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Snapshots of a long collection that other threads read and release while it is edited.
@Suite(.tags(.concurrency)) struct StorageConcurrencyTests {
  @Test func `readers never see an edit in progress`() throws {
    let items = Items((0..<3_000).map { TestElement($0) })
    let isOver = Shared(false)
    let failures = Shared(0)
    let readers = (0..<3).map { reader in
      Worker {
        var kept: [Snapshot<TestElement>] = []
        while !isOver.value {
          let snapshot = items.snapshot
          // Each edit adds an element and removes one. Moved elements do not change.
          var sum = 0
          for element in snapshot { sum += element.content }
          if snapshot.count != 3_000 || snapshot[0].id != 0 || sum != 0 {
            failures.modify { $0 += 1 }
          }
          kept.append(snapshot)
          if kept.count > 5 + reader { kept.removeFirst(4) }
        }
      }
    }
    var random = SeededGenerator(seed: 1)
    for step in 0..<1_500 {
      items.transaction { draft in
        for _ in 0..<3 {
          draft.insert(TestElement(10_000 + step), at: 1 + random.below(2_999))
          draft.remove(at: 1 + random.below(2_999))
          draft.move(from: 1 + random.below(2_998), to: 1 + random.below(2_998))
          let offset = random.below(2_998) + 1
          draft[offset].content = 7
          draft[offset].content = 0
        }
      }
    }
    isOver.value = true
    for reader in readers { try reader.join() }
    #expect(failures.value == 0)
  }
}
