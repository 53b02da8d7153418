import ObservableCollections

/// A list, the array that it must equal, and the first mismatch, if there is one.
struct ModelledArray<Element: Equatable> {
  var list: PersistentArray<Element>
  var model: [Element]
  let limits: NodeLimits
  private var returnedWrongElement = false

  init(_ elements: [Element], _ limits: NodeLimits) {
    list = PersistentArray(elements)
    model = elements
    self.limits = limits
  }

  mutating func replaceSubrange(_ range: Range<Int>, with new: [Element]) {
    list.replaceSubrange(range, with: new, limits: limits)
    model.replaceSubrange(range, with: new)
  }

  mutating func insert(_ new: Element, at offset: Int) {
    list.insert(new, at: offset, limits: limits)
    model.insert(new, at: offset)
  }

  mutating func remove(at offset: Int) {
    let removed = list.remove(at: offset, limits: limits)
    if removed != model.remove(at: offset) { returnedWrongElement = true }
  }

  mutating func exchange(at offset: Int, with new: Element) {
    let old = list.exchangeElement(at: offset, with: new, limits: limits)
    if old != model[offset] { returnedWrongElement = true }
    model[offset] = new
  }

  mutating func move(from source: Int, to destination: Int) {
    list.move(from: source, to: destination, limits: limits)
    model.insert(model.remove(at: source), at: destination)
  }

  var violation: String? {
    if returnedWrongElement { return "an edit returned another element than the edited one" }
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
    if root.width < 2 { return "the root has \(root.width) children" }
    return violation(of: root, limits)
  }

  private func violation(of node: TreeNode, _ limits: NodeLimits) -> String? {
    if node.width > limits.inner { return "a node has \(node.width) children" }
    if node.childBuffer.reduce(0, { $0 + $1.count }) != node.count { return "a node counts wrong" }
    for index in 0..<node.width {
      let (child, count) = (node.child(index), node.childBuffer[index].count)
      if child.height != node.height - 1 { return "a node's height is wrong" }
      if child.count != count { return "a child counts \(count) of \(child.count)" }
      if child.isLeaf {
        if count < limits.leaf / 2 || count > limits.leaf { return "a leaf has \(count) elements" }
      } else {
        if child.width < limits.inner / 2 { return "a node has \(child.width) children" }
        if let violation = violation(of: child, limits) { return violation }
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
    var open = [root]
    while let node = open.popLast() {
      nodes.insert(ObjectIdentifier(node))
      if !node.isLeaf { open += (0..<node.width).map { node.child($0) } }
    }
    return nodes
  }

  /// The number of nodes that this list does not share with another one.
  func ownNodeCount(beside other: PersistentArray) -> Int {
    nodes.subtracting(other.nodes).count
  }
}
