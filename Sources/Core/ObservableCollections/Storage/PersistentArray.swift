/// A list of elements whose versions share the memory of their common parts.
///
/// A short list, and a list that was created from an array, is one array. The first edit of a long array
/// makes it a tree. A later edit copies only the path from the root to the edited leaves.
@usableFromInline
package enum PersistentArray<Element> {
  case flat([Element])
  /// The root of a tree. It has at least two children.
  case tree(TreeNode)

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
      checkOffset(offset)
      var offset = offset
      return root.leaf(at: &offset)._withUnsafeGuaranteedRef { $0.elements(Element.self)[offset] }
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
      root.forEachLeaf(in: range) { result.append(contentsOf: $0) }
      return result
    }
  }

  /// Calls a closure with the elements around an offset that are contiguous in memory, and with the position of
  /// the offset among them.
  ///
  /// The memory is borrowed. The closure must not keep or change it.
  ///
  /// - Complexity: O(log *n*) in a tree, O(1) in one array.
  @inlinable
  func withChunk<Result>(
    at offset: Int, _ body: (_ chunk: UnsafeBufferPointer<Element>, _ position: Int) -> Result
  ) -> Result {
    switch self {
    case .flat(let elements):
      return elements.withUnsafeBufferPointer { body($0, offset) }
    case .tree(let root):
      var position = offset
      let leaf = root.leafChild(at: &position)
      // The closure may release this list.
      return withExtendedLifetime(root) { body(leaf.buffer(Element.self), position) }
    }
  }

  // Nodes do not check offsets.

  @inlinable
  func checkOffset(_ offset: Int) {
    precondition(
      offset >= 0 && offset < count,
      "there is no element at \(offset): the offsets are 0..<\(count)")
  }

  @inlinable
  func checkRange(_ range: Range<Int>) {
    precondition(
      range.lowerBound >= 0 && range.upperBound <= count,
      "the range \(range) is not within 0..<\(count)")
  }

  /// Returns whether this list shares all of its memory with another one. They are equal then.
  ///
  /// - Complexity: O(1).
  @inlinable
  package func isIdentical(to other: PersistentArray) -> Bool {
    switch (self, other) {
    case (.flat(let mine), .flat(let theirs)): mine.hasSameStorage(as: theirs)
    case (.tree(let mine), .tree(let theirs)): mine === theirs
    default: false
    }
  }
}

// Sendable: a node is written only by the owner of the only reference to it.
extension PersistentArray: @unchecked Sendable where Element: Sendable {}

extension Array {
  /// Returns whether two arrays share their memory.
  @inlinable
  func hasSameStorage(as other: [Element]) -> Bool {
    count == other.count
      && withUnsafeBufferPointer { one in
        other.withUnsafeBufferPointer { one.baseAddress == $0.baseAddress }
      }
  }
}

// The caller of an edit must hold the removed elements until the edit is over: releasing them may
// run code that reads the list.

extension PersistentArray {
  /// Inserts an element.
  ///
  /// - Complexity: O(log *n*). The first edit of a list that is one long array takes O(*n*).
  @inlinable
  package mutating func insert(
    _ element: Element, at offset: Int, limits: NodeLimits = .standard(for: Element.self)
  ) {
    if staysFlat(count: count + 1, effort: 1, limits) {
      return editFlat { $0.insert(element, at: offset) }
    }
    checkRange(offset..<offset)
    editTree(limits) { $0.insert(element, at: offset, limits) }
  }

  /// Removes an element, and returns it.
  ///
  /// - Complexity: O(log *n*). The first edit of a list that is one long array takes O(*n*).
  @inlinable
  package mutating func remove(
    at offset: Int, limits: NodeLimits = .standard(for: Element.self)
  ) -> Element {
    if staysFlat(count: count, effort: 1, limits) {
      return editFlat { $0.remove(at: offset) }
    }
    checkOffset(offset)
    return editTree(limits) { $0.remove(at: offset, Element.self, limits) }
  }

  /// Replaces one element.
  ///
  /// - Returns: The replaced element.
  /// - Complexity: O(log *n*). The first edit of a list that is one long array takes O(*n*).
  @inlinable
  package mutating func exchangeElement(
    at offset: Int, with new: Element, limits: NodeLimits = .standard(for: Element.self)
  ) -> Element {
    if staysFlat(count: count, effort: 1, limits) {
      return editFlat { elements in
        let old = elements[offset]
        elements[offset] = new
        return old
      }
    }
    checkOffset(offset)
    return editTree(limits) { $0.exchange(at: offset, with: new) }
  }

