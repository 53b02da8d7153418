/// The moves of a changeset as steps, each at its offset at that moment, after the deletions and before
/// the insertions.
///
/// By ascending destination, each element is put behind the one that it follows in the new version. That
/// one has stayed, or has been put there already. So elements that moved gather right behind one that
/// stayed, their *anchor*, and the list at any moment is: each old offset that is still in place,
/// followed by what gathered behind it. An offset is a count of what stands to the left in that order.
///
/// - Complexity: O(*k* log *k*) in the offsets of the changeset.
func sequentialMoves(of changeset: Changeset) -> [(from: Int, to: Int)] {
  let moves = changeset.moves
  let anchors = anchors(of: changeset)
  // Only origins and anchors ever change what stands to their right.
  let places = Set(moves.map(\.from)).union(anchors).sorted()
  var balance = PrefixSums(count: places.count)

  /// What remains of the old elements left of an offset, before any move.
  func initialCount(before old: Int) -> Int {
    old - changeset.deletions.ascendingCount(below: old)
  }

  return zip(moves, anchors).map { move, anchor in
    let origin = places.ascendingCount(below: move.from)
    let from = initialCount(before: move.from) + balance.sum(before: origin)
    balance.add(-1, at: origin)
    let place = places.ascendingCount(below: anchor)
    // The anchor itself counts, and all that has gathered behind it.
    let to = initialCount(before: anchor + 1) + balance.sum(before: place + 1)
    balance.add(1, at: place)
    return (from, to)
  }
}

/// For each move the old offset of the last element before its destination that stayed, or -1.
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

/// Numbers of which any one can be changed, and the first ones summed, in logarithmic time.
///
/// The structure is that of P. Fenwick, "A New Data Structure for Cumulative Frequency Tables", 1994.
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
