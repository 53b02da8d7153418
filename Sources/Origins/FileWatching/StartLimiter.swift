package import Dispatch
package import SwappablePrimitives

/// A limit on how many closures run at the same time. If none finishes for a while, one more starts.
///
/// Without the limit, a thousand sources that start at once would use a thread each, and the system has
/// few threads for queues. Closures run on their own queues, and may call user code that waits for other
/// closures. Therefore, more closures than the width may run.
package final class StartLimiter: Sendable {
  /// The shared instance of the sources of files.
  package static let files = StartLimiter()

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

    mutating func takeNext() -> Work? {
      guard next < waiting.count else {
        waiting = []
        next = 0
        return nil
      }
      // If closures are always pending, the ones that have started go from time to time.
      if next >= 32, next > waiting.count / 2 {
        waiting.removeFirst(next)
        next = 0
      }
      defer { next += 1 }
      return waiting[next].take()
    }
  }

  private let width: Int
  private let limit: Int
  private let patience: Duration
  private let timer: QueueTimer
  private let state = Locked(State())

  /// Creates a limit.
  ///
  /// - Parameters:
  ///   - width: The number of closures that run at the same time, as long as they finish.
  ///   - limit: The largest number of closures that run at the same time.
  ///   - patience: If no closure finishes for this time, one more starts.
  ///   - timer: The timer that measures the patience.
  package init(
    width: Int = 4, limit: Int = .max, patience: Duration = .milliseconds(5),
    timer: QueueTimer = QueueTimer(queue: DispatchQueue(label: "swappable.start-limiter"))
  ) {
    self.width = width
    self.limit = limit
    self.patience = patience
    self.timer = timer
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
    let isWanted = state.withLock { state in
      guard state.next < state.waiting.count, state.finishedAtTimer == nil else { return false }
      state.finishedAtTimer = state.finished
      return true
    }
    guard isWanted else { return }
    timer.schedule(after: patience) { [self] in
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
  }
}
