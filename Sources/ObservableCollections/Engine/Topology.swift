package import ReactiveSignals
import SwappablePrimitives

/// Which nodes are made from which, over all domains of the process.
///
/// Operators are made from the same nodes for ever; what a container shows changes. One lock over all
/// such edges makes it impossible that two containers are swapped into each other.
package enum Topology {
  private static let edges = Locked<[ObjectIdentifier: [any DomainNode]]>([:])

  /// Adds an edge, unless that would make a cycle.
  ///
  /// - Returns: Whether it was added.
  package static func connect(_ node: any DomainNode, to source: any DomainNode) -> Bool {
    // What was visited may have been let go of meanwhile by all others: it is released unlocked.
    let (isConnected, visited) = edges.withLock { edges -> (Bool, [any DomainNode]) in
      var visited: [any DomainNode] = []
      var open: [any DomainNode] = [source]
      var seen: Set<ObjectIdentifier> = []
      while let next = open.popLast() {
        visited.append(next)
        if next === node { return (false, visited + open) }
        if seen.insert(ObjectIdentifier(next)).inserted {
          open += next.upstream
          open += edges[ObjectIdentifier(next)] ?? []
        }
      }
      edges[ObjectIdentifier(node), default: []].append(source)
      return (true, visited)
    }
    withExtendedLifetime(visited) {}
    return isConnected
  }

  /// Takes one edge back.
  package static func disconnect(_ node: any DomainNode, from source: any DomainNode) {
    edges.withLock { edges in
      let key = ObjectIdentifier(node)
      guard var sources = edges[key] else { return }
      if let index = sources.firstIndex(where: { $0 === source }) { sources.remove(at: index) }
      edges[key] = sources.isEmpty ? nil : sources
    }
  }

  /// What a node is made from at present.
  package static func upstream(of node: any DomainNode) -> [any DomainNode] {
    node.upstream + edges.withLock { $0[ObjectIdentifier(node)] ?? [] }
  }

  /// Whether a node is made from one of some others at present.
  package static func isDownstream(_ node: any DomainNode, of others: [any DomainNode]) -> Bool {
    var open = upstream(of: node)
    var seen: Set<ObjectIdentifier> = []
    while let next = open.popLast() {
      guard seen.insert(ObjectIdentifier(next)).inserted else { continue }
      if others.contains(where: { $0 === next }) { return true }
      open += upstream(of: next)
    }
    return false
  }
}
