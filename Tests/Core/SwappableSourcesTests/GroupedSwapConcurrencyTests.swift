import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

/// A row that says which source it comes from.
private struct Row: Differentiable, Sendable, Hashable {
  let id: Int
  /// The number of the group of swaps, which is negative after an edit.
  var source: Int
  var group: Int { abs(source) }
}

/// Rule G3, while threads swap, edit, cancel and observe.
@Suite(.tags(.concurrency), .timeLimit(.minutes(30))) struct GroupedSwapConcurrencyTests {
  /// Two containers that are always swapped to sources of one number.
  private let left = SwappableContainer(ArrayDataSource([Row(id: 1, source: 0)]))
  private let right = SwappableContainer(ArrayDataSource([Row(id: 1, source: 0)]))
  private let faults = Log<String>([])

  /// Observes the join, the concatenation and a chain of operators, and records each event in which the numbers differ.
  private func observeMixtures() -> [Disposable] {
    let joined = left.leftJoined(
      with: right, on: \.id, equals: \.id
    )
    let mapped = left.filter { $0.id > 0 }.concatenated(with: right.sorted(by: \.id))
    return [
      joined.observe { [faults] event in
        for pair in event.snapshot where pair.right.map({ $0.group != pair.left.group }) ?? true {
          faults.append("join \(pair)")
        }
      },
      mapped.observe { [faults] event in
        if Set(event.snapshot.map(\.group)).count > 1 { faults.append("\(Array(event.snapshot))") }
      },
    ]
  }

  @Test func `no observer sees a mixture, whatever threads swap`() throws {
    let observations = observeMixtures()
    let swaps = TestRun.rounds(1_000, long: 1_000)
    var swapped = 0
    for round in 0..<(TestRun.isLong ? 50 : 1) {
      let handles = Log<SwapHandle>([])
      let workers = (0..<2).map { worker in
        Worker { for n in 0..<swaps { swap(to: 2_000 * round + 2 * n + worker + 1, handles) } }
      }
      let reader = Worker { [left, right] in
        for _ in 0..<200 { left.concatenated(with: right).observe { _ in }.dispose() }
      }
      for worker in workers + [reader] { try worker.join() }
      left.concatenated(with: right).flushAndWait()
      #expect(left.snapshot[0].group == right.snapshot[0].group)
      let outcomes = handles.value.map(\.outcomeIfKnown)
      #expect(!outcomes.contains(nil))
      swapped += outcomes.count { $0 == .swapped }
    }
    #expect(faults.value.count == 0, "\(faults.value.prefix(3))")
    print("\(swapped) groups of swaps")
    #expect(swapped > swaps / 2)
    withExtendedLifetime(observations) {}
  }

  private func swap(to number: Int, _ handles: Log<SwapHandle>) {
    let row = Row(id: 1, source: number)
    let (one, other) = (ArrayDataSource([row]), ArrayDataSource([row]))
    let requests = [left.swapping(to: one), right.swapping(to: other)]
    let handle = swapTogether(number % 2 == 0 ? requests : requests.reversed())
    if number % 7 == 0 { handle.cancel() }
    handles.append(handle)
    // The sources are also edited. The other thread may have left one of them before the transaction has reached it.
    guard number % 3 == 0 else { return }
    withTransaction {
      one[0] = Row(id: 1, source: -number)
      other[0] = Row(id: 1, source: -number)
    }
  }

  @Test func `one slow, one failing and one canceled source change nothing`() throws {
    let observations = observeMixtures()
    let third = SwappableContainer(ArrayDataSource([Row(id: 1, source: 0)]))
    let rounds = TestRun.rounds(500, long: 20_000)
    var done = 0
    for n in 1...rounds {
      let (slow, other) = (ControlledSource<Row>(), ControlledSource<Row>())
      let handle = swapTogether([
        left.swapping(to: slow), right.swapping(to: ArrayDataSource([Row(id: 1, source: n)])),
        third.swapping(to: other),
      ])
      let kind = n % 3
      let loading = Worker { slow.load([Row(id: 1, source: n)]) }
      let ending = Worker {
        switch kind {
        case 0: other.fail(SourceError(code: "gone", message: "it is gone"))
        case 1: handle.cancel()
        default: other.load([Row(id: 1, source: n)])
        }
      }
      try loading.join()
      try ending.join()
      switch handle.outcomeIfKnown {
      case .swapped where kind == 2: done = n
      case .failed where kind == 0: break
      case .cancelled where kind == 1: break
      default: Issue.record("round \(n) has the outcome \(handle.outcomeIfKnown as Any)")
      }
      for container in [left, right, third] { #expect(container.snapshot[0].source == done) }
    }
    #expect(faults.value.count == 0, "\(faults.value.prefix(3))")
    withExtendedLifetime(observations) {}
  }

  @Test func `groups that overlap in any order end, and one of them is shown`() throws {
    let third = SwappableContainer(ArrayDataSource([Row(id: 1, source: 0)]))
    let rounds = TestRun.rounds(500, long: 20_000)
    for n in 1...rounds {
      let handles = Log<SwapHandle>([])
      let workers = (0..<3).map { worker in
        Worker { [left, right] in
          func source() -> ArrayDataSource<Row> {
            ArrayDataSource([Row(id: 1, source: 10 * n + worker)])
          }
          let all = [
            left.swapping(to: source()), right.swapping(to: source()), third.swapping(to: source()),
          ]
          handles.append(swapTogether([all[worker], all[(worker + 1) % 3], all[(worker + 2) % 3]]))
        }
      }
      for worker in workers { try worker.join() }
      let outcomes = handles.value.map(\.outcomeIfKnown)
      #expect(outcomes.allSatisfy { $0 == .swapped || $0 == .superseded }, "\(outcomes)")
      #expect(outcomes.contains(.swapped))
      let shown = [left, right, third].map { $0.snapshot[0].source }
      #expect(Set(shown).count == 1 && shown[0] / 10 == n, "\(shown)")
    }
  }

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
    for round in 1...TestRun.rounds(400, long: 10_000) {
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
    for round in 0..<TestRun.rounds(300, long: 5_000) {
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
}
