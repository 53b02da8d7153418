/// A node with children of equal height.
@usableFromInline
package final class InnerNode: TreeNode, @unchecked Sendable {
  // Sendable: as all nodes.

  // No code but a node's own runs while it is written, and that it does not read what it writes can be
  // seen here: checking it at run time takes a sixth of "2,000 updates in one transaction".
  @exclusivity(unchecked) @usableFromInline package var children: [TreeChild]
  /// The number of elements below it.
  @exclusivity(unchecked) @usableFromInline package var count: Int
  /// 1 where the children are leaves.
  @usableFromInline package let height: Int

  init(_ children: [TreeChild], height: Int) {
    self.children = children
    count = children.reduce(0) { $0 + $1.count }
    self.height = height
  }

  override var width: Int { children.count }

  override func maximum(_ limits: NodeLimits) -> Int { limits.inner }

  override func copy() -> TreeNode { InnerNode(children, height: height) }

  override func replaceSubrange(_ range: Range<Int>, with new: TreeNode?, _ limits: NodeLimits) {
    count += (new?.width ?? 0) - range.count
    // What is inserted between two children goes to the first of them.
    var first = 0
    var start = 0
    while start + children[first].count < range.lowerBound {
      start += children[first].count
      first += 1
    }
    if range.upperBound <= start + children[first].count {
      edit(first, range.lowerBound - start..<range.upperBound - start, with: new, limits)
      repair(at: first, limits)
      return
    }
    var last = first
    var lastStart = start
    while lastStart + children[last].count < range.upperBound {
      lastStart += children[last].count
      last += 1
    }
    edit(first, range.lowerBound - start..<children[first].count, with: new, limits)
    edit(last, 0..<range.upperBound - lastStart, with: nil, limits)
    children.removeSubrange(first + 1..<last)
    repair(at: first + 1, limits)
    // The first child may have been merged into the child before it, and may have been the last one.
    if first < children.count { repair(at: first, limits) }
  }

  private func edit(
    _ index: Int, _ range: Range<Int>, with new: TreeNode?, _ limits: NodeLimits
  ) {
    own(index)
    children[index].node.replaceSubrange(range, with: new, limits)
    children[index].count += (new?.width ?? 0) - range.count
  }

  /// Makes a child one that nobody else has.
  private func own(_ index: Int) {
    if !isKnownUniquelyReferenced(&children[index].node) {
      children[index].node = children[index].node.copy()
    }
  }

  /// Brings a child within the limits, together with its neighbours.
  private func repair(at index: Int, _ limits: NodeLimits) {
    let child = children[index]
    let (width, maximum) = (child.node.width, child.node.maximum(limits))
    if child.count == 0 {
      children.remove(at: index)
    } else if width > maximum {
      children.replaceSubrange(index...index, with: child.node.split(limits))
    } else if width < maximum / 2 && children.count > 1 {
      let left = max(index - 1, 0)
      let right = children.remove(at: left + 1)
      if children[left].count == 0 {
        // All of it was removed a moment ago.
        children[left] = right
      } else {
        own(left)
        children[left].node.append(right.node, limits)
        children[left].count += right.count
      }
      repair(at: left, limits)
    }
  }

  override func append(_ next: TreeNode, _ limits: NodeLimits) {
    let next = unsafeDowncast(next, to: InnerNode.self)
    let border = children.count
    count += next.count
    children += next.children
    // An only child may have had less than the limits allow.
    repair(at: border, limits)
    repair(at: border - 1, limits)
  }

  override func split(_ limits: NodeLimits) -> [TreeChild] {
    Self.nodes(over: children, height: height, limits)
  }

  /// Distributes children over as few nodes as can hold them.
  static func nodes(
    over children: [TreeChild], height: Int, _ limits: NodeLimits
  ) -> [TreeChild] {
    evenParts(of: children.count, limits.inner).map {
      let node = InnerNode(Array(children[$0]), height: height)
      return TreeChild(count: node.count, node: node)
    }
  }

  // MARK: Finding leaves

  /// The child that an offset lies in; the offset is then counted from that child's start.
  @inlinable
  func position(of offset: inout Int) -> Int {
    var index = 0
    while offset >= children[index].count {
      offset -= children[index].count
      index += 1
    }
    return index
  }

  /// The leaf that an offset lies in; the offset is then counted from its start.
  @inlinable
  package func leaf(at offset: inout Int) -> TreeNode {
    var node = self
    while node.height > 1 {
      node = unsafeDowncast(node.children[node.position(of: &offset)].node, to: InnerNode.self)
    }
    return node.children[node.position(of: &offset)].node
  }

  /// Makes the leaf that an offset lies in one that nobody else has, with all that leads to it.
  ///
  /// Nobody else has this node.
  func ownLeaf(at offset: inout Int) -> TreeNode {
    var node = self
    while true {
      let index = node.position(of: &offset)
      node.own(index)
      let child = node.children[index].node
      if node.height == 1 { return child }
      node = unsafeDowncast(child, to: InnerNode.self)
    }
  }

  /// Calls a closure with all leaves that a range has a part of, each with that part.
  package func forEachLeaf(in range: Range<Int>, _ body: (TreeNode, Range<Int>) -> Void) {
    var start = 0
    for child in children {
      if start >= range.upperBound { return }
      let part = range.clamped(to: start..<start + child.count)
      if !part.isEmpty {
        let part = part.lowerBound - start..<part.upperBound - start
        if height == 1 {
          body(child.node, part)
        } else {
          unsafeDowncast(child.node, to: InnerNode.self).forEachLeaf(in: part, body)
        }
      }
      start += child.count
    }
  }
}
