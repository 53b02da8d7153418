#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The engine's state of one thread: the deliveries and transactions that are open on its stack.
///
/// It belongs to the thread and not to the task. A task-local value would leak into child tasks, which
/// run beside an open transaction and not inside it.
@usableFromInline
package final class ThreadContext {
  // Each delivery accesses this and `transaction`. Only this thread does, and no code that reads one runs while it is
  // written.
  /// The number of deliveries that this thread is inside of.
  @exclusivity(unchecked) private var deliveryDepth = 0

  /// The collections whose own transaction has its body on the stack of this thread, the innermost last.
  private(set) var openTransactions: [any TransactionParticipant] = []

  /// The innermost `withTransaction` on this thread, unless it was set aside for a delivery.
  @exclusivity(unchecked) @usableFromInline package var transaction: Transaction?

  /// The transactions inside of which this thread delivers.
  private(set) var transactionsSetAside: [Transaction] = []

  /// Records that this thread calls the body of a collection's own transaction.
  @usableFromInline
  package func beginTransaction(of participant: any TransactionParticipant) {
    openTransactions.append(participant)
  }

  /// Records that the innermost body has returned.
  @usableFromInline
  package func endTransaction() {
    openTransactions.removeLast()
  }

  /// The domains that deliver when the boundary observers of the current pass have returned. A delivery that one of these
  /// observers begins adds others, and removes them.
  @exclusivity(unchecked) var followers: [Domain] = []
  /// The deliveries that others precede, the next one last.
  @exclusivity(unchecked) var suspended: [Domain.Delivery] = []

  /// The objects that this thread is about to release, or `nil` if there are none.
  @exclusivity(unchecked) private var released: [Any]?

  /// Releases objects. If this is called while an object is released, they follow after that, because a chain of objects
  /// may need more than the stack.
  package func release(_ objects: inout [Any]) {
    let isFirst = released == nil
    if isFirst { released = [] }
    released? += objects
    objects = []
    while isFirst, let object = released?.popLast() { _ = consume object }
    if isFirst { released = nil }
  }

  /// Saves a participant that is about to be edited, for the transactions of this thread that may roll back the edit.
  @usableFromInline
  package func willEdit(_ participant: any TransactionParticipant) {
    (transaction ?? transactionsSetAside.last)?.willEdit(participant)
  }

  /// A Boolean value that indicates whether this thread is inside an observer, an operator or a transaction.
  package var isBusy: Bool { deliveryDepth > 0 || transaction != nil || !openTransactions.isEmpty }

  /// Records that this thread calls observers or operators from here on.
  ///
  /// Their edits are no part of the transaction inside of which they are called.
  ///
  /// - Returns: The transaction, for `endDelivery(_:)`.
  package func beginDelivery() -> Transaction? {
    deliveryDepth += 1
    guard let transaction else { return nil }
    transactionsSetAside.append(transaction)
    self.transaction = nil
    return transaction
  }

  /// Records that the calls have ended.
  package func endDelivery(_ outer: Transaction?) {
    deliveryDepth -= 1
    if deliveryDepth == 0, suspended.capacity > 64 { suspended = [] }
    guard let outer else { return }
    transactionsSetAside.removeLast()
    transaction = outer
  }

  /// The mailbox whose next turn this thread passes to its scheduler. A turn that the scheduler runs
  /// immediately removes it.
  var rescheduling: AnyObject?

  /// The calling thread's context.
  @usableFromInline package static var current: ThreadContext {
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
