import SwappablePrimitives

/// One transaction over several domains, on its way through the graph.
///
/// A ticket knows in which domains the transaction is *in flight*: committed, and not yet passed on to the
/// domains downstream. A domain that joins several others waits with its part of the transaction until the
/// transaction is in flight in none of the domains upstream. So its observers receive one event for the
/// transaction, whichever threads deliver, and nobody blocks.
package final class Ticket: Sendable {
  private let state: Locked<State>

  private struct State: Sendable {
    /// One entry for each commit that carries the ticket.
    var inFlight: [Domain]
    /// Domains that cannot deliver their part yet.
    var waiting: [Domain] = []
  }

  /// Creates a ticket that is in flight in the domains of a transaction's roots.
  init(_ domains: [Domain]) {
    state = Locked(State(inFlight: domains))
  }

  /// Notes that a commit that carries the ticket is about to be queued in a domain.
  package func enter(_ domain: Domain) {
    state.withLock { $0.inFlight.append(domain) }
  }

  /// Notes that a commit has been passed on to the domains downstream.
  ///
  /// - Returns: The domains that have waited, and must look again.
  func finish(_ domain: Domain) -> [Domain] {
    let (waiting, removed) = state.withLock { state -> ([Domain], Domain?) in
      let index = state.inFlight.firstIndex { $0 === domain }
      let removed = index.map { state.inFlight.remove(at: $0) }
      if state.inFlight.contains(where: { $0 === domain }) { return ([], removed) }
      defer { state.waiting = [] }
      return (state.waiting, removed)
    }
    withExtendedLifetime(removed) {}
    return waiting
  }

  /// Returns whether a domain can deliver its part. Otherwise, the domain is notified when it must look
  /// again.
  func isReady(for domain: Domain) -> Bool {
    // Register first: a commit that is passed on during the search then causes another one.
    let others = state.withLock { state in
      if !state.waiting.contains(where: { $0 === domain }) { state.waiting.append(domain) }
      return state.inFlight.filter { $0 !== domain }
    }
    if DependencyGraph.hasUpstream(domain, among: others) { return false }
    let released = state.withLock { state in
      state.waiting.firstIndex { $0 === domain }.map { state.waiting.remove(at: $0) }
    }
    withExtendedLifetime(released) {}
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
