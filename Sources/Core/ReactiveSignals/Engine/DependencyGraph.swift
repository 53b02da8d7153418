import SwappablePrimitives
import Synchronization

/// A root through which commits of other domains enter a domain.
///
/// The root of an operator over several domains follows one node forever. The root of a container follows
/// the nodes of the sources that are currently attached.
package final class ExternalInputs: @unchecked Sendable {
  // Sendable: the lock of the dependency graph guards all variables.

  /// The nodes that enter here, each with the number of its connections.
  private var connections = CountedNodes()
  /// The nodes from which a search for roots and domains continues: the nodes that are connected forever, the connected
  /// roots, and the inputs of the other connected nodes.
  ///
  /// If many nodes are connected, such as the groups of a list, most of them are often derived from the same few.
  private var origins = CountedNodes()
  /// The origins of the nodes that are connected for some time. Such a node releases its inputs when a signal ends.
  private var connectedOrigins: [ObjectIdentifier: [Node]] = [:]

  package init(_ sources: [Node] = []) {
    for source in sources where connections.add(source) { origins.add(source) }
  }

  /// Adds a connection, under the lock.
  fileprivate func connect(_ source: Node) {
    guard connections.add(source) else { return }
    let nodes = source.origins
    connectedOrigins[ObjectIdentifier(source)] = nodes
    for node in nodes { origins.add(node) }
  }

  /// Removes a connection, under the lock.
  ///
  /// - Returns: Objects to be released outside the lock.
  fileprivate func disconnect(_ source: Node) -> [Node] {
    guard connections.remove(source) else { return [] }
    let removed = connectedOrigins.removeValue(forKey: ObjectIdentifier(source)) ?? []
    for node in removed { origins.remove(node) }
    return removed + [source]
  }

  /// The number of nodes from which a search continues. For tests.
  var originCount: Int { DependencyGraph.lock.withLock { _ in origins.nodes.count } }

  fileprivate var originsUnderLock: [Node] { origins.nodes }

  /// The nodes that currently enter here, each once.
  var sources: [Node] { DependencyGraph.lock.withLock { _ in connections.nodes } }
}

/// Nodes, each with a number. Adding and removing one takes O(1).
private struct CountedNodes {
  private(set) var nodes: [Node] = []
  private var places: [ObjectIdentifier: (index: Int, count: Int)] = [:]

  /// Adds one to the number of a node.
  ///
  /// - Returns: A Boolean value that indicates whether the node is new.
  @discardableResult
  mutating func add(_ node: Node) -> Bool {
    places[ObjectIdentifier(node), default: (nodes.count, 0)].count += 1
    if places.count == nodes.count { return false }
    nodes.append(node)
    return true
  }

  /// Subtracts one from the number of a node. If that was the last, another node may take its place.
  ///
  /// - Returns: A Boolean value that indicates whether the node is removed.
  @discardableResult
  mutating func remove(_ node: Node) -> Bool {
    let identifier = ObjectIdentifier(node)
    guard let (index, count) = places[identifier] else { return false }
    places[identifier] = count > 1 ? (index, count - 1) : nil
    if count > 1 { return false }
    nodes.swapAt(index, nodes.count - 1)
    nodes.removeLast()
    if index < nodes.count { places[ObjectIdentifier(nodes[index])]?.index = index }
    return true
  }
}

