/// A node of a counted B+ tree: an ``InnerNode`` or a ``LeafNode``.
///
/// Only leaves know the type of the elements. The height above the leaves determines the class of a
/// node. Inner nodes that depend on the type of the elements would take ten times as long to find
/// an offset, because their code is not specialized.
///
/// Trees share nodes. An edit copies the shared nodes on the path to the edited elements, and changes
/// nodes of its own tree in place.
@usableFromInline
package class TreeNode: @unchecked Sendable {
  // Sendable: a node is written only by the owner of the only reference to it.

  @inlinable
  init() {}
}

/// A node with the number of elements in it or below it, which can be added up without reading the node.
@usableFromInline
package struct TreeChild: Sendable {
  @usableFromInline package var count: Int
  @usableFromInline package var node: TreeNode

  @inlinable
  init(count: Int, node: TreeNode) {
    self.count = count
    self.node = node
  }
}

/// Divides a count into ranges of about equal length, none longer than a limit. There is at least
/// one range.
@usableFromInline
func evenParts(of count: Int, _ limit: Int) -> [Range<Int>] {
  let parts = max(1, (count + limit - 1) / limit)
  return (0..<parts).map { count * $0 / parts..<count * ($0 + 1) / parts }
}

/// The sizes of arrays and of the nodes of a tree.
@usableFromInline
package struct NodeLimits: Sendable {
  /// The maximum number of elements of a leaf, at least 2. Only a root has less than half of it.
  @usableFromInline package let leaf: Int
  /// The maximum number of children of an inner node, at least 4. Only a root has less than half of it.
  @usableFromInline package let inner: Int
  /// The maximum number of elements of an array that is edited. Larger arrays become trees, and a tree of
  /// half this size becomes an array.
  @usableFromInline package let flat: Int
  /// The number of elements per edit at which applying all edits to one array costs no more.
  @usableFromInline package let bulk: Int

  @inlinable
  package init(leaf: Int, inner: Int, flat: Int, bulk: Int) {
    self.leaf = leaf
    self.inner = inner
    self.flat = flat
    self.bulk = bulk
  }

  /// The sizes of all collections.
  // Measured with rows of strings and with integers. Among a million elements, leaves of half the size and
  // inner nodes of twice the size change the times by a tenth: faster for rows, slower for integers, or the
  // other way around. With 256 rows, an array takes twice as long as a tree. With 256 integers, a tree takes a
  // fifth longer.
  @inlinable package static var standard: NodeLimits {
    NodeLimits(leaf: 64, inner: 16, flat: 256, bulk: 32)
  }
}

/// A leaf of a tree: some elements in contiguous memory.
@usableFromInline
package final class LeafNode<Element>: TreeNode, @unchecked Sendable {
  // Sendable: like all nodes. Lists use it only for elements that are Sendable.

  // Not checked: see `InnerNode`. The caller of an edit holds removed elements until the edit is over.
  @exclusivity(unchecked) @usableFromInline package var elements: [Element]

  @inlinable
  init(_ elements: [Element]) {
    self.elements = elements
  }

  @inlinable
  func copy() -> LeafNode { LeafNode(elements) }

  /// Replaces elements by the elements of another leaf, if any.
  @inlinable
  func replaceSubrange(_ range: Range<Int>, with new: LeafNode?) {
    if let new {
      elements.replaceSubrange(range, with: new.elements)
    } else {
      elements.removeSubrange(range)
    }
  }

  /// Appends the elements of the next leaf.
  @inlinable
  func append(_ next: LeafNode) {
    elements += next.elements
  }

  /// Distributes the elements over as few leaves as can hold them.
  @inlinable
  func split(_ limits: NodeLimits) -> [TreeChild] {
    Self.nodes(of: elements, limits)
  }

  /// Distributes elements over as few leaves as can hold them.
  @inlinable
  static func nodes(of elements: [Element], _ limits: NodeLimits) -> [TreeChild] {
    evenParts(of: elements.count, limits.leaf).map {
      TreeChild(count: $0.count, node: LeafNode(Array(elements[$0])))
    }
  }
}

