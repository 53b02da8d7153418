public import Diffing
package import ObservableCollections

/// The result of merging two versions of a collection that were edited separately.
///
///     let merge = ThreeWayMerge(base: ["a", "b"], mine: ["a", "b", "c"], theirs: ["b"])
///     // merged: b c; mine deletes a, theirs inserts c
///
/// The `base` is the last version that both sides had in common. Elements are matched by identity,
/// and elements of equal identity are paired as in a `Changeset`.
///
/// | mine | theirs | result |
/// |---|---|---|
/// | edited | unchanged | the content of mine, and vice versa |
/// | edited | edited, same content | this content |
/// | edited | edited, different content | conflict; by default theirs |
/// | deleted | unchanged | deleted, and vice versa |
/// | deleted | edited | conflict; by default the edit |
/// | edited | deleted | conflict; by default deleted |
/// | added | added, same content | one copy |
/// | added | added, different content | conflict; by default theirs |
/// | deleted | deleted | deleted |
/// | moved | not moved | the place in mine, and vice versa |
/// | moved | moved elsewhere | conflict; by default the place in theirs |
///
/// Theirs determines the order. An element that only mine added or moved follows its predecessor in
/// mine. If one side is unchanged, the result equals the other side exactly, including its order.
public struct ThreeWayMerge<Element: Differentiable & Sendable>: Sendable {
  /// The changes that turn mine into the result.
  public var changesForMine: Changeset { mineChanges.changeset }
  /// The changes that turn theirs into the result.
  public var changesForTheirs: Changeset { theirChanges.changeset }
  /// The conflicts and their resolutions.
  ///
  /// Conflicts about contents come first, in the order of the base. Conflicts about elements that
  /// both sides added follow, and then conflicts about places. If both sides have sorted the list, there can be a
  /// conflict about the place of nearly each element.
  public let conflicts: [MergeConflict<Element>.Resolved]

  private let mine: Snapshot<Element>
  private let theirs: Snapshot<Element>
  /// The contents that the resolver made.
  private let values: [Element]
  private let mineChanges: MergeChanges
  private let theirChanges: MergeChanges

  /// Merges two versions of a collection.
  ///
  /// - Parameters:
  ///   - base: The last common version.
  ///   - mine: One version.
  ///   - theirs: The other version.
  ///   - resolve: Decides a conflict. It is called once for each conflict.
  /// - Complexity: Two differences, and O(k log k) for k changed elements. Arrays and snapshots
  ///   are not copied.
  public init(
    base: some Collection<Element>, mine: some Collection<Element>,
    theirs: some Collection<Element>,
    resolve: (MergeConflict<Element>) -> MergeConflict<Element>.Resolution = {
      MergeConflict<Element>.Preference.theirs.resolution(of: $0)
    }
  ) {
    let (base, mine, theirs) = (Snapshot(base), Snapshot(mine), Snapshot(theirs))
    let mineSide = MergeSide(base.changeset(to: mine))
    let theirSide = MergeSide(base.changeset(to: theirs))
    (self.mine, self.theirs) = (mine, theirs)
    (conflicts, values, mineChanges, theirChanges) = withoutActuallyEscaping(resolve) { resolve in
      var resolver = ConflictResolver(base: base, mine: mine, theirs: theirs, resolve: resolve)
      let pairs = resolver.pairs(mineSide.insertedOffsets, theirSide.insertedOffsets)
      let plan = MergePlan(
        baseCount: base.count, mine: mineSide, theirs: theirSide, pairs: pairs
      ) { resolver.content($0, $1, $2) }
      let order = MergeOrder(plan) { resolver.prefersMine($0) }
      return (
        resolver.conflicts, resolver.values, MergeChanges(for: .mine, plan, order),
        MergeChanges(for: .theirs, plan, order)
      )
    }
  }

  /// The merged contents, as an array.
  ///
  /// - Complexity: O(n) for each call. To update one of the sides, apply its changes instead.
  public var merged: [Element] {
    changesForTheirs.isEmpty
      ? Array(theirs)
      : changesForTheirs.applying(
        to: Array(theirs), inserted: elements(theirChanges.inserted, mine),
        updated: elements(theirChanges.updated, mine))
  }

