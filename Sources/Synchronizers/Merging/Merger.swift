import Diffing
import ObservableCollections

/// Asks about contents and places, and notes what it was told.
struct Merger<Element: Differentiable & Sendable> {
  typealias Resolve = (MergeConflict<Element>) -> MergeConflict<Element>.Resolution

  let base: Snapshot<Element>
  let mine: Snapshot<Element>
  let theirs: Snapshot<Element>
  let resolve: Resolve
  private(set) var conflicts: [ResolvedConflict<Element>] = []
  /// The resolver's own values.
  private(set) var values: [Element] = []

  init(
    base: Snapshot<Element>, mine: Snapshot<Element>, theirs: Snapshot<Element>,
    resolve: @escaping Resolve
  ) {
    (self.base, self.mine, self.theirs, self.resolve) = (base, mine, theirs, resolve)
  }

  /// For each insertion of theirs the one of mine with the same identity, paired as in a difference; -1
  /// where there is none.
  func pairs(_ mineInsertions: [Int], _ theirInsertions: [Int]) -> [Int] {
    let added = mineInsertions.map { mine[$0] }
    return Changeset(from: added, to: theirInsertions.map { theirs[$0] })
      .origins(oldCount: added.count)
  }

  /// What an element comes to that both sides have changed; nil where it goes.
  mutating func decide(
    _ kind: MergeConflictKind, _ baseOffset: Int, _ mineOffset: Int, _ theirOffset: Int
  ) -> MergePlan.Content? {
    let mineValue = mineOffset >= 0 ? mine[mineOffset] : nil
    let theirValue = theirOffset >= 0 ? theirs[theirOffset] : nil
    if let mineValue, let theirValue, sameContent(mineValue, theirValue) { return .both }
    let conflict = MergeConflict(
      kind: kind, base: baseOffset >= 0 ? base[baseOffset] : nil, mine: mineValue,
      theirs: theirValue)
    switch record(conflict) {
    case .mine: return mineValue == nil ? nil : .mine
    case .theirs: return theirValue == nil ? nil : .theirs
    case .merged(let value):
      precondition(
        (mineValue ?? theirValue).map {
          sameIdentity($0.differenceIdentifier, value.differenceIdentifier)
        } ?? true,
        "a merged value has the identity of the elements in conflict")
      values.append(value)
      return MergePlan.Content(
        value: values.count - 1,
        isNewToMine: mineValue.map { !sameContent($0, value) } ?? true,
        isNewToTheirs: theirValue.map { !sameContent($0, value) } ?? true)
    }
  }

  /// Whether an element that both have moved stands where mine has it.
  mutating func prefersMine(_ entry: MergePlan.Entry) -> Bool {
    let conflict = MergeConflict(
      kind: .moved, base: base[entry.base], mine: mine[entry.mine], theirs: theirs[entry.theirs])
    if case .mine = record(conflict) { return true }
    return false
  }

  private mutating func record(
    _ conflict: MergeConflict<Element>
  ) -> MergeConflict<Element>.Resolution {
    var resolution = resolve(conflict)
    if conflict.kind == .moved, case .merged = resolution { resolution = .theirs }
    conflicts.append(ResolvedConflict(conflict: conflict, resolution: resolution))
    return resolution
  }
}
