import DataSourceTesting
import Diffing
import ObservableCollections
import ReactiveSignals
import TestSupport
import TestTags
import Testing

/// Parameters that one thread sets while others edit: rules O1, O6 and T4.
@Suite(.tags(.concurrency)) struct ParameterConcurrencyTests {
  @Test func `a thread sets parameters while four threads edit and others derive lists`() throws {
    let (first, second) = (Items((0..<40).map { TestElement($0, $0) }), Items([]))
    let (limit, order, page) = (
      Property(3), Property(ElementOrder<TestElement>.ascending(\.id)), Property(0..<9)
    )
    let both = first.concatenated(with: second)
    let filtered = both.filter(by: limit) { $0.content % 10 >= $1 }
    let sorted = filtered.sorted(by: order)
    let window = sorted.window(page)
    let count = filtered.live.count
    let recorders = [both, filtered, sorted, window].map {
      RecordingObserver($0, expectsEveryRevision: false)
    }
    var workers = (0..<4).map { number in
      Worker {
        var random = SeededGenerator(seed: UInt64(number))
        let items = number % 2 == 0 ? first : second
        for step in 0..<400 {
          let element = TestElement(1_000 * number + step, random.below(50))
          items.transaction { draft in
            draft.insert(element, at: random.below(draft.count + 1))
            if draft.count > 40 { draft.remove(at: random.below(draft.count)) }
            draft[random.below(draft.count)].content += 1
            draft.move(from: random.below(draft.count), to: random.below(draft.count))
          }
        }
      }
    }
    workers.append(
      Worker {
        for step in 0..<400 {
          withTransaction {
            limit.value = step % 7
            if step % 3 == 0 { page.value = step % 5..<step % 5 + 6 }
          }
          order.value = step % 2 == 0 ? .descending(\.content) : order.value.reversed
        }
      })
    workers.append(
      Worker {
        for step in 0..<60 {
          let derived = sorted.filter(by: limit.map { $0 + step % 3 }) { $0.content % 10 >= $1 }
          let recorder = RecordingObserver(derived, expectsEveryRevision: false)
          _ = recorder.snapshot.count
        }
      })
    for worker in workers { try worker.join() }
    window.flushAndWait()
    for (recorder, source) in zip(recorders, [both, filtered, sorted, window]) {
      try recorder.check(against: source)
    }
    let expected = (Array(first.snapshot) + Array(second.snapshot)).filter {
      $0.content % 10 >= limit.value
    }
    #expect(filtered.snapshot.hasSameContents(as: Snapshot(expected)))
    #expect(count.value == expected.count)
    #expect(
      window.snapshot.hasSameContents(
        as: Snapshot(Array(sorted.snapshot)[page.value.clamped(to: 0..<expected.count)])))
  }

  @Test
  func `a parameter and two collections in one transaction are one event while others deliver`()
    throws
  {
    let (left, right) = (Items([TestElement(1, 0)]), Items([TestElement(2, 0)]))
    let minimum = Property(0)
    let shown = left.concatenated(with: right).filter(by: minimum) { $0.content >= $1 }
    let events = RecordingObserver(shown, replaysEvery: nil, expectsEveryRevision: false)
    let observations = [left.observe { _ in }, right.observe { _ in }, minimum.observe { _ in }]
    // Both elements and the parameter always have one value, so an event with a part of it would be empty or
    // show different values.
    let rounds = 2_000
    let other = Worker {
      for _ in 0..<rounds {
        left.flushAndWait()
        right.flushAndWait()
      }
    }
    for round in 1...rounds {
      withTransaction {
        left[0] = TestElement(1, round)
        right[0] = TestElement(2, round)
        minimum.value = round
      }
    }
    try other.join()
    shown.flushAndWait()
    #expect(
      events.events.allSatisfy {
        $0.snapshot.count == 2 && $0.snapshot[0].content == $0.snapshot[1].content
      })
    try events.check(against: shown)
    withExtendedLifetime(observations) {}
  }
}
