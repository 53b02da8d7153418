/// A list of elements of which versions share what they have in common.
///
/// Short ones, and those that were made in one go, are one array. An edit of a long one makes it a tree,
/// of which later edits copy only what leads to what they edit.
@usableFromInline
package struct PersistentArray<Element> {
  @usableFromInline package var root: TreeNode<Element>

  /// Makes one of an array, which it shares.
  @usableFromInline
  package init(_ elements: [Element]) {
    root = TreeNode(elements)
  }

  /// The number of elements.
  @inlinable
  package var count: Int { root.count }

  /// The element at an offset.
  ///
  /// - Complexity: O(log *n*) in a tree, O(1) in one array.
  @inlinable
  package subscript(offset: Int) -> Element {
    if case .elements(let elements) = root.content { return elements[offset] }
    precondition(
      offset >= 0 && offset < count, "there is no element at \(offset): the offsets are 0..<\(count)")
    return root.element(at: offset)
  }

  /// All elements if they are one array, or nil.
  @inlinable
  package var flat: [Element]? {
    if case .elements(let elements) = root.content { elements } else { nil }
  }

  /// All elements as one array.
  ///
  /// - Complexity: O(*n*) for a tree, O(1) for one array.
  package var array: [Element] { flat ?? elements(in: 0..<count) }

  /// The elements of a range.
  ///
  /// - Complexity: O(log *n*) and the length of the range.
  package func elements(in range: Range<Int>) -> [Element] {
    var result: [Element] = []
    result.reserveCapacity(range.count)
    root.append(range, to: &result)
    return result
  }

  /// Whether this shares all with another one: then they are equal.
  ///
  /// - Complexity: O(1).
  package func isIdentical(to other: PersistentArray) -> Bool {
    switch (root.content, other.root.content) {
    case (.elements(let mine), .elements(let theirs)): hasSameStorage(mine, theirs)
    case (.children(let mine), .children(let theirs)): hasSameStorage(mine, theirs)
    default: false
    }
  }
}

extension PersistentArray: Sendable where Element: Sendable {}

/// Whether two arrays are one and the same in memory.
private func hasSameStorage<Element>(_ one: [Element], _ other: [Element]) -> Bool {
  one.count == other.count
    && one.withUnsafeBufferPointer { one in
      other.withUnsafeBufferPointer { one.baseAddress == $0.baseAddress }
    }
}
