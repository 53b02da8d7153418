// The node of each of these methods belongs to one list only. Elements that an edit removes are returned, and
// nothing else is released for good, so no other code runs during an edit.

extension TreeNode {
  // MARK: Single elements

  /// Replaces the element at an offset below an inner node, and returns the replaced element.
  @inlinable
  final func exchange<Element>(at offset: Int, with new: Element) -> Element {
    var offset = offset
    var node = Unmanaged.passUnretained(self)
    while true {
      let (child, isLeaf) = node._withUnsafeGuaranteedRef { node in
        let index = node.position(of: &offset)
        let isLeaf = node.height == 1
        isLeaf ? node.ownLeaf(index, Element.self) : node.ownInner(index)
        return (node.children[index].node, isLeaf)
      }
      node = child
      if isLeaf { break }
    }
    return node._withUnsafeGuaranteedRef { leaf in
      let place = leaf.elements(Element.self) + offset
      let old = place.move()
      place.initialize(to: new)
      return old
    }
  }

  /// Inserts an element below an inner node, which has room for one more child.
  ///
  /// Afterwards, this node itself may have one child more than the limits allow.
  @inlinable
  final func insert<Element>(_ element: Element, at offset: Int, _ limits: NodeLimits) {
    var offset = offset
    let index = insertionPosition(of: &offset)
    var isTooWide = false
    if height == 1 {
      isTooWide = children[index].count == limits.leaf
      insert(element, at: offset, inLeaf: index)
    } else {
      ownInner(index)
      children[index].node._withUnsafeGuaranteedRef {
        $0.insert(element, at: offset, limits)
        isTooWide = $0.width > limits.inner
      }
    }
    children[index].count += 1
    count += 1
    if isTooWide { splitChild(index, Element.self, limits) }
  }

  /// Inserts an element into a leaf. The caller counts it.
  @inlinable
  final func insert<Element>(_ element: Element, at offset: Int, inLeaf index: Int) {
    let count = children[index].count
    let isOwner = isOnlyOwner(of: index)
    let copy: TreeNode? = children[index].node._withUnsafeGuaranteedRef { leaf in
      let old = leaf.elements(Element.self)
      if isOwner && leaf.room > count {
        (old + offset + 1).moveInitialize(from: old + offset, count: count - offset)
        (old + offset).initialize(to: element)
        leaf.count = count + 1
        return nil
      }
      let copy = LeafNode<Element>.make(capacity: count + 1 + leafReserve)
      let new = copy.elements(Element.self)
      if isOwner {
        leaf.count = 0
        new.moveInitialize(from: old, count: offset)
        (new + offset + 1).moveInitialize(from: old + offset, count: count - offset)
      } else {
        new.initialize(from: old, count: offset)
        (new + offset + 1).initialize(from: old + offset, count: count - offset)
      }
      (new + offset).initialize(to: element)
      copy.count = count + 1
      return copy
    }
    if let copy { setChild(index, copy) }
  }

  /// Removes the element at an offset below an inner node, and returns it.
  ///
  /// Afterwards, this node itself may have fewer children than the limits allow.
  @inlinable
  final func remove<Element>(at offset: Int, _: Element.Type, _ limits: NodeLimits) -> Element {
    var offset = offset
    let index = position(of: &offset)
    let element: Element
    let isTooNarrow: Bool
    if height == 1 {
      element = remove(at: offset, inLeaf: index)
      isTooNarrow = children[index].count <= limits.leaf / 2
    } else {
      ownInner(index)
      (element, isTooNarrow) = children[index].node._withUnsafeGuaranteedRef {
        let element = $0.remove(at: offset, Element.self, limits)
        return (element, $0.width < limits.inner / 2)
      }
    }
    children[index].count -= 1
    count -= 1
    if isTooNarrow && width > 1 { joinChild(index, Element.self, limits) }
    return element
  }

