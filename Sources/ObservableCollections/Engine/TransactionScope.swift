import Diffing
import ReactiveSignals

/// Edits several collections in one step.
///
/// Every collection that is edited inside `body`, on this thread, takes part: all are committed
/// together when it returns, and then their observers are called. A collection made of several of them
/// tells one event, unless another thread is delivering at the same time. If `body` throws, none is
/// changed.
///
///     withTransaction {
///       inbox.remove(at: 0)
///       archive.append(message)
///     }
///
/// - Parameter body: Edits collections. It is synchronous; transactions inside it join.
/// - Returns: What `body` returns.
@discardableResult
public func withTransaction<Result, Failure: Error>(
  _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  let context = ThreadContext.current
  let outer = TransactionScope.current(context)
  let scope = TransactionScope(outer: outer, context)
  context.scope = scope
  context.transactionDepth += 1
  let result: Result
  do {
    result = try body()
  } catch {
    context.transactionDepth -= 1
    context.scope = outer
    scope.rollBack()
    throw error
  }
  context.transactionDepth -= 1
  context.scope = outer
  scope.end(context)
  return result
}

/// A collection in a transaction over several.
protocol TransactionParticipant: AnyObject {
  /// Computes what the transaction comes to.
  ///
  /// - Returns: Commits it, and says what to do to deliver it, if anything.
  func prepareCommit() -> () -> (() -> Void)?
  /// - Returns: What it lets go of.
  func rollBackTransaction() -> Any
  /// Notes what the open draft holds.
  ///
  /// - Returns: Goes back to that, and returns what it lets go of.
  func saveTransaction() -> () -> Any
}

/// One `withTransaction` on a thread's stack.
final class TransactionScope {
  private let outer: TransactionScope?
  /// The collections whose draft was opened inside of this one.
  private var opened: [any TransactionParticipant] = []
  /// Undoes this scope's part of drafts that were open before, however they are edited in it.
  private let undo: [() -> Any]

  init(outer: TransactionScope?, _ context: ThreadContext) {
    self.outer = outer
    var open = context.openTransactions.compactMap { $0 as? any TransactionParticipant }
    var scope = outer
    while let enclosing = scope {
      open += enclosing.opened
      scope = enclosing.outer
    }
    undo = open.map { $0.saveTransaction() }
  }

  static func current(_ context: ThreadContext) -> TransactionScope? {
    context.scope as? TransactionScope
  }

  func opens(_ participant: any TransactionParticipant) {
    opened.append(participant)
  }

  func rollBack() {
    // What is let go of may edit any of them: all are as they were, and open to it, by then.
    let dropped = undo.map { $0() } + opened.reversed().map { $0.rollBackTransaction() }
    withExtendedLifetime(dropped) {}
  }

  /// Commits and delivers; inside another scope, hands over to that.
  func end(_ context: ThreadContext) {
    if let outer {
      outer.opened += opened
      return
    }
    let commits = opened.map { $0.prepareCommit() }
    let deliveries = commits.compactMap { $0() }
    // Boundaries wait until all roots have fed them, and are then told once, upstream first.
    let isOutermost = context.deferred == nil
    if isOutermost { context.deferred = [] }
    for deliver in deliveries { deliver() }
    guard isOutermost else { return }
    deliverDeferred(context)
    context.deferred = nil
  }

  private func deliverDeferred(_ context: ThreadContext) {
    while let deferred = context.deferred, let first = deferred.first {
      // What a container is made from may have changed since: the order is found only now.
      let next = deferred.first { root in
        let others = deferred.filter { $0 !== root }
        return others.isEmpty || !Topology.isDownstream(root, of: others)
      }
      let root = next ?? first
      context.deferred?.removeAll { $0 === root }
      root.domain.drainQueued(root)
    }
  }
}
