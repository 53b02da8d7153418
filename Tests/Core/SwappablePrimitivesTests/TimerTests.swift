import DataSourceTesting
import Dispatch
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@Suite(.tags(.concurrency), .timeLimit(.minutes(10))) struct TimerTests {
  private let clock = ManualClock()
  private let queue = DispatchQueue(label: "TimerTests")

  /// Waits for everything that was enqueued so far.
  private func drain() { queue.sync {} }

  @Test func `a wrapped clock shows the time since it was wrapped`() {
    clock.advance(by: .seconds(5))
    let wrapped = AnyClock(clock)
    #expect(wrapped.now.offset == .zero)
    clock.advance(by: .seconds(2))
    #expect(wrapped.now.offset == .seconds(2))
    #expect(wrapped.minimumResolution == clock.minimumResolution)
  }

  @Test func `a sleep on a wrapped clock ends at its deadline`() async throws {
    clock.advance(by: .seconds(5))
    let wrapped = AnyClock(clock)
    let sleep = Task { try await wrapped.sleep(for: .seconds(3)) }
    try await clock.waitForSleepers(1)
    #expect(clock.advanceToNextDeadline()?.offset == .seconds(8))
    try await sleep.value
  }

  @Test func `a scheduled timer cancels its call once when it is released`() {
    let count = Shared(0)
    do {
      let timer = ScheduledTimer { count.modify { $0 += 1 } }
      timer.cancel()
      timer.cancel()
    }
    #expect(count.value == 1)
    _ = ScheduledTimer { count.modify { $0 += 1 } }
    #expect(count.value == 2)
  }

  @Test func `a clock that only sleeps makes a call in a task`() async throws {
    struct Sleeping: Clock {
      let base: ManualClock
      var now: ManualClock.Instant { base.now }
      var minimumResolution: Duration { base.minimumResolution }
      func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
        try await base.sleep(until: deadline, tolerance: tolerance)
      }
    }
    let (stream, end) = AsyncStream.makeStream(of: Void.self)
    let timer = callLater(after: .seconds(1), on: Sleeping(base: clock)) { end.finish() }
    try await clock.waitForSleepers(1)
    clock.advance(by: .seconds(1))
    for await _ in stream {}
    timer.cancel()
  }

  @Test func `a queue timer makes its call on the queue when its clock says so`() {
    let log = Log<Int>([])
    let timer = QueueTimer(queue: queue, clock: AnyClock(clock))
    timer.schedule(after: .seconds(1)) { [queue] in
      dispatchPrecondition(condition: .onQueue(queue))
      log.append(1)
    }
    clock.advance(by: .milliseconds(999))
    drain()
    #expect(log.value == [])
    clock.advance(by: .milliseconds(1))
    drain()
    #expect(log.value == [1])
    clock.advance(by: .seconds(10))
    drain()
    #expect(log.value == [1])
  }

  @Test func `a queue timer replaces the pending call`() {
    let log = Log<Int>([])
    let timer = QueueTimer(queue: queue, clock: AnyClock(clock))
    weak var weakToken: Token?
    do {
      let token = Token()
      weakToken = token
      timer.schedule(after: .seconds(1)) { withExtendedLifetime(token) { log.append(1) } }
    }
    #expect(weakToken != nil)
    timer.schedule(after: .seconds(2)) { log.append(2) }
    #expect(weakToken == nil)
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(3))
    drain()
    #expect(log.value == [2])
  }

  @Test(arguments: [true, false])
  func `a queue timer that is canceled or released calls nothing`(isReleased: Bool) {
    let log = Log<Int>([])
    var timer: QueueTimer? = QueueTimer(queue: queue, clock: AnyClock(clock))
    timer?.schedule(after: .seconds(1)) { log.append(1) }
    if isReleased { timer = nil } else { timer?.cancel() }
    #expect(clock.sleeperCount == 0)
    clock.advance(by: .seconds(3))
    drain()
    #expect(log.value == [])
    timer?.schedule(after: .seconds(1)) { log.append(2) }
    clock.advance(by: .seconds(1))
    drain()
    #expect(log.value == (isReleased ? [] : [2]))
  }

  @Test func `a call that is due but was canceled before the queue ran is not made`() {
    let log = Log<Int>([])
    let timer = QueueTimer(queue: queue, clock: AnyClock(clock))
    timer.schedule(after: .seconds(1)) { log.append(1) }
    queue.sync {
      clock.advance(by: .seconds(1))
      timer.cancel()
    }
    drain()
    #expect(log.value == [])
  }

  @Test func `a queue timer follows the continuous clock`() async {
    let timer = QueueTimer(queue: queue)
    for interval in [Duration.milliseconds(1), .zero, .seconds(-1)] {
      let (stream, end) = AsyncStream.makeStream(of: Int.self)
      timer.schedule(after: .seconds(3_600)) { end.yield(1) }
      timer.schedule(after: interval) {
        end.yield(2)
        end.finish()
      }
      var calls: [Int] = []
      for await call in stream { calls.append(call) }
      #expect(calls == [2])
    }
    weak var weakToken: Token?
    do {
      let token = Token()
      weakToken = token
      timer.schedule(after: .seconds(Int64.max)) { withExtendedLifetime(token) {} }
    }
    #expect(weakToken != nil)
    timer.cancel()
    #expect(weakToken == nil)
  }
}
