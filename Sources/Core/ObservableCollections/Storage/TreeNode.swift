/// A node of a counted B+ tree. Its children or elements are in the memory of the same object.
///
/// Only leaves know the type of their elements. Trees share nodes. An edit copies the shared nodes on the path
/// to the edited elements, and changes nodes of its own tree in place.
// One object for each node, because half of the time of an edit was spent on counting references and on
// allocating (`EngineBenchmarks "1,000,000"`).
@usableFromInline
package class TreeNode: ManagedBuffer<NodeHeader, UInt> {
  @inlinable
  final var headerPointer: UnsafeMutablePointer<NodeHeader> {
    withUnsafeMutablePointerToHeader { $0 }
  }

  /// The number of elements in the node or below it.
  @inlinable package final var count: Int {
    get { headerPointer.pointee.count }
    set { headerPointer.pointee.count = newValue }
  }

  /// The number of children, or the number of elements of a leaf.
  @inlinable package final var width: Int {
    isLeaf ? count : Int(headerPointer.pointee.childCount)
  }

  /// The number of levels below the node; 0 for a leaf.
  @inlinable package final var height: Int { Int(headerPointer.pointee.height) }

  @inlinable package final var isLeaf: Bool { headerPointer.pointee.height == 0 }

  /// The number of children or elements for which there is memory.
  @inlinable final var room: Int { Int(headerPointer.pointee.capacity) }

  /// The children of an inner node. The node retains them.
  @inlinable final var children: UnsafeMutablePointer<TreeChild> {
    withUnsafeMutablePointerToElements {
      UnsafeMutableRawPointer($0).assumingMemoryBound(to: TreeChild.self)
    }
  }

  /// The elements of a leaf.
  @inlinable
  final func elements<Element>(_: Element.Type) -> UnsafeMutablePointer<Element> {
    withUnsafeMutablePointerToElements {
      UnsafeMutableRawPointer($0).alignedUp(for: Element.self)
        .assumingMemoryBound(to: Element.self)
    }
  }

  /// The elements of a leaf, which are valid as long as the leaf is neither edited nor released.
  @inlinable
  final func buffer<Element>(_: Element.Type) -> UnsafeBufferPointer<Element> {
    UnsafeBufferPointer(start: elements(Element.self), count: count)
  }

  /// The children of an inner node, which are valid as long as the node is neither edited nor released.
  package final var childBuffer: UnsafeBufferPointer<TreeChild> {
    UnsafeBufferPointer(start: children, count: width)
  }

  /// Returns a child.
  @inlinable
  package final func child(_ index: Int) -> TreeNode {
    children[index].node.takeUnretainedValue()
  }

  /// Returns whether no other node and no list has a child. The node itself is not shared.
  @inlinable
  final func isOnlyOwner(of index: Int) -> Bool {
    withUnsafeMutablePointer(to: &children[index].node) {
      $0.withMemoryRebound(to: TreeNode.self, capacity: 1) {
        isKnownUniquelyReferenced(&$0.pointee)
      }
    }
  }

  /// Replaces a child. The caller updates the number of its elements.
  @inlinable
  final func setChild(_ index: Int, _ node: TreeNode) {
    let old = children[index].node
    children[index].node = .passRetained(node)
    old.release()
  }
}

/// The fixed part of a node.
@usableFromInline
package struct NodeHeader {
  @usableFromInline var count: Int
  /// The number of children of an inner node.
  @usableFromInline var childCount: UInt16
  /// The number of children or elements for which there is memory.
  @usableFromInline let capacity: UInt16
  @usableFromInline let height: UInt16

  @inlinable
  init(capacity: Int, height: Int) {
    count = 0
    childCount = 0
    self.capacity = UInt16(capacity)
    self.height = UInt16(height)
  }
}

/// A child with the number of elements in it or below it, which can be added up without reading the child.
@usableFromInline
package struct TreeChild {
  @usableFromInline package var count: Int
  @usableFromInline var node: Unmanaged<TreeNode>

  @inlinable
  init(count: Int, node: Unmanaged<TreeNode>) {
    self.count = count
    self.node = node
  }

  /// The elements of a leaf, which are valid as long as the leaf is neither edited nor released.
  ///
  /// The leaf itself is not read.
  // If its count were read, the processor would have to wait for each leaf before it could read the next one (a list of a
  // million rows beside another one, `EngineBenchmarks "nothing shared"`: 18 ms instead of 11).
  @inlinable
  func buffer<Element>(_: Element.Type) -> UnsafeBufferPointer<Element> {
    UnsafeBufferPointer(
      start: node._withUnsafeGuaranteedRef { $0.elements(Element.self) }, count: count)
  }

  var identifier: ObjectIdentifier {
    node._withUnsafeGuaranteedRef { ObjectIdentifier($0) }
  }
}

/// A node with children of equal height. It has memory for one child more than the limits allow.
@usableFromInline
final class InnerNode: TreeNode {
  deinit {
    for index in 0..<width { children[index].node.release() }
  }