  /// The merged contents, as a snapshot that shares storage with the more similar side.
  ///
  /// - Complexity: O(k log n) for the k changes of this side, and once O(n) if the side was built
  ///   from a sequence.
  package var mergedSnapshot: Snapshot<Element> {
    changesForMine.changeCount < changesForTheirs.changeCount
      ? applying(mineChanges, to: mine, from: theirs)
      : applying(theirChanges, to: theirs, from: mine)
  }

  private func applying(
    _ changes: MergeChanges, to side: Snapshot<Element>, from other: Snapshot<Element>
  ) -> Snapshot<Element> {
    if changes.changeset.isEmpty { return side }
    var storage = side.storage
    storage.apply(
      changes.changeset, inserted: elements(changes.inserted, other),
      updated: elements(changes.updated, other))
    return Snapshot(storage)
  }

  private func elements(_ sources: [Int], _ side: Snapshot<Element>) -> [Element] {
    sources.map { $0 >= 0 ? side[$0] : values[~$0] }
  }
}

/// Asks the resolver about conflicts, and records the answers.
private struct ConflictResolver<Element: Differentiable & Sendable> {
  typealias Conflict = MergeConflict<Element>

  let base: Snapshot<Element>
  let mine: Snapshot<Element>
  let theirs: Snapshot<Element>
  let resolve: (Conflict) -> Conflict.Resolution
  private(set) var conflicts: [Conflict.Resolved] = []
  /// The contents that the resolver made.
  private(set) var values: [Element] = []

  /// Returns, for each insertion of theirs, the insertion of mine that has the same identity.
  ///
  /// Insertions are paired as in a difference. An insertion without a partner has the value -1.
  func pairs(_ mineInsertions: [Int], _ theirInsertions: [Int]) -> [Int] {
    let added = mineInsertions.map { mine[$0] }
    return Changeset(from: added, to: theirInsertions.map { theirs[$0] })
      .origins(oldCount: added.count)
  }

  /// Returns the content of an element that both sides changed, or `nil` if it is deleted.
  ///
  /// An offset of -1 means that the element is missing on this side.
  mutating func content(
    _ baseOffset: Int, _ mineOffset: Int, _ theirOffset: Int
  ) -> MergePlan.Content? {
    let mineValue = mineOffset >= 0 ? mine[mineOffset] : nil
    let theirValue = theirOffset >= 0 ? theirs[theirOffset] : nil
    if let mineValue, let theirValue, theirValue.hasSameContent(as: mineValue) { return .both }
    let kind: Conflict.Kind =
      if baseOffset < 0 {
        .added
      } else if mineValue == nil {
        .deletedByMine
      } else if theirValue == nil {
        .deletedByTheirs
      } else {
        .edited
      }
    let conflict = MergeConflict(
      kind: kind, base: baseOffset >= 0 ? base[baseOffset] : nil, mine: mineValue,
      theirs: theirValue)
    switch record(conflict) {
    case .mine: return mineValue == nil ? nil : .mine
    case .theirs: return theirValue == nil ? nil : .theirs
    case .merged(let value):
      if let identity = (mineValue ?? theirValue)?.differenceIdentifier {
        precondition(
          identity.isSameIdentity(as: value.differenceIdentifier),
          "a merged value must have the identity \(shownKey(identity)) of its conflict, but has "
            + shownKey(value.differenceIdentifier))
      }
      values.append(value)
      return MergePlan.Content(
        value: values.count - 1,
        isNewToMine: mineValue.map { !value.hasSameContent(as: $0) } ?? true,
        isNewToTheirs: theirValue.map { !value.hasSameContent(as: $0) } ?? true)
    }
  }

  /// Returns a Boolean value that indicates whether an element that both sides moved takes the
  /// place in mine.
  mutating func prefersMine(_ entry: MergePlan.Entry) -> Bool {
    let conflict = MergeConflict(
      kind: .moved, base: base[entry.base], mine: mine[entry.mine], theirs: theirs[entry.theirs])
    if case .mine = record(conflict) { return true }
    return false
  }

  private mutating func record(_ conflict: Conflict) -> Conflict.Resolution {
    var resolution = resolve(conflict)
    if conflict.kind == .moved, case .merged = resolution { resolution = .theirs }
    conflicts.append(Conflict.Resolved(conflict: conflict, resolution: resolution))
    return resolution
  }
}
