import SwappablePrimitives

/// Edits several collections and properties in one step.
///
///     withTransaction {
///       inbox.remove(at: 0)
///       archive.append(message)
///       unread.value -= 1
///     }
///
/// Every collection and property that `body` edits on this thread takes part. All are committed together
/// when `body` returns, and then their observers are called. A collection or signal that is derived from
/// several of them delivers one event. If `body` throws, nothing changes. If observers are called
/// inside `body`, for example because it sends a signal, their edits take part only if `body` has edited
/// the same collection or property before.
///
/// Inside `body`, this thread reads the edited value of a property. Other threads read the committed value
/// until `body` has returned.
///
/// - Parameter body: A synchronous closure that edits collections and properties. Transactions inside it
///   become part of this one.
/// - Returns: The return value of `body`.
@discardableResult
public func withTransaction<Result, Failure: Error>(
  _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  let context = ThreadContext.current
  let outer = context.transaction
  let transaction = Transaction(outer: outer, context)
  context.transaction = transaction
  let result: Result
  do {
    result = try body()
  } catch {
    context.transaction = outer
    transaction.rollBack()
    throw error
  }
  context.transaction = outer
  transaction.end()
  return result
}

/// A root that takes part in a transaction.
@usableFromInline
package protocol TransactionParticipant: AnyObject {
  /// The domain of the root.
  var domain: Domain { get }

  /// Computes the net change of the transaction.
  ///
  /// - Returns: `true` if there is a net change.
  func prepareCommit() -> Bool

  /// Commits the net change, if there is one, and lets other threads edit the root again.
  ///
  /// - Parameter tickets: The ticket of a transaction over several domains.
  /// - Returns: Objects to be released after all participants are committed. After that, the caller calls
  ///   `domain.deliver()`.
  func commitTransaction(tickets: [Ticket]) -> Any

  /// Discards the edits and lets other threads edit the root again.
  ///
  /// - Returns: The objects of the discarded edits, to be released by the caller.
  func rollBackTransaction() -> Any

  /// Saves the state of the edits.
  ///
  /// - Returns: A closure that restores the state, and returns the objects that this releases.
  func saveTransaction() -> () -> Any
}

/// One `withTransaction` on a thread's stack.
@usableFromInline
package final class Transaction {
  private let outer: Transaction?
  /// The participants that were edited first inside this transaction.
  private var opened: [any TransactionParticipant] = []
  /// Closures that undo this transaction's edits of participants that were open before it.
  private let undo: [() -> Any]

  fileprivate init(outer: Transaction?, _ context: ThreadContext) {
    self.outer = outer
    var open = context.openTransactions
    for transaction in context.transactionsSetAside { open += transaction.participants }
    if let outer { open += outer.participants }
    undo = open.map { $0.saveTransaction() }
  }

  /// The participants of this transaction and of those around it.
  private var participants: [any TransactionParticipant] { opened + (outer?.participants ?? []) }

  /// Adds a participant, which this thread has begun to edit.
  @usableFromInline
  package func add(_ participant: any TransactionParticipant) {
    opened.append(participant)
  }

  fileprivate func rollBack() {
    // Released objects may edit a participant. All are restored and open to edits by then.
    let dropped = undo.map { $0() } + opened.reversed().map { $0.rollBackTransaction() }
    withExtendedLifetime(dropped) {}
  }

  /// Commits and delivers. Inside another transaction, passes the participants on to it.
  fileprivate func end() {
    if let outer {
      outer.opened += opened
      return
    }
    let changed = opened.filter { $0.prepareCommit() }
    let tickets = changed.count > 1 ? [Ticket(changed.map(\.domain))] : []
    // Commit all before any observer is called, and before anything is released: released objects may
    // edit a participant.
    let released = opened.map { $0.commitTransaction(tickets: tickets) }
    _ = consume released
    for participant in changed { participant.domain.deliver() }
  }
}

/// One transaction over several domains, on its way through the graph.
///
/// A ticket knows in which domains the transaction is *in flight*: committed, and not yet passed on to the
/// domains downstream. A domain that joins several others waits with its part of the transaction until the
/// transaction is in flight in none of the domains upstream. So its observers receive one event for the
/// transaction, whichever threads deliver, and no thread blocks.
@usableFromInline
package final class Ticket: Sendable {
  private let state: Locked<State>

  private struct State: Sendable {
    /// One entry for each commit that carries the ticket.
    var inFlight: [Domain]
    /// Domains that cannot deliver their part yet.
    var waiting: [Domain] = []
    /// A Boolean value that indicates whether more commits will carry the ticket. No domain delivers its part until then.
    var isOpen = false
  }

  /// Creates a ticket that is in flight in the domains of a transaction's roots.
  init(_ domains: [Domain]) {
    state = Locked(State(inFlight: domains))
  }

  /// Creates a ticket whose commits follow. No domain delivers its part until `close()`.
  package init() {
    state = Locked(State(inFlight: [], isOpen: true))
  }

  /// Records that the last commit that carries the ticket has been made.
  package func close() {
    let waiting = state.withLock { state in
      defer { (state.isOpen, state.waiting) = (false, []) }
      return state.waiting
    }
    for domain in waiting { domain.recheckTickets() }
  }

  /// A Boolean value that indicates whether a commit that carries the ticket is in flight, or will follow.
  package var isInFlight: Bool { state.withLock { $0.isOpen || !$0.inFlight.isEmpty } }

  /// Records that a commit that carries the ticket is about to be queued in a domain.
  package func enter(_ domain: Domain) {
    state.withLock { $0.inFlight.append(domain) }
  }

  /// Records that a commit has been passed on to the domains downstream.
  ///
  /// - Returns: The domains that have waited, and must recheck their tickets.
  func finish(_ domain: Domain) -> [Domain] {
    // The caller holds the domain, so nothing is released under the lock.
    state.withLock { state in
      if let index = state.inFlight.firstIndex(where: { $0 === domain }) {
        state.inFlight.remove(at: index)
      }
      if state.inFlight.contains(where: { $0 === domain }) { return [] }
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  /// Returns whether a domain can deliver its part. Otherwise, the domain is notified when it must look
  /// again.
  func isReady(for domain: Domain) -> Bool {
    // Register first: a commit that is passed on during the search then causes another one.
    let others = state.withLock { state -> [Domain]? in
      if !state.waiting.contains(where: { $0 === domain }) { state.waiting.append(domain) }
      return state.isOpen ? nil : state.inFlight.filter { $0 !== domain }
    }
    guard let others else { return false }
    if DependencyGraph.hasUpstream(domain, among: others) { return false }
    state.withLock { $0.waiting.removeAll { $0 === domain } }
    return true
  }
}

/// Keeps transactions in flight in a domain while their commits are pending outside of its queue.
///
/// Release it without a lock, after the commits are queued or discarded.
package final class TicketHold: Sendable {
  private let tickets: [Ticket]
  private let domain: Domain

  /// Creates a hold, or returns `nil` if there are no tickets.
  package init?(_ tickets: [Ticket], in domain: Domain) {
    if tickets.isEmpty { return nil }
    self.tickets = tickets
    self.domain = domain
    for ticket in tickets { ticket.enter(domain) }
  }

  deinit { domain.finish(tickets) }
}
