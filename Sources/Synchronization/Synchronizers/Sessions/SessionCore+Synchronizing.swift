import Diffing
import ObservableCollections
import ReactiveSignals
import SwappablePrimitives

extension SessionCore {
  /// Synchronizes once, and publishes the result.
  func run() async throws -> Outcome {
    let result: Result<Outcome, SynchronizationError>
    do throws(SynchronizationError) {
      result = .success(try await synchronize())
    } catch {
      result = .failure(error)
      // A pending push may have been forgotten. Do not repeat a save that has just failed.
      if error.code != .save { saveSoon() }
    }
    lastOutcome.value = result
    if status.value != .idle { status.value = .idle }
    return try result.get()
  }

  private func synchronize() async throws(SynchronizationError) -> Outcome {
    try checkCancellation(at: nil)
    var conflicts = try await repeatPendingPush()
    let start = capture()
    conflicts += start.conflicts
    let (base, mine) = (start.state.shadow, start.state.client)
    var (theirs, version) = (base, start.state.version)
    var known: [Resolved] = []
    var repeatedMerges = 0
    while true {
      if let contents = try await fetch(unlessAt: version) {
        (theirs, version) = (contents.elements, contents.version)
      }
      begin(.merging)
      let merge = try await merge(base, mine, theirs, known)
      known = merge.conflicts
      let merged = merge.mergedSnapshot

      if let against = version, !merge.changesForTheirs.isEmpty {
        let push = PendingPush(
          id: UInt128.random(in: 0 ... .max).hexadecimal, version: against, client: mine,
          merged: merged)
        switch try await self.push(push, before: theirs) {
        case .accepted(let accepted):
          version = accepted
        // `push` throws if the answer is a rejection.
        case .outdated, .rejected:
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

  /// Merges, and takes known resolutions instead of asking the resolver again.
  ///
  /// The first merge finds the conflicts. Another one follows when the resolver has decided them. It can have
  /// conflicts about the places of elements that a decision keeps.
  func merge(
    _ base: Snapshot<Element>, _ mine: Snapshot<Element>, _ theirs: Snapshot<Element>,
    _ known: [Resolved] = []
  ) async throws(SynchronizationError) -> ThreeWayMerge<Element> {
    if let preference = options.preference {
      return ThreeWayMerge(base: base, mine: mine, theirs: theirs) {
        preference.resolution(of: $0)
      }
    }
    let resolutions = KnownResolutions(known)
    // Equal conflicts of elements with one identity are counted, because contents need not equal themselves.
    var decisions: [KnownResolutions<Element>.Question: MergeConflict<Element>.Resolution] = [:]
    while true {
      var open: [(KnownResolutions<Element>.Question, MergeConflict<Element>)] = []
      var counts: [KnownResolutions<Element>.Question: Int] = [:]
      let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs) { conflict in
        var question = KnownResolutions<Element>.Question(conflict)
        counts[question, default: 0] += 1
        question.number = counts[question, default: 1]
        if let decision = decisions[question] ?? resolutions.resolution(of: conflict) {
          return decision
        }
        open.append((question, conflict))
        return .theirs
      }
      if open.isEmpty { return merge }
      for (question, conflict) in open { decisions[question] = try await resolve(conflict) }
    }
  }

  private func resolve(
    _ conflict: MergeConflict<Element>
  ) async throws(SynchronizationError) -> MergeConflict<Element>.Resolution {
    try checkCancellation(at: .merging)
    do {
      let resolution = try await options.resolve(conflict)
      try checkCancellation(at: .merging)
      return resolution
    } catch {
      if let error = error as? SynchronizationError, error.code == .cancelled { throw error }
      if Task.isCancelled { throw .cancelled(at: .merging, underlying: error) }
      throw SynchronizationError(
        .unresolved, at: .merging,
        "a conflict has no decision: \(error); no edit is lost: synchronize again to be asked again",
        underlying: error)
    }
  }
}
