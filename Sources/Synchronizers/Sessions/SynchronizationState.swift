public import Diffing
public import ObservableCollections

/// What a session knows, and finds again after a restart.
public struct SynchronizationState<
  Element: Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: Sendable {
  /// The client's collection.
  public var client: Snapshot<Element>
  /// What client and remote had in common at last.
  public var shadow: Snapshot<Element>
  /// The version at which the remote holds the shadow; nil where that is not known.
  public var version: Version?
  /// A push that may have reached the remote, or not.
  public var push: PendingPush<Element, Version>?

  /// Makes a state.
  ///
  /// - Parameters:
  ///   - client: The client's collection.
  ///   - shadow: What client and remote had in common at last.
  ///   - version: The version at which the remote holds the shadow.
  ///   - push: A push that may have reached the remote, or not.
  public init(
    client: Snapshot<Element>, shadow: Snapshot<Element>, version: Version? = nil,
    push: PendingPush<Element, Version>? = nil
  ) {
    (self.client, self.shadow, self.version, self.push) = (client, shadow, version, push)
  }
}

/// A push of which it is not known whether it has reached the remote.
public struct PendingPush<
  Element: Differentiable & Sendable, Version: Hashable & Codable & Sendable
>: Sendable {
  /// The push's own identifier, with which it is repeated.
  public var id: PushIdentifier
  /// The version that it was made against.
  public var version: Version
  /// The client's collection when it was merged.
  public var client: Snapshot<Element>
  /// What was pushed.
  public var merged: Snapshot<Element>

  /// Makes a pending push.
  ///
  /// - Parameters:
  ///   - id: Its identifier.
  ///   - version: The version that it was made against.
  ///   - client: The client's collection when it was merged.
  ///   - merged: What was pushed.
  public init(
    id: PushIdentifier, version: Version, client: Snapshot<Element>, merged: Snapshot<Element>
  ) {
    (self.id, self.version, self.client, self.merged) = (id, version, client, merged)
  }
}
