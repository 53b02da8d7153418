/// The list before an edit of one element that has changed its tree in place.
///
/// Reading one element costs as much as in the tree. Everything else restores the list first, which copies a path
/// of the tree.
// Immutable, so several threads may read it.
@usableFromInline
package final class EarlierList<Element> {
  /// The root of the tree after the edit. It is not edited in place as long as this list exists.
  @usableFromInline let root: TreeNode
  @usableFromInline let edit: ElementEdit<Element>

  @inlinable
  init(root: TreeNode, edit: ElementEdit<Element>) {
    self.root = root
    self.edit = edit
  }

  /// The number of elements.
  @inlinable var count: Int {
    root.count + (edit.removal == nil ? 0 : 1) - (edit.insertion == nil ? 0 : 1)
  }

  /// Returns the element at an offset, which is not checked.
  @inlinable
  func element(at offset: Int) -> Element {
    var offset = offset
    if let (removed, element) = edit.removal {
      if offset == removed { return element }
      if offset > removed { offset -= 1 }
    }
    if let inserted = edit.insertion, offset >= inserted { offset += 1 }
    return root.leaf(at: &offset)._withUnsafeGuaranteedRef { $0.elements(Element.self)[offset] }
  }

  /// Returns this list as an array or a tree.
  ///
  /// - Complexity: O(log *n*).
  @inlinable
  func restored(_ limits: NodeLimits) -> PersistentArray<Element> {
    var list = PersistentArray<Element>.tree(root)
    switch (edit.removal, edit.insertion) {
    case (let (offset, element)?, let inserted?) where offset == inserted:
      _ = list.exchangeElement(at: offset, with: element, limits: limits)
    case (let removal, let insertion):
      if let insertion { _ = list.remove(at: insertion, limits: limits) }
      if let (offset, element) = removal { list.insert(element, at: offset, limits: limits) }
    }
    return list
  }
}

/// An edit of one element: a removal, an insertion after it, or both.
@usableFromInline
struct ElementEdit<Element> {
  /// The removed or replaced element, with its offset.
  @usableFromInline let removal: (offset: Int, element: Element)?
  /// The offset of the inserted element, or of the one that replaces another.
  @usableFromInline let insertion: Int?

  @inlinable
  init(removal: (offset: Int, element: Element)? = nil, insertion: Int? = nil) {
    self.removal = removal
    self.insertion = insertion
  }

  /// The removed or replaced element.
  @inlinable var removedElement: Element {
    guard let removal else { preconditionFailure("an insertion removes no element") }
    return removal.element
  }
}
