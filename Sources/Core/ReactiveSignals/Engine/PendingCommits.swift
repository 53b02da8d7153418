/// A state or an update on its way to observers.
///
/// Only the typed ends of the graph know the class of the object. The engine is not generic, because
/// generic code that is not specialized looks types up at every step (`EngineBenchmarks commit`
/// without observers: 2.9 µs if it is generic, 1.1 µs otherwise).
@usableFromInline
package typealias NodeState = any AnyObject & Sendable

/// A step of a node: the next value of a signal (`SignalValue`), or the next change or status of a
/// collection (`CollectionUpdate`). A commit adds one to a root, and a pass computes one for each derived node.
@usableFromInline
package protocol NodeUpdate: AnyObject, Sendable {
  /// The state after the update, which a new observer receives first.
  var state: NodeState { get }
  /// A Boolean value that indicates whether observers of the value or the contents receive the update.
  var hasChange: Bool { get }
  /// A Boolean value that indicates whether observers of the status receive the update.
  var isStatusStep: Bool { get }
  /// The number of elements that the update changes.
  var changeCount: Int { get }
  /// The number of elements that the update changes, and the number of changed elements that may be pending
  /// before updates are composed.
  var size: (changes: Int, limit: Int) { get }

  /// Composes the update with the next one. It is called under a lock, so it must not call code of the user.
  func composed(with next: any NodeUpdate) -> any NodeUpdate
  /// A Boolean value that indicates whether the update was composed, so `resolved()` has work to do.
  var isComposed: Bool { get }
  /// Completes a composed update, or returns `nil` if nothing has changed in the end.
  func resolved() -> (any NodeUpdate)?
  /// Returns whether the update continues a state. It does not if earlier updates have brought nothing in the end.
  func continues(_ state: NodeState) -> Bool
  /// Returns an update with the same effect for a state that it does not continue.
  func continued(from state: NodeState) -> any NodeUpdate
}

/// The commits of a domain that wait for their pass, oldest first.
///
/// Commits to one root keep their order. A commit that carries a ticket is taken together with all other
/// commits that carry it, once the ticket is ready. Commits to other roots may overtake it meanwhile.
struct PendingCommits: Sendable {
  struct Entry: Sendable {
    let root: Node
    /// The update, or `nil` for the end of a signal.
    var commit: (any NodeUpdate)?
    var tickets: [Ticket]
    /// The number of elements that it changes.
    fileprivate var changes: Int
    /// The position of the commit before it to the same root, or -1.
    fileprivate let previous: Int
    /// The number of tickets from which on those that are of no use are dropped.
    fileprivate var ticketLimit = 16
  }

  /// The number of commits to one root that may be pending before they are composed into one.
  static var limit: Int { 1_000 }

  /// The lock of the domain guards the commits, too.
  private let key: Domain.Key
  /// Entries that were taken are nil.
  private var entries: [Entry?] = []
  /// The index of the first entry that was not taken.
  private var head = 0
  /// The position of `entries[0]`. An entry keeps its position as long as it is pending.
  private var base = 0
  /// The number of pending entries that carry a ticket.
  private var carriers = 0
  /// A Boolean value that indicates whether a root has reached the limit since there was no commit.
  private var hasReachedLimit = false

  /// The number of commits that searches for the next pass have looked at. Tests count them.
  var steps = 0

  init(key: Domain.Key) { self.key = key }

  var isEmpty: Bool { head == entries.count }

  var count: Int { entries.count - head }

  /// The number of tickets that the commits carry. Tests count them.
  var ticketCount: Int { entries.reduce(0) { $0 + ($1?.tickets.count ?? 0) } }

