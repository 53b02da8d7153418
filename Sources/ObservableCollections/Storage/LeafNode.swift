/// A leaf: some elements side by side.
@usableFromInline
package final class LeafNode<Element>: TreeNode, @unchecked Sendable {
  // Sendable: as all nodes; it is used for elements that are.

  // As an inner node's children; what is taken out is held until the edit is over.
  @exclusivity(unchecked) @usableFromInline package var elements: [Element]

  init(_ elements: [Element]) {
    self.elements = elements
  }

  override var width: Int { elements.count }

  override func maximum(_ limits: NodeLimits) -> Int { limits.leaf }

  override func copy() -> TreeNode { LeafNode(elements) }

  override func replaceSubrange(_ range: Range<Int>, with new: TreeNode?, _ limits: NodeLimits) {
    if let new {
      elements.replaceSubrange(range, with: PersistentArray<Element>.leaf(new).elements)
    } else {
      elements.removeSubrange(range)
    }
  }

  override func append(_ next: TreeNode, _ limits: NodeLimits) {
    elements += PersistentArray<Element>.leaf(next).elements
  }

  override func split(_ limits: NodeLimits) -> [TreeChild] {
    Self.nodes(of: elements, limits)
  }

  /// Distributes elements over as few leaves as can hold them.
  static func nodes(of elements: [Element], _ limits: NodeLimits) -> [TreeChild] {
    evenParts(of: elements.count, limits.leaf).map {
      TreeChild(count: $0.count, node: LeafNode(Array(elements[$0])))
    }
  }
}
