public import Diffing

extension CollectionDraft {
  /// A Boolean value that indicates whether the collection is empty.
  public var isEmpty: Bool { count == 0 }

  /// Returns the offset of the first element with an identity, or `nil` if there is none.
  ///
  /// The first search in a long collection creates an index of all identities, which follows later edits.
  ///
  /// - Complexity: O(log n) for an identity that occurs once. The first search takes O(n).
  @inlinable
  public func firstIndex(identifiedBy identifier: Element.DifferenceIdentifier) -> Int? {
    checkOpen()
    if working.count < IdentityIndex<Element>.minimumCount {
      return snapshot.firstIndex(identifiedBy: identifier)
    }
    // Hashing or comparing the identities may edit or search this draft.
    if index == nil || index?.isStale == true {
      let contents = working
      index = IdentityIndex(Snapshot(contents))
      if !working.isIdentical(to: contents) { index?.invalidate() }
    }
    let index = index
    let offset = index?.firstIndex(identifiedBy: identifier)
    return index?.isStale == false ? offset : snapshot.firstIndex(identifiedBy: identifier)
  }

  /// Accesses the element at an offset, in `0..<count`.
  ///
  /// Setting an element is an update, even if the new element has another identity. If the new
  /// element has the same identity and content, it is not stored and nothing is recorded.
  ///
  /// A change of a part of the element, as in `draft[0].count += 1`, changes the element that was read, even if the
  /// change itself moves this element. If the change removes the element, nothing is written.
  ///
  /// - Complexity: O(log n).
  @inlinable
  public subscript(index: Int) -> Element {
    get {
      checkOpen()
      checkElement(at: index)
      return working[index]
    }
    set {
      checkOpen()
      checkElement(at: index)
      apply(valid: Changeset(updates: [.init(from: index, to: index)])) { _ in newValue }
    }
    _modify {
      checkOpen()
      var access = beginAccess(at: index)
      defer { endAccess(access) }
      yield &access.element
    }
  }

  /// Begins to change the element at an offset in place.
  @inlinable
  func beginAccess(at index: Int) -> ElementAccess<Element> {
    checkElement(at: index)
    let place = ElementPlace(index)
    places.append(place)
    return ElementAccess(place, working[index])
  }

  /// Writes an element that was changed in place, unless it is gone.
  @inlinable
  func endAccess(_ access: ElementAccess<Element>) {
    places.removeAll { $0 === access.place }
    guard let index = access.place.offset else { return }
    let isSame = discardingEdits {
      working[index].differenceIdentifier.isSameIdentity(as: access.identifier)
    }
    if isSame { self[index] = access.element }
  }

  /// Appends an element.
  @inlinable
  public func append(_ element: Element) { insert(element, at: count) }

  /// Appends elements.
  @inlinable
  public func append(contentsOf elements: some Collection<Element>) {
    // Read the elements first, because reading them may change `count`.
    let elements = Array(elements)
    insert(contentsOf: elements, at: count)
  }

  /// Inserts an element.
  ///
  /// - Parameters:
  ///   - element: The element to insert.
  ///   - index: The offset of the element after the insertion, in `0...count`.
  /// - Complexity: O(log n).
  @inlinable
  public func insert(_ element: Element, at index: Int) {
    insert(contentsOf: [element], at: index)
  }

  /// Replaces all elements, and records the difference.
  ///
  /// Elements of the same identity are kept.
  ///
  /// - Complexity: O(n) if few elements are out of order.
  @inlinable
  public func replace(with elements: some Sequence<Element>) {
    // Read the elements first, because reading them may change `count`.
    let elements = Snapshot(elements)
    replaceSubrange(0..<count, with: elements)
  }

  /// Removes the element at an offset.
  ///
  /// - Parameter index: The offset of the element, in `0..<count`.
  /// - Returns: The removed element.
  /// - Complexity: O(log n).
  @discardableResult
  @inlinable
  public func remove(at index: Int) -> Element {
    let removed = self[index]
    removeSubrange(index..<index + 1)
    return removed
  }

  /// Removes the first element with an identity.
  ///
  /// - Returns: The removed element, or `nil` if no element has the identity.
  @discardableResult
  @inlinable
  public func remove(identifiedBy identifier: Element.DifferenceIdentifier) -> Element? {
    firstIndex(identifiedBy: identifier).map { remove(at: $0) }
  }

