package import Dispatch
import SwappablePrimitives

/// Lets in a few of many pieces of work at a time, so that a thousand sources that start at once do not
/// take a thread each.
///
/// Work runs on queues of its own, and may call code of users that waits for other work. So nobody is kept
/// out for long: if none has come out for a few milliseconds, one more is let in.
package final class Admission: Sendable {
  /// That of the process.
  package static let shared = Admission(timer: .live)

  private struct Work {
    var queue: DispatchQueue
    var body: @Sendable () -> Void
  }

  private struct State {
    /// In the order of their coming; those before `next` were let in.
    var waiting: [Work?] = []
    var next = 0
    /// The threads that do what waits, one piece after the other.
    var workers = 0
    /// How many came out, and how many had when the alarm was set; nil while there is none.
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

  /// Runs work on a queue, soon.
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

  /// Begins a worker that was counted.
  private func addWorker() {
    // A queue of its own gets a thread also while all others are blocked.
    DispatchQueue(label: "swappable.admission.worker").async { [self] in
      while let work = nextWork() {
        // On this thread, not on one more.
        work.queue.sync(execute: work.body)
        state.withLock { $0.out += 1 }
      }
    }
  }

  /// The next piece of work; nil ends the worker.
  private func nextWork() -> Work? {
    state.withLock { state in
      let work = state.takeNext()
      if work == nil { state.workers -= 1 }
      return work
    }
  }

  /// Checks in a while whether work still waits.
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
      // This alarm may have rung already, and the next one may be set.
      guard state.alarmCount == number else { return alarm }
      defer { state.alarm = alarm }
      return state.alarm
    }
    withExtendedLifetime(unwanted) {}
  }
}
