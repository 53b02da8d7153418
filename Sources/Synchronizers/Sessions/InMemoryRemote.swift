public import Diffing
public import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

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
  public let contents: CollectionProperty<Element>
  /// The version of each accepted push, by the identifier of the push.
  private let accepted = Locked<[String: Int]>([:])

  /// Creates a remote.
  ///
  /// - Parameter elements: The first contents.
  public init(_ elements: some Sequence<Element>) {
    contents = CollectionProperty(elements)
  }

  /// Creates an empty remote.
  public init() {
    contents = CollectionProperty()
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