  /// Creates a node without children.
  @inlinable
  static func make(capacity: Int, height: Int) -> TreeNode {
    let size = capacity * MemoryLayout<TreeChild>.size / MemoryLayout<UInt>.size
    let buffer = create(minimumCapacity: size) { _ in
      NodeHeader(capacity: capacity, height: height)
    }
    let node = unsafeDowncast(buffer, to: TreeNode.self)
    UnsafeMutableRawPointer(node.children).bindMemory(to: TreeChild.self, capacity: capacity)
    return node
  }
}

/// A leaf.
@usableFromInline
final class LeafNode<Element>: TreeNode {
  deinit {
    elements(Element.self).deinitialize(count: count)
  }

  /// Creates a leaf without elements.
  @inlinable
  static func make(capacity: Int) -> TreeNode {
    let padding = max(0, MemoryLayout<Element>.alignment - MemoryLayout<UInt>.alignment)
    let size = capacity * MemoryLayout<Element>.stride + padding
    let wordSize = MemoryLayout<UInt>.size
    let buffer = create(minimumCapacity: (size + wordSize - 1) / wordSize) { _ in
      NodeHeader(capacity: capacity, height: 0)
    }
    let leaf = unsafeDowncast(buffer, to: TreeNode.self)
    UnsafeMutableRawPointer(leaf.elements(Element.self))
      .bindMemory(to: Element.self, capacity: capacity)
    return leaf
  }
}

/// The sizes of arrays and of the nodes of a tree.
@usableFromInline
package struct NodeLimits: Sendable {
  /// The maximum number of elements of a leaf, at least 2. Only a root has less than half of it.
  @usableFromInline package let leaf: Int
  /// The maximum number of children of an inner node, at least 4. Only a root has less than half of it.
  @usableFromInline package let inner: Int
  /// The maximum number of elements of an array that is edited. Larger arrays become trees, and a tree of
  /// half this size becomes an array.
  @usableFromInline let flat: Int
  /// The number of elements per edit at which applying all edits to one array costs no more.
  @usableFromInline let bulk: Int

  @inlinable
  package init(leaf: Int, inner: Int, flat: Int, bulk: Int) {
    self.leaf = leaf
    self.inner = inner
    self.flat = flat
    self.bulk = bulk
  }

  /// The sizes of all collections of a type of elements.
  // Measured with integers and with rows of strings. Copying an element with references retains them, so few of
  // these elements share an array or a leaf: with 64 rows, an array takes twice as long as a tree, and among a
  // million rows, leaves of 32 take a fifth longer. With 192 integers, an array and a tree take equally long.
  @inlinable
  package static func standard<Element>(for _: Element.Type) -> NodeLimits {
    let isPlain = _isPOD(Element.self)
    let leaf = isPlain ? min(max(512 / MemoryLayout<Element>.stride, 16), 64) : 16
    return NodeLimits(leaf: leaf, inner: 12, flat: isPlain ? 4 * leaf : 2 * leaf, bulk: 32)
  }
}

extension TreeNode {
  // MARK: Finding elements

  /// Returns the position of the child that contains an offset, and makes the offset relative to that child.
  @inlinable
  final func position(of offset: inout Int) -> Int {
    let children = children
    var index = 0
    while offset >= children[index].count {
      offset -= children[index].count
      index += 1
    }
    return index
  }

  /// Returns the position of the child in which an insertion takes place, and makes the offset relative to that
  /// child. An insertion between two children goes to the end of the first of them.
  @inlinable
  final func insertionPosition(of offset: inout Int) -> Int {
    let children = children
    var index = 0
    while offset > children[index].count {
      offset -= children[index].count
      index += 1
    }
    return index
  }

  /// Returns the leaf that contains an offset, and makes the offset relative to that leaf.
  @inlinable
  final func leaf(at offset: inout Int) -> Unmanaged<TreeNode> { leafChild(at: &offset).node }

  /// Returns the leaf that contains an offset, with its number of elements, and makes the offset relative to that leaf.
  ///
  /// The leaf itself is not read.
  @inlinable
  final func leafChild(at offset: inout Int) -> TreeChild {
    var node = Unmanaged.passUnretained(self)
    // Nothing is retained on the way, because the root keeps all nodes alive.
    while true {
      let (child, isLeaf) = node._withUnsafeGuaranteedRef {
        ($0.children[$0.position(of: &offset)], $0.height == 1)
      }
      if isLeaf { return child }
      node = child.node
    }
  }

  /// Calls a closure with the elements of a range, leaf by leaf.
  @inlinable
  final func forEachLeaf<Element>(
    in range: Range<Int>, _ body: (UnsafeBufferPointer<Element>) -> Void
  ) {
    if isLeaf { return body(UnsafeBufferPointer(rebasing: buffer(Element.self)[range])) }
    var start = 0
    for index in 0..<width {
      if start >= range.upperBound { return }
      let end = start + children[index].count
      let part = range.clamped(to: start..<end)
      if !part.isEmpty {
        children[index].node._withUnsafeGuaranteedRef {
          $0.forEachLeaf(in: part.lowerBound - start..<part.upperBound - start, body)
        }
      }
      start = end
    }
  }
}
