import DataSourceTesting
import Dispatch
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@Suite struct CompletionTests {
  private let input = SignalInput<Int>()
  private let log = Log<String>()

  private func observe(_ signal: Signal<Int>, as name: String = "") -> Disposable {
    let log = log
    return signal.observe {
      log.append("\(name)\($0)")
    } onCompletion: {
      log.append("\(name)end")
    }
  }

  @Test func `observers receive the end once, and nothing after it`() {
    let observations = [observe(input.signal, as: "a"), observe(input.signal, as: "b")]
    input.send(1)
    input.finish()
    input.send(2)
    input.finish()
    #expect(log.value == ["a1", "b1", "aend", "bend"])
    withExtendedLifetime(observations) {}
  }

  @Test func `a late observer receives the end`() {
    input.send(1)
    input.finish()
    let observation = observe(input.signal)
    #expect(log.value == ["end"])
    withExtendedLifetime(observation) {}
  }

  @Test func `a late observer of a signal with memory receives the latest value and the end`() {
    let node = Node(domain: Domain(), state: SignalValue(1))
    let signal = Signal<Int>(node)
    let derived = signal.map { $0 * 10 }
    node.send(value: 2)
    node.finish()
    node.send(value: 3)
    let afterwards = derived.map { $0 + 1 }
    let observations = [signal, derived, afterwards].map { observe($0) }
    #expect(log.value == ["2", "end", "20", "end", "21", "end"])
    withExtendedLifetime(observations) {}
  }

  @Test func `the end passes through operators`() throws {
    let marbles = Marbles()
    let letters = marbles.input("-ab(c|)")
    try marbles.check(letters.filter { $0 != "b" }.map { $0.uppercased() }, "-A-(C|)")
  }

  @Test func `the end releases values that observers captured`() {
    weak var weakToken: Token?
    let observations: [Disposable]
    do {
      let token = Token()
      weakToken = token
      observations = [input.signal, input.signal.map { $0 }].map {
        $0.observe { _ in
          withExtendedLifetime(token) {}
        } onCompletion: {
          withExtendedLifetime(token) {}
        }
      }
    }
    input.send(1)
    #expect(weakToken != nil)
    input.finish()
    #expect(weakToken == nil)
    withExtendedLifetime(observations) {}
  }

  @Test func `the end releases values that a late observer captured`() {
    input.finish()
    weak var weakToken: Token?
    let observation: Disposable
    do {
      let token = Token()
      weakToken = token
      observation = input.signal.observe { _ in withExtendedLifetime(token) {} }
    }
    #expect(weakToken == nil)
    withExtendedLifetime(observation) {}
  }

  @Test func `the end releases values that an operator captured`() {
    weak var weakToken: Token?
    let derived: Signal<Int>
    do {
      let token = Token()
      weakToken = token
      derived = input.signal.map { value in
        withExtendedLifetime(token) {}
        return value
      }
    }
    input.send(1)
    #expect(weakToken != nil)
    input.finish()
    #expect(weakToken == nil)
    withExtendedLifetime(derived) {}
  }

  @Test func `what follows a signal after its end is released`() {
    let (input, other) = (SignalInput<Int>(), SignalInput<Int>())
    let kept = input.signal.merge(with: other.signal)
    input.finish()
    do { _ = input.signal.merge(with: other.signal) }
    #expect(!input.signal.node.isFollowed)
    withExtendedLifetime(kept) {}
  }

  // MARK: Elsewhere

  @Test(arguments: [DeliveryPolicy.coalesce, .everything, .bounded(2)])
  func `a scheduled observer receives the end after the last value`(policy: DeliveryPolicy) {
    let (log, work) = (log, HeldWork())
    weak var weakToken: Token?
    let observation: Disposable
    do {
      let token = Token()
      weakToken = token
      observation = input.signal.observe(on: work.scheduler, policy: policy) { value in
        withExtendedLifetime(token) {}
        log.append("\(value)")
      } onCompletion: {
        log.append("end")
      }
    }
    for value in 1...4 { input.send(value) }
    input.finish()
    #expect(log.value == [])
    work.runAll()
    let values = ["1", "2", "3", "4"]
    switch policy {
    case .coalesce: #expect(log.value == ["4", "end"])
    case .everything: #expect(log.value == values + ["end"])
    case .bounded: #expect(log.value == ["1", "4", "end"])
    }
    #expect(weakToken == nil)
    withExtendedLifetime(observation) {}
  }

  @Test func `a scheduled observer disposed in its last value does not receive the end`() {
    let (log, work) = (log, HeldWork())
    let slot = Locked<Disposable?>(nil)
    let observation = input.signal.observe(on: work.scheduler) { value in
      log.append("\(value)")
      slot.withLock { $0 }?.dispose()
    } onCompletion: {
      log.append("end")
    }
    slot.withLock { $0 = observation }
    input.send(1)
    input.finish()
    work.runAll()
    #expect(log.value == ["1"])
  }

  @Test func `a scheduled observer disposed before its turn does not receive the end`() {
    let (log, work) = (log, HeldWork())
    let observation = input.signal.observe(on: work.scheduler) { _ in
    } onCompletion: {
      log.append("end")
    }
    input.finish()
    observation.dispose()
    work.runAll()
    #expect(log.value == [])
  }

  // MARK: Rules T2 and T6

  @Test func `an end inside an observer follows after all observers have received the value`() {
    let (input, log) = (input, log)
    let observations = [
      input.signal.observe { value in
        input.finish()
        input.send(value + 1)
        log.append("a\(value)")
      } onCompletion: {
        log.append("aend")
      },
      observe(input.signal, as: "b"),
    ]
    input.send(1)
    #expect(log.value == ["a1", "b1", "aend", "bend"])
    withExtendedLifetime(observations) {}
  }

  @Test func `an observer created inside the end receives the end once`() {
    let (input, log) = (input, log)
    let bag = DisposeBag()
    input.signal.observe { _ in
    } onCompletion: {
      input.signal.observe { _ in
      } onCompletion: {
        log.append("late")
      }.store(in: bag)
      log.append("first")
    }.store(in: bag)
    input.finish()
    #expect(log.value == ["late", "first"])
  }

  @Test func `an observer that an earlier one disposes of does not receive the end`() {
    let log = log
    let slot = Locked<Disposable?>(nil)
    let first = input.signal.observe { _ in
    } onCompletion: {
      log.append("first")
      slot.withLock { $0 }?.disposeAndWait()
    }
    slot.withLock { $0 = observe(input.signal, as: "second ") }
    input.finish()
    #expect(log.value == ["first"])
    withExtendedLifetime(first) {}
  }

  @Test func `disposing after the end does nothing`() {
    let observation = observe(input.signal)
    input.finish()
    observation.dispose()
    observation.disposeAndWait()
    #expect(log.value == ["end"])
    #expect(observation.isDisposed)
  }
}

