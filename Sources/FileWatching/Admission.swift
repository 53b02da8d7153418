package import Dispatch
import SwappablePrimitives

/// A limit on how many closures start at the same time. If none finishes for 5 ms, one more starts.
///
/// Without the limit, a thousand sources that start at once would use a thread each. Closures run
/// on their own queues, and may call user code that waits for other closures, so the limit is not
/// strict.
package final class Admission: Sendable {
  /// The shared instance of the process.
  package static let shared = Admission(timer: .live)

  private struct Work {
    var queue: DispatchQueue
    var body: @Sendable () -> Void
  }

  private struct State {
    /// The closures in the order of arrival. Closures before `next` have started.
    var waiting: [Work?] = []
    var next = 0
    /// The number of running workers.
    var workers = 0
    /// The number of finished closures, now and when the timer was set; `nil` if no timer is set.
    var out = 0
    var outAtAlarm: Int?
    var alarm: ScheduledTimer?
    var alarmCount = 0

    mutating func takeNext() -> Work? {
      guard next < waiting.count else {
        waiting = []
        next = 0
        return nil
      }
      defer { next += 1 }
      return waiting[next].take()
    }
  }

  private static let width = 4
  private static let patience = Duration.milliseconds(5)

  private let timer: WatchTimer
  private let queue = DispatchQueue(label: "swappable.admission")
  private let state = Locked(State())

  package init(timer: WatchTimer) {
    self.timer = timer
  }

  /// Runs a closure on a queue, soon.
  package func enter(_ queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    let isWanted = state.withLock { state in
      state.waiting.append(Work(queue: queue, body: body))
      guard state.workers < Self.width else { return false }
      state.workers += 1
      return true
    }
    if isWanted { addWorker() }
    setAlarm()
  }

  /// Starts a worker that is already counted.
  private func addWorker() {
    // A new queue gets a thread even if all other threads are blocked.
    DispatchQueue(label: "swappable.admission.worker").async { [self] in
      while let work = nextWork() {
        // `sync` runs the closure on this thread, not on another one.
        work.queue.sync(execute: work.body)
        state.withLock { $0.out += 1 }
      }
    }
  }

  /// Returns the next closure, or `nil` to end the worker.
  private func nextWork() -> Work? {
    state.withLock { state in
      let work = state.takeNext()
      if work == nil { state.workers -= 1 }
      return work
    }
  }

  /// Starts another worker after a while if closures are pending and none has finished.
  private func setAlarm() {
    let number = state.withLock { state -> Int? in
      guard state.next < state.waiting.count, state.outAtAlarm == nil else { return nil }
      state.outAtAlarm = state.out
      state.alarmCount += 1
      return state.alarmCount
    }
    guard let number else { return }
    let alarm = timer.call(Self.patience, queue) { [self] in
      let isStuck = state.withLock { state in
        defer { state.outAtAlarm = nil }
        guard state.outAtAlarm == state.out, state.next < state.waiting.count else { return false }
        state.workers += 1
        return true
      }
      if isStuck { addWorker() }
      setAlarm()
    }
    let unwanted = state.withLock { state -> ScheduledTimer? in
      // This timer may have fired already, and the next one may be set.
      guard state.alarmCount == number else { return alarm }
      defer { state.alarm = alarm }
      return state.alarm
    }
    withExtendedLifetime(unwanted) {}
  }
}
