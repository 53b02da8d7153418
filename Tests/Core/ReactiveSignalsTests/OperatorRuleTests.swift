import DataSourceTesting
import Dispatch
import ReactiveSignals
import SwappablePrimitives
import Synchronization
import TestSupport
import TestTags
import Testing

/// The rules of the event contract that hold for each operator.
@Suite struct OperatorRuleTests {
  private let input = SignalInput<Int>()
  private let log = Log<String>()

  // MARK: Rule T2

  @Test(arguments: OperatorCase.all)
  func `a value sent inside an observer follows after all have received the current one`(
    _ operation: OperatorCase
  ) {
    let (input, log) = (input, log)
    let signal = operation.make(input.signal) {}
    let observations = [
      signal.observe { value in
        log.append("a\(value)")
        if value < 3 { input.send(value + 1) }
        log.append("a\(value) done")
      },
      signal.observe { log.append("b\($0)") },
    ]
    input.send(1)
    #expect(
      log.value == ["a1", "a1 done", "b1", "a2", "a2 done", "b2", "a3", "a3 done", "b3"])
    withExtendedLifetime(observations) {}
  }

  @Test(arguments: OperatorCase.all)
  func `an end inside an observer follows after all observers have received the value`(
    _ operation: OperatorCase
  ) {
    let (input, log) = (input, log)
    // Some operators have an input of their own, which does not end.
    let signal = operation.make(input.signal) {}
    let observations = ["a", "b"].map { name in
      signal.observe { value in
        input.finish()
        log.append("\(name)\(value)")
      } onCompletion: {
        log.append("\(name)end")
      }
    }
    input.send(1)
    input.send(2)
    #expect(Array(log.value.prefix(2)) == ["a1", "b1"])
    #expect([[], ["aend", "bend"]].contains(Array(log.value.dropFirst(2))))
    withExtendedLifetime(observations) {}
  }

  // MARK: Rule T6

  @Test(arguments: OperatorCase.all)
  func `nothing is called after dispose`(_ operation: OperatorCase) {
    let log = log
    let signal = operation.make(input.signal) {}
    let observation = signal.observe {
      log.append("\($0)")
    } onCompletion: {
      log.append("end")
    }
    input.send(1)
    observation.dispose()
    input.send(2)
    input.finish()
    #expect(log.value == ["1"])
  }

  @Test(arguments: OperatorCase.all)
  func `dispose inside an observer takes effect immediately`(_ operation: OperatorCase) {
    let (input, log) = (input, log)
    let signal = operation.make(input.signal) {}
    let slots = Locked<[Disposable]>([])
    let first = signal.observe { value in
      log.append("a\(value)")
      input.send(value + 1)
      for slot in slots.withLock({ $0 }) { slot.dispose() }
    }
    let second = signal.observe { log.append("b\($0)") }
    slots.withLock { $0 = [first, second] }
    input.send(1)
    #expect(log.value == ["a1"])
    slots.withLock { $0 = [] }
  }

  @Test(arguments: OperatorCase.all)
  func `a disposed operator is released with its captured values`(_ operation: OperatorCase) {
    weak var captured: Token?
    weak var signal: Signal<Int>?
    weak var node: Node?
    do {
      let token = Token()
      captured = token
      let made = operation.make(input.signal) { withExtendedLifetime(token) {} }
      (signal, node) = (made, made.node)
      let observation = made.observe { _ in withExtendedLifetime(token) {} }
      for value in 0..<3 { input.send(value) }
      withExtendedLifetime(observation) {}
    }
    #expect(captured == nil)
    #expect(signal == nil)
    #expect(node == nil)
    input.send(4)
  }

  @Test(arguments: OperatorCase.all)
  func `an observation keeps its whole upstream alive`(_ operation: OperatorCase) {
    let log = log
    let observation = operation.make(input.signal.map { $0 }) {}.map { $0 }
      .observe { log.append("\($0)") }
    input.send(1)
    #expect(log.value == ["1"])
    observation.dispose()
    input.send(2)
    #expect(log.value == ["1"])
  }

  // MARK: Rule T8

  @Test(arguments: OperatorCase.all)
  func `no lock is held while user code runs`(_ operation: OperatorCase) {
    let (input, log) = (input, log)
    let slot = Locked<Signal<Int>?>(nil)
    // If a lock were held, each of these would wait forever, here or on another thread.
    let tryAll: @Sendable () -> Void = {
      let work: @Sendable () -> Void = {
        for signal in [input.signal, slot.withLock { $0 }] {
          signal?.observe { _ in }.dispose()
          withExtendedLifetime(signal?.map { $0 }) {}
        }
      }
      work()
      wait(for: onThread(work))
    }
    let signal = operation.make(input.signal, tryAll)
    slot.withLock { $0 = signal }
    let observation = signal.observe { value in
      tryAll()
      log.append("\(value)")
    } onCompletion: {
      tryAll()
    }
    for value in 0..<3 { input.send(value) }
    input.finish()
    #expect(log.value == ["0", "1", "2"])
    slot.withLock { $0 = nil }
    withExtendedLifetime(observation) {}
  }

  /// An object that calls a closure when it is released.
  private final class Value: Sendable {
    private let onDeinit: @Sendable () -> Void

    init(_ onDeinit: @escaping @Sendable () -> Void = {}) {
      self.onDeinit = onDeinit
    }

    deinit { onDeinit() }
  }

  private static let chains: [@Sendable (Signal<Value>) -> Signal<Value>] = [
    { $0.map { $0 } },
    { $0.filter { _ in true }.compactMap { $0 } },
    { $0.scan(Value()) { $1 } },
    { $0.removeDuplicates { $0 === $1 } },
    { $0.merge(with: Property(Value()).signal) },
    { $0.combineLatest($0.map { $0 }).map { $1 } },
    { $0.combineLatest(Property(Value()).signal).map { value, _ in value } },
    { $0.zip($0).map { $1 } },
    { Property($0).signal.switchToLatest() },
    { $0.receive(on: DeliveryScheduler { $0() }, policy: .everything) },
    { $0.throttled(for: .zero, clock: ManualClock()) },
  ]

  @Test(arguments: chains.indices)
  func `no lock is held while values are released`(chain: Int) {
    let (property, log) = (Property(Value()), Log<Int>())
    let signal = Self.chains[chain](property.signal)
    let observation = signal.observe { _ in }
    for number in 0..<5 {
      property.value = Value { [weak property, weak signal] in
        let work: @Sendable () -> Void = { [weak property, weak signal] in
          withExtendedLifetime(property?.value) {}
          for signal in [property?.signal, signal] {
            signal?.observe { _ in }.dispose()
            withExtendedLifetime(signal?.map { $0 }) {}
          }
        }
        work()
        wait(for: onThread(work))
        log.append(number)
      }
    }
    observation.dispose()
    property.value = Value()
    #expect(Array(log.value.prefix(3)) == [0, 1, 2])
    withExtendedLifetime(signal) {}
  }

  private static let forgetful: [@Sendable (Signal<Token>) -> Signal<Token>] = [
    { $0.map { $0 } },
    { $0.filter { _ in true }.compactMap { $0 } },
    { $0.merge(with: SignalInput<Token>().signal) },
    { $0.zip($0).map { $1 } },
    { signal in
      let which = SignalInput<Signal<Token>>()
      defer { which.send(signal) }
      return which.signal.switchToLatest()
    },
    { $0.receive(on: DeliveryScheduler { $0() }, policy: .everything) },
    { $0.throttled(for: .zero, clock: ManualClock()) },
  ]

  @Test(arguments: forgetful.indices)
  func `a value is released after all observers have received it`(chain: Int) {
    let input = SignalInput<Token>()
    let signal = Self.forgetful[chain](input.signal)
    let observation = signal.observe { _ in }
    weak var weakToken: Token?
    do {
      let token = Token()
      weakToken = token
      input.send(token)
    }
    #expect(weakToken == nil)
    withExtendedLifetime((signal, observation)) {}
  }

  @Test func `a chain of ten operators retains nothing after it is disposed`() {
    let (property, log) = (Property(0), Log<Int>())
    weak var captured: Token?
    var nodes: [() -> Node?] = []
    do {
      let token = Token()
      captured = token
      var signal = property.signal
      for _ in 0..<10 {
        signal = signal.map { value in
          withExtendedLifetime(token) {}
          return value + 1
        }
        nodes.append { [weak node = signal.node] in node }
      }
      let observation = signal.observe { log.append($0) }
      property.value = 1
      #expect(nodes.allSatisfy { $0() != nil })
      withExtendedLifetime(observation) {}
    }
    #expect(captured == nil)
    #expect(nodes.allSatisfy { $0() == nil })
    property.value = 2
    #expect(log.value == [10, 11])
  }

  // MARK: Many operators

  /// Each step doubles the number of paths, so visiting each path would take forever.
  @Test func `observing visits a node only once, even if many paths lead to it`() {
    let (property, log) = (Property(1), Log<Int>())
    var signal = property.signal
    for _ in 0..<60 { signal = signal.combineLatest(signal).map { max($0, $1) } }
    let observation = signal.observe { log.append($0) }
    property.value = 2
    #expect(log.value == [1, 2])
    withExtendedLifetime(observation) {}
  }

  // MARK: Sharing

  @Test(arguments: OperatorCase.all)
  func `a closure runs once for each value, however many observers there are`(
    _ operation: OperatorCase
  ) {
    let calls = Atomic<Int>(0)
    let alone = Atomic<Int>(0)
    let signals = [
      operation.make(input.signal) { calls.add(1, ordering: .relaxed) },
      operation.make(input.signal) { alone.add(1, ordering: .relaxed) },
    ]
    let observations = (0..<5).map { _ in signals[0].observe { _ in } }
    for value in 0..<10 { input.send(value) }
    #expect(calls.load(ordering: .relaxed) == alone.load(ordering: .relaxed))
    #expect(calls.load(ordering: .relaxed) <= 10)
    withExtendedLifetime((signals, observations)) {}
  }
}