  /// Removes an element from a leaf, and returns it. The caller counts it.
  @inlinable
  final func remove<Element>(at offset: Int, inLeaf index: Int) -> Element {
    let count = children[index].count
    let isOwner = isOnlyOwner(of: index)
    let (element, copy): (Element, TreeNode?) = children[index].node._withUnsafeGuaranteedRef {
      leaf in
      let old = leaf.elements(Element.self)
      if isOwner {
        let element = (old + offset).move()
        (old + offset).moveInitialize(from: old + offset + 1, count: count - offset - 1)
        leaf.count = count - 1
        return (element, nil)
      }
      let copy = LeafNode<Element>.make(capacity: count)
      let new = copy.elements(Element.self)
      new.initialize(from: old, count: offset)
      (new + offset).initialize(from: old + offset + 1, count: count - offset - 1)
      copy.count = count - 1
      return (old[offset], copy)
    }
    if let copy { setChild(index, copy) }
    return element
  }

  // MARK: Copies

  /// Replaces an inner child that other trees have by a copy.
  @inlinable
  final func ownInner(_ index: Int) {
    if isOnlyOwner(of: index) { return }
    setChild(index, children[index].node._withUnsafeGuaranteedRef { $0.copyOfInner() })
  }

  /// Returns a copy of an inner node.
  @usableFromInline
  final func copyOfInner() -> TreeNode {
    let copy = InnerNode.make(capacity: room, height: height)
    copy.children.initialize(from: children, count: width)
    for index in 0..<width { _ = children[index].node.retain() }
    copy.headerPointer.pointee.childCount = headerPointer.pointee.childCount
    copy.count = count
    return copy
  }

  /// Replaces a leaf that other trees have by a copy.
  @inlinable
  final func ownLeaf<Element>(_ index: Int, _: Element.Type) {
    if isOnlyOwner(of: index) { return }
    let count = children[index].count
    let copy = LeafNode<Element>.make(capacity: count)
    children[index].node._withUnsafeGuaranteedRef {
      copy.elements(Element.self).initialize(from: $0.elements(Element.self), count: count)
    }
    copy.count = count
    setChild(index, copy)
  }

  // MARK: Splitting and joining

  /// Divides a child that has one element or child too many into two.
  @inlinable
  final func splitChild<Element>(_ index: Int, _: Element.Type, _ limits: NodeLimits) {
    // The first half moves to a new node, so the free memory stays at the end, where lists grow.
    let right = child(index)
    let left: TreeNode
    let (half, rest) = (right.width / 2, right.width - right.width / 2)
    if right.isLeaf {
      left = LeafNode<Element>.make(capacity: half)
      let elements = right.elements(Element.self)
      left.elements(Element.self).moveInitialize(from: elements, count: half)
      elements.moveInitialize(from: elements + half, count: rest)
      left.count = half
    } else {
      left = InnerNode.make(capacity: limits.inner + 1, height: height - 1)
      left.children.moveInitialize(from: right.children, count: half)
      right.children.moveInitialize(from: right.children + half, count: rest)
      left.headerPointer.pointee.childCount = UInt16(half)
      right.headerPointer.pointee.childCount = UInt16(rest)
      left.countChildren()
    }
    right.count -= left.count
    children[index].count = right.count
    replaceChildren(index..<index, with: [left])
  }

  /// Joins a child that is too narrow with a neighbor, and divides both evenly if they are too wide for one node.
  @inlinable
  final func joinChild<Element>(_ index: Int, _: Element.Type, _ limits: NodeLimits) {
    let first = max(index - 1, 0)
    replaceChildren(
      first..<first + 2,
      with: child(first).joined(with: child(first + 1), Element.self, limits))
  }

  /// Replaces children by nodes with the same number of elements in all, or inserts nodes. There is memory for
  /// the new number of children.
  @usableFromInline
  final func replaceChildren(_ range: Range<Int>, with new: [TreeNode]) {
    let (children, width) = (children, width)
    for index in range { children[index].node.release() }
    (children + range.lowerBound + new.count).moveInitialize(
      from: children + range.upperBound, count: width - range.upperBound)
    for (index, node) in new.enumerated() {
      (children + range.lowerBound + index).initialize(
        to: TreeChild(count: node.count, node: .passRetained(node)))
    }
    headerPointer.pointee.childCount = UInt16(width - range.count + new.count)
  }

  /// Sets the number of elements to the sum of the children.
  @usableFromInline
  final func countChildren() {
    count = (0..<width).reduce(0) { $0 + children[$1].count }
  }
}

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
