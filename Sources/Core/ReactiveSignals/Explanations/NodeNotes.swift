import SwappablePrimitives

/// The facts about a node that only an explanation of the graph reads.
///
/// A node has notes as soon as there is something to note, such as a label.
package final class NodeNotes: Sendable {
  /// The facts. A lock that is held for no other work guards them.
  package struct Facts: Sendable {
    /// The name that the user has given to the node.
    package var label: String?
    /// The place from which a source reads.
    package var location: String?
    /// The way in which a source is kept in step, and the reason.
    package var mode: String?
    package var reason: String?
    /// The number of times that a source has read, and the time in nanoseconds.
    package var loads = 0
    package var loadTime: UInt64 = 0
    package var lastLoadTime: UInt64 = 0
    /// The time of `Meter.now` at which the last read has ended.
    package var lastLoadEnd: UInt64 = 0
    /// The time of reads since counting has begun, and which time that was.
    fileprivate var counted: (epoch: UInt64, time: UInt64) = (0, 0)
    /// The last error of a source.
    package var fault: String?
  }

  fileprivate let facts = Locked(Facts())
}

/// A type that creates nodes in the name of another one.
package protocol NodeCreator {
  static var name: String { get }
}

/// The name of a node, for people.
package struct NodeName: Sendable {
  /// The type that has created the node, if it is known.
  package let type: Any.Type?
  package let label: String?
  fileprivate let remembers: Bool

  /// The name of the type, without its module, its generic parameters and the word "Operator".
  package var kind: String {
    guard let type else { return remembers ? "Property" : "Signal" }
    let named = (type as? any NodeCreator.Type)?.name ?? String(describing: type)
    let name = named.prefix { $0 != "<" }
    return String(name.hasSuffix("Operator") ? name.dropLast("Operator".count) : name)
  }
}

extension Node {
  /// A node at one moment.
  package struct Summary: Sendable {
    package let name: NodeName
    package let facts: NodeNotes.Facts?
    package let state: NodeState?
    /// The number of observers of the value, the contents or the status.
    package let observers: Int
    /// The counts of the node, or `nil` if its domain does not count.
    package let work: NodeWork.Counts?
    /// The nanoseconds of reads of a source since its domain counts.
    package let countedLoadTime: UInt64
  }

  /// The node at this moment.
  package var summary: Summary {
    let (facts, remembers) = (facts, remembers)
    return domain.lock.withLock { domain in
      let epoch = domain.meter?.epoch
      return Summary(
        name: NodeName(type: self[domain.key].type, label: facts?.label, remembers: remembers),
        facts: facts,
        state: published, observers: observers.count + statusObservers.count,
        work: epoch.map { publication.work?.counts(in: $0) ?? NodeWork.Counts() },
        countedLoadTime: facts?.counted.epoch == epoch ? facts?.counted.time ?? 0 : 0)
    }
  }

  package var name: NodeName {
    let label = facts?.label
    return domain.lock.withLock {
      NodeName(type: self[$0.key].type, label: label, remembers: remembers)
    }
  }

  private var facts: NodeNotes.Facts? {
    domain.lock.withLock { self[$0.key].notes }?.facts.withLock { $0 }
  }

  /// A Boolean value that indicates whether the node only connects domains, and is nothing that a user has made.
  package var isConnection: Bool {
    externalInputs != nil && domain.lock.withLock { self[$0.key].type == nil }
  }

  /// Sets the type that has created the node.
  package func describe(as type: Any.Type) {
    domain.lock.withLock { self[$0.key].type = type }
  }

  /// Changes the notes, which are created if there are none.
  package func note(_ change: (inout NodeNotes.Facts) -> Void) {
    let notes = domain.lock.withLock { state in
      let notes = self[state.key].notes ?? NodeNotes()
      self[state.key].notes = notes
      return notes
    }
    notes.facts.withLock { change(&$0) }
  }

  /// Records the work of a source or a container, which ends now, and traces it.
  ///
  /// - Parameters:
  ///   - action: The kind of work.
  ///   - start: The time at which the work has begun, of `Meter.now`.
  ///   - changes: The number of elements that the work has read or changed.
  package func record(_ action: WorkStep.Action, since start: UInt64, changes: Int) {
    let end = Meter.now
    let time = end &- start
    let meter = domain.lock.withLock { $0.meter }
    note { facts in
      facts.loads += 1
      facts.loadTime += time
      (facts.lastLoadTime, facts.lastLoadEnd) = (time, end)
      // A swap mostly waits.
      guard let meter, action != .swap else { return }
      let counted = facts.counted.epoch == meter.epoch ? facts.counted.time : 0
      facts.counted = (meter.epoch, counted + time)
    }
    meter?.trace { WorkStep(action: action, name: name, changes: changes, time: time) }
  }
}