@Suite(.tags(.concurrency)) struct OperatorConcurrencyTests {
  // MARK: Rule T7

  @Test func `an operator that becomes live while a pass is computed is part of the pass`() throws {
    let (control, log) = (PauseControl(), Log<Int>())
    let property = Property(1, pauseHook: control.hook)
    let first = property.signal.map { $0 }
    let pause = control.arm(.computed)
    let setting = onThread { property.value = 2 }
    try pause.waitUntilReached()
    weak var weakToken: Token?
    do {
      let token = Token()
      weakToken = token
      let letGo = property.signal.map { value in
        withExtendedLifetime(token) {}
        return value
      }
      withExtendedLifetime(letGo) {}
    }
    #expect(weakToken == nil)
    let tens = property.signal.map { $0 * 10 }
    let hundreds = tens.map { $0 * 10 }
    let observation = hundreds.observe { log.append($0) }
    #expect(log.value == [100])
    pause.release()
    wait(for: setting)
    #expect(log.value == [100, 200])
    property.value = 3
    #expect(log.value == [100, 200, 300])
    withExtendedLifetime((first, observation)) {}
  }

  // MARK: Rule T3

  @Test(arguments: OperatorCase.all)
  func `values of many threads reach all observers in one order`(_ operation: OperatorCase) {
    let input = SignalInput<Int>()
    let signal = operation.make(input.signal) {}
    let logs = (0..<3).map { _ in Log<Int>() }
    let isInside = Atomic<Int>(0)
    let overlaps = Atomic<Int>(0)
    let observations = logs.map { log in
      signal.observe { value in
        if isInside.add(1, ordering: .relaxed).newValue != 1 { overlaps.add(1, ordering: .relaxed) }
        log.append(value)
        isInside.subtract(1, ordering: .relaxed)
      }
    }
    onThreads(4) { thread in
      for value in 0..<200 { input.send(thread * 1000 + value) }
    }
    input.signal.node.domain.waitUntilDelivered()
    signal.node.domain.waitUntilDelivered()
    #expect(logs[0].value.count == 800)
    #expect(logs[0].value == logs[1].value && logs[1].value == logs[2].value)
    for thread in 0..<4 {
      #expect(logs[0].value.filter { $0 / 1000 == thread } == (0..<200).map { thread * 1000 + $0 })
    }
    #expect(overlaps.load(ordering: .relaxed) == 0)
    withExtendedLifetime(observations) {}
  }

  @Test(arguments: OperatorCase.all)
  func `creating, observing and disposing while values arrive is safe`(_ operation: OperatorCase) {
    let property = Property(0)
    weak var captured: Token?
    do {
      let token = Token()
      captured = token
      onThreads(4) { thread in
        for _ in 0..<100 {
          if thread < 2 {
            property.modify { $0 += 1 }
          } else {
            let log = Log<Int>()
            let signal = operation.make(property.signal) { withExtendedLifetime(token) {} }
            let observation = signal.observe { log.append($0) }
            property.modify { $0 += 1 }
            observation.disposeAndWait()
            let values = log.value
            #expect(values == values.sorted())
          }
        }
      }
    }
    property.signal.node.domain.waitUntilDelivered()
    #expect(captured == nil)
  }

  @Test func `merging the values of many threads loses nothing`() {
    let inputs = (0..<4).map { _ in SignalInput<Int>() }
    let signals = inputs.map(\.signal)
    let merged = signals[0].merge(with: signals[1], signals[2], signals[3])
    let log = Log<Int>()
    let observation = merged.observe {
      log.append($0)
    } onCompletion: {
      log.append(-1)
    }
    onThreads(4) { thread in
      for value in 0..<500 { inputs[thread].send(thread * 1000 + value) }
      inputs[thread].finish()
    }
    merged.node.domain.waitUntilDelivered()
    let values = log.value
    #expect(values.count == 2001)
    #expect(values.last == -1)
    for thread in 0..<4 {
      #expect(
        values.filter { $0 >= 0 && $0 / 1000 == thread } == (0..<500).map { thread * 1000 + $0 })
    }
    withExtendedLifetime(observation) {}
  }

  @Test func `the last combined pair has the latest values`() {
    for _ in 0..<50 {
      let (one, other) = (Property(0), Property(0))
      let pairs = one.signal.combineLatest(other.signal)
      let log = Log<[Int]>()
      let observation = pairs.observe { log.append([$0, $1]) }
      onThreads(2) { thread in
        for value in 1...50 { (thread == 0 ? one : other).value = value }
      }
      pairs.node.domain.waitUntilDelivered()
      #expect(log.value.last == [50, 50])
      for (earlier, later) in Swift.zip(log.value, log.value.dropFirst()) {
        #expect(earlier[0] <= later[0] && earlier[1] <= later[1])
      }
      withExtendedLifetime(observation) {}
    }
  }

  @Test func `a diamond never shows values of two commits`() {
    let property = Property(0)
    let pairs = property.signal.map { $0 * 2 }.combineLatest(property.signal.map { $0 * 3 })
    let log = Log<Bool>()
    let observation = pairs.observe { log.append($0 * 3 == $1 * 2) }
    onThreads(3) { _ in for _ in 0..<300 { property.modify { $0 += 1 } } }
    property.signal.node.domain.waitUntilDelivered()
    #expect(log.value == Array(repeating: true, count: 901))
    withExtendedLifetime(observation) {}
  }
}
