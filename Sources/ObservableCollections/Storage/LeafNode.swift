/// A leaf of a tree: some elements in contiguous memory.
@usableFromInline
package final class LeafNode<Element>: TreeNode, @unchecked Sendable {
  // Sendable: like all nodes. Lists use it only for elements that are Sendable.

  // Not checked: see `InnerNode`. The caller of an edit holds removed elements until the edit is over.
  @exclusivity(unchecked) @usableFromInline package var elements: [Element]

  init(_ elements: [Element]) {
    self.elements = elements
  }

  func copy() -> LeafNode { LeafNode(elements) }

  /// Replaces elements by the elements of another leaf, if any.
  func replaceSubrange(_ range: Range<Int>, with new: LeafNode?) {
    if let new {
      elements.replaceSubrange(range, with: new.elements)
    } else {
      elements.removeSubrange(range)
    }
  }

  /// Appends the elements of the next leaf.
  func append(_ next: LeafNode) {
    elements += next.elements
  }

  /// Distributes the elements over as few leaves as can hold them.
  func split(_ limits: NodeLimits) -> [TreeChild] {
    Self.nodes(of: elements, limits)
  }

  /// Distributes elements over as few leaves as can hold them.
  static func nodes(of elements: [Element], _ limits: NodeLimits) -> [TreeChild] {
    evenParts(of: elements.count, limits.leaf).map {
      TreeChild(count: $0.count, node: LeafNode(Array(elements[$0])))
    }
  }
}
