#if SWAPPABLE_SCHEDULES
  import Glibc

  /// The lock of the framework, in a build for tests that explore schedules: acquiring it is a step.
  public struct Locked<State: Sendable>: ~Copyable, @unchecked Sendable {
    // Sendable: `state` is accessed only while `mutex` is locked, and its value is Sendable. Threads that no scheduler
    // controls need the mutex.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let state: UnsafeMutablePointer<State>
    private let object = ScheduledObject(permits: 1)

    public init(_ initial: consuming State) {
      mutex = .allocate(capacity: 1)
      pthread_mutex_init(mutex, nil)
      state = .allocate(capacity: 1)
      state.initialize(to: initial)
    }

    deinit {
      state.deinitialize(count: 1)
      state.deallocate()
      pthread_mutex_destroy(mutex)
      mutex.deallocate()
    }

    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout State) throws(Failure) -> Result, file: StaticString = #fileID,
      line: UInt = #line
    ) throws(Failure) -> Result {
      let isScheduled = object.take(.lock, file, line)
      pthread_mutex_lock(mutex)
      defer {
        pthread_mutex_unlock(mutex)
        if isScheduled { object.permits += 1 }
      }
      return try body(&state.pointee)
    }
  }
#endif
