/// A map from the offsets of the old version to the offsets of the new version.
///
/// Creating the map takes O(k log k) for k operations, and each lookup takes O(log k), for any
/// number of elements.
package struct OffsetMap {
  private let deletions: [Int]
  /// The new offset for each old offset of a moved element.
  private let destinations: [Int: Int]
  /// The old offsets of deleted and moved elements, ascending.
  private let departures: [Int]
  /// The new offsets of inserted and moved elements, ascending.
  private let arrivals: [Int]

  package init(_ changeset: Changeset) {
    deletions = changeset.deletions
    destinations = Dictionary(
      changeset.moves.map { ($0.from, $0.to) }, uniquingKeysWith: { first, _ in first })
    departures = changeset.removals
    arrivals = (changeset.insertions + changeset.moves.map(\.to)).sorted()
  }

  /// The new offset of the element at an old offset, or `nil` if the element was deleted.
  package subscript(old: Int) -> Int? {
    if let destination = destinations[old] { return destination }
    if deletions.hasAscending(old) { return nil }
    // The rank of the element among the elements that stayed is the same in both versions.
    let rank = old - departures.ascendingCount(below: old)
    return arrivals.offset(ofUnlistedRank: rank)
  }

  /// Returns the new offset of the nearest kept element.
  ///
  /// This is the element at the old offset, or else the next kept element, or else the last kept
  /// element before it.
  ///
  /// - Parameters:
  ///   - old: The old offset.
  ///   - count: The number of elements in the old version.
  /// - Returns: The new offset, or `nil` if no element was kept or the old offset is not below
  ///   `count`.
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
