import Dispatch
import ReactiveSignals
import SwappablePrimitives
import Testing

/// Runs a closure on a new thread.
func onThread(_ work: @escaping @Sendable () -> Void) -> DispatchSemaphore {
  let done = DispatchSemaphore(value: 0)
  DispatchQueue(label: "ReactiveSignalsTests").async {
    work()
    done.signal()
  }
  return done
}

/// Waits for an event that must come.
func wait(
  for semaphore: DispatchSemaphore, at location: SourceLocation = #_sourceLocation
) {
  #expect(semaphore.wait(timeout: .now() + 60) == .success, sourceLocation: location)
}

/// Runs a closure on several threads at the same time.
func onThreads(_ count: Int, _ work: @escaping @Sendable (Int) -> Void) {
  DispatchQueue.concurrentPerform(iterations: count, execute: work)
}

/// A scheduler that runs work when a test asks for it.
final class HeldWork: Sendable {
  private let work = Locked<[@Sendable () -> Void]>([])

  var scheduler: DeliveryScheduler {
    DeliveryScheduler { [self] job in work.withLock { $0.append(job) } }
  }

  var count: Int { work.withLock { $0.count } }

  /// Runs all pending work, and the work that it schedules.
  func runAll() {
    while let job = work.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
  }
}