  /// Removes all elements that satisfy a predicate.
  ///
  /// If the predicate throws, no element is removed. Edits that the predicate makes to this draft
  /// are discarded.
  @inlinable
  public func removeAll<Failure: Error>(
    where shouldBeRemoved: (Element) throws(Failure) -> Bool
  ) throws(Failure) {
    let contents = snapshot
    let deletions = try discardingEdits { () throws(Failure) in
      var deletions: [Int] = []
      for (offset, element) in contents.enumerated() where try shouldBeRemoved(element) {
        deletions.append(offset)
      }
      return deletions
    }
    apply(Changeset(deletions: deletions))
  }

  /// Removes all elements.
  @inlinable
  public func removeAll() {
    removeSubrange(0..<count)
  }

  /// Changes an element in place. This is an update, or nothing if the element is equal afterwards.
  ///
  /// - Parameters:
  ///   - index: The offset of the element, in `0..<count`.
  ///   - body: A closure that changes the element, and does not move or remove it. If it throws, the element stays as
  ///     it was. Edits that it makes to this draft stay.
  @inlinable
  public func update<Failure: Error>(
    at index: Int, _ body: (inout Element) throws(Failure) -> Void
  ) throws(Failure) {
    let old = self[index]
    var (start, element): (PersistentArray?, Element) = (working, old)
    try body(&element)
    let isEdited = start.map { !working.isIdentical(to: $0) } ?? true
    // Otherwise, each update would copy a path of the tree that the previous one has copied.
    start = nil
    if isEdited {
      precondition(
        index < count && self[index].hasSameIdentity(as: old),
        "the closure that changes the element at \(index) also moves or removes this element")
    }
    self[index] = element
  }

  /// Changes the first element with an identity in place.
  ///
  /// - Parameters:
  ///   - identifier: The identity.
  ///   - body: A closure that changes the element, and does not move or remove it. If it throws, the element stays as
  ///     it was. Edits that it makes to this draft stay.
  /// - Returns: `true` if an element has the identity; otherwise, `false`.
  @discardableResult
  @inlinable
  public func update<Failure: Error>(
    identifiedBy identifier: Element.DifferenceIdentifier,
    _ body: (inout Element) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    guard let index = firstIndex(identifiedBy: identifier) else { return false }
    try update(at: index, body)
    return true
  }
}

/// An element that is changed in place.
@usableFromInline
struct ElementAccess<Element: Differentiable & Sendable> {
  @usableFromInline let place: ElementPlace
  /// The identity of the element that was read.
  @usableFromInline let identifier: Element.DifferenceIdentifier
  @usableFromInline var element: Element

  @inlinable
  init(_ place: ElementPlace, _ element: Element) {
    (self.place, self.element) = (place, element)
    identifier = element.differenceIdentifier
  }
}

/// The place of an element that is being changed. It follows the edits of the list.
@usableFromInline
final class ElementPlace {
  /// The offset of the element, or `nil` if it was removed.
  @usableFromInline var offset: Int?

  @usableFromInline
  init(_ offset: Int) {
    self.offset = offset
  }
}

extension [ElementPlace] {
  @usableFromInline
  func follow(_ changeset: Changeset) {
    let map = OffsetMap(changeset)
    for place in self { place.offset = place.offset.flatMap { map[$0] } }
  }

  @usableFromInline
  func restore(_ offsets: [Int?]) {
    for (place, offset) in zip(self, offsets) { place.offset = offset }
  }
}

extension CollectionDraft {
  /// Applies a changeset.
  ///
  ///     output.apply(change.changeset) { offset in row(of: change.after[offset]) }
  ///
  /// Comparing the updated elements may call code that edits this draft. Such edits are discarded.
  ///
  /// - Parameters:
  ///   - changeset: The changeset. Its offsets must fit the current elements.
  ///   - element: A closure that returns the element at an offset after the change. It is called once for each
  ///     insertion and each update, before anything is applied, and should not edit this draft. An updated
  ///     element that is equal to the current one is not stored.
  /// - Complexity: O(k log n) for k operations on n elements.
  @inlinable
  public func apply(_ changeset: Changeset, element: (_ offset: Int) -> Element) {
    check(changeset)
    apply(valid: changeset, element: element)
  }
}
