extension RowTree {
  /// The first violated invariant, or `nil`. For tests.
  package var violation: String? {
    var nodeCount = 0
    func visit(_ slot: Int, level: Int) -> (count: Int, first: Int32, violation: String?) {
      nodeCount += 1
      let node = self.node(slot)
      if level == 0 {
        if node.count > leafLimit || (height > 0 && node.count < leafMinimum) {
          return (0, 0, "a leaf has \(node.count) rows")
        }
        for position in 0..<node.count where leaves[Int(node.rows[position])] != Int32(slot) {
          return (0, 0, "the leaf of row \(node.rows[position]) is wrong")
        }
        for position in node.count..<RowNode.rowCapacity where node.rows[position] != RowNode.noRow
        {
          return (0, 0, "a leaf has rows behind its end")
        }
        return (node.count, node.rows[0], nil)
      }
      if node.count > fanLimit || node.count < (level == height ? 2 : nodeMinimum) {
        return (0, 0, "a node has \(node.count) children")
      }
      var count = 0
      for position in 0..<RowNode.childCapacity {
        if position >= node.count {
          if node.starts[position] != RowNode.unused || node.children[position] != RowNode.noRow {
            return (0, 0, "a node has children behind its end")
          }
          continue
        }
        let child = Int(node.children[position])
        if self.node(child).parent != slot { return (0, 0, "the parent of a node is wrong") }
        if Int(node.starts[position]) != count {
          return (0, 0, "a node counts \(node.starts[position]), not \(count), before a child")
        }
        let below = visit(child, level: level - 1)
        if below.violation != nil { return below }
        if node.firsts[position] != below.first {
          return (
            0, 0, "the first row below a child is \(below.first), not \(node.firsts[position])"
          )
        }
        count += below.count
      }
      return (count, node.firsts[0], nil)
    }
    let found = visit(root, level: height)
    if let violation = found.violation { return violation }
    if found.count != count { return "the list counts \(count) rows, not \(found.count)" }
    if nodeCount != nodes.nodeCount {
      return "\(nodes.nodeCount) nodes are in use, not \(nodeCount)"
    }
    let placed = (0..<leavesCapacity).count { leaves[$0] >= 0 }
    return placed == count ? nil : "\(placed) rows have a leaf, not \(count)"
  }

  /// The number of bytes of memory that the list takes.
  package var byteCount: Int { (nodes.capacity * RowNode.stride + leavesCapacity) * 4 }
}
