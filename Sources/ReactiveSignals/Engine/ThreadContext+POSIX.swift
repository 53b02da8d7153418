#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Names a thread for as long as it lives.
///
/// The lowest bit of `raw` is always clear, and it is never zero, so that both are free as marks.
package struct ThreadID: Hashable, Sendable {
  package let raw: UInt

  /// The calling thread.
  package static var current: ThreadID {
    #if canImport(Glibc) || canImport(Musl)
      ThreadID(raw: UInt(pthread_self()))
    #else
      ThreadID(raw: UInt(bitPattern: pthread_self()))
    #endif
  }
}

/// The engine's state of one thread: the deliveries and transactions that are open on its stack.
///
/// It belongs to the thread and not to the task. A task-local value would leak into child tasks, which
/// run beside an open transaction and not inside it.
package final class ThreadContext {
  /// The number of deliveries that this thread is inside of.
  package var deliveryDepth = 0

  /// The number of transaction bodies that this thread is inside of.
  package var transactionDepth = 0

  /// The collections that have a transaction of their own open on this thread, the innermost last.
  package var openTransactions: [any TransactionParticipant] = []

  /// The innermost `withTransaction` on this thread.
  package var transaction: Transaction?

  /// The mailbox whose next turn this thread passes to its scheduler. A turn that the scheduler runs
  /// immediately removes it.
  package var rescheduling: AnyObject?

  /// The calling thread's context.
  package static var current: ThreadContext {
    if let known = pthread_getspecific(key) {
      return Unmanaged<ThreadContext>.fromOpaque(known).takeUnretainedValue()
    }
    let context = ThreadContext()
    pthread_setspecific(key, Unmanaged.passRetained(context).toOpaque())
    return context
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    let code = pthread_key_create(&key) { context in
      #if canImport(Glibc) || canImport(Musl)
        guard let context else { return }
      #endif
      Unmanaged<ThreadContext>.fromOpaque(context).release()
    }
    precondition(code == 0, "no thread-specific key is left in this process (error \(code))")
    return key
  }()
}
