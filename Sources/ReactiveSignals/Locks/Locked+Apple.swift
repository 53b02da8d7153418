#if !os(Linux)
  package import Synchronization

  /// A value guarded by a mutual exclusion lock: the only lock of the framework.
  ///
  /// No code of the framework's users runs while it is held: no observer, closure, `==`, hashing or
  /// deinitialiser. What a lock lets go of is returned from `withLock` and released by the caller.
  package struct Locked<State: Sendable>: ~Copyable, Sendable {
    @usableFromInline package let mutex: Mutex<State>

    package init(_ initial: consuming State) {
      mutex = Mutex(initial)
    }

    /// Runs `body` while the lock is held. It is not recursive.
    @inlinable package borrowing func withLock<Result: ~Copyable & Sendable, Failure: Error>(
      _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
      try mutex.withLock { (state) throws(Failure) -> Result in try body(&state) }
    }
  }
#endif
