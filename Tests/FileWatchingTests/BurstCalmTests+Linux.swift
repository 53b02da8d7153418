#if os(Linux)
  import SwappablePrimitives
  import Testing

  @testable import FileWatching

  @Suite struct BurstCalmTests {
    private let start = AnyClock.Instant(offset: .seconds(1))

    /// A thread that was woken `count` times, each time so long after it began to wait.
    private func woken(_ count: Int, after wait: Duration, since start: AnyClock.Instant)
      -> WakeThrottle
    {
      var throttle = WakeThrottle()
      var now = start
      for _ in 0..<count {
        throttle.threadWillWait(at: now)
        now = now.advanced(by: wait)
        throttle.threadDidWake(at: now)
      }
      return throttle
    }

    @Test func fewWakesInARowAreNoBurst() {
      for count in 0...8 { #expect(!woken(count, after: .zero, since: start).isBurst) }
    }

    @Test func manyWakesInARowAreABurst() {
      #expect(woken(9, after: .zero, since: start).isBurst)
      #expect(woken(1_000, after: .microseconds(999), since: start).isBurst)
    }

    @Test func wakesThatAreFarApartAreNoBurst() {
      #expect(!woken(1_000, after: .milliseconds(1), since: start).isBurst)
    }

    @Test func aLongWaitEndsABurst() {
      var throttle = woken(1_000, after: .zero, since: start)
      throttle.threadWillWait(at: start)
      throttle.threadDidWake(at: start.advanced(by: .milliseconds(1)))
      #expect(!throttle.isBurst)
    }
  }
#endif
