extension BitTree {
  /// The first violated invariant, or `nil`. For tests.
  package var violation: String? {
    var (leafCount, nodeCount) = (0, 0)
    func visit(_ slot: Int, level: Int) -> (count: Int, ones: Int, violation: String?) {
      if level == 0 {
        leafCount += 1
        let bitCount = bitCount(of: slot)
        let all = bits(of: slot).onesBefore(Self.leafCapacity)
        let ones = bits(of: slot).onesBefore(bitCount)
        if all != ones { return (0, 0, "a leaf has bits behind its end") }
        if bitCount > leafLimit || (height > 0 && bitCount < leafMinimum) {
          return (0, 0, "a leaf has \(bitCount) bits")
        }
        return (bitCount, ones, nil)
      }
      nodeCount += 1
      let node = self.node(slot)
      if node.count > fanLimit || node.count < (level == height ? 2 : nodeMinimum) {
        return (0, 0, "a node has \(node.count) children")
      }
      var (count, ones) = (0, 0)
      for child in 0..<BitNode.capacity {
        if child >= node.count {
          if node.starts[child] != BitNode.unused || node.ones[child] != BitNode.unused {
            return (0, 0, "a node has counts behind its end")
          }
          continue
        }
        if Int(node.starts[child]) != count || Int(node.ones[child]) != ones {
          return (0, 0, "a node counts \(node.starts[child]), not \(count), before a child")
        }
        let below = visit(Int(node.children[child]), level: level - 1)
        if below.violation != nil { return below }
        count += below.count
        ones += below.ones
      }
      return (count, ones, nil)
    }
    let found = visit(root, level: height)
    if let violation = found.violation { return violation }
    if found.count != count || found.ones != setCount { return "the list counts wrong" }
    if leafCount != leaves.nodeCount || nodeCount != nodes.nodeCount {
      return "\(leaves.nodeCount + nodes.nodeCount) nodes are in use, not \(leafCount + nodeCount)"
    }
    return nil
  }

  /// The number of bytes of memory that the list takes.
  package var byteCount: Int {
    leaves.capacity * Self.leafStride * 8 + nodes.capacity * BitNode.stride * 4
  }
}
