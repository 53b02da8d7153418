import Diffing
import ObservableCollections
import ReactiveSignals

extension SessionCore {
  /// Synchronises once, and tells what came of it.
  func run() async throws -> Outcome {
    let result: Result<Outcome, SynchronizationError>
    do throws(SynchronizationError) {
      result = .success(try await synchronize())
    } catch {
      result = .failure(error)
      // A push may have been forgotten. A save that has just failed is not tried again at once.
      if error.code != .save { saveSoon() }
    }
    lastOutcome.value = result
    if status.value != .idle { status.value = .idle }
    return try result.get()
  }

  private func synchronize() async throws(SynchronizationError) -> Outcome {
    try checkCancellation(at: nil)
    let start = capture().state
    var origin = start.client
    // What both had in common at last, and the client since.
    var (base, mine) = (start.shadow, start.client)
    var baseVersion = start.version
    var conflicts: [ResolvedConflict<Element>] = []

    var settled = start.push
    if let push = start.push {
      switch try await settle(push, baseVersion) {
      case .accepted(let accepted):
        let merge = ThreeWayMerge(base: push.client, mine: start.client, theirs: push.merged) {
          MergePreference.mine.resolution(of: $0)
        }
        (base, mine, baseVersion) = (push.merged, Snapshot(merge.merged), accepted)
        conflicts = merge.conflicts
      case .refused:
        settled = nil
      }
    }

    var (theirs, version) = (base, baseVersion)
    var known: [ResolvedConflict<Element>] = []
    var repeatedMerges = 0
    while true {
      if let contents = try await fetch(unlessAt: version) {
        (theirs, version) = (contents.elements, contents.version)
      }
      begin(.merging)
      let merge = merge(base, mine, theirs, known)
      known = merge.conflicts
      let merged = Snapshot(merge.merged)
      let changesForRemote = merge.changesForTheirs

      if let against = version, !changesForRemote.isEmpty {
        try checkCancellation(at: .merging)
        if settled != nil {
          // The next push takes the place of the one that was accepted.
          let adoption = adopt(mine, from: origin, by: Changeset(from: origin, to: mine)) {
            memory, _ in
            memory = Memory(shadow: base, version: baseVersion)
          }
          conflicts += adoption.conflicts
          (origin, settled) = (mine, nil)
        }
        let push = Pending(id: PushIdentifier(), version: against, client: mine, merged: merged)
        switch try await self.push(push, before: theirs) {
        case .accepted(let accepted):
          version = accepted
        case .refused:
          remember { $0.push = nil }
          repeatedMerges += 1
          if repeatedMerges > options.mergeLimit { throw movedOn(repeatedMerges) }
          continue
        }
      }

      let changes =
        settled == nil ? merge.changesForMine : Changeset(from: origin, to: merged)
      let adoption = adopt(merged, from: origin, by: changes) { memory, merged in
        memory = Memory(shadow: merged, version: version)
      }
      try await saveStep()
      return Outcome(
        conflicts: conflicts + merge.conflicts + adoption.conflicts,
        changesForClient: adoption.changes, changesForRemote: changesForRemote,
        repeatedMerges: repeatedMerges)
    }
  }

  /// Merges; what was decided before is not asked again.
  private func merge(
    _ base: Snapshot<Element>, _ mine: Snapshot<Element>, _ theirs: Snapshot<Element>,
    _ known: [ResolvedConflict<Element>]
  ) -> ThreeWayMerge<Element> {
    let known = KnownResolutions(known)
    return ThreeWayMerge(base: base, mine: mine, theirs: theirs) { conflict in
      known.resolution(of: conflict) ?? options.resolve(conflict)
    }
  }
}
