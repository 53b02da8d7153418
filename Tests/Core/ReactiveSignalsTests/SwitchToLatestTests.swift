import DataSourceTesting
import ReactiveSignals
import TestSupport
import TestTags
import Testing

@Suite struct SwitchToLatestTests {
  private let marbles = Marbles()

  @Test func `the values of the latest signal are sent`() throws {
    let (one, two) = (marbles.input("-a-b-c-d"), marbles.input("ABCDEFGH|"))
    let switched = marbles.input("-1--2--|").map { $0 == "1" ? one : two }.switchToLatest()
    // Inputs of one tick arrive in order of creation: a and E are before the switch.
    try marbles.check(switched, "---b-FGH|")
  }

  @Test func `a switched signal ends with the latest signal if that ends last`() throws {
    let (one, two) = (marbles.input("--a|"), marbles.input("----b--c-|"))
    let switched = marbles.input("1--2-|").map { $0 == "1" ? one : two }.switchToLatest()
    try marbles.check(switched, "--a-b--c-|")
  }

  @Test func `a switched signal ends immediately if there was no signal`() throws {
    try marbles.check(
      marbles.input("--|").map { _ in SignalInput<Int>().signal }.switchToLatest(), "--|")
  }

  @Test func `a signal with memory sends its latest value when it is switched to`() {
    let (one, other) = (Property("a"), Property("x"))
    let which = Property(one.signal)
    let switched = which.signal.switchToLatest()
    let (log, late) = (Log<String>(), Log<String>())
    let observation = switched.observe { log.append($0) }
    one.value = "b"
    which.value = other.signal
    one.value = "c"
    other.value = "y"
    #expect(log.value == ["a", "b", "x", "y"])
    let second = switched.observe { late.append($0) }
    #expect(late.value == ["y"])
    withExtendedLifetime([observation, second]) {}
  }

  @Test func `the previous signal is released`() {
    let which = SignalInput<Signal<Int>>()
    let switched = which.signal.switchToLatest()
    weak var first: Signal<Int>?
    weak var second: Signal<Int>?
    do {
      let (one, two) = (SignalInput<Int>().signal, SignalInput<Int>().signal)
      (first, second) = (one, two)
      which.send(one)
      which.send(two)
    }
    #expect(first == nil)
    #expect(second != nil)
    which.send(SignalInput<Int>().signal)
    #expect(second == nil)
    withExtendedLifetime(switched) {}
  }

  @Test func `switching inside an observer takes effect immediately for later values`() {
    let inputs = (0..<2).map { _ in SignalInput<Int>() }
    let which = Property(inputs[0].signal)
    let log = Log<Int>()
    let observation = which.signal.switchToLatest().observe { value in
      log.append(value)
      if value == 1 {
        which.value = inputs[1].signal
        inputs[0].send(2)
        inputs[1].send(3)
      }
    }
    inputs[0].send(1)
    #expect(log.value == [1, 3])
    inputs[1].send(4)
    inputs[0].send(5)
    #expect(log.value == [1, 3, 4])
    withExtendedLifetime(observation) {}
  }

  @Test func `the end of a signal does not release the next signal`() {
    let inputs = (0..<3).map { _ in SignalInput<Int>() }
    let which = Property(inputs[0].signal)
    let log = Log<Int>()
    let observation = which.signal.switchToLatest().observe { value in
      log.append(value)
      if value == 1 {
        // All of it is delivered when this observer has returned.
        which.value = inputs[1].signal
        inputs[1].finish()
        which.value = inputs[2].signal
      }
    }
    inputs[0].send(1)
    inputs[2].send(2)
    #expect(log.value == [1, 2])
    withExtendedLifetime(observation) {}
  }

  @Test func `a signal that has ended is released`() {
    let which = SignalInput<Signal<Int>>()
    let switched = which.signal.switchToLatest()
    weak var signal: Signal<Int>?
    for endsFirst in [false, true] {
      do {
        let input = SignalInput<Int>()
        signal = input.signal
        if endsFirst { input.finish() }
        which.send(input.signal)
        input.finish()
      }
      #expect(signal == nil)
    }
    withExtendedLifetime(switched) {}
  }

  @Test(.timeLimit(.minutes(10)))
  func `a signal that waits for an observer starts when it is switched to`() async {
    let which = SignalInput<Signal<Int>>()
    var values = which.signal.switchToLatest().values(policy: .everything).makeAsyncIterator()
    for start in [1, 10] {
      let stream = AsyncStream { feed in
        for value in start...start + 1 { feed.yield(value) }
      }
      which.send(Signal(stream))
      for value in start...start + 1 { #expect(await values.next() == value) }
    }
  }

  @Test func `switching to the same signal sends its latest value again`() {
    let which = SignalInput<Signal<Int>>()
    let numbers = Property(1)
    let log = Log<Int>()
    let observation = which.signal.switchToLatest().observe { log.append($0) }
    which.send(numbers.signal)
    which.send(numbers.signal)
    numbers.value = 2
    #expect(log.value == [1, 1, 2])
    withExtendedLifetime(observation) {}
  }
}

@Suite(.tags(.concurrency)) struct SwitchToLatestConcurrencyTests {
  @Test func `the previous signal sends nothing after a switch`() {
    for _ in 0..<50 {
      let inputs = (0..<4).map { _ in SignalInput<Int>() }
      let which = Property(inputs[0].signal)
      let switched = which.signal.switchToLatest()
      let log = Log<Int>()
      let observation = switched.observe { log.append($0 / 1000) }
      onThreads(3) { thread in
        for value in 0..<40 {
          switch thread {
          case 0: if value % 10 == 0 { which.value = inputs[value / 10].signal }
          default: for number in inputs.indices { inputs[number].send(number * 1000 + value) }
          }
        }
      }
      switched.node.domain.waitUntilDelivered()
      #expect(log.value == log.value.sorted())
      inputs[0].send(7)
      inputs[3].send(3007)
      #expect(log.value.last == 3)
      withExtendedLifetime(observation) {}
    }
  }
}
