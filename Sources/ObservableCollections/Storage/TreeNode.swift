/// A node of a counted B+-tree, that knows nothing of the type of the elements: unspecialised code for
/// that type would take ten times as long to find its way through a tree.
///
/// Nodes that several trees share are copied when one of them is edited, along the path to what is
/// edited; what one tree alone has is edited in place.
@usableFromInline
package class TreeNode: @unchecked Sendable {
  // Sendable: a node is written only by whoever holds the only reference to it.

  /// How many elements or children it has itself.
  var width: Int { preconditionFailure("a node is a leaf or has children") }

  /// The most that it may have.
  func maximum(_ limits: NodeLimits) -> Int {
    preconditionFailure("a node is a leaf or has children")
  }

  /// A node of its own with the same elements or children.
  func copy() -> TreeNode { preconditionFailure("a node is a leaf or has children") }

  /// Replaces elements by those of a leaf, if any.
  ///
  /// The node itself may then have more or less than the limits allow; all below it are within them, but
  /// for an only child.
  ///
  /// - Complexity: O(log *n*) for *n* elements, and what the removed and the new ones take.
  func replaceSubrange(_ range: Range<Int>, with new: TreeNode?, _ limits: NodeLimits) {
    preconditionFailure("a node is a leaf or has children")
  }

  /// Takes in what its neighbour to the right has, which is of equal height.
  func append(_ next: TreeNode, _ limits: NodeLimits) {
    preconditionFailure("a node is a leaf or has children")
  }

  /// Distributes what it has over as few nodes as can hold it.
  func split(_ limits: NodeLimits) -> [TreeChild] {
    preconditionFailure("a node is a leaf or has children")
  }
}

/// A node with the number of elements in it and below it, which are summed up without looking at it.
@usableFromInline
package struct TreeChild: Sendable {
  @usableFromInline package var count: Int
  @usableFromInline package var node: TreeNode
}

/// Ranges of about equal length, none longer than a limit; at least one.
func evenParts(of count: Int, _ limit: Int) -> [Range<Int>] {
  let parts = max(1, (count + limit - 1) / limit)
  return (0..<parts).map { count * $0 / parts..<count * ($0 + 1) / parts }
}
