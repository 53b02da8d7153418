import Dispatch
import SwappablePrimitives

/// Counts the work of a domain, as long as a measurement requests it.
///
/// The delivering thread reads the clock once after each node that it computes. The time between two reads belongs to
/// that node.
package final class Meter: @unchecked Sendable {
  // Sendable: `epoch`, `measurements` and `tracers` are constant. The delivering thread owns the rest.

  /// A number that differs whenever counting has begun anew.
  let epoch: UInt64
  let measurements: [Measurement]
  /// The measurements that receive each step.
  let tracers: [Measurement]

  /// The time of the last read of the clock.
  private var last: UInt64 = 0
  /// The time of the current pass so far.
  private var total: UInt64 = 0
  /// The number of nodes that the current pass has computed.
  private var nodes = 0
  private var longest: (node: Node, time: UInt64, isObserving: Bool)?

  init(epoch: UInt64, _ measurements: [Measurement]) {
    self.epoch = epoch
    self.measurements = measurements
    tracers = measurements.filter { $0.tracer != nil }
  }

  /// The time of a clock that never goes back, in nanoseconds.
  package static var now: UInt64 { DispatchTime.now().uptimeNanoseconds }

  /// Begins a pass, or continues it.
  func resume() { last = Meter.now }

  /// Interrupts a pass, because other domains run theirs.
  func pause() { _ = lap() }

  /// Counts a node that was computed.
  func count(_ node: Node) {
    let time = lap()
    node.work(in: epoch).count(node, time: time)
    nodes += 1
    if tracers.isEmpty { return }
    note(node, time, isObserving: false)
    if node.height == 0, !node.isConnection, let update = node.update {
      trace { WorkStep(action: .commit, name: node.name, changes: update.changeCount) }
    }
  }

  /// Counts the calls of the observers of a node.
  func countObservers(of node: Node) {
    let time = lap()
    node.work(in: epoch).counts.withLock { $0.observerTime += Int(time) }
    if !tracers.isEmpty { note(node, time, isObserving: true) }
  }

  private func note(_ node: Node, _ time: UInt64, isObserving: Bool) {
    if time >= longest?.time ?? 0 { longest = (node, time, isObserving) }
  }

  func endPass(changed: Int) {
    defer { (longest, nodes, total) = (nil, 0, 0) }
    guard let longest else { return }
    trace {
      WorkStep(
        action: .pass, name: longest.node.name, changes: changed, nodes: nodes, time: total,
        longest: longest.time, isObserving: longest.isObserving)
    }
  }

  /// Passes a step to those who trace the domain.
  func trace(_ makeStep: () -> WorkStep) {
    if tracers.isEmpty { return }
    let step = makeStep()
    for tracer in tracers { tracer.tracer?(step) }
  }

  /// The time since the last call.
  private func lap() -> UInt64 {
    let (now, before) = (Meter.now, last)
    last = now
    total &+= now &- before
    return now &- before
  }
}

/// The counts of one node, since its domain counts.
package final class NodeWork: Sendable {
  let epoch: UInt64
  fileprivate let counts = Locked(Counts())

  /// The counts at one moment.
  package struct Counts: Sendable {
    package var passes = 0
    package var changesIn = 0
    package var elementsIn = 0
    package var changesOut = 0
    package var elementsOut = 0
    /// Nanoseconds.
    package var time = 0
    package var observerTime = 0
  }

  init(epoch: UInt64) {
    self.epoch = epoch
  }

  /// Returns the counts, or `nil` if they are older.
  func counts(in epoch: UInt64) -> Counts? {
    epoch == self.epoch ? counts.withLock { $0 } : nil
  }

  fileprivate func count(_ node: Node, time: UInt64) {
    counts.withLock { counts in
      counts.passes += 1
      counts.time += Int(time)
      for input in node.inputs {
        if let update = input.update {
          guard update.hasChange else { continue }
          counts.changesIn += 1
          counts.elementsIn += update.changeCount
        } else if input.isPart {
          // The part has changed, and the node that it belongs to shows nothing of it.
          counts.changesIn += 1
          counts.elementsIn += node.update?.changeCount ?? 0
        }
      }
      if let update = node.update, update.hasChange {
        counts.changesOut += 1
        counts.elementsOut += update.changeCount
      }
    }
  }
}

/// A step of the work in a domain, for those who trace it.
package struct WorkStep: Sendable {
  package enum Action: String, Sendable {
    case commit, pass, swap, load, reload
  }

  package let action: Action
  /// The node that has done the work. For a pass, the node that has taken the most time.
  package let name: NodeName
  /// The number of elements that were read or changed, or of nodes that a pass has changed.
  package let changes: Int
  /// The number of nodes that a pass has computed.
  private(set) package var nodes = 0
  /// The nanoseconds of the whole step, and of the node that has taken the most time.
  private(set) package var time: UInt64 = 0
  private(set) package var longest: UInt64 = 0
  /// A Boolean value that indicates whether the observers of the node have taken the most time.
  private(set) package var isObserving = false
}

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
    for domain in domains.values { remove(from: domain) }
  }

  /// Returns a Boolean value that indicates whether a domain was new.
  private func add(_ domains: [Domain]) -> Bool {
    let new = state.withLock { state -> [Domain] in
      if state.isOver { return [] }
      return domains.filter { state.domains.updateValue($0, forKey: ObjectIdentifier($0)) == nil }
    }
    for domain in new { domain.changeMeasurements { $0.append(self) } }
    // `end()` may have come before a domain was added.
    if state.withLock({ $0.isOver }) {
      for domain in new { remove(from: domain) }
      return false
    }
    return !new.isEmpty
  }

  private func remove(from domain: Domain) {
    domain.changeMeasurements { $0.removeAll { $0 === self } }
  }
}

extension Domain {
  fileprivate func changeMeasurements(_ body: (inout [Measurement]) -> Void) {
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
