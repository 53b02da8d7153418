import SwappablePrimitives
import Synchronization

/// A root through which commits of other domains enter a domain.
///
/// The root of an operator over several domains follows one node forever. The root of a container follows
/// the nodes of the sources that are currently attached.
package final class Entrance: @unchecked Sendable {
  // Sendable: `connected` is guarded by the lock of the dependency graph.

  fileprivate var connected: [Node]

  package init(_ sources: [Node] = []) {
    connected = sources
  }

  /// The nodes that currently enter here.
  var sources: [Node] { DependencyGraph.lock.withLock { _ in connected } }
}

/// The connections of all nodes in the process.
package enum DependencyGraph {
  /// Guards the entrances. With one lock over all of them, two containers cannot be swapped into each
  /// other at the same time.
  fileprivate static let lock = Locked(())

  /// The number of changes of the graph so far.
  private static let changes = Atomic<UInt64>(0)

  /// The domains that wait for tickets.
  ///
  /// A domain waits for the domains upstream of it. After a swap of a container, other domains may
  /// be upstream, and two domains could wait for each other. Each change of the graph therefore
  /// makes the domains downstream of it recheck their tickets.
  private static let waiting = Locked<[Domain]>([])

  /// Adds a domain, so later changes of the graph call its `recheckTickets()`.
  static func addWaiting(_ domain: Domain) {
    waiting.withLock { $0.append(domain) }
  }

  static func removeWaiting(_ domain: Domain) {
    waiting.withLock { domains in
      if let index = domains.firstIndex(where: { $0 === domain }) { domains.remove(at: index) }
    }
  }

  /// Tells waiting domains to recheck their tickets, because a root has begun to follow other nodes.
  static func notifyChange(of domain: Domain) {
    changes.add(1, ordering: .sequentiallyConsistent)
    for other in waiting.withLock({ $0 }) where other === domain || isUpstream(domain, of: other) {
      other.recheckTickets()
    }
  }

  /// Connects a container's root to the node of a source, unless that would make a cycle.
  ///
  /// - Returns: `true` if the nodes are connected now.
  package static func connect(_ root: Node, to source: Node) -> Bool {
    guard let entrance = root.entrance else {
      preconditionFailure("a root without an entrance cannot follow another node")
    }
    // Other threads may have released the visited nodes meanwhile: release them outside the lock.
    let (isConnected, visited) = lock.withLock { _ -> (Bool, [Node]) in
      var visited: [Node] = []
      var open: [Node] = [source]
      var seen: Set<ObjectIdentifier> = []
      while let next = open.popLast() {
        visited.append(next)
        if next === root { return (false, visited + open) }
        if seen.insert(ObjectIdentifier(next)).inserted { open += next.upstreamUnderGraphLock }
      }
      entrance.connected.append(source)
      return (true, visited)
    }
    withExtendedLifetime(visited) {}
    if isConnected { notifyChange(of: root.domain) }
    return isConnected
  }

  /// Removes a connection.
  package static func disconnect(_ root: Node, from source: Node) {
    let removed = lock.withLock { _ -> Node? in
      guard let entrance = root.entrance else { return nil }
      let index = entrance.connected.firstIndex { $0 === source }
      return index.map { entrance.connected.remove(at: $0) }
    }
    withExtendedLifetime(removed) {}
    notifyChange(of: root.domain)
  }

  /// Returns whether a node is currently made from another one, over any number of steps.
  package static func isDerived(_ node: Node, from other: Node) -> Bool {
    var isFound = false
    visit(upstreamOf: [node]) { next in
      isFound = next === other
      return !isFound
    }
    return isFound
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
    // Several entrances may lead into one domain: its last place counts.
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

  /// Returns whether any of the other domains is upstream of a domain, but not also downstream.
  static func hasUpstream(_ domain: Domain, among others: [Domain]) -> Bool {
    if others.isEmpty { return false }
    let upstream = domainsUpstream(of: domain)
    // Domains in a cycle cannot wait for each other.
    return others.contains {
      upstream.contains(ObjectIdentifier($0)) && !isUpstream(domain, of: $0)
    }
  }

  /// The domains upstream of a domain. They are searched again only after the graph has changed.
  private static func domainsUpstream(of domain: Domain) -> Set<ObjectIdentifier> {
    let present = changes.load(ordering: .sequentiallyConsistent)
    let (entrances, known) = domain.lock.withLock { state in
      state.upstream.changes == present ? ([], state.upstream.domains) : (state.entrances, nil)
    }
    if let known { return known }
    var found: Set<ObjectIdentifier> = []
    let sources = entrances.flatMap(\.sources)
    for source in sources { found.insert(ObjectIdentifier(source.domain)) }
    visit(upstreamOf: sources) { node in
      found.insert(ObjectIdentifier(node.domain))
      return true
    }
    domain.lock.withLock { $0.upstream = (present, found) }
    return found
  }

  /// Visits each node upstream of some nodes once, until a closure returns false.
  private static func visit(
    upstreamOf nodes: [Node], _ body: (Node) -> Bool
  ) {
    var open = nodes
    var seen: Set<ObjectIdentifier> = []
    while let next = open.popLast() {
      for source in next.upstream where seen.insert(ObjectIdentifier(source)).inserted {
        if !body(source) { return }
        open.append(source)
      }
    }
  }
}

extension Node {
  /// The nodes upstream, for a caller that holds the lock of the dependency graph.
  fileprivate var upstreamUnderGraphLock: [Node] {
    inputNodes + (entrance?.connected ?? [])
  }
}
