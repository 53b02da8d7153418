import SwappablePrimitives

/// A clock that a thread of a scenario advances. Timers call their closures on that thread.
final class ScheduledClock: TimerClock, @unchecked Sendable {
  // Sendable: of the threads of a scenario, one runs at a time.

  struct Instant: InstantProtocol {
    var offset: Swift.Duration

    func advanced(by duration: Swift.Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Swift.Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct Call {
    let number: Int
    let due: Swift.Duration
    let action: @Sendable () -> Void
  }

  private var time = Swift.Duration.zero
  private var calls: [Call] = []
  private var lastNumber = 0
  let minimumResolution = Swift.Duration.nanoseconds(1)

  var now: Instant {
    schedulePoint()
    return Instant(offset: time)
  }

  /// The number of calls that are not due.
  var callCount: Int { calls.count }

  /// Advances the time, and makes the calls that become due, each at its time.
  func advance(by duration: Swift.Duration) {
    schedulePoint()
    let end = time + duration
    while let index = calls.indices.min(by: { calls[$0].due < calls[$1].due }),
      calls[index].due <= end
    {
      let call = calls.remove(at: index)
      time = max(time, call.due)
      call.action()
      schedulePoint()
    }
    time = max(time, end)
  }

  func call(after interval: Swift.Duration, _ action: @escaping @Sendable () -> Void)
    -> ScheduledTimer
  {
    schedulePoint()
    lastNumber += 1
    let number = lastNumber
    calls.append(Call(number: number, due: time + interval, action: action))
    return ScheduledTimer { [weak self] in self?.cancel(number) }
  }

  func sleep(until deadline: Instant, tolerance: Swift.Duration?) async throws {
    preconditionFailure("operators call a timer clock instead of sleeping")
  }

  private func cancel(_ number: Int) {
    // The closure is released after the array is changed.
    let canceled = calls.filter { $0.number == number }
    calls.removeAll { $0.number == number }
    withExtendedLifetime(canceled) {}
  }
}
