import Dispatch
import ReactiveSignals
import SwappablePrimitives
import Synchronization
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency)) struct SignalTests {
  private let input = SignalInput<Int>()

  @Test func observersAreCalledInTheOrderOfTheirSubscription() {
    let log = Log<String>()
    let observations = ["a", "b", "c"].map { name in
      input.signal.observe { log.append("\(name)\($0)") }
    }
    input.send(1)
    input.send(2)
    #expect(log.value == ["a1", "b1", "c1", "a2", "b2", "c2"])
    withExtendedLifetime(observations) {}
  }

  @Test func aLateObserverIsToldNothingOfTheValuesBefore() {
    input.send(1)
    let log = Log<Int>()
    let observation = input.signal.observe { log.append($0) }
    #expect(log.value == [])
    input.send(2)
    #expect(log.value == [2])
    withExtendedLifetime(observation) {}
  }

  @Test func mapAndFilterRunOncePerValueHoweverManyObserve() {
    let calls = Atomic<Int>(0)
    let even = input.signal
      .map { value in
        calls.add(1, ordering: .relaxed)
        return value * 10
      }
      .filter { $0 % 20 == 0 }
    let (one, other) = (Log<Int>(), Log<Int>())
    let observations = [even.observe { one.append($0) }, even.observe { other.append($0) }]
    for value in 1...4 { input.send(value) }
    #expect(one.value == [20, 40])
    #expect(other.value == [20, 40])
    #expect(calls.load(ordering: .relaxed) == 4)
    withExtendedLifetime(observations) {}
  }

  @Test func removeDuplicatesLeavesOutWhatFollowsItsEqual() {
    let log = Log<Int>()
    let observation = input.signal.removeDuplicates().observe { log.append($0) }
    for value in [1, 1, 2, 2, 1] { input.send(value) }
    #expect(log.value == [1, 2, 1])
    withExtendedLifetime(observation) {}
  }

  @Test func removeDuplicatesComparesWithWhatItSentLast() {
    let log = Log<Int>()
    let observation = input.signal.removeDuplicates { abs($0 - $1) < 3 }.observe { log.append($0) }
    for value in [1, 2, 3, 4, 5] { input.send(value) }
    #expect(log.value == [1, 4])
    withExtendedLifetime(observation) {}
  }

  @Test func aDerivedSignalOfAPropertyTellsItsNewestValueFirst() {
    let property = Property(3)
    let doubled = property.signal.map { $0 * 2 }
    property.value = 4
    let log = Log<Int>()
    let observation = doubled.observe { log.append($0) }
    property.value = 5
    #expect(log.value == [8, 10])
    withExtendedLifetime(observation) {}
  }

  @Test func aFilteredPropertyWithoutAPassingValueTellsNothingFirst() {
    let property = Property(3)
    let log = Log<Int>()
    let observation = property.signal.filter { $0 % 2 == 0 }.observe { log.append($0) }
    #expect(log.value == [])
    property.value = 4
    property.value = 5
    #expect(log.value == [4])
    withExtendedLifetime(observation) {}
  }

  @Test func removeDuplicatesOfAPropertyKnowsItsFirstValue() {
    let property = Property(3)
    let distinct = property.signal.removeDuplicates()
    let log = Log<Int>()
    let observation = distinct.observe { log.append($0) }
    property.value = 3
    property.value = 4
    #expect(log.value == [3, 4])
    withExtendedLifetime(observation) {}
  }

  // MARK: Rule T2

  @Test func aValueSentInsideAnObserverFollowsWhenAllHaveHadThePresentOne() {
    let log = Log<String>()
    let (signal, input) = (input.signal, input)
    let first = signal.observe { value in
      log.append("a\(value)")
      if value < 3 { input.send(value + 1) }
      log.append("a\(value) done")
    }
    let second = signal.observe { log.append("b\($0)") }
    input.send(1)
    #expect(
      log.value == [
        "a1", "a1 done", "b1", "a2", "a2 done", "b2", "a3", "a3 done", "b3",
      ])
    withExtendedLifetime([first, second]) {}
  }

  @Test func anotherDomainIsToldAtOnceInsideAnObserver() {
    let other = SignalInput<Int>()
    let log = Log<String>()
    let observations = [
      other.signal.observe { log.append("other \($0)") },
      input.signal.observe { value in
        log.append("begin \(value)")
        other.send(value)
        log.append("end \(value)")
      },
    ]
    input.send(1)
    #expect(log.value == ["begin 1", "other 1", "end 1"])
    withExtendedLifetime(observations) {}
  }

  @Test func subscribingInsideAnObserverTellsThePresentValueAtOnce() {
    let property = Property(0)
    let log = Log<String>()
    let bag = DisposeBag()
    property.observe { value in
      log.append("a\(value)")
      if value == 1 {
        property.value = 2
        property.observe { log.append("late \($0)") }.store(in: bag)
        log.append("subscribed")
      }
    }.store(in: bag)
    property.value = 1
    #expect(log.value == ["a0", "a1", "late 1", "subscribed", "a2", "late 2"])
  }

  // MARK: Rule T3

  @Test func valuesOfManyThreadsComeInOneOrderToAllObservers() {
    let input = input
    let isInside = Atomic<Int>(0)
    let overlaps = Atomic<Int>(0)
    let logs = (0..<3).map { _ in Log<Int>() }
    let observations = logs.map { log in
      input.signal.observe { value in
        if isInside.add(1, ordering: .relaxed).newValue != 1 {
          overlaps.add(1, ordering: .relaxed)
        }
        log.append(value)
        isInside.subtract(1, ordering: .relaxed)
      }
    }
    onThreads(4) { thread in
      for value in 0..<500 { input.send(thread * 1000 + value) }
    }
    input.signal.node.domain.waitUntilDelivered()
    #expect(logs[0].value.count == 2000)
    #expect(logs[0].value == logs[1].value && logs[1].value == logs[2].value)
    for thread in 0..<4 {
      #expect(logs[0].value.filter { $0 / 1000 == thread } == (0..<500).map { thread * 1000 + $0 })
    }
    // One thread at a time calls the immediate observers of a signal, one after the other.
    #expect(overlaps.load(ordering: .relaxed) == 0)
    withExtendedLifetime(observations) {}
  }

  @Test func anObserverThatComesInTheMiddleMissesNothing() {
    let property = Property(0)
    let logs = Locked<[Log<Int>]>([])
    let bag = DisposeBag()
    onThreads(4) { thread in
      for _ in 0..<200 {
        if thread == 0 {
          let log = Log<Int>()
          logs.withLock { $0.append(log) }
          property.observe { log.append($0) }.store(in: bag)
        } else {
          property.modify { $0 += 1 }
        }
      }
    }
    property.signal.node.domain.waitUntilDelivered()
    for log in logs.withLock({ $0 }) {
      let values = log.value
      #expect(values == Array(values[0]...600))
    }
  }
}
