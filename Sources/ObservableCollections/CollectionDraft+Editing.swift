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

  /// Removes the element at an offset.
  ///
  /// - Parameter index: The offset of the element, in `0..<count`.
  /// - Returns: The removed element.
  @discardableResult
  @inlinable
  public func remove(at index: Int) -> Element {
    checkOpen()
    checkElement(at: index)
    record.append(.removal(index..<index + 1))
    let removed = working.remove(at: index)
    self.index?.remove([removed], at: index)
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
  /// are overwritten.
  @inlinable
  public func removeAll<Failure: Error>(
    where shouldBeRemoved: (Element) throws(Failure) -> Bool
  ) throws(Failure) {
    let start = savepoint
    var deletions: [Int] = []
    for (offset, element) in start.snapshot.enumerated() {
      if try shouldBeRemoved(element) { deletions.append(offset) }
    }
    let changeset = Changeset(deletions: deletions)
    var kept = start.snapshot.storage
    kept.apply(changeset, inserted: [], updated: [])
    write(kept, over: start) { _ in changeset }
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
  ///     it was.
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
        index < count && sameIdentity(self[index].differenceIdentifier, old.differenceIdentifier),
        "the closure that changes the element at \(index) also moves or removes this element")
    }
    self[index] = element
  }

  /// Changes the first element with an identity in place.
  ///
  /// - Parameters:
  ///   - identifier: The identity.
  ///   - body: A closure that changes the element, and does not move or remove it. If it throws, the element stays as
  ///     it was.
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
