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
  let transaction = Transaction(outer, context)
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
  /// The outer transaction, or the one that was set aside for the delivery inside of which this one began.
  private let enclosing: Transaction?
  /// The participants that were edited first inside this transaction.
  private var opened: [any TransactionParticipant] = []
  /// Participants that were open before it and were edited inside it, with closures that undo these edits.
  private var saved: [(participant: any TransactionParticipant, undo: () -> Any)] = []
  /// The opened and the saved participants.
  private var known: Set<ObjectIdentifier> = []

  fileprivate init(_ outer: Transaction?, _ context: ThreadContext) {
    (self.outer, enclosing) = (outer, outer ?? context.transactionsSetAside.last)
    // Their bodies may edit their drafts directly.
    for participant in context.openTransactions { save(participant) }
  }

  /// Adds a participant, which this thread has begun to edit.
  @usableFromInline
  package func add(_ participant: any TransactionParticipant) {
    opened.append(participant)
    known.insert(ObjectIdentifier(participant))
  }

  /// Saves the state of a participant that is about to be edited, if it was open before this transaction.
  // Here and not at the beginning: many transactions inside one cost what each of them edits.
  func willEdit(_ participant: any TransactionParticipant) {
    if enclosing?.knows(ObjectIdentifier(participant)) == true { save(participant) }
  }

  private func knows(_ participant: ObjectIdentifier) -> Bool {
    known.contains(participant) || enclosing?.knows(participant) == true
  }

  private func save(_ participant: any TransactionParticipant) {
    if known.insert(ObjectIdentifier(participant)).inserted {
      saved.append((participant, participant.saveTransaction()))
    }
  }

  fileprivate func rollBack() {
    // Released objects may edit a participant. All are restored and open to edits by then.
    let dropped = saved.map { $0.undo() } + opened.reversed().map { $0.rollBackTransaction() }
    withExtendedLifetime(dropped) {}
  }

  /// Commits and delivers. Inside another transaction, passes the participants on to it.
  fileprivate func end() {
    for (participant, undo) in saved
    where enclosing?.known.insert(ObjectIdentifier(participant)).inserted == true {
      enclosing?.saved.append((participant, undo))
    }
    if let outer { return opened.forEach(outer.add) }
    let changed = opened.filter { $0.prepareCommit() }
    let ticket = changed.count > 1 ? Ticket() : nil
    // Commit all before any observer is called, and before anything is released: released objects may
    // edit a participant.
    let released = opened.map { $0.commitTransaction(tickets: ticket.map { [$0] } ?? []) }
    _ = consume released
    ticket?.close()
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
package final class Ticket: @unchecked Sendable {
  // Sendable: `lock` guards `places`. It is one for all tickets, because `distinct(_:)` compares them.

  private static let lock = Locked(())

  /// The places where the transaction is in flight, by domain.
  private var places: [ObjectIdentifier: Place] = [:]
  /// The number of places so far.
  private var placeCount: UInt64 = 0

  struct Place {
    /// The domain, or `nil` if more commits will carry the ticket. No domain delivers its part until then.
    let domain: Domain?
    /// The place in an order that is unlike that of the commits. A domain that waits for one place after the other, in that
    /// order, waits for few of them.
    var rank: UInt64 = 0
    /// The number of passes and holds that must end.
    var count = 0
    /// The positions of the pending commits that carry the ticket. They are delivered in one pass.
    var pending: [Int] = []
    /// The domains that wait for this one, in the order of their numbers.
    var waiting: [ObjectIdentifier: DependencyGraph.WaitingDomain] = [:]
  }

  /// Creates a ticket whose commits follow. No domain delivers its part until `close()`.
  package init() {
    places[ObjectIdentifier(self)] = Place(domain: nil, count: 1)
  }

  /// Creates a ticket for the current pass of a domain.
  init(_ domain: Domain) { enter(domain) }

  func withPlaces<Result>(_ body: (inout [ObjectIdentifier: Place]) -> Result) -> Result {
    Self.lock.withLock { _ in body(&places) }
  }

  /// Records that the last commit that carries the ticket has been made.
  package func close() {
    for domain in finish(ObjectIdentifier(self)) { domain.recheckTickets() }
  }

  /// A Boolean value that indicates whether a commit that carries the ticket is in flight, or will follow.
  package var isInFlight: Bool { withPlaces { !$0.isEmpty } }

  /// Records that a commit that carries the ticket is queued in a domain, or will be.
  ///
  /// - Parameter position: The position of the commit, or `nil` if it is not queued yet.
  func enter(_ domain: Domain, at position: Int? = nil) {
    let key = ObjectIdentifier(domain)
    withPlaces { places in
      var place = places.removeValue(forKey: key) ?? makePlace(domain)
      if place.pending.isEmpty || position == nil { place.count += 1 }
      if let position, place.pending.last != position { place.pending.append(position) }
      places[key] = place
    }
  }

  private func makePlace(_ domain: Domain) -> Place {
    placeCount += 1
    // Multiples of the golden ratio, without the integers before the point.
    return Place(domain: domain, rank: placeCount &* 0x9E37_79B9_7F4A_7C15)
  }

  /// Records that a pass has been passed on to the domains downstream, or that a hold was released.
  ///
  /// - Returns: The domains that have waited, and must recheck their tickets.
  func finish(_ domain: ObjectIdentifier) -> [Domain] {
    let ended = withPlaces { places -> Place? in
      places[domain]?.count -= 1
      return places[domain]?.count == 0 ? places.removeValue(forKey: domain) : nil
    }
    return ended?.waiting.values.sorted { $0.number < $1.number }.map(\.domain) ?? []
  }

  /// Returns whether a domain can deliver its part. Otherwise, the domain is notified when it must look
  /// again.
  func isReady(for domain: Domain) -> Bool {
    let opening = ObjectIdentifier(self)
    while true {
      let isOpen = withPlaces { $0[opening] != nil }
      // A copy of the places must not live on when one of them is changed.
      let found = isOpen ? opening : DependencyGraph.upstream(of: domain, among: withPlaces { $0 })
      guard let place = found else { return true }
      // It waits for one place, and then looks again. That place may have ended meanwhile.
      let waits = withPlaces { places in
        let number = places[place]?.waiting.count ?? 0
        places[place]?.waiting[ObjectIdentifier(domain), default: (number, domain)].domain = domain
        return places[place] != nil
      }
      if waits { return false }
    }
  }

  /// Returns each of some tickets once, without those that exactly the same pending commits carry as another one. Commits
  /// that were composed do.
  static func distinct(_ tickets: [Ticket]) -> [Ticket] {
    if tickets.count < 2 { return tickets }
    return lock.withLock { _ in
      var (seen, kept) = (Set<ObjectIdentifier>(), Set<[ObjectIdentifier: [Int]]>())
      return tickets.filter { ticket in
        if !seen.insert(ObjectIdentifier(ticket)).inserted { return false }
        let positions = ticket.places.mapValues {
          $0.count == 1 && $0.waiting.isEmpty ? $0.pending : []
        }
        if positions.values.contains([]) || kept.insert(positions).inserted { return true }
        ticket.places = [:]
        return false
      }
    }
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

  deinit { for domain in domain.finish(tickets) { domain.deliver() } }
}
