public import Diffing

extension CollectionDraft {
  /// Whether there is no element.
  public var isEmpty: Bool { count == 0 }

  /// Finds the first element of an identity.
  ///
  /// - Complexity: O(n).
  public func firstIndex(identifiedBy identifier: Element.DifferenceIdentifier) -> Int? {
    snapshot.firstIndex(identifiedBy: identifier)
  }

  /// Removes an element.
  ///
  /// - Parameter index: Its offset; it traps if there is none.
  /// - Returns: The element.
  @discardableResult
  public func remove(at index: Int) -> Element {
    let element = self[index]
    removeSubrange(index..<index + 1)
    return element
  }

  /// Removes the first element of an identity.
  ///
  /// - Returns: The element; nil where there is none.
  @discardableResult
  public func remove(identifiedBy identifier: Element.DifferenceIdentifier) -> Element? {
    firstIndex(identifiedBy: identifier).map { remove(at: $0) }
  }

  /// Removes all elements that satisfy a predicate.
  ///
  /// If the predicate throws, nothing is removed. Edits that it makes itself are written over.
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

  /// Removes everything.
  public func removeAll() {
    removeSubrange(0..<count)
  }

  /// Changes an element in place: an update, or nothing where it is equal afterwards.
  ///
  /// - Parameters:
  ///   - index: Its offset; it traps if there is none.
  ///   - body: Changes it. If it throws, the element stays.
  public func update<Failure: Error>(
    at index: Int, _ body: (inout Element) throws(Failure) -> Void
  ) throws(Failure) {
    var element = self[index]
    try body(&element)
    self[index] = element
  }

  /// Changes the first element of an identity in place.
  ///
  /// - Parameters:
  ///   - identifier: The identity.
  ///   - body: Changes it. If it throws, the element stays.
  /// - Returns: Whether there is one.
  @discardableResult
  public func update<Failure: Error>(
    identifiedBy identifier: Element.DifferenceIdentifier,
    _ body: (inout Element) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    guard let index = firstIndex(identifiedBy: identifier) else { return false }
    try update(at: index, body)
    return true
  }
}
