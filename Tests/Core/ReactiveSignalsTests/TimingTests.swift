import DataSourceTesting
import ReactiveSignals
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@Suite(.timeLimit(.minutes(10))) struct TimingTests {
  private let marbles = Marbles()
  private let interval = Duration.seconds(3)

  // MARK: debounce

  @Test func `debounce sends a value that no other value has followed`() throws {
    let input = marbles.input("-a-bc-----d")
    try marbles.check(input.debounced(for: interval, clock: marbles.clock), "-------c-----d")
  }

  @Test func `debounce sends the pending value at the end`() throws {
    let input = marbles.input("-a-----bc|")
    try marbles.check(input.debounced(for: interval, clock: marbles.clock), "----a----(c|)")
  }

  @Test func `debounce ends immediately if no value is pending`() throws {
    let input = marbles.input("-a-----|")
    try marbles.check(input.debounced(for: interval, clock: marbles.clock), "----a--|")
  }

  @Test func `a value that is due at a tick is sent before the input of the tick`() throws {
    let input = marbles.input("a--b")
    try marbles.check(input.debounced(for: interval, clock: marbles.clock), "---a--b")
  }

  // MARK: throttle

  @Test
  func `throttle sends the first value immediately, and the latest of each interval`() throws {
    let input = marbles.input("-abcde-----f")
    try marbles.check(input.throttled(for: interval, clock: marbles.clock), "-a--c--e---f")
  }

  @Test func `throttle sends the first value of each interval if asked`() throws {
    let input = marbles.input("-abcde-----f")
    try marbles.check(
      input.throttled(for: interval, clock: marbles.clock, latest: false), "-a--b--d---f")
  }

  @Test func `throttle sends the pending value at the end`() throws {
    let input = marbles.input("-ab|")
    try marbles.check(input.throttled(for: interval, clock: marbles.clock), "-a-(b|)")
  }

  @Test func `throttle ends immediately if no value is pending`() throws {
    let input = marbles.input("-a-|")
    try marbles.check(input.throttled(for: interval, clock: marbles.clock), "-a-|")
  }

  // MARK: Any clock

  /// A clock that can only sleep.
  private struct Sleeping: Clock {
    let base: ManualClock
    var now: ManualClock.Instant { base.now }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
      try await base.sleep(until: deadline, tolerance: tolerance)
    }
  }

  private func timed(
    _ signal: Signal<Int>, throttles: Bool, by clock: Sleeping
  ) -> Signal<Int> {
    throttles
      ? signal.throttled(for: .seconds(2), clock: clock)
      : signal.debounced(for: .seconds(2), clock: clock)
  }

  @Test(arguments: [false, true])
  func `a clock that can only sleep is enough`(throttles: Bool) async throws {
    let (clock, input) = (ManualClock(), SignalInput<Int>())
    let signal = timed(input.signal, throttles: throttles, by: Sleeping(base: clock))
    var values = signal.values(policy: .everything).makeAsyncIterator()
    input.send(1)
    if throttles {
      #expect(await values.next() == 1)
      input.send(2)
    }
    try await clock.waitForSleepers(1)
    clock.advance(by: .seconds(1))
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    #expect(await values.next() == (throttles ? 2 : 1))
    input.send(3)
    input.finish()
    #expect(await values.next() == 3)
    #expect(await values.next() == nil)
  }

  @Test func `releasing the signal wakes the task that sleeps for it`() async throws {
    let (clock, input) = (ManualClock(), SignalInput<Int>())
    do {
      let signal = input.signal.debounced(for: .seconds(2), clock: Sleeping(base: clock))
      input.send(1)
      try await clock.waitForSleepers(1)
      withExtendedLifetime(signal) {}
    }
    #expect(clock.sleeperCount == 0)
  }

  @Test(arguments: [false, true])
  func `observers run in a task that is not canceled`(throttles: Bool) async throws {
    let (clock, input) = (ManualClock(), SignalInput<Int>())
    let signal = timed(input.signal, throttles: throttles, by: Sleeping(base: clock))
    let (cancelled, feed) = AsyncStream<Bool>.makeStream()
    let observation = signal.observe { value in
      // The next timer replaces this one.
      if value == 2 { input.send(3) }
      if value > 1 { feed.yield(Task.isCancelled) }
    }
    let other = signal.observe { _ in feed.yield(Task.isCancelled) }
    var told = cancelled.makeAsyncIterator()
    input.send(1)
    if throttles { #expect(await told.next() == false) }
    input.send(2)
    try await clock.waitForSleepers(1)
    clock.advance(by: .seconds(2))
    for _ in 0..<2 { #expect(await told.next() == false) }
    withExtendedLifetime([observation, other]) {}
  }

  /// A clock that counts its timers.
  private struct Counting: TimerClock {
    let base: ManualClock
    let calls: Log<Duration>
    var now: ManualClock.Instant { base.now }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
      try await base.sleep(until: deadline, tolerance: tolerance)
    }

    func call(after interval: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer
    {
      calls.append(interval)
      return base.call(after: interval, action)
    }
  }

  /// A clock that wakes on time, although it shows another time.
  private struct Wrong: TimerClock {
    let base: ManualClock
    let time = Property(Duration.zero)
    var now: ManualClock.Instant { ManualClock.Instant(time.value) }
    var minimumResolution: Duration { base.minimumResolution }

    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
      try await base.sleep(until: deadline, tolerance: tolerance)
    }

    func call(after interval: Duration, _ action: @escaping @Sendable () -> Void) -> ScheduledTimer
    {
      base.call(after: interval, action)
    }
  }

  @Test(arguments: [Duration.zero, .seconds(-1000)])
  func `debounce sends even if its clock stops or is set back`(time: Duration) {
    let (input, log) = (SignalInput<Int>(), Log<Int>())
    let clock = Wrong(base: marbles.clock)
    let observation = input.signal.debounced(for: interval, clock: clock).observe { log.append($0) }
    input.send(1)
    input.send(2)
    clock.time.value = time
    for _ in 0..<2 { marbles.clock.advance(by: interval) }
    #expect(log.value == [2])
    #expect(marbles.clock.sleeperCount == 0)
    withExtendedLifetime(observation) {}
  }

  /// A canceled timer may stay with its clock until its time is up.
  @Test(arguments: [false, true])
  func `there is one timer for many values`(throttles: Bool) {
    let (clock, input, log) = (marbles.clock, SignalInput<Int>(), Log<Int>())
    let timed = Counting(base: clock, calls: Log())
    let signal =
      throttles
      ? input.signal.throttled(for: interval, clock: timed)
      : input.signal.debounced(for: interval, clock: timed)
    let observation = signal.observe { log.append($0) }
    for value in 0..<1000 { input.send(value) }
    #expect(timed.calls.value == [interval])
    clock.advance(by: .seconds(2))
    input.send(1000)
    #expect(timed.calls.value == [interval])
    clock.advance(by: interval)
    #expect(timed.calls.value.count == 2)
    #expect(log.value == (throttles ? [0, 1000] : [1000]))
    withExtendedLifetime(observation) {}
  }

  @Test(arguments: [false, true])
  func `an endless interval does not overflow the clock`(throttles: Bool) {
    let input = SignalInput<Int>()
    let timed = Counting(base: marbles.clock, calls: Log())
    let signal =
      throttles
      ? input.signal.throttled(for: .seconds(Int64.max), clock: timed)
      : input.signal.debounced(for: .seconds(Int64.max), clock: timed)
    let log = Log<Int>()
    let observation = signal.observe { log.append($0) }
    for value in 1...2 { input.send(value) }
    #expect(timed.calls.value == [.seconds(Int64.max / 2)])
    input.finish()
    #expect(log.value == (throttles ? [1, 2] : [2]))
    withExtendedLifetime(observation) {}
  }

  // MARK: Rules T2, T6 and T8

  private func timed(_ signal: Signal<Int>, throttles: Bool) -> Signal<Int> {
    throttles
      ? signal.throttled(for: interval, clock: marbles.clock)
      : signal.debounced(for: interval, clock: marbles.clock)
  }

  @Test(arguments: [false, true])
  func `a value sent inside an observer is treated like any other`(throttles: Bool) {
    let (input, log, marbles) = (SignalInput<Int>(), Log<Int>(), marbles)
    let observation = timed(input.signal, throttles: throttles).observe { value in
      log.append(Int(marbles.clock.now.offset / .seconds(1)) * 10 + value)
      if value < 3 { input.send(value + 1) }
    }
    input.send(1)
    marbles.play()
    #expect(log.value == (throttles ? [1, 32, 63] : [31, 62, 93]))
    withExtendedLifetime(observation) {}
  }

  @Test(arguments: [false, true])
  func `nothing is called or retained after dispose`(throttles: Bool) {
    let (input, log) = (SignalInput<Token>(), Log<Int>())
    weak var value: Token?
    weak var captured: Token?
    do {
      let token = Token()
      captured = token
      let signal = input.signal.map { value in
        withExtendedLifetime(token) {}
        return value
      }
      let timed =
        throttles
        ? signal.throttled(for: interval, clock: marbles.clock)
        : signal.debounced(for: interval, clock: marbles.clock)
      let observation = timed.observe { _ in log.append(1) }
      input.send(Token())
      let waiting = Token()
      value = waiting
      input.send(waiting)
      withExtendedLifetime(observation) {}
    }
    #expect(value == nil)
    #expect(captured == nil)
    #expect(marbles.clock.sleeperCount == 0)
    marbles.play()
    #expect(log.value == (throttles ? [1] : []))
  }

  @Test(arguments: [false, true])
  func `nothing is retained after the end`(throttles: Bool) {
    let input = SignalInput<Int>()
    let signal = timed(input.signal, throttles: throttles)
    input.send(1)
    input.send(2)
    input.finish()
    #expect(marbles.clock.sleeperCount == 0)
    withExtendedLifetime(signal) {}
  }

  @Test(arguments: [false, true])
  func `no lock is held while observers run`(throttles: Bool) {
    let (input, log, clock) = (SignalInput<Int>(), Log<Int>(), marbles.clock)
    let signal = timed(input.signal, throttles: throttles)
    let observation = signal.observe { value in
      let work: @Sendable () -> Void = {
        signal.observe { _ in }.dispose()
        input.send(value)
        _ = clock.now
      }
      work()
      wait(for: onThread(work))
      log.append(value)
    }
    input.send(1)
    clock.advance(by: interval)
    #expect(log.value.first == 1)
    withExtendedLifetime(observation) {}
  }

  @Test func `a debounced property remembers the last value that it sent`() {
    let property = Property(1)
    let signal = property.signal.debounced(for: interval, clock: marbles.clock)
    property.value = 2
    let log = Log<Int>()
    let early = signal.observe { log.append($0) }
    #expect(log.value == [])
    marbles.clock.advance(by: interval)
    let late = signal.observe { log.append($0) }
    #expect(log.value == [2, 2])
    withExtendedLifetime([early, late]) {}
  }
}

@Suite(.tags(.concurrency)) struct TimingConcurrencyTests {
  @Test(arguments: [false, true])
  func `values of many threads arrive in order, and the last one is not lost`(throttles: Bool) {
    let (clock, input) = (ManualClock(), SignalInput<Int>())
    let signal =
      throttles
      ? input.signal.throttled(for: .seconds(1), clock: clock)
      : input.signal.debounced(for: .seconds(1), clock: clock)
    let (log, ends) = (Log<Int>(), Log<Int>())
    let observation = signal.observe {
      log.append($0)
    } onCompletion: {
      ends.append(1)
    }
    onThreads(3) { thread in
      for value in 0..<200 {
        if thread == 0 {
          clock.advance(by: .milliseconds(400))
        } else {
          input.send(thread * 1000 + value)
        }
      }
    }
    input.send(5000)
    input.finish()
    signal.node.domain.waitUntilDelivered()
    for thread in 1...2 {
      let values = log.value.filter { $0 / 1000 == thread }
      #expect(values == values.sorted())
    }
    #expect(log.value.last == 5000)
    #expect(ends.value == [1])
    #expect(clock.sleeperCount == 0)
    withExtendedLifetime(observation) {}
  }
}
