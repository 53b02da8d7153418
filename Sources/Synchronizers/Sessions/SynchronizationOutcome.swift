public import Diffing

/// What a synchronisation has done.
public struct SynchronizationOutcome<Element: Differentiable & Sendable>: Sendable {
  /// What did not go together, each with what it came to.
  public let conflicts: [ResolvedConflict<Element>]
  /// What changed in the client: what others have edited.
  public let changesForClient: Changeset
  /// What changed at the remote: what the client has edited.
  public let changesForRemote: Changeset
  /// How often it was merged again, since the remote had moved on.
  public let repeatedMerges: Int
}