  /// Adds a commit, or composes it with the latest of its root if too many are pending.
  ///
  /// - Returns: The update that it was composed with, to be released outside the lock, or `nil`.
  mutating func append(
    _ commit: (any NodeUpdate)?, to root: Node, tickets: [Ticket]
  ) -> (any NodeUpdate)? {
    let (changes, limit) = commit?.size ?? (0, 0)
    root[key].pendingChanges += changes
    if let commit, isBehind(root, limit: limit) {
      return composeWithLatest(commit, of: root, tickets, changes)
    }
    let position = base + entries.count
    let previous = root[key].pendingCommits > 0 ? root[key].lastPending : -1
    entries.append(
      Entry(root: root, commit: commit, tickets: tickets, changes: changes, previous: previous))
    if !tickets.isEmpty { carriers += 1 }
    for ticket in tickets { ticket.enter(root.domain, at: position) }
    root[key].pendingCommits += 1
    root[key].lastPending = position
    if root[key].pendingCommits >= Self.limit { hasReachedLimit = true }
    return nil
  }

  private mutating func composeWithLatest(
    _ commit: any NodeUpdate, of root: Node, _ tickets: [Ticket], _ changes: Int
  ) -> (any NodeUpdate)? {
    let index = root[key].lastPending - base
    guard var latest = entries[index], let replaced = latest.commit else {
      preconditionFailure("the latest commit of a root is pending, but was taken")
    }
    entries[index] = nil
    latest.commit = replaced.composed(with: commit)
    if latest.tickets.isEmpty, !tickets.isEmpty { carriers += 1 }
    for ticket in tickets { ticket.enter(root.domain, at: root[key].lastPending) }
    latest.tickets += tickets
    if latest.tickets.count > latest.ticketLimit {
      latest.tickets = Ticket.distinct(latest.tickets)
      latest.ticketLimit = 2 * latest.tickets.count + 16
    }
    latest.changes += changes
    entries[index] = latest
    hasReachedLimit = true
    return replaced
  }

  private func isBehind(_ root: Node, limit: Int) -> Bool {
    root[key].pendingCommits > 0 && root.composesCommits
      && (root[key].pendingCommits >= Self.limit
        || root[key].pendingChanges > max(limit, Self.limit))
  }

  /// Takes the first commit if it can have a pass of its own.
  ///
  /// - Parameter hasExternalInputs: A Boolean value that indicates whether commits of other domains enter here, so
  ///   several may carry one ticket.
  mutating func takeFirst(hasExternalInputs: Bool) -> Entry? {
    guard head < entries.count, !hasExternalInputs || carriers == 0, !hasReachedLimit else {
      return nil
    }
    compact()
    return remove(at: head)
  }

  /// The result of a search for the commits of the next pass.
  enum Selection {
    /// These commits form one pass, in this order.
    case pass([Entry])
    /// These tickets are neither known to be ready nor known to wait.
    case unknown([Ticket])
    /// Every pending commit waits for a ticket.
    case waiting
  }

  /// Takes the commits that go together with the first that need not wait.
  ///
  /// - Parameters:
  ///   - ready: Tickets that are ready.
  ///   - waiting: Tickets that are not ready.
  /// - Complexity: O(*w* + *g* log *g*) for *w* commits that wait and *g* commits that are taken.
  mutating func takeNext(
    ready: Set<ObjectIdentifier>, waiting: Set<ObjectIdentifier>
  ) -> Selection {
    compact()
    var blocked: Set<ObjectIdentifier> = []
    for index in head..<entries.count {
      steps += 1
      guard let entry = entries[index], !blocked.contains(ObjectIdentifier(entry.root)) else {
        continue
      }
      if entry.tickets.contains(where: { waiting.contains(ObjectIdentifier($0)) }) {
        blocked.insert(ObjectIdentifier(entry.root))
        continue
      }
      if let latest = latestTicket(of: entry.root) ?? entry.tickets.last,
        !ready.contains(ObjectIdentifier(latest)), !waiting.contains(ObjectIdentifier(latest))
      {
        return .unknown([latest])
      }
      guard var group = group(of: index, waiting: waiting) else {
        blocked.insert(ObjectIdentifier(entry.root))
        continue
      }
      steps += group.indices.count
      while let smaller = smallerGroup(in: group.indices) { group = smaller }
      let unknown = group.tickets.filter { !ready.contains(ObjectIdentifier($0)) }
      if !unknown.isEmpty { return .unknown(unknown) }
      return .pass(group.indices.compactMap { remove(at: $0) })
    }
    return .waiting
  }

