import DifferenceWorkloads
import Measuring
import Swappable

/// The engine, its rivals and the lower limits, for two versions of a list.
struct Contest {
  let ours: Contestant
  let plain: Contestant
  let rivals: [Contestant]
  let limits: [Contestant]
  let moveCount: Int
  let fewestMoveCount: Int
  let peakBytes: Int
}

/// The greatest number of edits for the standard library's difference, whose cost grows with the square of the
/// edits. With more, it would take more than two seconds.
let mostEditsOfStandardLibrary = 7_000

/// Prepares the measurement of a workload.
///
/// This function is generic, and is called with concrete types in this module, so all of it is specialized, as in a
/// program that uses the engine.
func makeContest<Element: Differentiable & Hashable>(
  _ workload: Workload<Element>
) -> Contest {
  let (old, new) = workload.make()
  let change = Changeset(from: old, to: new)
  let fewest = plainDifference(from: old, to: new)
  // The standard library removes and inserts elements that were moved or updated.
  let editCount =
    fewest.deletions.count + fewest.insertions.count + 2 * fewest.moves.count
    + 2 * fewest.updates.count
  let counterparts = inStep(with: old, new)
  let rivals =
    editCount > mostEditsOfStandardLibrary
    ? []
    : [
      Contestant(name: "difference") { new.difference(from: old).count },
      Contestant(name: "inferringMoves") { new.difference(from: old).inferringMoves().count },
    ]
  return Contest(
    ours: Contestant(name: "ours") { Changeset(from: old, to: new).moves.count },
    plain: Contestant(name: "plain") { plainDifference(from: old, to: new).moves.count },
    rivals: rivals,
    limits: [
      Contestant(name: "==") { equalCount(old, counterparts) },
      Contestant(name: "hash") { hashes(of: old) ^ hashes(of: new) },
      Contestant(name: "Dictionary") { dictionary(of: old).count },
    ],
    moveCount: change.moves.count,
    fewestMoveCount: fewest.moves.count,
    peakBytes: peakBytes { Changeset(from: old, to: new) })
}

/// For each old element, the new element of the same identity, or itself if there is none.
private func inStep<Element: Differentiable>(with old: [Element], _ new: [Element]) -> [Element] {
  var counterparts: [Element.DifferenceIdentifier: Element] = [:]
  for element in new { counterparts[element.differenceIdentifier] = element }
  return old.map { counterparts[$0.differenceIdentifier] ?? $0 }
}

/// Returns the number of equal elements at the same offsets.
private func equalCount<Element: Equatable>(_ old: [Element], _ new: [Element]) -> Int {
  var count = 0
  for offset in 0..<min(old.count, new.count) where old[offset] == new[offset] { count += 1 }
  return count
}

/// Returns the hashes of all identities, as one number.
private func hashes<Element: Differentiable>(of elements: [Element]) -> Int {
  var hash = 0
  for element in elements { hash ^= element.differenceIdentifier.hashValue }
  return hash
}

/// Returns the offset of each identity.
private func dictionary<Element: Differentiable>(
  of elements: [Element]
) -> [Element.DifferenceIdentifier: Int] {
  var offsets: [Element.DifferenceIdentifier: Int] = [:]
  offsets.reserveCapacity(elements.count)
  for offset in 0..<elements.count { offsets[elements[offset].differenceIdentifier] = offset }
  return offsets
}
