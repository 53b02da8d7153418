// The caller of an edit must hold the removed elements until the edit is over: releasing them may
// run code that reads the list.

extension PersistentArray {
  /// Replaces the elements in a range.
  ///
  /// - Parameters:
  ///   - range: The offsets of the elements to replace, within `0..<count`.
  ///   - new: The new elements.
  ///   - limits: The sizes of nodes.
  /// - Complexity: O(log *n*), plus the time for the removed and the new elements. The first edit
  ///   of a list that is one long array takes O(*n*).
  package mutating func replaceSubrange(
    _ range: Range<Int>, with new: [Element], limits: NodeLimits = .standard
  ) {
    let effort = max(new.count, range.count)
    if staysFlat(count: max(count, count + new.count - range.count), effort: effort, limits) {
      editFlat { $0.replaceSubrange(range, with: new) }
      return
    }
    let root = takeRoot(limits)
    root.replaceSubrange(range, with: new.isEmpty ? nil : LeafNode(new), limits)
    put(root, limits)
  }

  /// Replaces one element.
  ///
  /// - Returns: The replaced element.
  /// - Complexity: O(log *n*). The first edit of a list that is one long array takes O(*n*).
  package mutating func exchangeElement(
    at offset: Int, with new: Element, limits: NodeLimits = .standard
  ) -> Element {
    if staysFlat(count: count, effort: 1, limits) {
      return editFlat { elements in
        let old = elements[offset]
        elements[offset] = new
        return old
      }
    }
    let root = takeRoot(limits)
    defer { put(root, limits) }
    var offset = offset
    let leaf = root.ownLeaf(at: &offset, Element.self)
    let old = leaf.elements[offset]
    leaf.elements[offset] = new
    return old
  }

  /// Moves one element.
  ///
  /// - Parameters:
  ///   - source: The offset of the element.
  ///   - destination: The offset of the element after the move.
  /// - Complexity: O(log *n*). The first edit of a list that is one long array takes O(*n*).
  package mutating func move(
    from source: Int, to destination: Int, limits: NodeLimits = .standard
  ) {
    if source == destination { return }
    if staysFlat(count: count, effort: 1, limits) {
      editFlat { $0.insert($0.remove(at: source), at: destination) }
      return
    }
    let root = takeRoot(limits)
    var offset = source
    let element = Self.leaf(root.leaf(at: &offset)).elements[offset]
    root.replaceSubrange(source..<source + 1, with: nil as LeafNode<Element>?, limits)
    root.replaceSubrange(destination..<destination, with: LeafNode([element]), limits)
    put(root, limits)
  }

  /// Returns whether the list is one array and stays one array after an edit.
  private func staysFlat(count: Int, effort: Int, _ limits: NodeLimits) -> Bool {
    guard case .flat = self else { return false }
    // If many elements are edited at once, copying the rest costs no more than the edit.
    return count <= limits.flat || limits.bulk * effort >= count
  }

  /// Edits a list that is one array. If no other list shares the array, it is edited in place.
  private mutating func editFlat<Result>(_ body: (inout [Element]) -> Result) -> Result {
    guard case .flat(var elements) = self else {
      preconditionFailure("a tree is edited as one array")
    }
    self = .flat([])
    defer { self = .flat(elements) }
    return body(&elements)
  }

  /// Takes the root out of the list to edit it. No other list has the returned node.
  private mutating func takeRoot(_ limits: NodeLimits) -> InnerNode {
    switch self {
    case .flat(let elements):
      return InnerNode(LeafNode.nodes(of: elements, limits), height: 1)
    case .tree(var root):
      self = .flat([])
      return isKnownUniquelyReferenced(&root) ? root : InnerNode(root.children, height: root.height)
    }
  }

  /// Puts the root back, and adds or removes levels as necessary.
  private mutating func put(_ root: InnerNode, _ limits: NodeLimits) {
    var root = root
    while root.children.count > limits.inner {
      root = InnerNode(root.split(limits), height: root.height + 1)
    }
    while root.children.count == 1 && root.height > 1 {
      root = unsafeDowncast(root.children[0].node, to: InnerNode.self)
    }
    let tree = PersistentArray.tree(root)
    self =
      root.children.count < 2 || root.count <= limits.flat / 2
      ? .flat(tree.elements(in: 0..<root.count)) : tree
  }
}