  /// Returns the latest ticket of a root that has reached the limit, whose commits form one group.
  ///
  /// It is usually the last ticket that becomes ready. Looking at it first avoids a search of the group.
  private func latestTicket(of root: Node) -> Ticket? {
    guard hasReachedLimit, isAtLimit(root) else { return nil }
    var position = root[key].lastPending
    while let entry = entry(at: position) {
      if let ticket = entry.tickets.last { return ticket }
      position = entry.previous
    }
    return nil
  }

  private func isAtLimit(_ root: Node) -> Bool {
    root.composesCommits && root[key].pendingCommits >= Self.limit
  }

  /// Returns the indices of the commits that must be in one pass with a commit, in order, and their tickets.
  ///
  /// With a commit, the group contains all earlier commits to the same root, and all commits that carry one
  /// of its tickets. If a root has reached the limit, the group contains all of its commits.
  ///
  /// - Parameter waiting: Tickets that are not ready.
  /// - Returns: `nil` if one of the tickets is not ready.
  private func group(
    of first: Int, waiting: Set<ObjectIdentifier>
  ) -> (indices: [Int], tickets: [Ticket])? {
    guard let entry = entries[first] else { return ([], []) }
    if entry.tickets.isEmpty, !hasReachedLimit { return ([first], []) }
    if !hasReachedLimit, count <= 16,
      entries[head...].allSatisfy({ $0?.tickets.count == 1 && $0?.tickets[0] === entry.tickets[0] })
    {
      // The most frequent case: nothing but one transaction is pending. Its ticket is not waiting.
      return (Array(head..<entries.count), entry.tickets)
    }
    var tickets: [Ticket] = []
    var seen: Set<ObjectIdentifier> = []
    var members: Set<Int> = []
    var open = [base + first]
    while let next = open.popLast() {
      guard let root = self.entry(at: next)?.root else { continue }
      var position = isAtLimit(root) ? root[key].lastPending : next
      while let entry = self.entry(at: position), members.insert(position - base).inserted {
        for ticket in entry.tickets where seen.insert(ObjectIdentifier(ticket)).inserted {
          if waiting.contains(ObjectIdentifier(ticket)) { return nil }
          tickets.append(ticket)
          open += ticket.withPlaces { $0[ObjectIdentifier(root.domain)]?.pending ?? [] }
        }
        position = entry.previous
      }
    }
    return (members.sorted(), tickets)
  }

  /// Returns a part of a group that can have a pass of its own before the rest, such as a commit before a transaction.
  private func smallerGroup(in indices: [Int]) -> (indices: [Int], tickets: [Ticket])? {
    if hasReachedLimit { return nil }
    let first = indices.filter { entries[$0].flatMap { entry(at: $0.previous) } == nil }
    if first.count == indices.count { return nil }
    return first.lazy.compactMap { self.group(of: $0, waiting: []) }.first {
      $0.indices.count < indices.count
    }
  }

  private func entry(at position: Int) -> Entry? {
    position >= base + head ? entries[position - base] : nil
  }

  private mutating func remove(at index: Int) -> Entry? {
    guard let entry = entries[index].take() else { return nil }
    let root = entry.root
    if !entry.tickets.isEmpty { carriers -= 1 }
    for ticket in entry.tickets {
      ticket.withPlaces { $0[ObjectIdentifier(root.domain)]?.pending = [] }
    }
    root[key].pendingCommits -= 1
    root[key].pendingChanges -= entry.changes
    while head < entries.count, entries[head] == nil { head += 1 }
    if head == entries.count {
      base += entries.count
      entries.removeAll(keepingCapacity: head <= 64)
      head = 0
      hasReachedLimit = false
    }
    return entry
  }

  /// Releases the memory of entries that were taken.
  ///
  /// Indices change by this, so it is not part of `remove(at:)`.
  private mutating func compact() {
    guard head >= 64, head > entries.count / 2 else { return }
    entries.removeFirst(head)
    base += head
    head = 0
  }
}
