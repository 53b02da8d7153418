/// A list of values that keeps the combination of all of them.
///
/// The tree stores the combined value of each node. An edit combines again only the nodes on the path
/// from the edited value to the root. The order of the values is kept, so `combine` need not be
/// commutative.
///
/// Edits change the tree in place. It is not shared with observers.
@usableFromInline
package final class SummaryTree<Value: Sendable>: @unchecked Sendable {
  // Sendable: the operator that owns the tree uses it on one thread at a time.

  @usableFromInline package typealias Combine = @Sendable (Value, Value) -> Value

  @usableFromInline let empty: Value
  @usableFromInline let combine: Combine
  @exclusivity(unchecked) @usableFromInline var root: SummaryNode<Value>

  /// Creates a tree.
  ///
  /// - Parameters:
  ///   - values: The values.
  ///   - empty: The combination of no values.
  ///   - combine: An associative function that combines the values of two adjacent parts.
  /// - Complexity: O(*n*).
  @inlinable
  package init(_ values: some Collection<Value>, empty: Value, combine: @escaping Combine) {
    self.empty = empty
    self.combine = combine
    root = SummaryNode(values, combine)
  }

  /// The number of values.
  @inlinable package var count: Int { root.count }

  /// The combination of all values.
  @inlinable package var total: Value { root.combined(combine) ?? empty }

  /// All values.
  ///
  /// - Complexity: O(*n*).
  @inlinable package var values: [Value] {
    var values: [Value] = []
    values.reserveCapacity(count)
    root.appendValues(to: &values)
    return values
  }

  /// Returns the offset of the first value that satisfies a predicate, or `nil` if there is none.
  ///
  /// - Parameter predicate: A closure that must return `true` for the combination of several values exactly if it
  ///   does so for one of them.
  /// - Complexity: O(log *n*) calls of `predicate`.
  @inlinable
  package func firstOffset(where predicate: (Value) -> Bool) -> Int? {
    var (node, start) = (root, 0)
    while !node.children.isEmpty {
      var index = 0
      while !predicate(node.children[index].total) {
        start += node.children[index].count
        index += 1
        if index == node.children.count { return nil }
      }
      node = node.children[index].node
    }
    return node.values.firstIndex(where: predicate).map { start + $0 }
  }

  /// Replaces all values.
  ///
  /// - Complexity: O(*n*) for the new values.
  @inlinable
  package func replaceAll(with values: some Collection<Value>) {
    root = SummaryNode(values, combine)
  }

  /// Inserts a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - offset: The offset of the value after the insertion, in `0...count`.
  /// - Complexity: O(log *n*) calls of `combine`.
  @inlinable
  package func insert(_ value: Value, at offset: Int) {
    precondition(offset >= 0 && offset <= count, "offset \(offset) is out of range 0...\(count)")
    let split = root.insert(value, at: offset, isAppending: offset == count, combine)
    if let split { root = SummaryNode(children: [.init(root, combine), .init(split, combine)]) }
  }

  /// Removes a value.
  ///
  /// - Parameter offset: The offset of the value, in `0..<count`.
  /// - Returns: The removed value.
  /// - Complexity: O(log *n*) calls of `combine`.
  @inlinable
  package func remove(at offset: Int) -> Value {
    precondition(offset >= 0 && offset < count, "offset \(offset) is out of range 0..<\(count)")
    let value = root.remove(at: offset, combine)
    while root.children.count == 1 { root = root.children[0].node }
    return value
  }

  /// Replaces a value.
  ///
  /// - Parameters:
  ///   - offset: The offset of the value, in `0..<count`.
  ///   - value: The new value.
  /// - Returns: The replaced value.
  /// - Complexity: O(log *n*) calls of `combine`.
  @inlinable
  @discardableResult
  package func replace(at offset: Int, with value: Value) -> Value {
    precondition(offset >= 0 && offset < count, "offset \(offset) is out of range 0..<\(count)")
    return root.replace(at: offset, with: value, combine)
  }
}

/// A node of a ``SummaryTree``. Only the root may be empty.
@usableFromInline
final class SummaryNode<Value: Sendable> {
  @usableFromInline typealias Combine = SummaryTree<Value>.Combine

  /// A child, its number of values, and their combination.
  @usableFromInline
  struct Child {
    @usableFromInline let node: SummaryNode
    @usableFromInline var count: Int
    @usableFromInline var total: Value

    @inlinable
    init(_ node: SummaryNode, _ combine: Combine) {
      guard let total = node.combined(combine) else {
        preconditionFailure("a node below the root of a summary tree is empty")
      }
      self.node = node
      count = node.count
      self.total = total
    }
  }

  /// The values of a leaf. Empty in an inner node.
  @exclusivity(unchecked) @usableFromInline var values: [Value]
  /// The children of an inner node. Empty in a leaf.
  @exclusivity(unchecked) @usableFromInline var children: [Child]

  /// The maximum number of values in a leaf, and of children in an inner node.
  @inlinable static var leafLimit: Int { 32 }
  @inlinable static var innerLimit: Int { 16 }

  @inlinable
  init(values: [Value] = [], children: [Child] = []) {
    self.values = values
    self.children = children
  }

