public import Diffing
public import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// A remote that holds a collection which several clients edit, such as a server or a shared file.
///
/// Each state of the remote has a version, and no two states have the same version. A push names the
/// version that it replaces. If the remote has moved on, it answers that the push is outdated, and the
/// session merges again.
public protocol SynchronizationRemote<Element, Version>: Sendable {
  /// The element type of the collection.
  associatedtype Element: Differentiable & Sendable
  /// The type that identifies a state of the remote, such as a number or an entity tag.
  associatedtype Version: Hashable & Codable & Sendable

  /// Returns the contents of the remote, unless they are still at a known version.
  ///
  /// - Parameter version: The version that the session has, or `nil` if it has no contents.
  /// - Returns: The contents, or `nil` if the remote is still at `version`.
  /// - Throws: An error if the remote cannot be read. The session then stays unchanged.
  func fetch(unlessAt version: Version?) async throws -> RemoteContents<Element, Version>?

  /// Replaces the contents of the remote, unless it has moved on.
  ///
  /// If a push throws an error, its answer is unknown. The session then repeats the push, with the
  /// same identifier, before any other step. A remote should remember the identifiers of accepted
  /// pushes and answer ``RemotePush/Answer/accepted(_:)`` again without changing its contents. If it
  /// does not remember them, it may answer that the repeated push is outdated. All clients still
  /// converge, but a later edit of another client to the pushed elements may be overwritten.
  ///
  /// - Parameter push: The new contents and the version that they replace.
  /// - Returns: The answer of the remote.
  /// - Throws: An error if the push may have failed. The session then stays unchanged.
  func push(_ push: RemotePush<Element, Version>) async throws
    -> RemotePush<Element, Version>.Answer
}

/// The contents of a remote at one version.
public struct RemoteContents<Element: Differentiable & Sendable, Version: Sendable>: Sendable {
  /// The elements, in order.
  public let elements: Snapshot<Element>
  /// The version of the contents.
  public let version: Version

  /// Creates contents from a sequence of elements.
  public init(_ elements: some Sequence<Element>, version: Version) {
    self.elements = Snapshot(elements)
    self.version = version
  }
}

/// New contents for a remote.
public struct RemotePush<Element: Differentiable & Sendable, Version: Sendable>: Sendable {
  /// The answer of a remote to a push.
  public enum Answer: Sendable {
    /// The remote accepted the push.
    ///
    /// This version of the remote holds exactly the pushed contents. It is `nil` if this version is
    /// unknown, or if the remote changed the contents.
    case accepted(Version?)
    /// The remote has moved on from the version that the push replaces. Its contents are unchanged.
    case outdated
    /// The remote did not accept the push and never will, for example because the user may not write.
    ///
    /// The session forgets the push. Its next synchronization pushes the contents that the client
    /// has by then.
    case rejected(reason: String, underlying: (any Error)? = nil)
  }

  /// The identifier of the push: 32 hexadecimal digits. A repeated push has the same identifier.
  public let id: String
  /// The version that the push replaces.
  public let version: Version
  /// The contents of the remote at that version, or `nil` for a repeated push.
  public let before: Snapshot<Element>?
  /// The new contents.
  public let after: Snapshot<Element>

  /// Creates a push. Use it to test a remote.
  ///
  /// - Parameters:
  ///   - id: The identifier of the push. A repeated push has the same identifier.
  ///   - version: The version that the push replaces.
  ///   - before: The contents of the remote at that version, or `nil` for a repeated push.
  ///   - after: The new contents.
  public init(
    id: String, version: Version, before: Snapshot<Element>?, after: Snapshot<Element>
  ) {
    (self.id, self.version, self.before, self.after) = (id, version, before, after)
  }
}

/// A remote in the memory of this process, for tests and first experiments.
///
///     let remote = InMemoryRemote(["a", "b"])
///     let session = SynchronizationSession(remote: remote)
///     remote.contents.append("c")   // as another client would
///     try await session.synchronize()
///
/// Each state has a version. A push against an older version is outdated, and a repeated push takes
/// effect once. The remote remembers all pushes as long as it lives.
public final class InMemoryRemote<Element: Differentiable & Sendable>: SynchronizationRemote {
  /// The contents of the remote. Their revisions are the versions.
  public let contents: ArrayDataSource<Element>
  /// The version of each accepted push, by the identifier of the push.
  private let accepted = Locked<[String: Int]>([:])

  /// Creates a remote.
  ///
  /// - Parameter elements: The first contents.
  public init(_ elements: some Sequence<Element>) {
    contents = ArrayDataSource(elements)
  }

  /// Creates an empty remote.
  public init() {
    contents = ArrayDataSource()
  }

  public func fetch(unlessAt version: Int?) async -> RemoteContents<Element, Int>? {
    let state = contents.state
    return state.revision == version
      ? nil : RemoteContents(state.snapshot, version: state.revision)
  }

  public func push(_ push: RemotePush<Element, Int>) async -> RemotePush<Element, Int>.Answer {
    contents.transaction { draft in
      if let version = accepted.withLock({ $0[push.id] }) { return .accepted(version) }
      // The transaction keeps other commits out, so the revision cannot change.
      var version = contents.revision
      guard push.version == version else { return .outdated }
      let before = draft.snapshot
      draft.replace(with: push.after)
      if !draft.snapshot.hasSameContents(as: before) { version += 1 }
      accepted.withLock { $0[push.id] = version }
      return .accepted(version)
    }
  }
}
