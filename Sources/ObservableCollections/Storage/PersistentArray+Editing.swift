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
    if isEditedFlat(growth: new.count - range.count, effort: max(new.count, range.count), limits) {
      root.replaceSubrange(range, with: new, limits)
      return
    }
    grow(limits)
    root.replaceSubrange(range, with: new, limits)
    grow(limits)
    shrink(limits)
  }

  /// Replaces one element.
  ///
  /// - Returns: The one that was there.
  /// - Complexity: O(log *n*); O(*n*) once for what was made in one go.
  package mutating func exchangeElement(
    at offset: Int, with new: Element, limits: NodeLimits = .standard
  ) -> Element {
    if !isEditedFlat(growth: 0, effort: 1, limits) { grow(limits) }
    return root.exchangeElement(at: offset, with: new)
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
    let element = self[source]
    replaceSubrange(source..<source + 1, with: [], limits: limits)
    replaceSubrange(destination..<destination, with: [element], limits: limits)
  }

  /// Whether the elements are one array, and are to stay so.
  private func isEditedFlat(growth: Int, effort: Int, _ limits: NodeLimits) -> Bool {
    guard case .elements = root.content else { return false }
    // Where much is edited at once, copying the rest costs no more than that.
    return max(count, count + growth) <= limits.flat || limits.bulk * effort >= count
  }

  /// Puts levels on top until the root is within the limits.
  private mutating func grow(_ limits: NodeLimits) {
    while root.isOverfull(limits) { root = TreeNode(children: root.split(limits)) }
  }

  /// Takes away levels that are no use, and the whole tree where few elements are left.
  private mutating func shrink(_ limits: NodeLimits) {
    while case .children(let children) = root.content, children.count <= 1 {
      root = children.first ?? TreeNode([])
    }
    if case .children = root.content, count <= limits.flat / 2 { root = TreeNode(array) }
  }
}
