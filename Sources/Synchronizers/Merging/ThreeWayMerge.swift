public import Diffing

/// What comes of two versions of a collection that were edited apart from each other, and what each side
/// has to change to get there.
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
  /// What both sides are to hold.
  public let merged: [Element]
  /// What changes mine into that.
  public let changesForMine: Changeset
  /// What changes theirs into that.
  public let changesForTheirs: Changeset
  /// What did not go together, each with what it came to: contents by their place in base, then what both
  /// have added, then places.
  public let conflicts: [ResolvedConflict<Element>]

  /// Merges two versions.
  ///
  /// - Parameters:
  ///   - base: What both had in common at last.
  ///   - mine: The one version.
  ///   - theirs: The other version.
  ///   - resolve: Asked once for each conflict, and for nothing else.
  /// - Complexity: That of two differences, and O(n).
  public init(
    base: some Collection<Element>, mine: some Collection<Element>,
    theirs: some Collection<Element>,
    resolve: (MergeConflict<Element>) -> MergeConflict<Element>.Resolution = {
      MergePreference.theirs.resolution(of: $0)
    }
  ) {
    var merger = Merger(base: Array(base), mine: Array(mine), theirs: Array(theirs))
    merger.mergeContents(resolve)
    merger.mergeAdditions(resolve)
    merger.mergePlaces(resolve)
    merged = merger.merged
    changesForMine = merger.changes(from: \.mine, merger.mine)
    changesForTheirs = merger.changes(from: \.theirs, merger.theirs)
    conflicts = merger.conflicts
  }
}
