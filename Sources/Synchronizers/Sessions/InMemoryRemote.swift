public import Diffing
public import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// A remote in the memory of this process, to try sessions and to test with.
///
///     let remote = InMemoryRemote(["a", "b"])
///     let session = SynchronizationSession(remote: remote)
///     remote.contents.append("c")   // as another client would
///     try await session.synchronize()
///
/// It does what a good remote does: each state has a version, a push against an older one is refused, and
/// one that is repeated is not done twice. It remembers all pushes as long as it lives.
public final class InMemoryRemote<Element: Differentiable & Sendable>: SynchronizationRemote {
  /// What it holds: to be read, observed and edited. Its revisions are the versions.
  public let contents: CollectionProperty<Element>
  /// At which version each push was taken.
  private let taken = Locked<[PushIdentifier: Int]>([:])

  /// Makes a remote.
  ///
  /// - Parameter elements: What it holds at first.
  public init(_ elements: some Sequence<Element>) {
    contents = CollectionProperty(elements)
  }

  /// Makes an empty remote.
  public init() {
    contents = CollectionProperty()
  }

  public func fetch(unlessAt version: Int?) async -> RemoteContents<Element, Int>? {
    let state = contents.state
    return state.revision == version
      ? nil : RemoteContents(state.snapshot, version: state.revision)
  }

  public func push(_ push: RemotePush<Element, Int>) async -> PushAnswer<Int> {
    contents.transaction { draft in
      if let version = taken.withLock({ $0[push.id] }) { return .accepted(version) }
      // Nobody else commits during the transaction.
      var version = contents.revision
      guard push.version == version else { return .refused }
      let before = draft.snapshot
      draft.replace(with: push.after)
      if !draft.snapshot.hasSameContents(as: before) { version += 1 }
      taken.withLock { $0[push.id] = version }
      return .accepted(version)
    }
  }
}
