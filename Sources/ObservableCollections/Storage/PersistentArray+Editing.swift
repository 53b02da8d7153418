// What an edit takes out must be held by whoever calls it until the edit is over: letting it go may run
// code that looks at the list.

extension PersistentArray {
  /// Replaces elements by others.
  ///
  /// - Parameters:
  ///   - range: The offsets of those to replace, within 0...`count`.
  ///   - new: What comes in their place.
  ///   - limits: How large nodes become.
  /// - Complexity: O(log *n*), and what the removed and the new elements take; O(*n*) once for what was
  ///   made in one go.
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
  /// - Returns: The one that was there.
  /// - Complexity: O(log *n*); O(*n*) once for what was made in one go.
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
  ///   - source: Where it stands.
  ///   - destination: Where it stands afterwards.
  /// - Complexity: O(log *n*); O(*n*) once for what was made in one go.
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

  /// Whether the elements are one array, and are to stay so.
  private func staysFlat(count: Int, effort: Int, _ limits: NodeLimits) -> Bool {
    guard case .flat = self else { return false }
    // Where much is edited at once, copying the rest costs no more than that.
    return count <= limits.flat || limits.bulk * effort >= count
  }

  /// Edits what is one array, in place where nobody else has it.
  private mutating func editFlat<Result>(_ body: (inout [Element]) -> Result) -> Result {
    guard case .flat(var elements) = self else {
      preconditionFailure("a tree is edited as one array")
    }
    self = .flat([])
    defer { self = .flat(elements) }
    return body(&elements)
  }

  /// Takes the root of the tree out, to be edited; nobody else has it.
  private mutating func takeRoot(_ limits: NodeLimits) -> InnerNode {
    switch self {
    case .flat(let elements):
      return InnerNode(LeafNode.nodes(of: elements, limits), height: 1)
    case .tree(var root):
      self = .flat([])
      return isKnownUniquelyReferenced(&root) ? root : InnerNode(root.children, height: root.height)
    }
  }

  /// Puts the root in, with as many levels as it takes.
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
