import Dispatch
import SwappablePrimitives

/// All waits of the process, on one timer of the system, which exists while somebody waits.
///
/// A long wait may last a sixteenth longer: those of a thousand files that are looked at each second
/// then end at a few moments of it, not at a thousand.
final class AlarmClock: Sendable {
  static let shared = AlarmClock()

  private struct Call {
    var queue: DispatchQueue
    var body: @Sendable () -> Void
  }

  /// The calls that are due at one millisecond.
  private struct Moment {
    var time: UInt64
    var calls: [Int: Call]
  }

  private struct State: @unchecked Sendable {
    // Sendable: objects of Dispatch may be used from any thread.
    /// In the order of time.
    var moments: [Moment] = []
    var timer: (any DispatchSourceTimer)?
    var lastCall = 0

    /// Returns the index of the first moment that is not before a time.
    func index(of time: UInt64) -> Int {
      moments.partitioningIndex { $0.time >= time }
    }
  }

  private let state = Locked(State())
  private let queue = DispatchQueue(label: "swappable.alarm-clock")

  init() {}

  /// How many calls are due.
  var count: Int { state.withLock { $0.moments.reduce(0) { $0 + $1.calls.count } } }

  func call(
    after delay: Duration, on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void
  ) -> WatchTimer.Alarm {
    let time = Self.time(after: delay)
    let number = state.withLock { state in
      state.lastCall += 1
      let index = state.index(of: time)
      if index == state.moments.count || state.moments[index].time != time {
        state.moments.insert(Moment(time: time, calls: [:]), at: index)
      }
      state.moments[index].calls[state.lastCall] = Call(queue: queue, body: body)
      if index == 0, state.moments[0].calls.count == 1 { setTimer(&state) }
      return state.lastCall
    }
    return WatchTimer.Alarm { [self] in cancel(number, at: time) }
  }

  private func cancel(_ number: Int, at time: UInt64) {
    // What the closure holds is let go of with nothing locked.
    let cancelled = state.withLock { state -> Call? in
      let index = state.index(of: time)
      guard index < state.moments.count, state.moments[index].time == time else { return nil }
      let call = state.moments[index].calls.removeValue(forKey: number)
      if state.moments[index].calls.isEmpty {
        state.moments.remove(at: index)
        if index == 0 { setTimer(&state) }
      }
      return call
    }
    withExtendedLifetime(cancelled) {}
  }

  private func ring() {
    let now = DispatchTime.now().uptimeNanoseconds / 1_000_000
    let due = state.withLock { state in
      let end = state.index(of: now + 1)
      defer {
        state.moments.removeFirst(end)
        setTimer(&state)
      }
      return Array(state.moments[..<end])
    }
    for moment in due {
      for call in moment.calls.values { call.queue.async(execute: call.body) }
    }
  }

  /// Sets the timer to the first moment, or ends it.
  private func setTimer(_ state: inout State) {
    guard let first = state.moments.first else {
      state.timer?.cancel()
      state.timer = nil
      return
    }
    let deadline = DispatchTime(uptimeNanoseconds: first.time * 1_000_000)
    if let timer = state.timer {
      timer.schedule(deadline: deadline)
      return
    }
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { [weak self] in self?.ring() }
    timer.schedule(deadline: deadline)
    timer.activate()
    state.timer = timer
  }

  /// The millisecond in which a wait ends.
  private static func time(after delay: Duration) -> UInt64 {
    let (seconds, attoseconds) = delay.components
    // No one waits for more than a hundred years.
    let wait =
      UInt64(clamping: min(seconds, 1 << 32)) * 1_000
      + UInt64(clamping: (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    let time = DispatchTime.now().uptimeNanoseconds / 1_000_000 + 1 + wait
    // Of powers of two, so that waits of different lengths end together, too.
    let step: UInt64 = wait < 64 ? 1 : 1 << (UInt64(wait.leadingZeroBitCount ^ 63) - 4)
    return (time + step - 1) & ~(step - 1)
  }
}
