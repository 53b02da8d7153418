#if os(Linux)
  import SwappablePrimitives
  import Testing

  @testable import FileWatching

  @Suite struct BurstCalmTests {
    private let start = AnyClock.Instant(offset: .seconds(1))

    /// Returns the rule after a thread was woken several times.
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

    @Test func `few wakes in a row are no burst`() {
      for count in 0...8 { #expect(!woken(count, after: .zero, since: start).isBurst) }
    }

    @Test func `many wakes in a row are a burst`() {
      #expect(woken(9, after: .zero, since: start).isBurst)
      #expect(woken(1_000, after: .microseconds(999), since: start).isBurst)
    }

    @Test func `wakes that are far apart are no burst`() {
      #expect(!woken(1_000, after: .milliseconds(1), since: start).isBurst)
    }

    @Test func `a long wait ends a burst`() {
      var throttle = woken(1_000, after: .zero, since: start)
      throttle.threadWillWait(at: start)
      throttle.threadDidWake(at: start.advanced(by: .milliseconds(1)))
      #expect(!throttle.isBurst)
    }
  }
#endif
