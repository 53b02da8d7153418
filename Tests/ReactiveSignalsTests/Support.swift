import Dispatch
import ReactiveSignals
import SwappablePrimitives
import Testing

/// Collects what observers are told.
final class Log<Value: Sendable>: Sendable {
  private let values = Locked<[Value]>([])

  var all: [Value] { values.withLock { $0 } }

  func add(_ value: Value) {
    values.withLock { $0.append(value) }
  }
}

/// Runs something on a thread of its own.
func onThread(_ work: @escaping @Sendable () -> Void) -> DispatchSemaphore {
  let done = DispatchSemaphore(value: 0)
  DispatchQueue(label: "ReactiveSignalsTests").async {
    work()
    done.signal()
  }
  return done
}

/// Waits for what comes soon, unless something is broken.
func wait(
  for semaphore: DispatchSemaphore, at location: SourceLocation = #_sourceLocation
) {
  #expect(semaphore.wait(timeout: .now() + 60) == .success, sourceLocation: location)
}

/// Runs something on several threads at the same time.
func onThreads(_ count: Int, _ work: @escaping @Sendable (Int) -> Void) {
  DispatchQueue.concurrentPerform(iterations: count, execute: work)
}

/// Keeps work until it is told to run it.
final class HeldWork: Sendable {
  private let work = Locked<[@Sendable () -> Void]>([])

  var scheduler: Scheduler {
    Scheduler { [self] job in work.withLock { $0.append(job) } }
  }

  var count: Int { work.withLock { $0.count } }

  /// Runs what is there, and what that brings.
  func runAll() {
    while let job = work.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) { job() }
  }
}

/// Something whose end can be seen.
final class Token: Sendable {}
