/// One observable thing of a domain: its root, or something derived from it.
///
/// Subclasses hold two kinds of mutable state, and say of each which it is: guarded by the domain's
/// lock, which the methods with a `Domain.State` run under, or owned by the drainer, of which there
/// is one at a time, handed on under that lock.
package class DomainNode: @unchecked Sendable {
  // Sendable: this class has no mutable state; see above for that of its subclasses.

  package let domain: Domain
  /// Zero for a root; greater than that of everything it is derived from.
  package let height: Int

  package init(domain: Domain, height: Int) {
    self.domain = domain
    self.height = height
  }

  /// What this is derived from, in whatever domain.
  package var upstream: [DomainNode] { [] }

  // MARK: Under the domain's lock

  /// Takes the next commit, or several that go together, off the root's queue.
  ///
  /// - Returns: how many were taken.
  package func pop(_ state: inout Domain.State) -> UInt64 { 0 }

  /// Makes what the round has brought visible, and captures who is to be told.
  package func publish(_ state: inout Domain.State) {}

  /// Records what the round brings to this node's inputs, while the node is joining.
  package func recordInputs(_ state: inout Domain.State) {}

  // MARK: By the drainer, unlocked

  /// Whether a popped commit is complete without `compute`, so that a round may be published at once.
  package var isComputed: Bool { true }

  /// Computes what this becomes in the round from what its inputs become.
  package func compute() {}

  /// Tells the domains behind this one.
  package func feed(_ round: UInt64) {}

  /// Calls the observers that were captured when the round was published.
  package func deliver(_ round: UInt64) {}

  /// Lets go of what belongs to the round.
  package func endRound() {}
}
