import Foundation
import SwappablePrimitives

/// Runs the tasks of a scenario on a queue of the scenario.
///
/// The concurrency runtime calls a hook with each job for its global executor. A job that a thread of a scenario enqueues
/// becomes work of the queue. So does the rest of a task after an `await`. All other jobs run where they would without
/// the hook.
enum ScheduledTasks {
  nonisolated(unsafe) private static var queue: ScheduledQueue?
  /// The thread that declares a scenario, while it calls the closure of `run(on:)`.
  nonisolated(unsafe) private static var declaringThread: pthread_t?

  /// Calls a closure whose tasks run on a queue, as do those that threads of the scenario start later.
  @discardableResult
  static func run<Result>(on queue: ScheduledQueue, _ body: () -> Result) -> Result {
    _ = isInstalled
    (Self.queue, declaringThread) = (queue, pthread_self())
    defer { declaringThread = nil }
    return body()
  }

  /// Cancels a task of a scenario, as one step.
  ///
  /// The runtime calls the handlers of a cancellation while it holds a lock of the task, which no scheduler controls. A
  /// thread must not stop there.
  static func cancel(_ task: Task<Void, Never>) {
    guard let queue else { return }
    schedulePoint()
    run(on: queue) { withoutSteps { task.cancel() } }
  }

  private static var isScheduled: Bool {
    ScheduledThread.current != nil
      || declaringThread.map { pthread_equal($0, pthread_self()) != 0 } ?? false
  }

  private typealias Original = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

  private static let isInstalled: Bool = {
    guard let symbol = dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook") else {
      preconditionFailure("the concurrency runtime has no hook for jobs")
    }
    symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, original in
      if isScheduled, let queue = ScheduledTasks.queue {
        QueueExecutor([queue]).enqueue(job)
      } else {
        original(job)
      }
    }
    return true
  }()
}

/// An executor that runs jobs on queues of a scenario, in turn.
final class QueueExecutor: TaskExecutor, @unchecked Sendable {
  // Sendable: of the threads of a scenario, one runs at a time.
  private let queues: [ScheduledQueue]
  private var next = 0

  init(_ queues: [ScheduledQueue]) { self.queues = queues }

  func enqueue(_ job: UnownedJob) {
    next += 1
    queues[next % queues.count].async { [self] in
      job.runSynchronously(on: asUnownedTaskExecutor())
    }
  }
}
