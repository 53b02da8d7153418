#if !canImport(Darwin) && !SWAPPABLE_SCHEDULES
  public import Glibc

  /// A value guarded by a mutual exclusion lock.
  ///
  /// Apart from gates, this is the only lock of the framework. Never call user code (an observer, a closure, `==`,
  /// hashing, or the deinitializer of an element) while you hold it. Return an object that you remove
  /// from the state from `withLock`, and release it afterward.
  @_documentation(visibility: internal)
  public struct Locked<State: Sendable>: ~Copyable, @unchecked Sendable {
    // Sendable: `state` is accessed only while `mutex` is locked, and its value is Sendable.
    // A `pthread` mutex, because the thread sanitizer does not see into the standard library's `Mutex`
    // on Linux and reports false races.
    // Inlinable, because a generic closure result costs more than the lock itself
    // (`EngineBenchmarks commit`). Public, because other modules cannot inline what is visible only in the
    // package. No product contains this module, so the framework's users do not see the lock.
    @usableFromInline package let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline package let state: UnsafeMutablePointer<State>

    /// Creates an unlocked value.
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

    /// Calls a closure with the state while the lock is held.
    ///
    /// The lock is not recursive. The closure must not call this method on the same lock.
    @inlinable @inline(__always) public borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&state.pointee)
    }
  }
#endif
