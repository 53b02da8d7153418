import Foundation
import SwappablePrimitives

/// Runs the tasks of a scenario on a queue of the scenario.
///
/// The concurrency runtime calls a hook with each job for its global executor. A job that a thread of a scenario enqueues
/// becomes work of the queue. So does the rest of a task after an `await`. All other jobs run where they would without
/// the hook.
enum ScheduledTasks {
  nonisolated(unsafe) private static var queue: ScheduledQueue?

  /// Runs tasks that threads of a scenario start from now on, until the next call. The queue belongs to that scenario.
  static func run(on queue: ScheduledQueue) {
    _ = isInstalled
    Self.queue = queue
  }

  private typealias Original = @convention(thin) (UnownedJob) -> Void
  private typealias Hook = @convention(thin) (UnownedJob, Original) -> Void

  private static let isInstalled: Bool = {
    guard let symbol = dlsym(dlopen(nil, RTLD_LAZY), "swift_task_enqueueGlobal_hook") else {
      preconditionFailure("the concurrency runtime has no hook for jobs")
    }
    symbol.assumingMemoryBound(to: Hook?.self).pointee = { job, original in
      if ScheduledThread.current != nil, let queue = ScheduledTasks.queue {
        QueueExecutor(queue).enqueue(job)
      } else {
        original(job)
      }
    }
    return true
  }()
}

/// An executor that runs jobs on a queue of a scenario.
private final class QueueExecutor: TaskExecutor {
  private let queue: ScheduledQueue

  init(_ queue: ScheduledQueue) { self.queue = queue }

  func enqueue(_ job: UnownedJob) {
    queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
