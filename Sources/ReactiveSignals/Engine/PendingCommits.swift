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
    _ commit: Event, to root: any GraphNode, composes: Bool, changes: Int, limit: Int,
    tickets: [Ticket]
  ) -> (isAdded: Bool, released: Event?) {
    root.place.pendingChanges += changes
    if composes, root.place.pendingCommits > 0, isBehind(root.place, limit: limit) {
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
  /// - Complexity: O(p) for p pending commits and their tickets.
  mutating func takeNext(
    ready: Set<ObjectIdentifier>, waiting: Set<ObjectIdentifier>
  ) -> Selection {
    var search: GroupSearch?
    var blocked: Set<ObjectIdentifier> = []
    for index in head..<entries.count {
      guard let entry = entries[index], !blocked.contains(ObjectIdentifier(entry.root)) else {
        continue
      }
      if entry.tickets.contains(where: { waiting.contains(ObjectIdentifier($0)) }) {
        blocked.insert(ObjectIdentifier(entry.root))
        continue
      }
      if search == nil { search = GroupSearch(entries, from: head, base: base) }
      guard let group = search?.group(of: index, in: entries) else { continue }
      if group.tickets.contains(where: { waiting.contains(ObjectIdentifier($0)) }) {
        blocked.insert(ObjectIdentifier(entry.root))
        continue
      }
      let unknown = group.tickets.filter { !ready.contains(ObjectIdentifier($0)) }
      if !unknown.isEmpty { return .unknown(unknown) }
      let taken = group.indices.compactMap { entries[$0] }
      for index in group.indices { remove(at: index) }
      compact()
      return .pass(taken)
    }
    return .waiting
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

/// Finds the commits that must be in one pass with another one.
private struct GroupSearch {
  /// The indices of the entries of each root, and of those that carry each ticket.
  private var ofRoot: [ObjectIdentifier: [Int]] = [:]
  private var ofTicket: [ObjectIdentifier: [Int]] = [:]
  private let base: Int

  init(_ entries: [PendingCommits.Entry?], from head: Int, base: Int) {
    self.base = base
    for index in head..<entries.count {
      guard let entry = entries[index] else { continue }
      ofRoot[ObjectIdentifier(entry.root), default: []].append(index)
      for ticket in entry.tickets { ofTicket[ObjectIdentifier(ticket), default: []].append(index) }
    }
  }

  /// Returns the indices of a group, in order, and its tickets.
  ///
  /// With a commit, the group contains all earlier commits to the same root, and all commits that carry one
  /// of its tickets. If a root is behind, the group contains all of its commits.
  func group(
    of first: Int, in entries: [PendingCommits.Entry?]
  ) -> (indices: [Int], tickets: [Ticket]) {
    var tickets: [Ticket] = []
    var seen: Set<ObjectIdentifier> = []
    var members: Set<Int> = []
    // For each root, the number of its entries that are members.
    var counts: [ObjectIdentifier: Int] = [:]
    var open = [first]
    while let index = open.popLast() {
      guard let root = entries[index]?.root, !members.contains(index) else { continue }
      let place = root.place
      let isBehind = place.composesCommits && place.pendingCommits >= PendingCommits.limit
      let last = isBehind ? place.lastPending - base : index
      let indices = ofRoot[ObjectIdentifier(root)] ?? []
      var count = counts[ObjectIdentifier(root)] ?? 0
      while count < indices.count, indices[count] <= last {
        members.insert(indices[count])
        for ticket in entries[indices[count]]?.tickets ?? []
        where seen.insert(ObjectIdentifier(ticket)).inserted {
          tickets.append(ticket)
          open += ofTicket[ObjectIdentifier(ticket)] ?? []
        }
        count += 1
      }
      counts[ObjectIdentifier(root)] = count
    }
    return (members.sorted(), tickets)
  }
}
