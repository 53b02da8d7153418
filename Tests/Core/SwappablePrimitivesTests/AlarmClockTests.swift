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

  @Test func `calls follow an injected clock`() async throws {
    let time = ManualClock()
    let clock = AlarmClock(clock: AnyClock(time))
    let (stream, ring) = AsyncStream.makeStream(of: Int.self)
    let alarms = [30, 10, 20].map { delay in
      clock.call(after: .seconds(delay), on: queue) { ring.yield(delay) }
    }
    #expect(clock.count == 3)
    var rings = stream.makeAsyncIterator()
    for delay in [10, 20, 30] {
      try await time.waitForSleepers(1)
      time.advanceToNextDeadline()
      #expect(await rings.next() == delay)
    }
    // A wait may be longer by a sixteenth.
    #expect((.seconds(30)..<Duration.seconds(32)).contains(time.now.offset))
    #expect(clock.count == 0)
    withExtendedLifetime(alarms) {}
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
