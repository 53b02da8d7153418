public import Diffing
public import ReactiveSignals

extension DataSource {
  /// Derives a collection of the elements around one that is given by its identity.
  ///
  ///     let anchor = Property<Int?>(nil)
  ///     let page = messages.window(around: anchor, before: 10, after: 20)
  ///     anchor.value = 4711
  ///
  /// The window follows its element, so rows that are inserted or deleted above do not shift it. If the element is
  /// deleted, the window moves to the first other element with the identity. If there is none, it stays where it is: at
  /// the next element, or else at the previous one. If an element with the identity is inserted later, the window moves
  /// there. Each time that the identity is set, the window moves to the first element with it. Without an identity, the
  /// window is around the first element.
  ///
  /// | in | out |
  /// |---|---|
  /// | insert, delete inside | insert or delete, and elements leave or enter at the ends |
  /// | insert, delete outside | nothing, unless the element is near an end of the list |
  /// | update | update, or nothing |
  /// | move of the element | the window moves with it |
  /// | another identity | elements leave and enter; those in both windows stay |
  ///
  /// - Parameters:
  ///   - identifier: The identity of the first such element: a property, or a view of one.
  ///   - before: The number of elements to show before it.
  ///   - after: The number of elements to show after it.
  /// - Complexity: O(k log n) for a change of k of n elements, and O(w + log n) for w elements that enter or leave.
  ///   The first search for an identity takes O(n).
  @inlinable
  public func window(
    around identifier: some PropertySource<Element.DifferenceIdentifier?>, before: Int, after: Int
  ) -> LiveCollection<Element> {
    checkLength(before)
    checkLength(after)
    return LiveCollection { inputs in
      AnchoredWindowOperator(
        input: inputs.collection(self), identifier: inputs.property(identifier), before: before,
        after: after)
    }
  }
}

/// An operator that shows the elements around one of them, the anchor.
@usableFromInline
struct AnchoredWindowOperator<Element: Differentiable & Sendable>: CollectionOperator
where Element.DifferenceIdentifier: Sendable {
  @usableFromInline let input: CollectionInput<Element>
  @usableFromInline let identifier: PropertyInput<Element.DifferenceIdentifier?>
  @usableFromInline let before: Int
  @usableFromInline let after: Int
  /// A Boolean value that indicates whether the window is empty without the element.
  @usableFromInline let needsAnchor: Bool
  /// The offset of the anchor.
  @usableFromInline var anchor = 0
  /// A Boolean value that indicates whether the anchor has the identity.
  @usableFromInline var isFound = false
  @usableFromInline var window = 0..<0
  @usableFromInline var index: IdentityIndex<Element>?

  @inlinable
  init(
    input: CollectionInput<Element>, identifier: PropertyInput<Element.DifferenceIdentifier?>,
    before: Int, after: Int, needsAnchor: Bool = false
  ) {
    self.input = input
    self.identifier = identifier
    self.before = before
    self.after = after
    self.needsAnchor = needsAnchor
  }

  @inlinable
  mutating func start(_ output: CollectionDraft<Element>) {
    let elements = input.snapshot
    search(elements)
    window = window(around: anchor, elements.count)
    output.append(contentsOf: elements[window])
  }

  @inlinable
  mutating func update(_ output: CollectionDraft<Element>) {
    let elements = input.snapshot
    if let change = input.change { follow(change) }
    if identifier.isSet { search(elements) }
    let old = window
    window = window(around: anchor, elements.count)
    output.slide(from: old, to: window, of: elements, input.change?.changeset ?? .empty)
  }

  @inlinable
  func window(around anchor: Int, _ count: Int) -> Range<Int> {
    if needsAnchor, !isFound { return 0..<0 }
    let end = after < count - anchor ? anchor + after + 1 : count
    return max(0, anchor - before)..<end
  }

  /// Finds the element with a new identity.
  @inlinable
  mutating func search(_ elements: Snapshot<Element>) {
    isFound = false
    guard let identifier = identifier.value else {
      anchor = 0
      return
    }
    let offset: Int?
    if elements.count < IdentityIndex<Element>.minimumCount {
      offset = elements.firstIndex(identifiedBy: identifier)
    } else {
      let index = index ?? IdentityIndex(elements)
      self.index = index
      let found = index.firstIndex(identifiedBy: identifier)
      // Hashing the identities may have used the index.
      offset = index.isStale ? elements.firstIndex(identifiedBy: identifier) : found
    }
    if let offset { (anchor, isFound) = (offset, true) }
  }

  /// Follows the anchor through a change.
  @inlinable
  mutating func follow(_ change: CollectionChange<Element>) {
    let (changeset, after) = (change.changeset, change.after)
    index?.follow(changeset, from: change.before, to: after)
    if index?.isStale == true { index = nil }
    guard let identifier = identifier.value else { return }
    let isDeleted = changeset.deletions.contains(anchor)
    anchor = changeset.nearestOffset(to: anchor, count: change.before.count) ?? 0
    let wasFound = isFound
    isFound = wasFound && !isDeleted && after[anchor].differenceIdentifier == identifier
    if isFound { return }
    // Another element may have the same identity.
    if wasFound { return search(after) }
    // Of the elements that were there before, none has the identity.
    let arrivals = changeset.insertions + changeset.updates.map { $0.to }
    let found = arrivals.filter { after[$0].differenceIdentifier == identifier }.min()
    if let found { (anchor, isFound) = (found, true) }
  }
}
