/// One observable thing of a domain: its root, or something derived from it.
///
/// A node holds two kinds of mutable state, and says of each which it is: guarded by the domain's
/// lock, which the methods with a `Domain.State` run under, or owned by the drainer, of which there is
/// one at a time, handed on under that lock.
package protocol DomainNode: AnyObject, Sendable {
  var domain: Domain { get }

  /// Zero for a root; greater than that of everything it is derived from.
  var height: Int { get }

  /// What this is derived from for ever, in whatever domain.
  var upstream: [any DomainNode] { get }

  // MARK: Under the domain's lock

  /// Takes the next commit, or several that go together, off the root's queue.
  ///
  /// - Returns: how many were taken.
  func pop(_ state: inout Domain.State) -> UInt64

  /// Makes what the round has brought visible, and captures who is to be told.
  func publish(_ state: inout Domain.State)

  /// Records what the round brings to this node's inputs, while the node is joining.
  func recordInputs(_ state: inout Domain.State)

  // MARK: By the drainer, unlocked

  /// Whether a popped commit is complete as it is, so that its round may be published at once.
  var isComputed: Bool { get }

  /// Computes what this becomes in the round from what its inputs become.
  func compute()

  /// Tells the domains behind this one.
  func feed(_ round: UInt64)

  /// Calls the observers that were captured when the round was published.
  func deliver(_ round: UInt64)

  /// Lets go of what belongs to the round.
  func endRound()
}
