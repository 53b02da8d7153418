// These methods leave the nodes as they are, and return new ones.

extension TreeNode {
  /// Returns nodes for the elements before an offset of a node, new elements, and the elements from an offset of
  /// a node on.
  ///
  /// All nodes are within the limits, unless there is only one.
  ///
  /// - Parameters:
  ///   - left: The node of the first elements.
  ///   - end: The number of elements that are taken from its start.
  ///   - new: The new elements.
  ///   - right: The node of the last elements, of equal height. It may be the same node.
  ///   - start: The offset of the first element that is taken from this node.
  ///   - limits: The sizes of nodes.
  /// - Complexity: O(log *n*) for nodes of *n* elements, plus the number of new elements.
  @inlinable
  static func nodes<Element>(
    _ left: TreeNode, upTo end: Int, _ new: UnsafeBufferPointer<Element>,
    _ right: TreeNode, from start: Int, _ limits: NodeLimits
  ) -> [TreeNode] {
    if left.isLeaf {
      let (first, last) = (left.buffer(Element.self), right.buffer(Element.self))
      return leaves(of: [first[..<end], new[...], last[start...]], limits)
    }
    var (end, start) = (end, start)
    let first = left.insertionPosition(of: &end)
    let last = right.insertionPosition(of: &start)
    var before = (0..<first).map { left.child($0) }
    var middle = nodes(left.child(first), upTo: end, new, right.child(last), from: start, limits)
    var after = (last + 1..<right.width).map { right.child($0) }[...]
    if middle[0].isTooNarrow(limits) {
      if let neighbor = before.popLast() {
        middle = neighbor.joined(with: middle[0], Element.self, limits)
      } else if let neighbor = after.popFirst() {
        middle = middle[0].joined(with: neighbor, Element.self, limits)
      }
    }
    return parents(of: before + middle + after, limits)
  }

  /// Returns one or two nodes for the contents of this node and the next one. One of them may be too narrow.
  @inlinable
  final func joined<Element>(
    with next: TreeNode, _: Element.Type, _ limits: NodeLimits
  ) -> [TreeNode] {
    if isLeaf {
      return Self.leaves(of: [buffer(Element.self)[...], next.buffer(Element.self)[...]], limits)
    }
    var left = (0..<width).map { child($0) }
    var right = (0..<next.width).map { next.child($0) }[...]
    // Only an only child can be too narrow.
    if let last = left.last, let first = right.first,
      last.isTooNarrow(limits) || first.isTooNarrow(limits)
    {
      left.removeLast()
      right.removeFirst()
      left += last.joined(with: first, Element.self, limits)
    }
    return Self.parents(of: left + right, limits)
  }

  @inlinable
  final func isTooNarrow(_ limits: NodeLimits) -> Bool {
    width < (isLeaf ? limits.leaf : limits.inner) / 2
  }

  /// Returns as few leaves as can hold the elements of some parts, and at least one.
  @inlinable
  static func leaves<Element>(
    of parts: [Slice<UnsafeBufferPointer<Element>>], _ limits: NodeLimits
  ) -> [TreeNode] {
    var (part, position) = (0, parts[0].startIndex)
    return evenParts(of: parts.reduce(0) { $0 + $1.count }, limits.leaf).map { range in
      let leaf = LeafNode<Element>.make(capacity: range.count)
      while leaf.count < range.count {
        while position == parts[part].endIndex {
          part += 1
          position = parts[part].startIndex
        }
        let length = min(range.count - leaf.count, parts[part].endIndex - position)
        if let source = parts[part].base.baseAddress {
          (leaf.elements(Element.self) + leaf.count).initialize(
            from: source + position, count: length)
        }
        leaf.count += length
        position += length
      }
      return leaf
    }
  }

  /// Returns as few inner nodes as can hold some nodes.
  @usableFromInline
  static func parents(of nodes: [TreeNode], _ limits: NodeLimits) -> [TreeNode] {
    evenParts(of: nodes.count, limits.inner).map { range in
      let parent = InnerNode.make(capacity: limits.inner + 1, height: nodes[0].height + 1)
      parent.replaceChildren(0..<0, with: Array(nodes[range]))
      parent.countChildren()
      return parent
    }
  }

  /// Returns a root above inner nodes of equal height.
  @usableFromInline
  static func root(of nodes: [TreeNode], _ limits: NodeLimits) -> TreeNode {
    var nodes = nodes
    while nodes.count > 1 { nodes = parents(of: nodes, limits) }
    return nodes[0]
  }
}

/// Divides a count into ranges of about equal length, none longer than a limit. There is at least
/// one range.
@usableFromInline
func evenParts(of count: Int, _ limit: Int) -> [Range<Int>] {
  let parts = max(1, (count + limit - 1) / limit)
  return (0..<parts).map { count * $0 / parts..<count * ($0 + 1) / parts }
}

/// The number of elements that can be inserted into a new leaf without allocating memory.
@inlinable var leafReserve: Int { 3 }
