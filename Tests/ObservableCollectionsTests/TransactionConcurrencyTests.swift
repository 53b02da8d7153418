import DataSourceTesting
import Diffing
import Dispatch
import Foundation
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Rule T1 between threads.
@Suite(.tags(.concurrency)) struct TransactionConcurrencyTests {
  @Test func anotherThreadsMutationWaitsForTheTransaction() throws {
    let items = Items([1])
    let recorder = RecordingObserver(items)
    let (inside, go) = (Signpost(), Signpost())
    let owner = Worker {
      items.transaction { draft in
        draft.append(2)
        inside.open()
        go.pass()
        draft.append(3)
      }
    }
    #expect(inside.pass())
    let other = Worker { items.append(4) }
    // Neither the draft nor the edits of the other thread are visible.
    #expect(Array(items.snapshot) == [1])
    go.open()
    try owner.join()
    try other.join()
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-1:[1, 2, 3]", "1-2:[1, 2, 3, 4]"])
  }

  @Test func readsSubscriptionsDisposalAndOtherCollectionsNeverWaitForATransaction() throws {
    let items = Items([1])
    let before = RecordingObserver(items)
    let (inside, go) = (Signpost(), Signpost())
    let owner = Worker {
      items.transaction { draft in
        draft.append(2)
        inside.open()
        go.pass()
      }
    }
    #expect(inside.pass())
    let seen = Log<String>([])
    try Worker.run {
      seen.append("\(items.snapshot)")
      let recorder = RecordingObserver(items)
      seen.append(recorder.events.map(\.brief).joined())
      recorder.dispose()
      items.observe { _ in }.disposeAndWait()
      let derived = items.filter { _ in true }
      seen.append("\(derived.snapshot)")
      let joined = items.concatenated(with: Items([9]))
      seen.append("\(joined.snapshot)")
      items.flushAndWait()
    }
    #expect(seen.value == ["[1]", "0:[1]", "[1]", "[1, 9]"])
    go.open()
    try owner.join()
    #expect(before.eventCount == 2)
  }

  @Test func deliveryGoesOnWhileAnotherThreadsTransactionIsOpen() throws {
    let control = PauseControl()
    let items = ArrayDataSource<TestElement>([1], pauseHook: control.hook)
    let recorder = RecordingObserver(items)
    let held = control.arm(.committed)
    let deliverer = Worker { items.append(2) }
    try held.waitUntilReached()
    let (inside, go) = (Signpost(), Signpost())
    let owner = Worker {
      items.transaction { draft in
        draft.append(3)
        inside.open()
        go.pass()
      }
    }
    #expect(inside.pass())
    held.release()
    try deliverer.join()
    #expect(recorder.events.map(\.brief) == ["0:[1]", "0-1:[1, 2]"])
    go.open()
    try owner.join()
    #expect(recorder.eventCount == 3)
  }

  @Test func aTransactionThatThrowsLetsTheNextThreadIn() throws {
    let items = Items([1])
    let (inside, go) = (Signpost(), Signpost())
    let owner = Worker {
      try? items.transaction { draft in
        draft.append(2)
        inside.open()
        go.pass()
        throw Refusal()
      }
    }
    #expect(inside.pass())
    let others = (3..<8).map { id in Worker { items.append(TestElement(id)) } }
    go.open()
    try owner.join()
    for other in others { try other.join() }
    #expect(Set(items.snapshot.map(\.id)) == [1, 3, 4, 5, 6, 7])
  }

  @Test func aTransactionOverSeveralHoldsAllTheirGates() throws {
    let (one, other) = (Items([1]), Items([7]))
    let (inside, go) = (Signpost(), Signpost())
    let owner = Worker {
      withTransaction {
        one.append(2)
        other.append(8)
        inside.open()
        go.pass()
      }
    }
    #expect(inside.pass())
    let waiting = [Worker { one.append(3) }, Worker { other.append(9) }]
    #expect(Array(one.snapshot) == [1] && Array(other.snapshot) == [7])
    go.open()
    try owner.join()
    for worker in waiting { try worker.join() }
    #expect(Array(one.snapshot) == [1, 2, 3] && Array(other.snapshot) == [7, 8, 9])
  }

  @Test func manyThreadsLoseNoEdit() throws {
    let items = Items()
    let recorder = RecordingObserver(items, checksReplay: .sampled(50))
    let workers = (0..<6).map { number in
      // Fewer edits in all than the number of pending commits at which commits are merged.
      Worker { for step in 0..<150 { items.append(TestElement(number * 1000 + step)) } }
    }
    for worker in workers { try worker.join() }
    items.flushAndWait()
    #expect(items.count == 900 && items.revision == 900)
    #expect(recorder.eventCount == 901)
    try recorder.check(against: items)
  }

  @Test func gatesTakenInOppositeOrdersTrap() async {
    await #expect(processExitsWith: .failure) {
      let (one, other) = (ArrayDataSource([1]), ArrayDataSource([2]))
      let (first, second) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      Thread.detachNewThread {
        one.transaction { _ in
          first.signal()
          second.wait()
          other.append(3)
        }
      }
      Thread.detachNewThread {
        other.transaction { _ in
          first.wait()
          second.signal()
          one.append(4)
        }
      }
      DispatchSemaphore(value: 0).wait()
    }
  }

  @Test func threeGatesInACircleTrap() async {
    await #expect(processExitsWith: .failure) {
      let all = [ArrayDataSource([1]), ArrayDataSource([2]), ArrayDataSource([3])]
      let arrived = DispatchSemaphore(value: 0)
      let go = DispatchSemaphore(value: 0)
      for index in all.indices {
        Thread.detachNewThread {
          all[index].transaction { _ in
            arrived.signal()
            go.wait()
            all[(index + 1) % 3].append(9)
          }
        }
      }
      for _ in all { arrived.wait() }
      for _ in all { go.signal() }
      DispatchSemaphore(value: 0).wait()
    }
  }
}
