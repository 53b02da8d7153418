/// A node of a counted B+-tree: a leaf with elements, or children of equal height.
///
/// It is a value. Nodes that several trees share are copied when one of them is edited, along the path
/// to what is edited; what one tree alone has is edited in place.
@usableFromInline
package struct TreeNode<Element> {
  @usableFromInline
  package enum Content {
    case elements([Element])
    case children([TreeNode])
  }

  /// The number of elements in it and below it.
  @usableFromInline package private(set) var count: Int
  @usableFromInline package private(set) var content: Content

  /// Makes a leaf.
  @usableFromInline
  package init(_ elements: [Element]) {
    count = elements.count
    content = .elements(elements)
  }

  /// Makes an inner node.
  package init(children: [TreeNode]) {
    count = children.reduce(0) { $0 + $1.count }
    content = .children(children)
  }

  /// How many elements or children it has itself.
  package var width: Int {
    switch content {
    case .elements(let elements): elements.count
    case .children(let children): children.count
    }
  }

  /// Whether it has more than the limits allow.
  func isOverfull(_ limits: NodeLimits) -> Bool {
    switch content {
    case .elements(let elements): elements.count > limits.leaf
    case .children(let children): children.count > limits.inner
    }
  }

  /// Whether it has less than the limits allow.
  func isUnderfull(_ limits: NodeLimits) -> Bool {
    switch content {
    case .elements(let elements): elements.count < limits.leaf / 2
    case .children(let children): children.count < limits.inner / 2
    }
  }

  // MARK: Editing

  /// Replaces elements by others.
  ///
  /// The node itself may then have more or less than the limits allow; all below it are within them, but
  /// for an only child.
  ///
  /// - Complexity: O(log *n*) for *n* elements, and what the removed and the new ones take.
  mutating func replaceSubrange(
    _ range: Range<Int>, with new: [Element], _ limits: NodeLimits
  ) {
    count += new.count - range.count
    switch content {
    case .elements(var elements):
      // Given up for the moment, so that the array is edited in place.
      content = .elements([])
      elements.replaceSubrange(range, with: new)
      content = .elements(elements)
    case .children(var children):
      content = .elements([])
      Self.replaceSubrange(range, of: &children, with: new, limits)
      content = .children(children)
    }
  }

  private static func replaceSubrange(
    _ range: Range<Int>, of children: inout [TreeNode], with new: [Element], _ limits: NodeLimits
  ) {
    // What is inserted between two children goes to the first of them.
    var first = 0
    var start = 0
    while start + children[first].count < range.lowerBound {
      start += children[first].count
      first += 1
    }
    if range.upperBound <= start + children[first].count {
      children[first].replaceSubrange(
        range.lowerBound - start..<range.upperBound - start, with: new, limits)
      repair(&children, at: first, limits)
      return
    }
    var last = first
    var lastStart = start
    while lastStart + children[last].count < range.upperBound {
      lastStart += children[last].count
      last += 1
    }
    children[first].replaceSubrange(
      range.lowerBound - start..<children[first].count, with: new, limits)
    children[last].replaceSubrange(0..<range.upperBound - lastStart, with: [], limits)
    children.removeSubrange(first + 1..<last)
    repair(&children, at: first + 1, limits)
    repair(&children, at: first, limits)
  }

  /// Brings a child within the limits, together with its neighbours.
  private static func repair(
    _ children: inout [TreeNode], at index: Int, _ limits: NodeLimits
  ) {
    if children[index].count == 0 {
      children.remove(at: index)
    } else if children[index].isOverfull(limits) {
      children.replaceSubrange(index...index, with: children[index].split(limits))
    } else if children[index].isUnderfull(limits) && children.count > 1 {
      let left = max(index - 1, 0)
      let right = children.remove(at: left + 1)
      children[left].append(right, limits)
      repair(&children, at: left, limits)
    }
  }

  /// Takes in the neighbour to the right, of equal height.
  private mutating func append(_ next: TreeNode, _ limits: NodeLimits) {
    // All of it may have been removed a moment ago.
    if count == 0 {
      self = next
      return
    }
    count += next.count
    switch (content, next.content) {
    case (.elements(var elements), .elements(let others)):
      content = .elements([])
      elements += others
      content = .elements(elements)
    case (.children(var children), .children(let others)):
      content = .elements([])
      let border = children.count
      children += others
      // An only child may have had less than the limits allow.
      Self.repair(&children, at: border, limits)
      Self.repair(&children, at: border - 1, limits)
      content = .children(children)
    default:
      preconditionFailure("two neighbours in a tree are of different height")
    }
  }

  /// Distributes what it has over as few nodes as can hold it.
  func split(_ limits: NodeLimits) -> [TreeNode] {
    switch content {
    case .elements(let elements):
      evenParts(of: elements.count, limits.leaf).map { TreeNode(Array(elements[$0])) }
    case .children(let children):
      evenParts(of: children.count, limits.inner).map { TreeNode(children: Array(children[$0])) }
    }
  }

  /// Replaces one element.
  ///
  /// - Returns: The one that was there, so that it is let go of when the tree is whole again.
  mutating func exchangeElement(at offset: Int, with new: consuming Element) -> Element {
    let old: Element
    switch content {
    case .elements(var elements):
      content = .elements([])
      old = elements[offset]
      elements[offset] = new
      content = .elements(elements)
    case .children(var children):
      content = .elements([])
      var offset = offset
      let index = Self.position(of: &offset, in: children)
      old = children[index].exchangeElement(at: offset, with: new)
      content = .children(children)
    }
    return old
  }

  // MARK: Reading

  /// The child that an offset lies in; the offset is then counted from that child's start.
  @inlinable
  static func position(of offset: inout Int, in children: [TreeNode]) -> Int {
    var index = 0
    while offset >= children[index].count {
      offset -= children[index].count
      index += 1
    }
    return index
  }

  /// The element at an offset.
  @inlinable
  package func element(at offset: Int) -> Element {
    switch content {
    case .elements(let elements):
      return elements[offset]
    case .children(let children):
      var offset = offset
      let index = Self.position(of: &offset, in: children)
      return children[index].element(at: offset)
    }
  }

  /// The leaf that an offset lies in; the offset is then counted from its start.
  @inlinable
  package func chunk(at offset: inout Int) -> [Element] {
    switch content {
    case .elements(let elements):
      return elements
    case .children(let children):
      let index = Self.position(of: &offset, in: children)
      return children[index].chunk(at: &offset)
    }
  }

  /// Adds the elements of a range to an array.
  package func append(_ range: Range<Int>, to result: inout [Element]) {
    switch content {
    case .elements(let elements):
      if range.count == elements.count {
        result.append(contentsOf: elements)
      } else {
        result.append(contentsOf: elements[range])
      }
    case .children(let children):
      var start = 0
      for child in children {
        let part = range.clamped(to: start..<start + child.count)
        if !part.isEmpty { child.append(part.lowerBound - start..<part.upperBound - start, to: &result) }
        start += child.count
        if start >= range.upperBound { return }
      }
    }
  }
}

extension TreeNode: Sendable where Element: Sendable {}
extension TreeNode.Content: Sendable where Element: Sendable {}

/// Ranges of about equal length, none longer than a limit.
private func evenParts(of count: Int, _ limit: Int) -> [Range<Int>] {
  let parts = (count + limit - 1) / limit
  return (0..<parts).map { count * $0 / parts..<count * ($0 + 1) / parts }
}
