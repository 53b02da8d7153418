/// The commits of a domain that wait for their pass, oldest first.
///
/// Commits to one root keep their order. A commit that carries a ticket is taken together with all other
/// commits that carry it, once the ticket is ready. Commits to other roots may overtake it meanwhile.
struct PendingCommits: Sendable {
  struct Entry: Sendable {
    let root: any GraphNode
    var commit: Event
    var tickets: [Ticket]
  }

  /// The number of commits to one root that may be pending before they are composed into one.
  static var limit: Int { 1_000 }

  /// Entries that were taken are nil.
  private var entries: [Entry?] = []
  /// The index of the first entry that was not taken.
  private var head = 0
  /// The position of `entries[0]`. An entry keeps its position as long as it is pending.
  private var base = 0

  var isEmpty: Bool { head == entries.count }

  var count: Int { entries.count - head }

  /// Adds a commit, or composes it with the latest of its root if too many are pending.
  ///
  /// - Returns: Whether an entry was added, and an event to be released outside the lock.
  mutating func append(
    _ commit: Event, to root: any GraphNode, changes: Int, limit: Int, tickets: [Ticket]
  ) -> (isAdded: Bool, released: Event?) {
    root.place.pendingChanges += changes
    if root.place.pendingCommits > 0, isBehind(root.place, limit: limit) {
      let index = root.place.lastPending - base
      guard var latest = entries[index] else {
        preconditionFailure("the latest commit of a root is pending, but was taken")
      }
      entries[index] = nil
      let released = root.compose(commit, with: &latest.commit)
      latest.tickets += tickets
      entries[index] = latest
      return (false, released)
    }
    root.place.pendingCommits += 1
    root.place.lastPending = base + entries.count
    entries.append(Entry(root: root, commit: commit, tickets: tickets))
    return (true, nil)
  }

  private func isBehind(_ place: NodePlace, limit: Int) -> Bool {
    place.composesCommits
      && (place.pendingCommits >= Self.limit || place.pendingChanges > max(limit, Self.limit))
  }

  /// Takes the first commit if it can have a pass of its own.
  ///
  /// - Parameter isAlone: Whether no other commit in this domain can carry the same ticket.
  mutating func takeSimple(isAlone: Bool) -> Entry? {
    guard head < entries.count, let first = entries[head], isAlone || first.tickets.isEmpty,
      !first.root.place.composesCommits || first.root.place.pendingCommits < Self.limit
    else { return nil }
    remove(at: head)
    compact()
    return first
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
  mutating func takeNext(ready: [Ticket], waiting: [Ticket]) -> Selection {
    var blocked: Set<ObjectIdentifier> = []
    for index in head..<entries.count {
      guard let entry = entries[index] else { continue }
      let root = ObjectIdentifier(entry.root)
      if blocked.contains(root) { continue }
      let indices = group(of: index)
      let tickets = indices.flatMap { entries[$0]?.tickets ?? [] }
      if tickets.contains(where: { ticket in waiting.contains { $0 === ticket } }) {
        blocked.insert(root)
        continue
      }
      let unknown = tickets.filter { ticket in !ready.contains { $0 === ticket } }
      if !unknown.isEmpty { return .unknown(unknown) }
      let taken = indices.compactMap { entries[$0] }
      for index in indices { remove(at: index) }
      compact()
      return .pass(taken)
    }
    return .waiting
  }

  /// The indices of the entries that must be in one pass with an entry, in order.
  private func group(of index: Int) -> [Int] {
    guard let first = entries[index] else { return [] }
    // For each root, all entries up to an index are part of the group.
    var ends: [ObjectIdentifier: Int] = [:]
    func include(_ root: any GraphNode, through index: Int) {
      let place = root.place
      let isBehind = place.composesCommits && place.pendingCommits >= Self.limit
      let end = isBehind ? place.lastPending - base : index
      ends[ObjectIdentifier(root)] = max(end, ends[ObjectIdentifier(root)] ?? end)
    }
    include(first.root, through: index)
    if first.tickets.isEmpty, ends.values.first == index { return [index] }
    var tickets: [Ticket] = []
    while true {
      let (before, count) = (ends, tickets.count)
      for other in head..<entries.count {
        guard let entry = entries[other] else { continue }
        if let end = ends[ObjectIdentifier(entry.root)], other <= end {
          for ticket in entry.tickets where !tickets.contains(where: { $0 === ticket }) {
            tickets.append(ticket)
          }
        } else if entry.tickets.contains(where: { ticket in tickets.contains { $0 === ticket } }) {
          include(entry.root, through: other)
        }
      }
      if ends == before, tickets.count == count { break }
    }
    return (head..<entries.count).filter { other in
      guard let entry = entries[other], let end = ends[ObjectIdentifier(entry.root)] else {
        return false
      }
      return other <= end
    }
  }

  private mutating func remove(at index: Int) {
    guard let entry = entries[index] else { return }
    entry.root.place.pendingCommits -= 1
    if entry.root.place.pendingCommits == 0 { entry.root.place.pendingChanges = 0 }
    entries[index] = nil
  }

  private mutating func compact() {
    while head < entries.count, entries[head] == nil { head += 1 }
    if head == entries.count {
      base += entries.count
      entries.removeAll(keepingCapacity: head <= 64)
      head = 0
    } else if head >= 64, head > entries.count / 2 {
      entries.removeFirst(head)
      base += head
      head = 0
    }
  }
}
