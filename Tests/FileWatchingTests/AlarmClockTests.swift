import Dispatch
import TestSupport
import Testing

@testable import FileWatching

@Suite(.timeLimit(.minutes(1)))
struct AlarmClockTests {
  private let clock = AlarmClock()
  private let queue = DispatchQueue(label: "AlarmClockTests")

  @Test func callsAreMadeInTheOrderOfTime() async {
    let (stream, ring) = AsyncStream.makeStream(of: Int.self)
    for delay in [90, 10, 50, 30, 70] {
      _ = clock.call(after: .milliseconds(delay), on: queue) { ring.yield(delay) }
    }
    #expect(clock.count == 5)
    var order: [Int] = []
    for await delay in stream {
      order.append(delay)
      if order.count == 5 { break }
    }
    #expect(order == [10, 30, 50, 70, 90])
    #expect(clock.count == 0)
  }

  @Test func whatIsTakenBackIsLetGoOfAtOnce() async {
    weak var weakToken: Token?
    let alarm: WatchTimer.Alarm
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
    // Once more is no harm, and the clock goes on.
    alarm.cancel()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      _ = clock.call(after: .zero, on: queue) { continuation.resume() }
    }
  }

  @Test func anEarlierCallIsNotDelayedByALaterOne() async {
    let late = clock.call(after: .seconds(3_600), on: queue) {}
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      _ = clock.call(after: .milliseconds(1), on: queue) { continuation.resume() }
    }
    #expect(clock.count == 1)
    late.cancel()
    #expect(clock.count == 0)
  }

  @Test func noWaitIsTooLongOrTooShort() {
    for delay in [Duration.seconds(Int64.max), .seconds(-5), .nanoseconds(1)] {
      clock.call(after: delay, on: queue) {}.cancel()
    }
  }
}
