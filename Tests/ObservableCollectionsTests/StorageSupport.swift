import ObservableCollections

/// A list, the array that it must equal, and the first mismatch, if there is one.
struct ModelledArray<Element: Equatable> {
  var list: PersistentArray<Element>
  var model: [Element]
  let limits: NodeLimits

  init(_ elements: [Element], _ limits: NodeLimits) {
    list = PersistentArray(elements)
    model = elements
    self.limits = limits
  }

  mutating func replaceSubrange(_ range: Range<Int>, with new: [Element]) {
    list.replaceSubrange(range, with: new, limits: limits)
    model.replaceSubrange(range, with: new)
  }

  mutating func move(from source: Int, to destination: Int) {
    list.move(from: source, to: destination, limits: limits)
    model.insert(model.remove(at: source), at: destination)
  }

  var violation: String? {
    if list.count != model.count { return "it counts \(list.count) of \(model.count)" }
    if list.flattened() != model { return "it holds \(list.flattened()), not \(model)" }
    for offset in model.indices where list[offset] != model[offset] {
      return "\(list[offset]) is at \(offset), not \(model[offset])"
    }
    return list.violation(limits)
  }
}

extension PersistentArray {
  /// The first violated invariant of the tree, or `nil`.
  func violation(_ limits: NodeLimits) -> String? {
    guard case .tree(let root) = self else { return nil }
    if root.children.count < 2 { return "the root has \(root.children.count) children" }
    return violation(of: root, limits)
  }

  private func violation(of node: InnerNode, _ limits: NodeLimits) -> String? {
    if node.children.count > limits.inner { return "a node has \(node.children.count) children" }
    if node.children.reduce(0, { $0 + $1.count }) != node.count { return "a node counts wrong" }
    for child in node.children {
      if node.height == 1 {
        let count = Self.leaf(child.node).elements.count
        if count != child.count { return "a leaf counts \(child.count) of \(count)" }
        if count < limits.leaf / 2 || count > limits.leaf { return "a leaf has \(count) elements" }
      } else {
        guard let inner = child.node as? InnerNode else { return "a leaf stands too high" }
        if inner.height != node.height - 1 { return "a node's height is wrong" }
        if inner.count != child.count { return "a child counts \(child.count) of \(inner.count)" }
        if inner.children.count < limits.inner / 2 {
          return "a node has \(inner.children.count) children"
        }
        if let violation = violation(of: inner, limits) { return violation }
      }
    }
    return nil
  }

  /// The number of levels above the leaves.
  var height: Int {
    if case .tree(let root) = self { root.height } else { 0 }
  }

  /// All nodes of the tree.
  private var nodes: Set<ObjectIdentifier> {
    guard case .tree(let root) = self else { return [] }
    var nodes: Set<ObjectIdentifier> = []
    var open: [TreeNode] = [root]
    while let node = open.popLast() {
      nodes.insert(ObjectIdentifier(node))
      if let inner = node as? InnerNode { open += inner.children.map(\.node) }
    }
    return nodes
  }

  /// The number of nodes that this list does not share with another one.
  func ownNodeCount(beside other: PersistentArray) -> Int {
    nodes.subtracting(other.nodes).count
  }
}
