#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// What the engine knows about the thread that it runs on: which deliveries and transactions are
/// open further up its stack.
///
/// It belongs to the thread and not to the task: a task-local value would leak into child tasks,
/// which run beside an open transaction and not inside it.
package final class ThreadContext {
  /// How many drains this thread is inside of.
  package var drainDepth = 0

  /// How many transaction bodies this thread is inside of.
  package var transactionDepth = 0

  /// The collections with a transaction of their own open on this thread, the innermost last.
  package var openTransactions: [AnyObject] = []

  /// The transaction over several collections that is open on this thread.
  package var scope: AnyObject?

  /// Roots whose delivery waits until a transaction over several collections has told all of its
  /// collections; nil where delivery is not put off.
  package var deferred: [any DomainNode]?

  /// The mailbox whose next turn this thread is handing to its scheduler; taken out by a turn that the
  /// scheduler runs at once.
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
      #if !canImport(Darwin)
        guard let context else { return }
      #endif
      Unmanaged<ThreadContext>.fromOpaque(context).release()
    }
    precondition(code == 0, "no thread-specific key is left in this process (error \(code))")
    return key
  }()
}
