#if SWAPPABLE_SCHEDULES
  import Dispatch

  /// A semaphore, in a build for tests that explore schedules: waiting is a step.
  package struct Semaphore: Sendable {
    private let semaphore: DispatchSemaphore
    private let object: ScheduledObject

    package init(value: Int) {
      semaphore = DispatchSemaphore(value: value)
      object = ScheduledObject(permits: value)
    }

    package func wait(file: StaticString = #fileID, line: UInt = #line) {
      _ = object.take(.wait, file, line)
      semaphore.wait()
    }

    package func signal() {
      semaphore.signal()
      object.permits += 1
    }
  }
#else
  package import Dispatch

  package typealias Semaphore = DispatchSemaphore
#endif
