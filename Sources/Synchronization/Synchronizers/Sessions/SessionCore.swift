import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// The state and the work of a session.
///
/// It lives as long as the session, a running synchronization or a running save.
final class SessionCore<Remote: SynchronizationRemote>: Sendable {
  typealias Element = Remote.Element
  typealias Version = Remote.Version
  typealias State = SynchronizationState<Element, Version>
  typealias Session = SynchronizationSession<Remote>
  typealias Outcome = Session.Outcome
  typealias Resolved = MergeConflict<Element>.Resolved

  /// The state of the session, without the contents of the client.
  struct Memory: Sendable {
    var shadow = Snapshot<Element>()
    /// The version of the remote that holds the shadow.
    var version: Version?
    var push: State.PendingPush?
    /// The changes of a recovered push that the client has not received yet.
    var delay: Delay?
  }

  /// Changes that the session received when it recovered a push.
  ///
  /// The client receives them with the next synchronization, so each synchronization changes the
  /// client only once.
  struct Delay: Sendable {
    /// The contents of the client when the push was recovered.
    let from: Snapshot<Element>
    /// The same contents with the changes applied.
    let to: Snapshot<Element>
  }

  /// The identity of a state. If it equals the mark of the last saved state, no save is needed.
  struct Mark: Hashable, Sendable {
    let client: Int
    let memory: Int
  }

  let client: ArrayDataSource<Element>
  let remote: Remote
  let store: (any SynchronizationStore<Element, Version>)?
  let options: Session.Options
  let status = Property(Session.Status.idle)
  let lastOutcome = Property<Result<Outcome, SynchronizationError>?>(nil)
  let saveFailure = Property<SynchronizationError?>(nil)
  let saving = Locked(Saving())
  /// The memory and the number of its changes.
  ///
  /// If the memory and the client change together, they change inside one transaction of the client.
  /// Inside a transaction of the client, the two are therefore always consistent.
  private let memory = Locked((contents: Memory(), changeCount: 0))

  init(
    client: ArrayDataSource<Element>, remote: Remote,
    store: (any SynchronizationStore<Element, Version>)?, options: Session.Options
  ) {
    (self.client, self.remote, self.store, self.options) = (client, remote, store, options)
  }

  var shadow: Snapshot<Element> { memory.withLock { $0.contents.shadow } }

  /// A consistent copy of the whole state.
  struct Capture: Sendable {
    /// The state, with the delayed changes applied to the client.
    let state: State
    /// The contents of the client, without the delayed changes.
    let client: Snapshot<Element>
    let isDelayed: Bool
    /// The conflicts between edits and the delayed changes.
    let conflicts: [Resolved]
    let mark: Mark
  }

  func capture() -> Capture {
    let (contents, known, mark) = client.transaction { draft in
      let (known, changeCount) = memory.withLock { $0 }
      return (draft.snapshot, known, Mark(client: client.revision, memory: changeCount))
    }
    let merge = known.delay.map { Self.rebase(contents, from: $0.from, onto: $0.to) }
    return Capture(
      state: State(
        client: merge?.mergedSnapshot ?? contents, shadow: known.shadow,
        version: known.version, push: known.push),
      client: contents, isDelayed: merge != nil, conflicts: merge?.conflicts ?? [], mark: mark)
  }

  /// Applies the edits since `origin` to `target`. Edits win conflicts.
  static func rebase(
    _ edited: Snapshot<Element>, from origin: Snapshot<Element>, onto target: Snapshot<Element>
  ) -> ThreeWayMerge<Element> {
    ThreeWayMerge(base: origin, mine: edited, theirs: target) {
      MergeConflict<Element>.Preference.mine.resolution(of: $0)
    }
  }

  var hasUnsynchronizedChanges: Bool {
    let state = capture().state
    return !state.client.hasSameContents(as: state.shadow)
  }

  /// Changes the memory.
  func remember(_ change: (inout Memory) -> Void) {
    // Release elements outside the lock, because their deinitializers may call the session.
    let old = memory.withLock { memory in
      let old = memory.contents
      change(&memory.contents)
      memory.changeCount += 1
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// The result of replacing the contents of the client.
  struct Adoption {
    var changes: Changeset
    /// The conflicts between the new contents and edits that were made in the meantime.
    var conflicts: [Resolved]
  }

  /// Replaces the contents of the client and changes the memory, in one transaction.
  ///
  /// Edits that were made since `origin` are kept.
  ///
  /// - Parameters:
  ///   - target: The new contents.
  ///   - origin: The old contents, with the delayed changes applied.
  ///   - changes: The changes from `origin` to `target`.
  ///   - change: A closure that changes the memory, or `nil` to leave the memory unchanged. Its second
  ///     argument is a snapshot with the contents of `target`, for the memory to keep.
  func adopt(
    _ target: Snapshot<Element>, from origin: Snapshot<Element>, by changes: Changeset,
    _ change: ((inout Memory, Snapshot<Element>) -> Void)?
  ) -> Adoption {
    client.transaction { draft in
      var adoption = Adoption(changes: changes, conflicts: [])
      let before = draft.snapshot
      if let delay = memory.withLock({ $0.contents.delay }) {
        let current = Self.rebase(before, from: delay.from, onto: delay.to)
        let merge = Self.rebase(current.mergedSnapshot, from: origin, onto: target)
        let merged = merge.mergedSnapshot
        adoption = Adoption(
          changes: Changeset(from: before, to: merged), conflicts: merge.conflicts)
        draft.apply(adoption.changes, to: merged)
      } else if before.hasSameContents(as: origin) {
        draft.apply(changes, to: target)
      } else {
        let merge = Self.rebase(before, from: origin, onto: target)
        adoption = Adoption(changes: merge.changesForMine, conflicts: merge.conflicts)
        draft.apply(merge.changesForMine, to: merge.mergedSnapshot)
      }
      switch client.status.state {
      case .idle, .loading: draft.newStatus = .loaded
      case .loaded, .failed, .missing: break
      }
      if let change {
        // If possible, share storage with the client, which makes later comparisons O(1).
        let after = draft.snapshot
        let kept = after.hasSameContents(as: target) ? after : target
        remember { change(&$0, kept) }
      }
      return adoption
    }
  }
}

extension CollectionDraft {
  /// Applies a changeset, and takes new elements from the target.
  fileprivate func apply(_ changes: Changeset, to target: Snapshot<Element>) {
    apply(
      changes, inserted: changes.insertions.map { target[$0] },
      updated: changes.updates.map { target[$0.to] })
  }
}