/// The connections of all nodes in the process.
package enum DependencyGraph {
  /// Guards the external inputs. With one lock over all of them, two containers cannot be swapped into each
  /// other at the same time.
  fileprivate static let lock = Locked(())

  /// The number of changes of the graph so far.
  private static let changes = Atomic<UInt64>(0)

  /// The domains that wait for tickets.
  ///
  /// A domain waits for the domains upstream of it. After a swap of a container, other domains may
  /// be upstream, and two domains could wait for each other. Each change of the graph therefore
  /// makes the domains downstream of it recheck their tickets.
  private static let waiting = Locked<(numbers: Int, domains: [ObjectIdentifier: WaitingDomain])>(
    (0, [:]))

  /// A domain, with a number that is greater than those of the domains that have begun to wait before.
  typealias WaitingDomain = (number: Int, domain: Domain)

  /// Adds a domain, so later changes of the graph call its `recheckTickets()`.
  static func addWaiting(_ domain: Domain) {
    waiting.withLock { state in
      state.numbers += 1
      state.domains[ObjectIdentifier(domain)] = (state.numbers, domain)
    }
  }

  static func removeWaiting(_ domain: Domain) {
    waiting.withLock { $0.domains[ObjectIdentifier(domain)] = nil }
  }

  /// Tells waiting domains to recheck their tickets, because a root has begun to follow other nodes.
  static func notifyChange(of domain: Domain) {
    schedulePoint()
    changes.add(1, ordering: .sequentiallyConsistent)
    let others = waiting.withLock { $0.domains.values.sorted { $0.number < $1.number } }
    for (_, other) in others where other === domain || isUpstream(domain, of: other) {
      other.recheckTickets()
    }
  }

  /// Connects a container's root to the node of a source, unless that would make a cycle.
  ///
  /// - Parameter isNew: A Boolean value that indicates whether nothing is derived from the root yet.
  /// - Returns: `true` if the nodes are connected now.
  package static func connect(_ root: Node, to source: Node, isNew: Bool = false) -> Bool {
    guard let externalInputs = root.externalInputs else {
      preconditionFailure("a root without external inputs cannot follow another node")
    }
    // Other threads may have released the visited nodes meanwhile: release them outside the lock.
    let (isCycle, visited) = lock.withLock { _ -> (Bool, [Node]) in
      // Only roots can be in a cycle of connections, and no root is left out.
      let start = isNew ? [] : [source]
      let search = visit(start, upstream: \.originsUpstreamUnderLock) { $0 === root }
      if !search.isFound { externalInputs.connect(source) }
      return search
    }
    withExtendedLifetime(visited) {}
    if isCycle { return false }
    notifyChange(of: root.domain)
    root.domain.extendMeasurements(upTo: source)
    return true
  }

  /// Removes a connection.
  package static func disconnect(_ root: Node, from source: Node) {
    let removed = lock.withLock { _ in root.externalInputs?.disconnect(source) }
    withExtendedLifetime(removed) {}
    notifyChange(of: root.domain)
  }

  /// Returns whether a node is currently made from one of some others, over any number of steps.
  package static func isDerived(_ node: Node, from others: Set<ObjectIdentifier>) -> Bool {
    visit(node.upstream, upstream: \.upstream) { others.contains(ObjectIdentifier($0)) }.isFound
  }

  /// Returns every domain upstream of a node and its own, each after the domains upstream of it.
  package static func domains(upTo node: Node) -> [Domain] {
    var order: [Domain] = []
    var seen: Set<ObjectIdentifier> = []
    // Each node is on the stack twice: to visit what is upstream of it, and to add its domain after that.
    var open: [(node: Node, isVisited: Bool)] = [(node, false)]
    while let (next, isVisited) = open.popLast() {
      if isVisited {
        order.append(next.domain)
      } else if seen.insert(ObjectIdentifier(next)).inserted {
        open.append((next, true))
        open += next.upstream.map { ($0, false) }
      }
    }
    // Several external inputs may lead into one domain: its last place counts.
    var domains: [Domain] = []
    for domain in order.reversed() where seen.insert(ObjectIdentifier(domain)).inserted {
      domains.append(domain)
    }
    return domains.reversed()
  }

  /// Returns whether commits of a domain can enter another one, over any number of steps.
  package static func isUpstream(_ domain: Domain, of other: Domain) -> Bool {
    domainsUpstream(of: other).contains(ObjectIdentifier(domain))
  }

  /// Returns one of several places that is upstream of a domain, but not also downstream, or `nil` if there is none.
  static func upstream(
    of domain: Domain, among places: [ObjectIdentifier: Ticket.Place]
  ) -> ObjectIdentifier? {
    if places.keys.allSatisfy({ $0 == ObjectIdentifier(domain) }) { return nil }
    let upstream = domainsUpstream(of: domain)
    let common =
      upstream.count < places.count
      ? upstream.filter { places[$0] != nil } : Set(places.keys.filter(upstream.contains))
    return common.sorted { places[$0]?.rank ?? 0 < places[$1]?.rank ?? 0 }.first { identifier in
      guard let other = places[identifier]?.domain, other !== domain else { return false }
      // Domains in a cycle cannot wait for each other.
      return !isUpstream(domain, of: other)
    }
  }

  /// The domains upstream of a domain. They are searched again only after the graph has changed.
  private static func domainsUpstream(of domain: Domain) -> Set<ObjectIdentifier> {
    schedulePoint()
    let present = changes.load(ordering: .sequentiallyConsistent)
    let (externalInputs, known) = domain.lock.withLock { state in
      state.upstream.changes == present ? ([], state.upstream.domains) : (state.externalInputs, nil)
    }
    if let known { return known }
    var found: Set<ObjectIdentifier> = []
    let sources = lock.withLock { _ in externalInputs.flatMap(\.originsUnderLock) }
    _ = visit(sources, upstream: \.originsUpstream) { node in
      found.insert(ObjectIdentifier(node.domain))
      return false
    }
    domain.lock.withLock { $0.upstream = (present, found) }
    return found
  }

  /// Visits some nodes and the nodes upstream of them, each once, until a closure returns `true`.
  ///
  /// - Returns: A Boolean value that indicates whether the closure has returned `true`, and the nodes that were
  ///   reached, which a caller that holds a lock releases outside it.
  private static func visit(
    _ nodes: [Node], upstream: (Node) -> [Node], until isFound: (Node) -> Bool
  ) -> (isFound: Bool, reached: [Node]) {
    var reached = nodes
    var seen: Set<ObjectIdentifier> = []
    var next = 0
    while next < reached.count {
      let node = reached[next]
      next += 1
      guard seen.insert(ObjectIdentifier(node)).inserted else { continue }
      if isFound(node) { return (true, reached) }
      reached += upstream(node)
    }
    return (false, reached)
  }
}

