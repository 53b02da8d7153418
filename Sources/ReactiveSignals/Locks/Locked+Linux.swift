#if os(Linux)
  package import Glibc

  /// A value guarded by a mutual exclusion lock: the only lock of the framework.
  ///
  /// On Linux it is a `pthread` mutex, which the thread sanitizer understands; it does not see into
  /// the standard library's `Mutex` there, and reports races that are none. Elsewhere it is `Mutex`.
  ///
  /// No code of the framework's users runs while it is held: no observer, closure, `==`, hashing or
  /// deinitialiser. What a lock lets go of is returned from `withLock` and released by the caller.
  package struct Locked<State: Sendable>: ~Copyable, @unchecked Sendable {
    // Sendable: `state` is reached only between lock and unlock of `mutex`, and is Sendable itself.
    // Inlinable, since the generic result of a closure costs more than the lock itself
    // (`EngineBenchmarks commit`).
    @usableFromInline package let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline package let state: UnsafeMutablePointer<State>

    package init(_ initial: consuming State) {
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

    /// Runs `body` while the lock is held. It is not recursive.
    @inlinable package borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&state.pointee)
    }
  }
#endif
