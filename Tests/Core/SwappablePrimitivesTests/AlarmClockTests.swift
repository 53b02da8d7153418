import DataSourceTesting
import Dispatch
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import FileWatching

@Suite(.tags(.concurrency), .timeLimit(.minutes(10)))
struct AlarmClockTests {
  private let clock = AlarmClock()
  private let queue = DispatchQueue(label: "AlarmClockTests")

  @Test func `calls are made in the order of their time`() async {
    let (stream, ring) = AsyncStream.makeStream(of: Int.self)
    let alarms = [90, 10, 50, 30, 70].map { delay in
      clock.call(after: .milliseconds(delay), on: queue) { ring.yield(delay) }
    }
    #expect(clock.count == 5)
    var order: [Int] = []
    for await delay in stream {
      order.append(delay)
      if order.count == 5 { break }
    }
    #expect(order == [10, 30, 50, 70, 90])
    #expect(clock.count == 0)
    withExtendedLifetime(alarms) {}
  }

  @Test func `a canceled call is released immediately`() async {
    weak var weakToken: Token?
    let alarm: ScheduledTimer
    do {
      let token = Token()
      weakToken = token
      alarm = clock.call(after: .seconds(3_600), on: queue) { withExtendedLifetime(token) {} }
    }
    #expect(weakToken != nil)
    #expect(clock.count == 1)
    alarm.cancel()
    #expect(weakToken == nil)
    #expect(clock.count == 0)
    // A second cancellation has no effect, and the clock continues.
    alarm.cancel()
    await ring(after: .zero)
  }

  @Test func `a later call does not delay an earlier one`() async {
    let late = clock.call(after: .seconds(3_600), on: queue) {}
    await ring(after: .milliseconds(1))
    #expect(clock.count == 1)
    late.cancel()
    #expect(clock.count == 0)
  }

  @Test func `calls of nearly the same time are made at one moment`() {
    let start = ContinuousClock.now
    let alarms = (0..<100).map { clock.call(after: .seconds(1_000 + $0), on: queue) {} }
    #expect(clock.count == 100)
    // A wait of 1,000 seconds ends at a multiple of 2^25 microseconds, which is 33 seconds.
    let passed = Int(start.duration(to: .now).components.seconds)
    #expect((3...5 + passed / 33).contains(clock.momentCount))
    withExtendedLifetime(alarms) {}
  }

  @Test func `an earlier call wakes the thread`() async {
    let late = clock.call(after: .seconds(3_600), on: queue) {}
    for delay in [50, 5, 0] { await ring(after: .milliseconds(delay)) }
    late.cancel()
    // Without a pending call, the thread ends. The next call starts it again.
    await ring(after: .milliseconds(1))
    #expect(clock.count == 0)
  }

  @Test func `a handle that is released cancels its call`() {
    _ = clock.call(after: .seconds(3_600), on: queue) {}
    #expect(clock.count == 0)
  }

  private func ring(after delay: Duration) async {
    let (stream, end) = AsyncStream.makeStream(of: Void.self)
    let alarm = clock.call(after: delay, on: queue) { end.finish() }
    for await _ in stream {}
    alarm.cancel()
  }

  @Test func `a delay may have any length`() {
    for delay in [Duration.seconds(Int64.max), .seconds(-5), .nanoseconds(1)] {
      clock.call(after: delay, on: queue) {}.cancel()
      #expect(clock.count == 0)
    }
  }
}
