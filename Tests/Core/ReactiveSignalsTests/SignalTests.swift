import Dispatch
import ReactiveSignals
import SwappablePrimitives
import Synchronization
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency)) struct SignalTests {
  private let input = SignalInput<Int>()

  @Test func `observers are called in the order of their subscription`() {
    let log = Log<String>()
    let observations = ["a", "b", "c"].map { name in
      input.signal.observe { log.append("\(name)\($0)") }
    }
    input.send(1)
    input.send(2)
    #expect(log.value == ["a1", "b1", "c1", "a2", "b2", "c2"])
    withExtendedLifetime(observations) {}
  }

  @Test func `a late observer does not receive earlier values`() {
    input.send(1)
    let log = Log<Int>()
    let observation = input.signal.observe { log.append($0) }
    #expect(log.value == [])
    input.send(2)
    #expect(log.value == [2])
    withExtendedLifetime(observation) {}
  }

  @Test func `map and filter run once for each value, however many observers there are`() {
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

  @Test func `removeDuplicates leaves out a value that equals the previous one`() {
    let log = Log<Int>()
    let observation = input.signal.removeDuplicates().observe { log.append($0) }
    for value in [1, 1, 2, 2, 1] { input.send(value) }
    #expect(log.value == [1, 2, 1])
    withExtendedLifetime(observation) {}
  }

  @Test func `removeDuplicates compares with the last value that it sent`() {
    let log = Log<Int>()
    let observation = input.signal.removeDuplicates { abs($0 - $1) < 3 }.observe { log.append($0) }
    for value in [1, 2, 3, 4, 5] { input.send(value) }
    #expect(log.value == [1, 4])
    withExtendedLifetime(observation) {}
  }

  @Test func `a derived signal of a property sends its latest value first`() {
    let property = Property(3)
    let doubled = property.signal.map { $0 * 2 }
    property.value = 4
    let log = Log<Int>()
    let observation = doubled.observe { log.append($0) }
    property.value = 5
    #expect(log.value == [8, 10])
    withExtendedLifetime(observation) {}
  }

  @Test func `a filtered property sends nothing first if its value does not pass`() {
    let property = Property(3)
    let log = Log<Int>()
    let observation = property.signal.filter { $0 % 2 == 0 }.observe { log.append($0) }
    #expect(log.value == [])
    property.value = 4
    property.value = 5
    #expect(log.value == [4])
    withExtendedLifetime(observation) {}
  }

  @Test func `removeDuplicates of a property compares with its first value`() {
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

  @Test func `a value sent inside an observer follows after all have received the current one`() {
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

  @Test func `a value sent in another domain inside an observer is delivered immediately`() {
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

  @Test func `an observer created inside an observer receives the current value immediately`() {
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

  @Test func `values of many threads reach all observers in one order`() {
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

  @Test func `an observer that joins while values are sent misses nothing`() {
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