/// A node with children of equal height.
@usableFromInline
package final class InnerNode: TreeNode, @unchecked Sendable {
  // Sendable: like all nodes.

  // Not checked: no other code runs while a node is written, and a node never reads an array that it
  // writes. The check takes a sixth of "EngineBenchmarks 2,000 updates in one transaction".
  @exclusivity(unchecked) @usableFromInline package var children: [TreeChild]
  /// The number of elements below the node.
  @exclusivity(unchecked) @usableFromInline package var count: Int
  /// The number of levels below the node; 1 if the children are leaves.
  @usableFromInline package let height: Int

  @inlinable
  init(_ children: [TreeChild], height: Int) {
    self.children = children
    count = children.reduce(0) { $0 + $1.count }
    self.height = height
  }

  @inlinable
  func copy() -> InnerNode { InnerNode(children, height: height) }

  // MARK: Editing

  /// Replaces elements by the elements of a leaf, if any.
  ///
  /// Afterwards, this node itself may have more or fewer children than the limits allow. All nodes below
  /// it are within the limits, except for an only child. No other tree has this node.
  ///
  /// - Complexity: O(log *n*) for *n* elements, plus the time for the removed and the new elements.
  @inlinable
  func replaceSubrange<Element>(
    _ range: Range<Int>, with new: LeafNode<Element>?, _ limits: NodeLimits
  ) {
    count += (new?.elements.count ?? 0) - range.count
    // An insertion between two children goes to the first of them.
    var first = 0
    var start = 0
    while start + children[first].count < range.lowerBound {
      start += children[first].count
      first += 1
    }
    if range.upperBound <= start + children[first].count {
      edit(first, range.lowerBound - start..<range.upperBound - start, with: new, limits)
      repair(at: first, Element.self, limits)
      return
    }
    var last = first
    var lastStart = start
    while lastStart + children[last].count < range.upperBound {
      lastStart += children[last].count
      last += 1
    }
    edit(first, range.lowerBound - start..<children[first].count, with: new, limits)
    edit(last, 0..<range.upperBound - lastStart, with: nil as LeafNode<Element>?, limits)
    children.removeSubrange(first + 1..<last)
    repair(at: first + 1, Element.self, limits)
    // The first child may have been merged into the child before it, and may have been the last one.
    if first < children.count { repair(at: first, Element.self, limits) }
  }

  @inlinable
  func edit<Element>(
    _ index: Int, _ range: Range<Int>, with new: LeafNode<Element>?, _ limits: NodeLimits
  ) {
    own(index, Element.self)
    if height == 1 {
      leaf(index, Element.self).replaceSubrange(range, with: new)
    } else {
      inner(index).replaceSubrange(range, with: new, limits)
    }
    children[index].count += (new?.elements.count ?? 0) - range.count
  }

  /// Replaces a child that other trees have by a copy.
  @inlinable
  func own<Element>(_ index: Int, _: Element.Type) {
    if !isKnownUniquelyReferenced(&children[index].node) {
      children[index].node = height == 1 ? leaf(index, Element.self).copy() : inner(index).copy()
    }
  }

  /// Brings a child within the limits, together with its neighbors.
  @inlinable
  func repair<Element>(at index: Int, _: Element.Type, _ limits: NodeLimits) {
    let child = children[index]
    let width = height == 1 ? child.count : inner(index).children.count
    let maximum = height == 1 ? limits.leaf : limits.inner
    if child.count == 0 {
      children.remove(at: index)
    } else if width > maximum {
      let parts =
        height == 1 ? leaf(index, Element.self).split(limits) : inner(index).split(limits)
      children.replaceSubrange(index...index, with: parts)
    } else if width < maximum / 2 && children.count > 1 {
      let left = max(index - 1, 0)
      let right = children.remove(at: left + 1)
      if children[left].count == 0 {
        // The current edit has removed all of its elements.
        children[left] = right
      } else {
        append(right, to: left, Element.self, limits)
      }
      repair(at: left, Element.self, limits)
    }
  }

  /// Appends the contents of the next child to a child.
  @inlinable
  func append<Element>(
    _ next: TreeChild, to index: Int, _: Element.Type, _ limits: NodeLimits
  ) {
    own(index, Element.self)
    children[index].count += next.count
    if height == 1 {
      leaf(index, Element.self).append(PersistentArray<Element>.leaf(next.node))
      return
    }
    let (left, right) = (inner(index), unsafeDowncast(next.node, to: InnerNode.self))
    let border = left.children.count
    left.count += right.count
    left.children += right.children
    // An only child may have had fewer elements or children than the limits allow.
    left.repair(at: border, Element.self, limits)
    left.repair(at: border - 1, Element.self, limits)
  }

  /// Distributes the children over as few nodes as can hold them.
  @inlinable
  func split(_ limits: NodeLimits) -> [TreeChild] {
    evenParts(of: children.count, limits.inner).map {
      let node = InnerNode(Array(children[$0]), height: height)
      return TreeChild(count: node.count, node: node)
    }
  }

  /// A child that is a leaf.
  @inlinable
  func leaf<Element>(_ index: Int, _: Element.Type) -> LeafNode<Element> {
    PersistentArray<Element>.leaf(children[index].node)
  }

  /// A child that is not a leaf.
  @inlinable
  func inner(_ index: Int) -> InnerNode {
    unsafeDowncast(children[index].node, to: InnerNode.self)
  }

  // MARK: Finding leaves

  /// Returns the position of the child that contains an offset, and makes the offset relative to
  /// that child.
  @inlinable
  func position(of offset: inout Int) -> Int {
    var index = 0
    while offset >= children[index].count {
      offset -= children[index].count
      index += 1
    }
    return index
  }

  /// Returns the leaf that contains an offset, and makes the offset relative to that leaf.
  @inlinable
  package func leaf(at offset: inout Int) -> TreeNode {
    var node = self
    while node.height > 1 {
      node = unsafeDowncast(node.children[node.position(of: &offset)].node, to: InnerNode.self)
    }
    return node.children[node.position(of: &offset)].node
  }

  /// Returns the leaf that contains an offset, and makes the offset relative to that leaf.
  ///
  /// If other trees have the leaf or nodes on the path to it, the method first replaces them by
  /// copies. No other tree has this node.
  @inlinable
  func ownLeaf<Element>(at offset: inout Int, _: Element.Type) -> LeafNode<Element> {
    var node = self
    while true {
      let index = node.position(of: &offset)
      node.own(index, Element.self)
      if node.height == 1 { return node.leaf(index, Element.self) }
      node = node.inner(index)
    }
  }

  /// Calls a closure with each leaf that overlaps a range, and with the overlapping part.
  @inlinable
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
