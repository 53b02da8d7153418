#if canImport(Darwin)
  public import Darwin

  /// A value guarded by a mutual exclusion lock.
  ///
  /// Apart from gates, this is the only lock of the framework. Never call user code (an observer, a closure, `==`,
  /// hashing, or the deinitializer of an element) while you hold it. Return an object that you remove
  /// from the state from `withLock`, and release it afterward.
  @_documentation(visibility: internal)
  public struct Locked<State: Sendable>: ~Copyable, @unchecked Sendable {
    // Sendable: `state` is accessed only while `lock` is locked, and its value is Sendable.
    // Inlinable, because a generic closure result costs more than the lock itself
    // (`EngineBenchmarks commit`). Public, because other modules cannot inline what is visible only in the
    // package. No product contains this module, so the framework's users do not see the lock.
    @usableFromInline package let lock: UnsafeMutablePointer<os_unfair_lock>
    @usableFromInline package let state: UnsafeMutablePointer<State>

    /// Creates an unlocked value.
    public init(_ initial: consuming State) {
      lock = .allocate(capacity: 1)
      lock.initialize(to: os_unfair_lock())
      state = .allocate(capacity: 1)
      state.initialize(to: initial)
    }

    deinit {
      state.deinitialize(count: 1)
      state.deallocate()
      lock.deinitialize(count: 1)
      lock.deallocate()
    }

    /// Calls a closure with the state while the lock is held.
    ///
    /// The lock is not recursive. The closure must not call this method on the same lock.
    @inlinable @inline(__always) public borrowing func withLock<Result: ~Copyable, Failure: Error>(
      _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
      os_unfair_lock_lock(lock)
      defer { os_unfair_lock_unlock(lock) }
      return try body(&state.pointee)
    }
  }
#endif
