public import Diffing
public import ObservableCollections

/// Where the collection that several clients edit is kept: a server, a file that they share.
///
/// Each state of it has a version, and no two states have the same. A push says against which version it
/// was made; where the remote has moved on, it is refused, and the session merges again.
public protocol SynchronizationRemote<Element, Version>: Sendable {
  /// What it is a collection of.
  associatedtype Element: Differentiable & Sendable
  /// What tells its states apart: a number, an entity tag.
  associatedtype Version: Hashable & Codable & Sendable

  /// Fetches what it holds.
  ///
  /// - Parameter version: What the session has already; nil where it has nothing.
  /// - Returns: The contents; nil where the remote is still at that version, if it can tell.
  /// - Throws: Whatever prevents it. The session keeps all as it was.
  func fetch(
    unlessAt version: Version?
  ) async throws -> RemoteContents<Element, Version>?

  /// Replaces what it holds, unless it has moved on.
  ///
  /// A session that was not answered (the connection broke, the process ended) pushes the same again,
  /// with the same identifier. A remote that remembers the identifiers that it has accepted answers
  /// ``PushAnswer/accepted(_:)`` once more, without doing it twice. One that does not remember may refuse:
  /// then all clients still end equal, but what another client has edited since may be taken for untouched.
  ///
  /// - Parameter push: What to hold, and against which version.
  /// - Throws: Whatever prevents it. The session keeps all as it was, and repeats the push before anything
  ///   else; not so after a ``PushRejection``, which says that it was not taken and never will be.
  func push(_ push: RemotePush<Element, Version>) async throws -> PushAnswer<Version>
}

/// What a remote holds at one version.
public struct RemoteContents<Element: Differentiable & Sendable, Version: Sendable>: Sendable {
  /// The elements, in order.
  public let elements: Snapshot<Element>
  /// The version at which it holds them.
  public let version: Version

  /// Makes contents.
  public init(_ elements: some Sequence<Element>, version: Version) {
    self.elements = Snapshot(elements)
    self.version = version
  }
}

/// What a session wants a remote to hold.
public struct RemotePush<Element: Differentiable & Sendable, Version: Sendable>: Sendable {
  /// The same where it is pushed once more.
  public let id: PushIdentifier
  /// The version that it was made against.
  public let version: Version
  /// What the remote holds at that version; nil where the push is repeated.
  public let before: Snapshot<Element>?
  /// What it is to hold.
  public let after: Snapshot<Element>

  /// Makes a push, to test a remote with.
  ///
  /// - Parameters:
  ///   - id: The same where it is pushed once more.
  ///   - version: The version that it was made against.
  ///   - before: What the remote holds at that version; nil where the push is repeated.
  ///   - after: What it is to hold.
  public init(
    id: PushIdentifier, version: Version, before: Snapshot<Element>?, after: Snapshot<Element>
  ) {
    (self.id, self.version, self.before, self.after) = (id, version, before, after)
  }
}

/// What a remote makes of a push.
public enum PushAnswer<Version: Sendable>: Sendable {
  /// The remote has taken it.
  ///
  /// The version is the one at which it holds exactly what was pushed; nil where it does not know, or
  /// where it has changed what it was given.
  case accepted(Version?)
  /// It has moved on from the version that the push was made against, and is as it was.
  case refused
}
