import SwappablePrimitives

/// A request to count, or to trace, the work in all domains upstream of a node.
///
/// Domains that are connected later, for example by a swap, are counted too. Call `end()` to stop.
package final class Measurement: Sendable {
  private struct State: Sendable {
    var domains: [ObjectIdentifier: Domain] = [:]
    var isOver = false
  }

  /// A closure that receives each step. The delivering threads of several domains call it at the same time.
  let tracer: (@Sendable (WorkStep) -> Void)?
  private let state = Locked(State())

  /// Begins to count.
  ///
  /// - Parameters:
  ///   - node: The node.
  ///   - tracer: A closure that receives each step, or `nil` to count only.
  package init(upTo node: Node, tracer: (@Sendable (WorkStep) -> Void)? = nil) {
    self.tracer = tracer
    extend(upTo: node)
  }

  /// Adds the domains upstream of a node.
  func extend(upTo node: Node) {
    // Again, until nothing is added: another domain may have been connected to one that was not counted yet.
    while add(DependencyGraph.domains(upTo: node)) {}
  }

  /// Stops counting.
  package func end() {
    let domains = state.withLock { state in
      state.isOver = true
      return state.domains
    }
    for domain in domains.values { domain.remove(self) }
  }

  /// Returns a Boolean value that indicates whether a domain was new.
  private func add(_ domains: [Domain]) -> Bool {
    let new = state.withLock { state -> [Domain] in
      if state.isOver { return [] }
      return domains.filter { state.domains.updateValue($0, forKey: ObjectIdentifier($0)) == nil }
    }
    for domain in new { domain.add(self) }
    // `end()` may have come before a domain was added.
    if state.withLock({ $0.isOver }) {
      for domain in new { domain.remove(self) }
      return false
    }
    return !new.isEmpty
  }
}

extension Domain {
  fileprivate func add(_ measurement: Measurement) {
    change { $0.append(measurement) }
  }

  fileprivate func remove(_ measurement: Measurement) {
    change { $0.removeAll { $0 === measurement } }
  }

  private func change(_ body: (inout [Measurement]) -> Void) {
    let replaced = lock.withLock { state in
      let replaced = state.meter
      var measurements = replaced?.measurements ?? []
      body(&measurements)
      if replaced == nil { state.epoch += 1 }
      state.meter = measurements.isEmpty ? nil : Meter(epoch: state.epoch, measurements)
      return replaced
    }
    withExtendedLifetime(replaced) {}
  }

  /// Counts the domains upstream of a node as well, if this domain is counted. The node was connected to this domain.
  func extendMeasurements(upTo node: Node) {
    for measurement in lock.withLock({ $0.meter?.measurements ?? [] }) {
      measurement.extend(upTo: node)
    }
  }
}