  /// Creates the root of a tree of some values.
  @inlinable
  convenience init(_ values: some Collection<Value>, _ combine: Combine) {
    guard values.count > Self.leafLimit else {
      self.init(values: Array(values))
      return
    }
    var level: [Child] = []
    var rest = values[...]
    // Leave room for later insertions.
    while !rest.isEmpty {
      let part = rest.prefix(3 * Self.leafLimit / 4)
      level.append(Child(SummaryNode(values: Array(part)), combine))
      rest = rest.dropFirst(part.count)
    }
    while level.count > Self.innerLimit {
      var above: [Child] = []
      for start in stride(from: 0, to: level.count, by: 3 * Self.innerLimit / 4) {
        let part = level[start..<min(level.count, start + 3 * Self.innerLimit / 4)]
        above.append(Child(SummaryNode(children: Array(part)), combine))
      }
      level = above
    }
    self.init(children: level)
  }

  /// The number of values. In an inner node, this adds up the counts of the children.
  @inlinable var count: Int {
    if children.isEmpty { return values.count }
    var count = 0
    for index in children.indices { count += children[index].count }
    return count
  }

  /// The number of values of a leaf, or of children of an inner node.
  @inlinable var size: Int { children.isEmpty ? values.count : children.count }

  /// The combination of all values, or `nil` if there is none.
  @inlinable
  func combined(_ combine: Combine) -> Value? {
    if children.isEmpty {
      guard var total = values.first else { return nil }
      for index in 1..<values.count { total = combine(total, values[index]) }
      return total
    }
    var total = children[0].total
    for index in 1..<children.count { total = combine(total, children[index].total) }
    return total
  }

  @inlinable
  func appendValues(to values: inout [Value]) {
    values.append(contentsOf: self.values)
    for child in children { child.node.appendValues(to: &values) }
  }

  /// Returns the child that contains an offset, and makes the offset relative to the child.
  @inlinable
  func child(at offset: inout Int, isInserting: Bool) -> Int {
    var index = 0
    // A value at the end of a child is inserted there.
    while index + 1 < children.count, offset >= children[index].count + (isInserting ? 1 : 0) {
      offset -= children[index].count
      index += 1
    }
    return index
  }

  /// Inserts a value.
  ///
  /// - Returns: The part after this node, if the node was split.
  @inlinable
  func insert(
    _ value: Value, at offset: Int, isAppending: Bool, _ combine: Combine
  ) -> SummaryNode? {
    if children.isEmpty {
      values.insert(value, at: offset)
      return values.count > Self.leafLimit ? split(isAppending: isAppending) : nil
    }
    var offset = offset
    let index = child(at: &offset, isInserting: true)
    let node = children[index].node
    let part = node.insert(value, at: offset, isAppending: isAppending, combine)
    children[index] = Child(node, combine)
    guard let part else { return nil }
    children.insert(Child(part, combine), at: index + 1)
    return children.count > Self.innerLimit ? split(isAppending: isAppending) : nil
  }

  /// Moves the second half to a new node.
  ///
  /// - Parameter isAppending: A Boolean value that indicates whether only the last value or child is moved.
  ///   A tree that grows at its end then has full nodes.
  @inlinable
  func split(isAppending: Bool) -> SummaryNode {
    let middle = isAppending ? size - 1 : size / 2
    if children.isEmpty {
      let part = SummaryNode(values: Array(values[middle...]))
      values.removeSubrange(middle...)
      return part
    }
    let part = SummaryNode(children: Array(children[middle...]))
    children.removeSubrange(middle...)
    return part
  }

  @inlinable
  func remove(at offset: Int, _ combine: Combine) -> Value {
    if children.isEmpty { return values.remove(at: offset) }
    var offset = offset
    let index = child(at: &offset, isInserting: false)
    let node = children[index].node
    let value = node.remove(at: offset, combine)
    if node.size < (node.children.isEmpty ? Self.leafLimit : Self.innerLimit) / 4 {
      mergeChild(index, combine)
    } else {
      children[index] = Child(node, combine)
    }
    return value
  }

  /// Merges a small child with a neighbor, or moves values from the neighbor to the child.
  @inlinable
  func mergeChild(_ index: Int, _ combine: Combine) {
    let first = index + 1 < children.count ? index : index - 1
    guard first >= 0 else {
      // An only child. If it is empty, so is this node, and its parent merges it.
      if children[index].node.size == 0 {
        children = []
      } else {
        children[index] = Child(children[index].node, combine)
      }
      return
    }
    let (one, other) = (children[first].node, children[first + 1].node)
    one.values.append(contentsOf: other.values)
    one.children.append(contentsOf: other.children)
    let limit = one.children.isEmpty ? Self.leafLimit : Self.innerLimit
    if one.size > limit {
      children[first + 1] = Child(one.split(isAppending: false), combine)
    } else {
      children.remove(at: first + 1)
    }
    children[first] = Child(one, combine)
  }

  @inlinable
  func replace(at offset: Int, with value: Value, _ combine: Combine) -> Value {
    if children.isEmpty {
      let old = values[offset]
      values[offset] = value
      return old
    }
    var offset = offset
    let index = child(at: &offset, isInserting: false)
    let node = children[index].node
    let old = node.replace(at: offset, with: value, combine)
    children[index] = Child(node, combine)
    return old
  }
}
