package import Diffing

/// The parts of two trees that are not shared.
///
/// Edits copy only the nodes on the path to an element, so two versions of a list have most of their
/// nodes in common. The comparison descends both trees at once, skips each node that both trees have,
/// and never looks below it.
package struct TreeComparison {
  /// The parts that are not shared, in ascending order. At least one shared leaf lies between two
  /// parts.
  package private(set) var gaps: [Gap] = []
  /// The number of nodes that the comparison has looked at, in both trees together.
  package private(set) var visitCount = 0

  /// Compares two trees.
  ///
  /// - Complexity: O(*k* log *n*) for *k* edits between two trees of *n* elements.
  package init(_ old: TreeNode, _ new: TreeNode) {
    // The roots keep all nodes alive.
    withExtendedLifetime((old, new)) { compare(Nodes(root: old), Nodes(root: new)) }
  }

  /// The number of elements in all gaps, in both trees together.
  package var gapElementCount: Int {
    gaps.reduce(0) { $0 + $1.old.count + $1.new.count }
  }

  /// Neighboring nodes of equal height.
  private struct Nodes {
    var siblings: [TreeChild]
    /// The positions of the nodes among their siblings.
    var positions: Range<Int>
    /// 0 for leaves.
    var height: Int
    /// The offset of the first element.
    var start: Int

    init(root: TreeNode) {
      siblings = [TreeChild(count: root.count, node: .passUnretained(root))]
      positions = 0..<1
      height = root.height
      start = 0
    }

    /// The offsets of the elements.
    var range: Range<Int> {
      var end = start
      for position in positions { end += siblings[position].count }
      return start..<end
    }

    /// Removes the first nodes and returns them.
    @discardableResult
    mutating func removeFirst(_ count: Int) -> Nodes {
      var first = self
      first.positions = positions.lowerBound..<positions.lowerBound + count
      start = first.range.upperBound
      positions = first.positions.upperBound..<positions.upperBound
      return first
    }

    mutating func removeLast(_ count: Int) {
      positions = positions.lowerBound..<positions.upperBound - count
    }

    /// Replaces the nodes by their children.
    mutating func descend() {
      var children: [TreeChild] = []
      for position in positions {
        siblings[position].node._withUnsafeGuaranteedRef {
          children.append(contentsOf: $0.childBuffer)
        }
      }
      siblings = children
      positions = siblings.indices
      height -= 1
    }

    var identifiers: [ObjectIdentifier] {
      siblings[positions].map(\.identifier)
    }
  }

  private mutating func compare(_ old: Nodes, _ new: Nodes) {
    var (old, new) = (old, new)
    visitCount += old.positions.count + new.positions.count
    if old.height == new.height {
      let limit = min(old.positions.count, new.positions.count)
      var prefix = 0
      while prefix < limit,
        old.siblings[old.positions.lowerBound + prefix].identifier
          == new.siblings[new.positions.lowerBound + prefix].identifier
      {
        prefix += 1
      }
      old.removeFirst(prefix)
      new.removeFirst(prefix)
      var suffix = 0
      while suffix < limit - prefix,
        old.siblings[old.positions.upperBound - 1 - suffix].identifier
          == new.siblings[new.positions.upperBound - 1 - suffix].identifier
      {
        suffix += 1
      }
      old.removeLast(suffix)
      new.removeLast(suffix)
      if min(old.positions.count, new.positions.count) > 1 {
        skipSharedNodes(old, new)
        return
      }
    }
    descend(old, new)
  }

  /// Skips shared nodes that are neither at the start nor at the end.
  private mutating func skipSharedNodes(_ old: Nodes, _ new: Nodes) {
    var (old, new) = (old, new)
    // Edits keep shared nodes in order, so the difference of the nodes moves none of them.
    let difference = Changeset(from: old.identifiers, to: new.identifiers)
    let (oldStart, newStart) = (old.positions.lowerBound, new.positions.lowerBound)
    let removals = difference.removals.map { $0 + oldStart }
    let arrivals = difference.arrivals.map { $0 + newStart }
    var (removal, arrival) = (0, 0)
    while removal < removals.count || arrival < arrivals.count {
      let sharedCount = min(
        removal < removals.count ? removals[removal] - old.positions.lowerBound : .max,
        arrival < arrivals.count ? arrivals[arrival] - new.positions.lowerBound : .max)
      old.removeFirst(sharedCount)
      new.removeFirst(sharedCount)
      let removedCount = consecutiveCount(removals[removal...], from: old.positions.lowerBound)
      let arrivedCount = consecutiveCount(arrivals[arrival...], from: new.positions.lowerBound)
      removal += removedCount
      arrival += arrivedCount
      descend(old.removeFirst(removedCount), new.removeFirst(arrivedCount))
    }
  }

  /// Returns how many values at the start of a list follow each other, beginning with a given one.
  private func consecutiveCount(_ values: ArraySlice<Int>, from first: Int) -> Int {
    var count = 0
    while count < values.count, values[values.startIndex + count] == first + count { count += 1 }
    return count
  }

  /// Compares the children of nodes of which none is shared.
  private mutating func descend(_ old: Nodes, _ new: Nodes) {
    if old.positions.isEmpty && new.positions.isEmpty { return }
    if old.positions.isEmpty || new.positions.isEmpty || (old.height == 0 && new.height == 0) {
      gaps.append(Gap(old: old.range, new: new.range))
      return
    }
    var (lowerOld, lowerNew) = (old, new)
    // Descend from the taller nodes first, until both are of equal height.
    if old.height >= new.height { lowerOld.descend() }
    if new.height >= old.height { lowerNew.descend() }
    compare(lowerOld, lowerNew)
  }
}
