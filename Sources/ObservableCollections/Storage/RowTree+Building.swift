/// The creation of a ``RowTree`` from its rows in order.
@usableFromInline
struct RowTreeBuilder {
  private let tree: RowTree
  private let count: Int
  private let leafCount: Int
  private var leaf = -1
  private var rows: UnsafeMutablePointer<Int32>
  private var position = 0
  private var end = 0

  /// Creates a builder for an empty list that has reserved memory for a number of rows.
  @usableFromInline
  init(_ tree: RowTree, count: Int) {
    precondition(
      count <= RowTree.maximumCount,
      "a list has at most \(RowTree.maximumCount) rows, not \(count)")
    self.tree = tree
    self.count = count
    let filled = RowTree.filled(tree.leafLimit)
    leafCount = max(1, (count + filled - 1) / filled)
    rows = tree.node(0).rows
  }

  /// Appends a row.
  @usableFromInline
  mutating func append(_ row: UInt32) {
    if position == end { beginLeaf() }
    tree.reserve(row)
    tree.leaves[Int(row)] = Int32(truncatingIfNeeded: leaf)
    rows[position] = Int32(bitPattern: row)
    position &+= 1
  }

  private mutating func beginLeaf() {
    leaf += 1
    if leaf > 0 { _ = tree.nodes.allocate() }
    let node = tree.node(leaf)
    node.clearRows(from: count * (leaf + 1) / leafCount - count * leaf / leafCount)
    (rows, position, end) = (node.rows, 0, node.count)
  }

  /// Creates the nodes above the leaves.
  @usableFromInline
  mutating func finish() {
    precondition(
      position == end && leaf == (count == 0 ? -1 : leafCount - 1), "there are not \(count) rows")
    tree.count = count
    let fan = RowTree.filled(tree.fanLimit)
    var level = (0..<leafCount).map { leaf in
      (slot: leaf, count: tree.node(leaf).count, first: tree.node(leaf).rows[0])
    }
    while level.count > 1 {
      tree.height += 1
      level = evenParts(of: level.count, fan).map { range in
        let slot = tree.nodes.allocate()
        let node = tree.node(slot)
        node.clearChildren(from: 0)
        var count = 0
        for child in level[range] {
          node.insertChild(child.slot, start: Int32(count), first: child.first, at: node.count)
          tree.node(child.slot).parent = slot
          count += child.count
        }
        return (slot, count, node.firsts[0])
      }
    }
    tree.root = level[0].slot
  }
}
