public import Diffing

/// A data source that can be edited by its users.
public protocol EditableDataSource<Element>: DataSource {
  /// The collection that is edited.
  var property: CollectionProperty<Element> { get }
}

extension EditableDataSource {
  public var collection: LiveCollection<Element> { property.collection }

  /// Edits in one step: one revision and one event for all that `body` does.
  ///
  /// The body is synchronous and works on a draft that nobody else sees. Inside it, edits of this
  /// collection on the same thread join the same draft; other threads' edits wait. If it throws, its
  /// own part is rolled back and nothing is sent.
  ///
  /// - Parameter body: Edits the draft.
  /// - Returns: What `body` returns.
  @discardableResult
  public func transaction<Result, Failure: Error>(
    _ body: (CollectionDraft<Element>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try property.transaction(body)
  }

  /// Appends an element.
  public func append(_ element: Element) {
    property.edit { $0.append(element) }
  }

  /// Appends elements, as one change.
  public func append(contentsOf elements: some Collection<Element>) {
    property.edit { $0.append(contentsOf: elements) }
  }

  /// Inserts an element.
  ///
  /// - Parameters:
  ///   - element: What to insert.
  ///   - index: Where it is to stand; 0 up to and including the count.
  public func insert(_ element: Element, at index: Int) {
    property.edit { $0.insert(element, at: index) }
  }

  /// Inserts elements, as one change.
  ///
  /// - Parameters:
  ///   - elements: What to insert.
  ///   - index: Where the first of them is to stand; 0 up to and including the count.
  public func insert(contentsOf elements: some Collection<Element>, at index: Int) {
    property.edit { $0.insert(contentsOf: elements, at: index) }
  }

  /// Removes an element.
  ///
  /// - Parameter index: Its offset; it traps if there is none.
  /// - Returns: The element.
  @discardableResult
  public func remove(at index: Int) -> Element {
    property.edit { $0.remove(at: index) }
  }

  /// Removes the first element of an identity.
  ///
  /// - Returns: The element; nil where there is none.
  @discardableResult
  public func remove(identifiedBy identifier: Element.DifferenceIdentifier) -> Element? {
    property.edit { $0.remove(identifiedBy: identifier) }
  }

  /// Removes elements, as one change.
  ///
  /// - Parameter range: Their offsets.
  public func removeSubrange(_ range: Range<Int>) {
    property.edit { $0.removeSubrange(range) }
  }

  /// Removes all elements that satisfy a predicate, as one change.
  public func removeAll<Failure: Error>(
    where shouldBeRemoved: (Element) throws(Failure) -> Bool
  ) throws(Failure) {
    try property.transaction { (draft) throws(Failure) in
      try draft.removeAll(where: shouldBeRemoved)
    }
  }

  /// Removes everything.
  public func removeAll() {
    property.edit { $0.removeAll() }
  }

  /// Moves an element.
  ///
  /// - Parameters:
  ///   - source: Where it stands.
  ///   - destination: Where it stands afterwards.
  public func move(from source: Int, to destination: Int) {
    property.edit { $0.move(from: source, to: destination) }
  }

  /// Changes an element in place: an update, or nothing where it is equal afterwards.
  ///
  /// - Parameters:
  ///   - index: Its offset; it traps if there is none.
  ///   - body: Changes it.
  public func update<Failure: Error>(
    at index: Int, _ body: (inout Element) throws(Failure) -> Void
  ) throws(Failure) {
    try property.transaction { (draft) throws(Failure) in try draft.update(at: index, body) }
  }

  /// Changes the first element of an identity in place.
  ///
  /// - Parameters:
  ///   - identifier: The identity.
  ///   - body: Changes it.
  /// - Returns: Whether there is one.
  @discardableResult
  public func update<Failure: Error>(
    identifiedBy identifier: Element.DifferenceIdentifier,
    _ body: (inout Element) throws(Failure) -> Void
  ) throws(Failure) -> Bool {
    try property.transaction { (draft) throws(Failure) in
      try draft.update(identifiedBy: identifier, body)
    }
  }

  /// Replaces everything by a keyed difference: elements of the same identity are kept.
  public func replace(with elements: some Sequence<Element>) {
    property.edit { $0.replace(with: elements) }
  }

  /// The newest committed element at an offset; setting it is an update, whatever its identity.
  public subscript(index: Int) -> Element {
    get { snapshot[index] }
    set { property.edit { $0[index] = newValue } }
  }
}

extension CollectionProperty: EditableDataSource {
  public var property: CollectionProperty<Element> { self }
}
