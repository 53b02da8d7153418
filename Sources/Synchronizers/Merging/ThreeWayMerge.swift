public import Diffing
package import ObservableCollections

/// What comes of two versions of a collection that were edited apart, and how each side gets there.
///
///     let merge = ThreeWayMerge(base: ["a", "b"], mine: ["a", "b", "c"], theirs: ["b"])
///     // merged: b c; mine deletes a, theirs inserts c
///
/// `base` is what both sides had in common. Elements are told by their identity; those of one identity
/// are paired as in a `Changeset`.
///
/// | mine | theirs | comes to |
/// |---|---|---|
/// | edited | untouched | mine, and the other way round |
/// | edited | edited, to the same content | that |
/// | edited | edited otherwise | a conflict, by default theirs |
/// | deleted | untouched | deleted, and the other way round |
/// | deleted | edited | a conflict, by default the edit |
/// | edited | deleted | a conflict, by default deleted |
/// | added | added, of the same content | one of them |
/// | added | added otherwise | a conflict, by default theirs |
/// | deleted | deleted | gone |
/// | moved | stayed | the place in mine, and the other way round |
/// | moved | moved elsewhere | a conflict, by default the place in theirs |
///
/// Theirs gives the order. What mine alone has added or moved stands behind the element that stands before
/// it in mine. A side that was not edited leaves the other one exactly as it is, its order included.
public struct ThreeWayMerge<Element: Differentiable & Sendable>: Sendable {
  /// What changes mine into the outcome.
  public var changesForMine: Changeset { mineChanges.changeset }
  /// What changes theirs into the outcome.
  public var changesForTheirs: Changeset { theirChanges.changeset }
  /// What did not go together, each with what it came to.
  ///
  /// Contents come first, by their place in base, then what both have added, then places.
  public let conflicts: [ResolvedConflict<Element>]

  private let mine: Snapshot<Element>
  private let theirs: Snapshot<Element>
  /// The resolver's own.
  private let values: [Element]
  private let mineChanges: MergeChanges
  private let theirChanges: MergeChanges

  /// Merges two versions.
  ///
  /// - Parameters:
  ///   - base: What both had in common at last.
  ///   - mine: The one version.
  ///   - theirs: The other version.
  ///   - resolve: Asked once for each conflict, and for nothing else.
  /// - Complexity: That of two differences, and O(k log k) for the k elements that were changed. An array
  ///   or a snapshot is not copied.
  public init(
    base: some Collection<Element>, mine: some Collection<Element>,
    theirs: some Collection<Element>,
    resolve: (MergeConflict<Element>) -> MergeConflict<Element>.Resolution = {
      MergePreference.theirs.resolution(of: $0)
    }
  ) {
    let (base, mine, theirs) = (Snapshot(base), Snapshot(mine), Snapshot(theirs))
    let mineSide = MergeSide(base.changeset(to: mine))
    let theirSide = MergeSide(base.changeset(to: theirs))
    (self.mine, self.theirs) = (mine, theirs)
    (conflicts, values, mineChanges, theirChanges) = withoutActuallyEscaping(resolve) { resolve in
      var merger = Merger(base: base, mine: mine, theirs: theirs, resolve: resolve)
      let pairs = merger.pairs(mineSide.insertedOffsets, theirSide.insertedOffsets)
      let plan = MergePlan(
        baseCount: base.count, mine: mineSide, theirs: theirSide, pairs: pairs
      ) { merger.decide($0, $1, $2, $3) }
      let order = MergeOrder(plan) { merger.prefersMine($0) }
      return (
        merger.conflicts, merger.values, MergeChanges(for: .mine, plan, order),
        MergeChanges(for: .theirs, plan, order)
      )
    }
  }

  /// What both sides are to hold.
  ///
  /// - Complexity: O(n), each time. Whoever holds one of the sides needs only its changes.
  public var merged: [Element] {
    changesForTheirs.isEmpty
      ? Array(theirs)
      : changesForTheirs.applying(
        to: Array(theirs), inserted: elements(theirChanges.inserted, mine),
        updated: elements(theirChanges.updated, mine))
  }

  /// What both sides are to hold, made of the side that is nearer and shared with it.
  ///
  /// - Complexity: O(k log n) for the k changes of that side, O(n) once for what was made in one go.
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