@Suite(.tags(.concurrency)) struct CompletionConcurrencyTests {
  // MARK: Races

  private let control = PauseControl()
  private let log = Log<String>()

  private func makeNode() -> Node {
    Node(domain: Domain(pauseHook: control.hook), state: SignalValue(1))
  }

  private func observe(_ signal: Signal<Int>) -> Disposable {
    let log = log
    return signal.observe {
      log.append("\($0)")
    } onCompletion: {
      log.append("end")
    }
  }

  @Test(arguments: [PausePoint.joined, .caughtUp])
  func `an observer that joins when the signal ends receives the end`(point: PausePoint) throws {
    let node = makeNode()
    let (signal, slot) = (Signal<Int>(node), DisposeBag())
    let pause = control.arm(point)
    let joining = onThread { [self] in observe(signal).store(in: slot) }
    try pause.waitUntilReached()
    node.send(value: 2)
    node.finish()
    pause.release()
    wait(for: joining)
    #expect(log.value == ["1", "2", "end"])
    slot.dispose()
  }

  @Test func `an observer disposed while the end is published does not receive it`() throws {
    let node = makeNode()
    let (observation, other) = (observe(Signal<Int>(node)), observe(Signal<Int>(node)))
    let pause = control.arm(.published)
    let ending = onThread { node.finish() }
    try pause.waitUntilReached()
    observation.dispose()
    pause.release()
    wait(for: ending)
    #expect(log.value == ["1", "1", "end"])
    other.dispose()
  }

  @Test(arguments: [PausePoint.published, .delivered])
  func `an observer may come and go while the end is delivered`(point: PausePoint) throws {
    let node = makeNode()
    let observation = observe(Signal<Int>(node))
    let pause = control.arm(point)
    let ending = onThread { node.finish() }
    try pause.waitUntilReached()
    weak var weakToken: Token?
    do {
      let token = Token()
      weakToken = token
      let late = Signal<Int>(node).observe { _ in withExtendedLifetime(token) {} }
      late.dispose()
    }
    #expect(weakToken == nil)
    let late = observe(Signal<Int>(node))
    pause.release()
    wait(for: ending)
    late.dispose()
    observation.dispose()
    #expect(log.value.sorted() == ["1", "1", "end", "end"])
  }

  @Test func `an operator created while the end is published ends, too`() throws {
    for point in [PausePoint.committed, .published, .delivered] {
      let node = makeNode()
      let (signal, log) = (Signal<Int>(node), Log<String>())
      let pause = control.arm(point)
      let ending = onThread { node.finish() }
      try pause.waitUntilReached()
      let observation = signal.map { $0 * 10 }.observe {
        log.append("\($0)")
      } onCompletion: {
        log.append("end")
      }
      pause.release()
      wait(for: ending)
      #expect(log.value == ["10", "end"])
      withExtendedLifetime(observation) {}
    }
  }

  @Test func `an operator that joins when the signal ends also ends`() throws {
    let node = makeNode()
    let (signal, log) = (Signal<Int>(node), log)
    let pause = control.arm(.caughtUp)
    let joining = onThread {
      let observation = signal.map { $0 * 10 }.observe {
        log.append("\($0)")
      } onCompletion: {
        log.append("end")
      }
      withExtendedLifetime(observation) {}
    }
    try pause.waitUntilReached()
    node.send(value: 2)
    node.finish()
    pause.release()
    wait(for: joining)
    #expect(log.value == ["20", "end"])
  }

  // MARK: Many threads

  @Test func `each observer receives the end once, whatever happens at the same time`() {
    for _ in 0..<100 {
      let input = SignalInput<Int>()
      let derived = input.signal.map { $0 }
      let (ends, bag) = (Log<Int>(), DisposeBag())
      onThreads(4) { thread in
        for round in 0..<20 {
          switch thread {
          case 0: input.send(round)
          case 1 where round == 10: input.finish()
          case 2, 3:
            let number = thread * 100 + round
            let signal = round % 2 == 0 ? derived : input.signal
            signal.observe { _ in
            } onCompletion: {
              ends.append(number)
            }.store(in: bag)
          default: break
          }
        }
      }
      input.signal.node.domain.waitUntilDelivered()
      #expect(ends.value.sorted() == Array(200..<220) + Array(300..<320))
    }
  }

  @Test func `ending while many threads dispose releases everything`() {
    for _ in 0..<100 {
      let input = SignalInput<Int>()
      weak var weakToken: Token?
      do {
        let token = Token()
        weakToken = token
        let observations = (0..<20).map { _ in
          input.signal.observe { _ in withExtendedLifetime(token) {} }
        }
        onThreads(3) { thread in
          if thread == 0 { return input.finish() }
          for observation in observations { observation.dispose() }
        }
      }
      input.signal.node.domain.waitUntilDelivered()
      #expect(weakToken == nil)
    }
  }
}
