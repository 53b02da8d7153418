/// Where the elements of the old version stand in the new one, asked for one by one.
///
/// It takes O(k log k) for k operations and O(log k) for each question, however many elements there are.
package struct OffsetMap {
  private let deletions: [Int]
  /// New offsets of moved elements, by their old ones.
  private let destinations: [Int: Int]
  /// Old offsets of what was deleted or moved away, ascending.
  private let departures: [Int]
  /// New offsets of what was inserted or moved there, ascending.
  private let arrivals: [Int]

  package init(_ changeset: Changeset) {
    deletions = changeset.deletions
    destinations = Dictionary(
      changeset.moves.map { ($0.from, $0.to) }, uniquingKeysWith: { first, _ in first })
    departures = changeset.removals
    arrivals = (changeset.insertions + changeset.moves.map(\.to)).sorted()
  }

  /// The new offset of what stood at an old one; nil where it was deleted.
  package subscript(old: Int) -> Int? {
    if let destination = destinations[old] { return destination }
    if deletions.hasAscending(old) { return nil }
    // The rank of the element among those that stayed is the same in both versions.
    let rank = old - departures.ascendingCount(below: old)
    return arrivals.offset(ofUnlistedRank: rank)
  }

  /// The new offset of the element at an old offset, or else of the next one that was kept, or else of
  /// the last one before it.
  ///
  /// - Parameter count: How many elements the old version has; none is nearest in an empty one.
  package func nearest(to old: Int, count: Int) -> Int? {
    guard old < count else { return nil }
    var next = old
    while next < count, deletions.hasAscending(next) { next += 1 }
    if next < count { return self[next] }
    var previous = old - 1
    while previous >= 0, deletions.hasAscending(previous) { previous -= 1 }
    return previous >= 0 ? self[previous] : nil
  }
}
