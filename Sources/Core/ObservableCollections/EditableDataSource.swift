public import Diffing

/// A data source that can be edited by its users.
public protocol EditableDataSource<Element>: DataSource {
  /// The list that is edited.
  var list: ArrayDataSource<Element> { get }
}

extension EditableDataSource {
  @inlinable public var collection: LiveCollection<Element> { list.collection }

  /// Edits the collection in one step. All edits in the closure are one revision and one event.
  ///
  /// The closure is synchronous and edits a draft that only the transaction sees. If the closure edits this
  /// collection directly, on the same thread, those edits join the draft. Edits on other threads wait. If the
  /// closure throws, its own edits are rolled back and nothing is delivered.
  ///
  /// - Parameter body: A closure that edits the draft.
  /// - Returns: The return value of `body`.
  @inlinable
  @discardableResult
  public func transaction<Result, Failure: Error>(
    _ body: (CollectionDraft<Element>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try list.perform(canFail: true, body)
  }

  /// Appends an element.
  @inlinable
  public func append(_ element: Element) {
    list.edit { $0.append(element) }
  }

  /// Appends elements, as one change.
  @inlinable
  public func append(contentsOf elements: some Collection<Element>) {
    list.edit { $0.append(contentsOf: elements) }
  }

  /// Inserts an element.
  ///
  /// - Parameters:
  ///   - element: The element to insert.
  ///   - index: The offset of the element after the insertion, in `0...count`.
  @inlinable
  public func insert(_ element: Element, at index: Int) {
    list.edit { $0.insert(element, at: index) }
  }

  /// Inserts elements, as one change.
  ///
  /// - Parameters:
  ///   - elements: The elements to insert.
  ///   - index: The offset of the first new element after the insertion, in `0...count`.
  @inlinable
  public func insert(contentsOf elements: some Collection<Element>, at index: Int) {
    list.edit { $0.insert(contentsOf: elements, at: index) }
  }

  /// Removes the element at an offset.
  ///
  /// - Parameter index: The offset of the element, in `0..<count`.
  /// - Returns: The removed element.
  @inlinable
  @discardableResult
  public func remove(at index: Int) -> Element {
    list.edit { $0.remove(at: index) }
  }

  /// Returns the offset of the first element with an identity, or `nil` if there is none.
  ///
  /// Inside a transaction of this list, this is the offset after the edits so far. Inside `withTransaction`, the list
  /// takes part in the transaction from then on, as if it were edited. Otherwise, the committed elements are searched.
  /// This never waits for other threads, but takes O(n) while one of them edits the list.
  ///
  /// - Complexity: O(log n) for an identity that occurs once. The first search takes O(n).
  @inlinable
  public func firstIndex(identifiedBy identifier: Element.DifferenceIdentifier) -> Int? {
    list.firstOffset(identifiedBy: identifier)
  }

  /// Removes the first element with an identity.
  ///
  /// - Returns: The removed element, or `nil` if no element has the identity.
  /// - Complexity: O(log n) for an identity that occurs once. The first search takes O(n).
  @inlinable
  @discardableResult
  public func remove(identifiedBy identifier: Element.DifferenceIdentifier) -> Element? {
    list.edit { $0.remove(identifiedBy: identifier) }
  }

  /// Removes elements, as one change.
  ///
  /// - Parameter range: The offsets of the elements to remove, within `0..<count`.
  @inlinable
  public func removeSubrange(_ range: Range<Int>) {
    list.edit { $0.removeSubrange(range) }
  }

  /// Removes all elements that satisfy a predicate, as one change.
  @inlinable
  public func removeAll<Failure: Error>(
    where shouldBeRemoved: (Element) throws(Failure) -> Bool
  ) throws(Failure) {
    try list.transaction { (draft) throws(Failure) in
      try draft.removeAll(where: shouldBeRemoved)
    }
  }

  /// Removes all elements.
  @inlinable
  public func removeAll() {
    list.edit { $0.removeAll() }
  }

  /// Moves an element.
  ///
  /// - Parameters:
  ///   - source: The offset of the element, in `0..<count`.
  ///   - destination: The offset of the element after the move, in `0..<count`.
  @inlinable
  public func move(from source: Int, to destination: Int) {
    list.edit { $0.move(from: source, to: destination) }
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
    try list.transaction { (draft) throws(Failure) in try draft.update(at: index, body) }
  }

  /// Changes the first element with an identity in place.
  ///
  /// - Parameters:
  ///   - identifier: The identity.
  ///   - body: A closure that changes the element, and does not move or remove it. If it throws, the element stays as
  ///     it was.
  /// - Returns: `true` if an element has the identity; otherwise, `false`.
  /// - Complexity: O(log n) for an identity that occurs once. The first search takes O(n).
  @inlinable
  @discardableResult
  public func update<Failure: Error>(
    identifiedBy identifier: Element.DifferenceIdentifier,
    _ body: (inout Element) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    try list.transaction { (draft) throws(Failure) in
      try draft.update(identifiedBy: identifier, body)
    }
  }

  /// Replaces all elements. The change is the difference: elements of the same identity are kept.
  @inlinable
  public func replace(with elements: some Sequence<Element>) {
    list.edit { $0.replace(with: elements) }
  }

  /// The newest committed element at an offset. Setting it is an update, even if the identity differs.
  ///
  /// Changing a part of the element, as in `list[0].title = "Ship"` or `list[0].count += 1`, is a read and an edit. It
  /// begins with the element that the transaction of this thread has at the offset, if there is one. The edit changes
  /// the element that was read, even if it has moved since, and nothing if the element is gone. An edit
  /// that another thread makes to the same element in between is overwritten: use `update(at:_:)` or a transaction if
  /// several threads change one element.
  @inlinable
  public subscript(index: Int) -> Element {
    get { snapshot[index] }
    set { list.edit { $0[index] = newValue } }
    _modify {
      var access = list.edit { $0.beginAccess(at: index) }
      // Also if the caller throws an error.
      defer { list.edit { $0.endAccess(access) } }
      yield &access.element
    }
  }
}
