/// Returns the moves of a changeset as sequential steps, between the deletions and the insertions.
/// Each step has the offsets that are valid at its time.
///
/// By ascending destination, each element is put behind its predecessor in the new version. The
/// predecessor has stayed, or has already been moved. Moved elements thus gather behind an element
/// that stayed, their *anchor*. At any time, the list consists of each old offset that is still in
/// place, followed by the elements that gathered behind it. An offset is the number of elements to
/// its left in that order.
///
/// - Complexity: O(*k* log *k*) in the offsets of the changeset.
func sequentialMoves(of changeset: Changeset) -> [(from: Int, to: Int)] {
  let moves = changeset.moves
  let anchors = anchors(of: changeset)
  // A move changes offsets only to the right of its origin and of its anchor.
  let places = Set(moves.map(\.from)).union(anchors).sorted()
  var balance = PrefixSums(count: places.count)

  /// Returns the number of remaining old elements left of an offset, before any move.
  func initialCount(before old: Int) -> Int {
    old - changeset.deletions.ascendingCount(below: old)
  }

  return zip(moves, anchors).map { move, anchor in
    let origin = places.ascendingCount(below: move.from)
    let from = initialCount(before: move.from) + balance.sum(before: origin)
    balance.add(-1, at: origin)
    let place = places.ascendingCount(below: anchor)
    // Count the anchor itself, and all elements that have gathered behind it.
    let to = initialCount(before: anchor + 1) + balance.sum(before: place + 1)
    balance.add(1, at: place)
    return (from, to)
  }
}

/// Returns the anchor of each move: the old offset of the last element before its destination that
/// stayed, or -1.
private func anchors(of changeset: Changeset) -> [Int] {
  let removals = changeset.removals
  var insertion = 0
  return changeset.moves.enumerated().map { position, move in
    while insertion < changeset.insertions.count && changeset.insertions[insertion] < move.to {
      insertion += 1
    }
    let stayedBefore = move.to - insertion - position
    guard stayedBefore > 0 else { return -1 }
    return removals.offset(ofUnlistedRank: stayedBefore - 1)
  }
}

/// A list of numbers that can change one number, and sum a prefix, in logarithmic time.
///
/// This is the structure of P. Fenwick, "A New Data Structure for Cumulative Frequency Tables",
/// 1994.
private struct PrefixSums {
  private var tree: [Int]

  init(count: Int) {
    tree = [Int](repeating: 0, count: count + 1)
  }

  mutating func add(_ value: Int, at position: Int) {
    var node = position + 1
    while node < tree.count {
      tree[node] += value
      node += node & -node
    }
  }

  func sum(before end: Int) -> Int {
    var sum = 0
    var node = end
    while node > 0 {
      sum += tree[node]
      node &= node - 1
    }
    return sum
  }
}