  /// Moves one element.
  ///
  /// - Parameters:
  ///   - source: The offset of the element.
  ///   - destination: The offset of the element after the move.
  ///   - new: An element to store instead, or `nil`.
  ///   - limits: The sizes of nodes.
  /// - Complexity: O(log *n*). The first edit of a list that is one long array takes O(*n*).
  @inlinable
  package mutating func move(
    from source: Int, to destination: Int, as new: Element? = nil,
    limits: NodeLimits = .standard(for: Element.self)
  ) {
    if source == destination, new == nil { return }
    if staysFlat(count: count, effort: 1, limits) {
      return editFlat { elements in
        let old = elements.remove(at: source)
        elements.insert(new ?? old, at: destination)
      }
    }
    checkOffset(source)
    checkOffset(destination)
    editTree(limits) { root in
      let old = root.remove(at: source, Element.self, limits)
      root.insert(new ?? old, at: destination, limits)
    }
  }

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
    _ range: Range<Int>, with new: [Element], limits: NodeLimits = .standard(for: Element.self)
  ) {
    let effort = max(new.count, range.count)
    if staysFlat(count: max(count, count + new.count - range.count), effort: effort, limits) {
      return editFlat { $0.replaceSubrange(range, with: new) }
    }
    checkRange(range)
    // A few elements are edited in place, which costs less than to build new nodes.
    if new.count + range.count <= 12 {
      for _ in range { _ = remove(at: range.lowerBound, limits: limits) }
      for (position, element) in new.enumerated() {
        insert(element, at: range.lowerBound + position, limits: limits)
      }
      return
    }
    let root = takeRoot(limits)
    let nodes = new.withUnsafeBufferPointer {
      TreeNode.nodes(root, upTo: range.lowerBound, $0, root, from: range.upperBound, limits)
    }
    put(TreeNode.root(of: nodes, limits), limits)
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

  /// Edits a list that is a tree, or makes it one.
  ///
  /// - Parameter body: A closure that edits the root, which no other list has. Afterwards, the root may have one
  ///   child more than the limits allow, or only one child.
  @inlinable
  mutating func editTree<Result>(_ limits: NodeLimits, _ body: (TreeNode) -> Result) -> Result {
    var root = takeRoot(limits)
    if !isKnownUniquelyReferenced(&root) { root = root.copyOfInner() }
    let result = body(root)
    put(root, limits)
    return result
  }

  /// Takes the root out of the list to edit it.
  @inlinable
  mutating func takeRoot(_ limits: NodeLimits) -> TreeNode {
    switch self {
    case .flat(let elements):
      let leaves = elements.withUnsafeBufferPointer { TreeNode.leaves(of: [$0[...]], limits) }
      return TreeNode.root(of: TreeNode.parents(of: leaves, limits), limits)
    case .tree(let root):
      self = .flat([])
      return root
    }
  }

  /// Puts the root back, and adds or removes levels as necessary.
  @inlinable
  mutating func put(_ root: TreeNode, _ limits: NodeLimits) {
    if root.width > 1 && root.width <= limits.inner && root.count > limits.flat / 2 {
      self = .tree(root)
      return
    }
    var root = root
    if root.width > limits.inner {
      root = TreeNode.parents(of: [root], limits)[0]
      root.splitChild(0, Element.self, limits)
    }
    while root.width == 1 && root.height > 1 { root = root.child(0) }
    let tree = PersistentArray.tree(root)
    self =
      root.width == 1 || root.count <= limits.flat / 2
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
    if case .flat(let elements) = self {
      return elements.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
    }
    var position = range.lowerBound
    if case .tree(let root) = self {
      let leaf = root.leaf(at: &position)._withUnsafeGuaranteedRef { $0.buffer(Element.self) }
      if position + range.count <= leaf.count {
        return withExtendedLifetime(root) {
          body(UnsafeBufferPointer(rebasing: leaf[position..<position + range.count]))
        }
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
    root.forEachLeaf(in: range) { (elements: UnsafeBufferPointer<Element>) in
      let bytes = UnsafeRawBufferPointer(elements)
      UnsafeMutableRawBufferPointer(rebasing: memory[end...]).copyMemory(from: bytes)
      end += bytes.count
    }
    return withExtendedLifetime(root) {
      body(UnsafeBufferPointer(memory.bindMemory(to: Element.self)))
    }
  }
}
