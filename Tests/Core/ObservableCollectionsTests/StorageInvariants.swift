import Diffing
@testable import ObservableCollections

// The invariants of the structures of operators.

extension RowTree {
  /// The first violated invariant of a list that does not share its memory, or `nil`.
  var violation: String? {
    var nodeCount = 0
    return violation(&nodeCount) ?? storage.violation(nodes: nodeCount, rows: count)
  }

  /// The first violated invariant of a list and its nodes, which are counted, or `nil`.
  func violation(_ nodeCount: inout Int) -> String? {
    func visit(_ slot: Int, level: Int) -> (count: Int, first: Int32, violation: String?) {
      nodeCount += 1
      let node = self.node(slot)
      if level == 0 {
        if node.count > leafLimit || (height > 0 && node.count < leafMinimum) {
          return (0, 0, "a leaf has \(node.count) rows")
        }
        for position in 0..<node.count where storage.leaves[Int(node.rows[position])] != Int32(slot)
        {
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
    if node(root).parent != -1 { return "the root has a parent" }
    return found.count == count ? nil : "the list counts \(count) rows, not \(found.count)"
  }

  /// The number of bytes of memory that the list takes.
  var byteCount: Int { storage.byteCount }
}

extension RowStorage {
  /// The first difference from the numbers of nodes and rows that are in use, or `nil`.
  func violation(nodes nodeCount: Int, rows rowCount: Int) -> String? {
    if nodeCount != nodes.nodeCount {
      return "\(nodes.nodeCount) nodes are in use, not \(nodeCount)"
    }
    let placed = (0..<leavesCapacity).count { leaves[$0] >= 0 }
    return placed == rowCount ? nil : "\(placed) rows have a leaf, not \(rowCount)"
  }
}

extension BitTree {
  /// The first violated invariant, or `nil`.
  var violation: String? {
    for block in blocks.array {
      if !(1...64).contains(block.count) { return "a block has \(block.count) bits" }
      if block.bits >> UInt64(block.count) != 0 { return "a block has bits behind its end" }
      if block.setCount != block.bits.nonzeroBitCount { return "a block counts wrong" }
    }
    return blocks.violation
  }

  /// The number of bytes of memory that the list takes.
  var byteCount: Int { blocks.byteCount }
}

extension SummaryTree {
  /// The first violated invariant, or `nil`.
  var violation: String? {
    var (leafCount, nodeCount) = (0, 0)
    func violation(_ slot: Int, level: Int) -> String? {
      let count = entryCount(of: slot, level: level)
      let isRoot = level == height
      let least = isRoot ? (level == 0 ? 0 : 2) : minimum(level)
      if count < least || count > (level == 0 ? leafLimit : fanLimit) {
        return "a node at level \(level) has \(count) entries"
      }
      if level == 0 {
        leafCount += 1
        return nil
      }
      nodeCount += 1
      for position in 0..<count {
        let child = self.child(of: slot, at: position)
        if counts(of: slot)[position] != valueCount(of: child, level: level - 1) {
          return "a node counts \(counts(of: slot)[position]) values below a child"
        }
        if let violation = violation(child, level: level - 1) { return violation }
      }
      return nil
    }
    if let violation = violation(root, level: height) { return violation }
    if count != Int(valueCount(of: root, level: height)) { return "the list counts wrong" }
    if leafCount != leaves.nodeCount || nodeCount != nodes.nodeCount {
      return "\(leaves.nodeCount + nodes.nodeCount) nodes are in use, not \(leafCount + nodeCount)"
    }
    return nil
  }

  /// The number of bytes of memory that the list takes.
  var byteCount: Int {
    let valueCount = valuesCapacity * leafLimit + summariesCapacity * fanLimit
    return valueCount * MemoryLayout<Value>.stride
      + 4 * (leaves.capacity + nodes.capacity * nodes.stride)
  }
}

extension RowsByKey {
  /// The first violated invariant, or `nil`.
  var violation: String? {
    if let violation = order.violation ?? grouped.violation { return violation }
    var (expected, indices): ([Key: [UInt32]], [Int]) = ([:], [])
    for row in order.rows {
      guard let key = keys[row] else {
        indices.append(0)
        continue
      }
      indices.append(expected[key, default: []].count)
      expected[key, default: []].append(row)
    }
    if table.count != expected.count { return "the table has \(table.count) keys" }
    for (key, expected) in expected {
      var rows = self.rows(of: entry(of: key))
      if !keepsOrder { rows.sort { order.offset(of: $0) < order.offset(of: $1) } }
      if rows != expected { return "the rows of \(key) are \(rows), not \(expected)" }
    }
    if !keepsOrder { return nil }
    if zip(order.rows, indices).contains(where: { index(of: $0) != $1 })
      || self.indices() != indices
    {
      return "an index is wrong"
    }
    return nil
  }
}
