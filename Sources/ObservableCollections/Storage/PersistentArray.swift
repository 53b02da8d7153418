/// A list of elements whose versions share the memory of their common parts.
///
/// A short list, and a list that was created from an array, is one array. The first edit of a long array
/// makes it a tree. A later edit copies only the path from the root to the edited leaves.
@usableFromInline
package enum PersistentArray<Element> {
  case flat([Element])
  /// Has at least two children.
  case tree(InnerNode)

  /// Creates a list that shares an array.
  @inlinable
  package init(_ elements: [Element]) {
    self = .flat(elements)
  }

  /// The number of elements.
  @inlinable
  package var count: Int {
    switch self {
    case .flat(let elements): elements.count
    case .tree(let root): root.count
    }
  }

  /// The element at an offset.
  ///
  /// - Complexity: O(log *n*) in a tree, O(1) in one array.
  @inlinable
  package subscript(offset: Int) -> Element {
    switch self {
    case .flat(let elements):
      return elements[offset]
    case .tree(let root):
      precondition(
        offset >= 0 && offset < root.count,
        "there is no element at \(offset): the offsets are 0..<\(root.count)")
      var offset = offset
      let leaf = root.leaf(at: &offset)
      return Self.leaf(leaf).elements[offset]
    }
  }

  /// All elements, if they are one array, or `nil`.
  @inlinable
  package var array: [Element]? {
    if case .flat(let elements) = self { elements } else { nil }
  }

  /// All elements as one array.
  ///
  /// - Complexity: O(*n*) for a tree, O(1) for one array.
  @inlinable
  package func flattened() -> [Element] { array ?? elements(in: 0..<count) }

  /// Returns the elements in a range.
  ///
  /// - Complexity: O(log *n*) and the length of the range.
  @inlinable
  package func elements(in range: Range<Int>) -> [Element] {
    switch self {
    case .flat(let elements):
      return Array(elements[range])
    case .tree(let root):
      var result: [Element] = []
      result.reserveCapacity(range.count)
      root.forEachLeaf(in: range) { leaf, part in
        let elements = Self.leaf(leaf).elements
        if part.count == elements.count {
          result.append(contentsOf: elements)
        } else {
          result.append(contentsOf: elements[part])
        }
      }
      return result
    }
  }

  /// Returns the elements around an offset that are contiguous in memory, and makes the offset relative to the
  /// first of them.
  ///
  /// - Complexity: O(log *n*) in a tree, O(1) in one array.
  @inlinable
  package func chunk(at offset: inout Int) -> [Element] {
    switch self {
    case .flat(let elements): elements
    case .tree(let root): Self.leaf(root.leaf(at: &offset)).elements
    }
  }

  /// Returns a node that is known to be a leaf, with its type.
  // Not a method of `LeafNode`: finding the metadata of the class takes longer than finding the leaf.
  @inlinable
  package static func leaf(_ node: TreeNode) -> LeafNode<Element> {
    unsafeDowncast(node, to: LeafNode<Element>.self)
  }

  /// Returns whether this list shares all of its memory with another one. They are equal then.
  ///
  /// - Complexity: O(1).
  @inlinable
  package func isIdentical(to other: PersistentArray) -> Bool {
    switch (self, other) {
    case (.flat(let mine), .flat(let theirs)): hasSameStorage(mine, theirs)
    case (.tree(let mine), .tree(let theirs)): mine === theirs
    default: false
    }
  }
}

extension PersistentArray: Sendable where Element: Sendable {}

/// Returns whether two arrays share their memory.
@inlinable
func hasSameStorage<Element>(_ one: [Element], _ other: [Element]) -> Bool {
  one.count == other.count
    && one.withUnsafeBufferPointer { one in
      other.withUnsafeBufferPointer { one.baseAddress == $0.baseAddress }
    }
}

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
  @inlinable
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
  @inlinable
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
  @inlinable
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
  @inlinable
  func staysFlat(count: Int, effort: Int, _ limits: NodeLimits) -> Bool {
    guard case .flat = self else { return false }
    // If many elements are edited at once, copying the rest costs no more than the edit.
    return count <= limits.flat || limits.bulk * effort >= count
  }

  /// Edits a list that is one array. If no other list shares the array, it is edited in place.
  @inlinable
  mutating func editFlat<Result>(_ body: (inout [Element]) -> Result) -> Result {
    guard case .flat(var elements) = self else {
      preconditionFailure("a tree is edited as one array")
    }
    self = .flat([])
    defer { self = .flat(elements) }
    return body(&elements)
  }

  /// Takes the root out of the list to edit it. No other list has the returned node.
  @inlinable
  mutating func takeRoot(_ limits: NodeLimits) -> InnerNode {
    switch self {
    case .flat(let elements):
      return InnerNode(LeafNode.nodes(of: elements, limits), height: 1)
    case .tree(var root):
      self = .flat([])
      return isKnownUniquelyReferenced(&root) ? root : InnerNode(root.children, height: root.height)
    }
  }

  /// Puts the root back, and adds or removes levels as necessary.
  @inlinable
  mutating func put(_ root: InnerNode, _ limits: NodeLimits) {
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

extension PersistentArray {
  /// Calls a closure with the elements of a range in contiguous memory.
  ///
  /// The memory is borrowed. The closure must not keep or change it.
  ///
  /// - Complexity: O(*k*) for *k* elements of several leaves; O(log *n*) in one leaf, O(1) in one array.
  @inlinable
  func withContiguousElements<Result>(
    in range: Range<Int>, _ body: (UnsafeBufferPointer<Element>) -> Result
  ) -> Result {
    if range.isEmpty { return body(UnsafeBufferPointer(start: nil, count: 0)) }
    var offset = range.lowerBound
    let chunk = chunk(at: &offset)
    if offset + range.count <= chunk.count {
      return chunk.withUnsafeBufferPointer {
        body(UnsafeBufferPointer(rebasing: $0[offset..<offset + range.count]))
      }
    }
    // Values that depend on their address, such as weak references, need true copies.
    guard case .tree(let root) = self, _isBitwiseTakable(Element.self) else {
      return elements(in: range).withUnsafeBufferPointer(body)
    }
    // Copying and releasing each element instead takes "swap, both edited before" half as long again.
    let memory = UnsafeMutableRawBufferPointer.allocate(
      byteCount: range.count * MemoryLayout<Element>.stride,
      alignment: MemoryLayout<Element>.alignment)
    // Not deinitialized: the elements belong to the tree, which is not edited while this method
    // retains it.
    defer { memory.deallocate() }
    var end = 0
    root.forEachLeaf(in: range) { leaf, part in
      Self.leaf(leaf).elements.withUnsafeBytes { bytes in
        let stride = MemoryLayout<Element>.stride
        let bytes = UnsafeRawBufferPointer(
          rebasing: bytes[part.lowerBound * stride..<part.upperBound * stride])
        UnsafeMutableRawBufferPointer(rebasing: memory[end..<end + bytes.count]).copyMemory(
          from: bytes)
        end += bytes.count
      }
    }
    return withExtendedLifetime(root) {
      body(UnsafeBufferPointer(memory.bindMemory(to: Element.self)))
    }
  }
}
