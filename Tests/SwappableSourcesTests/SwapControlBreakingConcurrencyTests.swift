import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

/// Hostile uses of guards and groups of swaps, from several threads.
@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct SwapControlBreakingConcurrencyTests {
  @Test func `an acceptance does not cover a change that comes while other members are asked`()
    throws
  {
    let control = PauseControl()
    let one = Container(Source([1]), pauseHook: control.hook)
    let two = Container(Source([2]))
    let (newOne, newTwo) = (Source([TestElement]()), Source([8]))
    let asked = Log<[Int]>()
    let handle = swapTogether([
      one.swapping(to: newOne, guardedBy: .count(atLeast: 1)),
      two.swapping(
        to: newTwo,
        guardedBy: ChangeGuard { change in
          asked.append(change.after.map(\.id))
          return "no"
        }),
    ])
    try #require(two.pendingChange.value).accept()
    #expect(handle.outcomeIfKnown == nil)
    let pause = control.arm(.swapFrozen)
    let worker = Worker { newOne.append(5) }
    try pause.waitUntilReached()
    // The other member was accepted, and is not compared yet.
    newTwo.append(9)
    pause.release()
    try worker.join()
    #expect(handle.outcomeIfKnown == nil)
    #expect(asked.value.last == [8, 9])
    #expect(two.snapshot.map(\.id) == [2])
    #expect(two.pendingChange.value?.change.after.count == 2)
    two.pendingChange.value?.accept()
    #expect(handle.outcomeIfKnown == .swapped)
  }

  @Test func `a swap of another thread helps a group to commit before it takes over`() throws {
    let control = PauseControl()
    let one = Container(Source([1]), pauseHook: control.hook)
    let two = Container(Source([2]))
    let both = one.concatenated(with: two)
    let recorder = RecordingObserver(both)
    // The group has committed both, and delivers the first one.
    let pause = control.arm(.committed)
    let handle = Shared<SwapHandle?>(nil)
    let worker = Worker {
      handle.value = swapTogether([one.swapping(to: Source([5])), two.swapping(to: Source([6]))])
    }
    try pause.waitUntilReached()
    let next = two.swap(to: Source([7]))
    #expect(next.outcomeIfKnown == .swapped)
    pause.release()
    try worker.join()
    #expect(handle.value?.outcomeIfKnown == .swapped)
    #expect(both.snapshot.map(\.id) == [5, 7])
    #expect(
      !recorder.changes.contains { [[5, 2], [1, 6], [1, 7]].contains($0.after.map(\.id)) })
    try recorder.check(against: both)
  }

  @Test func `a member is released while the group compares`() throws {
    let control = PauseControl()
    let one = Container(Source([1]), pauseHook: control.hook)
    var two: Container? = Container(Source([2]))
    let property = try #require(two?.pendingChange)
    let slow = ControlledSource<TestElement>()
    let handle = swapTogether([try #require(two).swapping(to: Source([6])), one.swapping(to: slow)])
    let pause = control.arm(.swapFrozen)
    let worker = Worker { slow.load([5]) }
    try pause.waitUntilReached()
    two = nil
    pause.release()
    try worker.join()
    #expect(handle.outcomeIfKnown == .cancelled)
    #expect(one.snapshot.map(\.id) == [1])
    #expect(property.value == nil)
  }

  @Test func `a transaction over the new sources of a group is whole while the group compares`()
    throws
  {
    let control = PauseControl()
    let (one, two) = (Container(Source([1]), pauseHook: control.hook), Container(Source([1])))
    let both = one.concatenated(with: two)
    let (x, y) = (Source([7]), Source([7]))
    let mixtures = Log<String>()
    let observation = both.observe { event in
      if event.snapshot.first?.content != event.snapshot.last?.content {
        mixtures.append("\(event.snapshot)")
      }
    }
    // The first member is being compared, and the second one is not.
    let pause = control.arm(.swapComputed)
    let worker = Worker { swapTogether([one.swapping(to: x), two.swapping(to: y)]) }
    try pause.waitUntilReached()
    withTransaction {
      x[0] = TestElement(7, 1)
      y[0] = TestElement(7, 1)
    }
    pause.release()
    try worker.join()
    both.flushAndWait()
    #expect(both.snapshot.map(\.content) == [1, 1])
    #expect(mixtures.value == [])
    observation.dispose()
  }

  @Test func `cancel, last load, acceptance and edits race, and every group ends`() throws {
    let (one, two) = (Container(Source([0])), Container(Source([0])))
    let faults = Log<String>()
    let observation = one.concatenated(with: two).observe { event in
      if Set(event.snapshot.map(\.id)).count > 1 { faults.append("\(event.snapshot)") }
    }
    for round in 1...(TestRun.isLong ? 10_000 : 400) {
      let (slow, held) = (ControlledSource<TestElement>(), Source([TestElement]()))
      let handle = swapTogether([
        one.swapping(to: slow), two.swapping(to: held, guardedBy: .count(atLeast: 1)),
      ])
      let workers = [
        Worker { slow.load([TestElement(round)]) },
        Worker { held.append(TestElement(round)) },
        Worker { if round % 3 == 0 { handle.cancel() } },
      ]
      for worker in workers { try worker.join() }
      let outcome = handle.outcomeIfKnown
      #expect(outcome == .swapped || (outcome == .cancelled && round % 3 == 0), "\(round)")
      #expect(one.pendingChange.value == nil && two.pendingChange.value == nil)
      if outcome == nil { handle.cancel() }
    }
    #expect(faults.value == [])
    observation.dispose()
  }

  @Test func `the pending change of a group is the latest one when all threads have ended`() throws
  {
    let (one, two) = (Container(Source([1])), Container(Source([2])))
    let new = Source([TestElement]())
    let handle = swapTogether([
      one.swapping(to: Source([5])), two.swapping(to: new, guardedBy: ChangeGuard { _ in "no" }),
    ])
    for round in 0..<(TestRun.isLong ? 5_000 : 300) {
      let workers = [
        Worker { new.append(TestElement(2 * round)) },
        Worker { new.append(TestElement(2 * round + 1)) },
      ]
      for worker in workers { try worker.join() }
      #expect(two.pendingChange.value?.change.after.count == new.count)
    }
    handle.cancel()
    #expect(two.pendingChange.value == nil)
  }

  @Test func `a guarded source accepts and rejects while it changes`() throws {
    let source = Items([1, 2, 3])
    let guarded = source.guarded(by: .count(atLeast: 3))
    let recorder = RecordingObserver(guarded)
    for round in 0..<(TestRun.isLong ? 5_000 : 300) {
      let workers = [
        Worker { source.replace(with: [TestElement(round)]) },
        Worker { guarded.pendingChange.value?.accept() },
        Worker { guarded.pendingChange.value?.reject() },
      ]
      for worker in workers { try worker.join() }
      source.append(contentsOf: [TestElement(-1), TestElement(-2)])
    }
    #expect(guarded.snapshot.map(\.id) == source.snapshot.map(\.id))
    #expect(guarded.pendingChange.value == nil)
    try recorder.check(against: guarded)
  }
}
