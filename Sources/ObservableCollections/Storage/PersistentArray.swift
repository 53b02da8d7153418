/// A list of elements of which versions share what they have in common.
///
/// Short ones, and those that were made in one go, are one array. An edit of a long one makes it a tree,
/// of which later edits copy only what leads to what they edit.
@usableFromInline
package enum PersistentArray<Element> {
  case flat([Element])
  /// Has at least two children.
  case tree(InnerNode)

  /// Makes one of an array, which it shares.
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

  /// All elements if they are one array, or nil.
  @inlinable
  package var array: [Element]? {
    if case .flat(let elements) = self { elements } else { nil }
  }

  /// All elements as one array.
  ///
  /// - Complexity: O(*n*) for a tree, O(1) for one array.
  package func flattened() -> [Element] { array ?? elements(in: 0..<count) }

  /// The elements of a range.
  ///
  /// - Complexity: O(log *n*) and the length of the range.
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

  /// The elements around an offset that are side by side in memory; the offset is then counted from the
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

  /// A node that is known to be a leaf of such elements.
  // Not of `LeafNode`: finding the class's metadata takes longer than finding the leaf.
  @inlinable
  package static func leaf(_ node: TreeNode) -> LeafNode<Element> {
    unsafeDowncast(node, to: LeafNode<Element>.self)
  }

  /// Whether this shares all with another one: then they are equal.
  ///
  /// - Complexity: O(1).
  package func isIdentical(to other: PersistentArray) -> Bool {
    switch (self, other) {
    case (.flat(let mine), .flat(let theirs)): hasSameStorage(mine, theirs)
    case (.tree(let mine), .tree(let theirs)): mine === theirs
    default: false
    }
  }
}

extension PersistentArray: Sendable where Element: Sendable {}

/// Whether two arrays are one and the same in memory.
func hasSameStorage<Element>(_ one: [Element], _ other: [Element]) -> Bool {
  one.count == other.count
    && one.withUnsafeBufferPointer { one in
      other.withUnsafeBufferPointer { one.baseAddress == $0.baseAddress }
    }
}