extension Node {
  /// This node if it is a root, or its inputs, which are in the same domain.
  fileprivate var origins: [Node] { height == 0 ? [self] : inputNodes }

  /// The nodes upstream, where the inputs of nodes of other domains stand for these nodes.
  ///
  /// So all roots and all domains upstream are found, but not all nodes.
  fileprivate var originsUpstream: [Node] {
    guard let externalInputs else { return inputNodes }
    return DependencyGraph.lock.withLock { _ in externalInputs.originsUnderLock }
  }

  /// The same as ``originsUpstream``, for a caller that holds the lock of the dependency graph.
  fileprivate var originsUpstreamUnderLock: [Node] {
    externalInputs?.originsUnderLock ?? inputNodes
  }
}

/// The nodes that are derived from a node, or from a part of it. The domain's lock guards it.
@usableFromInline
package final class Dependents: @unchecked Sendable {
  // Sendable: the domain's lock guards everything, except `parts`, which never changes.

  /// A derived node, and the input through which it is derived.
  struct Child {
    let node: Node
    let input: NodeInput
  }

  @exclusivity(unchecked) private(set) var slots: [Child?] = []
  private var vacant = 0
  /// The parts that this list belongs to, or `nil` for the children of a whole node.
  private let parts: PartitionedDependents?
  /// The position among the parts that are in use.
  fileprivate var position = -1

  @usableFromInline
  package init(_ parts: PartitionedDependents? = nil) {
    self.parts = parts
  }

  var isEmpty: Bool { slots.count == vacant }

  /// Adds a derived node.
  func add(_ child: Node, through input: NodeInput) {
    if isEmpty {
      slots.removeAll(keepingCapacity: true)
      vacant = 0
      parts?.use(self)
    }
    input.slot = slots.count
    slots.append(Child(node: child, input: input))
  }

  /// Removes a derived node. The caller holds it, so nothing is deinitialized here.
  func remove(_ input: NodeInput) {
    guard input.slot >= 0 else { return }
    slots[input.slot] = nil
    input.slot = -1
    vacant += 1
    if isEmpty { parts?.deactivate(self) }
    guard vacant > 16, vacant > slots.count / 2 else { return }
    slots.removeAll { $0 == nil }
    vacant = 0
    for (index, child) in slots.enumerated() { child?.input.slot = index }
  }
}

/// The parts of a node, such as its groups, from which nodes are derived.
///
/// A pass visits only the nodes of the parts that have changed, or of all parts after a step of the status.
@usableFromInline
package final class PartitionedDependents: @unchecked Sendable {
  // Sendable: the domain's lock guards `inUse`. The thread that calls the kernel of the node owns `changed` and
  // `areChanged`. `hasNodes` is atomic.

  /// The parts from which a node is derived.
  fileprivate(set) var inUse: [Dependents] = []
  private let hasNodes = Atomic(false)
  /// The parts in use that have changed since the kernel of the node was called last.
  @exclusivity(unchecked) private(set) var changed: [Dependents] = []
  /// A Boolean value that indicates whether a part has changed since then, in use or not.
  @exclusivity(unchecked) private(set) var areChanged = false

  @usableFromInline
  package init() {}

  /// Marks all parts as unchanged, before the kernel of the node is called.
  func beginUpdate() {
    areChanged = false
    if !changed.isEmpty { changed.removeAll(keepingCapacity: true) }
  }

  /// A Boolean value that indicates whether a node is derived from a part. A node that becomes live during the pass may
  /// be missing, and is scheduled in any case.
  // A list without nodes is at a random place of the memory, and touching it takes as long as a tenth of an edit of a
  // group.
  private var areInUse: Bool {
    schedulePoint()
    return hasNodes.load(ordering: .relaxed)
  }

  /// Marks a part as changed. The kernel of the node calls this.
  @usableFromInline
  package func markChanged(_ part: @autoclosure () -> Dependents) {
    areChanged = true
    if areInUse { changed.append(part()) }
  }

  fileprivate func use(_ part: Dependents) {
    part.position = inUse.count
    inUse.append(part)
    hasNodes.store(true, ordering: .relaxed)
  }

  fileprivate func deactivate(_ part: Dependents) {
    let last = inUse.removeLast()
    if last !== part {
      inUse[part.position] = last
      last.position = part.position
    }
    part.position = -1
    hasNodes.store(!inUse.isEmpty, ordering: .relaxed)
  }
}
