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
    var conflicts = try await settle()
    let start = capture()
    conflicts += start.conflicts
    let (base, mine) = (start.state.shadow, start.state.client)
    var (theirs, version) = (base, start.state.version)
    var known: [ResolvedConflict<Element>] = []
    var repeatedMerges = 0
    while true {
      if let contents = try await fetch(unlessAt: version) {
        (theirs, version) = (contents.elements, contents.version)
      }
      begin(.merging)
      let merge = merge(base, mine, theirs, known)
      known = merge.conflicts
      let merged = merge.mergedSnapshot

      if let against = version, !merge.changesForTheirs.isEmpty {
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

      let isSame =
        !start.isDelayed && version == start.state.version && merge.changesForMine.isEmpty
        && merge.changesForTheirs.isEmpty
      let adoption = adopt(
        merged, from: mine, by: merge.changesForMine,
        isSame ? nil : { memory, merged in memory = Memory(shadow: merged, version: version) })
      try await saveStep()
      return Outcome(
        conflicts: conflicts + merge.conflicts + adoption.conflicts,
        changesForClient: adoption.changes, changesForRemote: merge.changesForTheirs,
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
