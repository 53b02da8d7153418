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

  init() {}
}

/// A node with the number of elements in it or below it, which can be added up without reading the node.
@usableFromInline
package struct TreeChild: Sendable {
  @usableFromInline package var count: Int
  @usableFromInline package var node: TreeNode
}

/// Divides a count into ranges of about equal length, none longer than a limit. There is at least
/// one range.
func evenParts(of count: Int, _ limit: Int) -> [Range<Int>] {
  let parts = max(1, (count + limit - 1) / limit)
  return (0..<parts).map { count * $0 / parts..<count * ($0 + 1) / parts }
}
