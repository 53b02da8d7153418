import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

/// What a session knows: it lives as long as the session, a run or a save that is under way.
final class SessionCore<Remote: SynchronizationRemote>: Sendable {
  typealias Element = Remote.Element
  typealias Version = Remote.Version
  typealias State = SynchronizationState<Element, Version>
  typealias Outcome = SynchronizationOutcome<Element>

  /// What is known beside the contents of the client.
  struct Memory: Sendable {
    var shadow = Snapshot<Element>()
    /// The version at which the remote holds the shadow.
    var version: Version?
    var push: PendingPush<Element, Version>?
    /// What the client still lacks of the shadow.
    var delay: Delay?
  }

  /// What an earlier synchronisation has brought, of which the client is told with the next one, so that
  /// it is told one change for each.
  struct Delay: Sendable {
    /// The client when that became known.
    let from: Snapshot<Element>
    /// What it should have become.
    let to: Snapshot<Element>
  }

  /// Tells one state from another.
  struct Mark: Hashable, Sendable {
    let client: Int
    let memory: Int
  }

  let client: CollectionProperty<Element>
  let remote: Remote
  let store: (any SynchronizationStore<Element, Version>)?
  let options: SynchronizationOptions<Element>
  let status = Property(SynchronizationStatus.idle)
  let lastOutcome = Property<Result<Outcome, SynchronizationError>?>(nil)
  let saveFailure = Property<SynchronizationError?>(nil)
  let saving = Locked(Saving())
  /// The memory and how often it was changed. Changed inside a transaction of the client where both
  /// change, so that who looks inside of one sees both.
  private let memory = Locked((contents: Memory(), changeCount: 0))

  init(
    client: CollectionProperty<Element>, remote: Remote,
    store: (any SynchronizationStore<Element, Version>)?, options: SynchronizationOptions<Element>
  ) {
    (self.client, self.remote, self.store, self.options) = (client, remote, store, options)
  }

  var shadow: Snapshot<Element> { memory.withLock { $0.contents.shadow } }

  /// All that is known at one moment.
  struct Capture: Sendable {
    /// The state, with the client as it would be without a delay.
    let state: State
    /// The client as it is.
    let client: Snapshot<Element>
    let isDelayed: Bool
    /// Between edits and what is delayed.
    let conflicts: [ResolvedConflict<Element>]
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

  /// Does to another version what was edited since one.
  static func rebase(
    _ edited: Snapshot<Element>, from origin: Snapshot<Element>, onto target: Snapshot<Element>
  ) -> ThreeWayMerge<Element> {
    ThreeWayMerge(base: origin, mine: edited, theirs: target) {
      MergePreference.mine.resolution(of: $0)
    }
  }

  /// Whether the client was edited since the last synchronisation.
  var hasUnsynchronizedChanges: Bool {
    let state = capture().state
    return !state.client.hasSameContents(as: state.shadow)
  }

  /// Changes the memory alone.
  func remember(_ change: (inout Memory) -> Void) {
    // Elements are let go of when the lock is left.
    let old = memory.withLock { memory in
      let old = memory.contents
      change(&memory.contents)
      memory.changeCount += 1
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// What was done to bring the client to a new version.
  struct Adoption {
    var changes: Changeset
    /// Between the new version and what was edited meanwhile.
    var conflicts: [ResolvedConflict<Element>]
  }

  /// Leads the client from one version to another and changes the memory, in one step.
  ///
  /// What was edited since the one version stays.
  ///
  /// - Parameters:
  ///   - target: The other version.
  ///   - origin: The one version, without a delay.
  ///   - changes: What leads from one to the other.
  ///   - change: Changes the memory, given the other version as it is to be kept; nil: it stays.
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
        // Where it can be, the same memory as the client's: equal at a glance.
        let after = draft.snapshot
        let kept = after.hasSameContents(as: target) ? after : target
        remember { change(&$0, kept) }
      }
      return adoption
    }
  }
}

extension CollectionDraft {
  /// Does what a changeset says, with the elements of what it leads to.
  fileprivate func apply(_ changes: Changeset, to target: Snapshot<Element>) {
    apply(
      changes, inserted: changes.insertions.map { target[$0] },
      updated: changes.updates.map { target[$0.to] })
  }
}
