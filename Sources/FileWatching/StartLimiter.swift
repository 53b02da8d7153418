package import Dispatch
import SwappablePrimitives

/// A limit on how many closures run at the same time. If none finishes for a while, one more starts.
///
/// Without the limit, a thousand sources that start at once would use a thread each, and the system has
/// few threads for queues. Closures run on their own queues, and may call user code that waits for other
/// closures. Therefore, more closures than the width may run.
package final class StartLimiter: Sendable {
  /// The shared instance of the sources of files.
  package static let files = StartLimiter(callLater: WatchSystem.live.callLater)

  private struct Work {
    var queue: DispatchQueue
    var body: @Sendable () -> Void
  }

  private struct State {
    /// The closures in the order of arrival. The closures before `next` have started.
    var waiting: [Work?] = []
    var next = 0
    var workers = 0
    var finished = 0
    /// The number of finished closures when the timer was set, or `nil` if no timer is set.
    var finishedAtTimer: Int?
    var timer: ScheduledTimer?
    /// The number of timers that were set.
    var timerCount = 0

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

  private let width: Int
  private let limit: Int
  private let patience: Duration
  private let callLater: WatchSystem.CallLater
  private let queue = DispatchQueue(label: "swappable.start-limiter")
  private let state = Locked(State())

  /// Creates a limit.
  ///
  /// - Parameters:
  ///   - width: The number of closures that run at the same time, as long as they finish.
  ///   - limit: The largest number of closures that run at the same time.
  ///   - patience: If no closure finishes for this time, one more starts.
  ///   - callLater: A function that calls a closure after an interval.
  package init(
    width: Int = 4, limit: Int = .max, patience: Duration = .milliseconds(5),
    callLater: @escaping WatchSystem.CallLater
  ) {
    self.width = width
    self.limit = limit
    self.patience = patience
    self.callLater = callLater
  }

  /// Runs a closure on a queue, soon.
  package func start(on queue: DispatchQueue, _ body: @escaping @Sendable () -> Void) {
    let isWanted = state.withLock { state in
      state.waiting.append(Work(queue: queue, body: body))
      guard state.workers < width else { return false }
      state.workers += 1
      return true
    }
    if isWanted {
      addWorker()
    } else {
      // All workers may be blocked.
      setTimer()
    }
  }

  /// Starts a worker that is already counted.
  private func addWorker() {
    // A new queue gets a thread even if all other threads are blocked.
    DispatchQueue(label: "swappable.start-limiter.worker").async { [self] in
      while let work = nextWork() {
        // `sync` runs the closure on this thread, not on another one.
        work.queue.sync(execute: work.body)
        state.withLock { $0.finished += 1 }
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
  private func setTimer() {
    let number = state.withLock { state -> Int? in
      guard state.next < state.waiting.count, state.finishedAtTimer == nil else { return nil }
      state.finishedAtTimer = state.finished
      state.timerCount += 1
      return state.timerCount
    }
    guard let number else { return }
    let timer = callLater(patience, queue) { [self] in
      let isStuck = state.withLock { state in
        defer { state.finishedAtTimer = nil }
        guard state.finishedAtTimer == state.finished, state.next < state.waiting.count,
          state.workers < limit
        else { return false }
        state.workers += 1
        return true
      }
      if isStuck { addWorker() }
      setTimer()
    }
    let unwanted = state.withLock { state -> ScheduledTimer? in
      // This timer may have fired already, and the next one may be set.
      guard state.timerCount == number else { return timer }
      defer { state.timer = timer }
      return state.timer
    }
    withExtendedLifetime(unwanted) {}
  }
}
