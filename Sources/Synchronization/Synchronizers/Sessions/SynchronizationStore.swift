public import Diffing
public import ObservableCollections

/// A store that keeps the state of a session across restarts.
///
/// A session calls one method at a time.
public protocol SynchronizationStore<Element, Version>: Sendable {
  /// The element type of the session's collection.
  associatedtype Element: Differentiable & Sendable
  /// The type that identifies a state of the remote.
  associatedtype Version: Hashable & Codable & Sendable

  /// Returns the saved state, or `nil` if no state has been saved yet.
  ///
  /// - Throws: An error if the saved state cannot be read. The store must leave such a state unchanged.
  func load() async throws -> SynchronizationState<Element, Version>?

  /// Replaces the saved state atomically: after a crash, the store has either the old or the new state.
  ///
  /// - Throws: An error if the state cannot be saved. The store must then keep the previous state.
  func save(_ state: SynchronizationState<Element, Version>) async throws
}

/// The state of a session that survives a restart.
public struct SynchronizationState<
  Element: Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: Sendable {
  /// The contents of the client.
  public var client: Snapshot<Element>
  /// The last contents that the client and the remote had in common.
  public var shadow: Snapshot<Element>
  /// The version of the remote that holds the shadow, or `nil` if it is unknown.
  public var version: Version?
  /// A push that the remote has not answered yet, or `nil` if there is none.
  public var push: PendingPush?

  /// Creates a state.
  ///
  /// - Parameters:
  ///   - client: The contents of the client.
  ///   - shadow: The last contents that the client and the remote had in common.
  ///   - version: The version of the remote that holds the shadow.
  ///   - push: A push that the remote has not answered yet.
  public init(
    client: Snapshot<Element>, shadow: Snapshot<Element>, version: Version? = nil,
    push: PendingPush? = nil
  ) {
    (self.client, self.shadow, self.version, self.push) = (client, shadow, version, push)
  }

  /// A push that the remote has not answered yet. It may have taken effect.
  public struct PendingPush: Sendable {
    /// The identifier of the push. A repeated push has the same identifier.
    public var id: String
    /// The version of the remote that the push replaces.
    public var version: Version
    /// The contents of the client at the time of the merge.
    public var client: Snapshot<Element>
    /// The pushed contents.
    public var merged: Snapshot<Element>

    /// Creates a pending push.
    ///
    /// - Parameters:
    ///   - id: The identifier of the push.
    ///   - version: The version of the remote that the push replaces.
    ///   - client: The contents of the client at the time of the merge.
    ///   - merged: The pushed contents.
    public init(
      id: String, version: Version, client: Snapshot<Element>, merged: Snapshot<Element>
    ) {
      (self.id, self.version, self.client, self.merged) = (id, version, client, merged)
    }
  }
}
