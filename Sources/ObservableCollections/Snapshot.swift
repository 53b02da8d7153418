public import Diffing

/// An immutable view of a whole collection at one revision.
///
/// Copying one takes O(1); it never changes, whatever becomes of the collection. Snapshots of one
/// collection share what has not been edited between them.
///
/// What was loaded or replaced in one go is one array, and so is a short collection. A long one that was
/// edited since is a tree: reading an offset takes O(log n) there, and reading all in order O(n).
public struct Snapshot<Element: Differentiable & Sendable>: Sendable {
  @usableFromInline package let storage: PersistentArray<Element>

  @usableFromInline
  package init(_ storage: PersistentArray<Element>) {
    self.storage = storage
  }

  /// Makes a snapshot of some elements.
  ///
  /// - Complexity: O(1) for an array or another snapshot, otherwise O(n).
  public init(_ elements: some Sequence<Element>) {
    storage = PersistentArray(elements)
  }

  /// Makes an empty snapshot.
  public init() {
    storage = PersistentArray([])
  }

  /// The elements as an array.
  ///
  /// - Complexity: O(n) for a tree, otherwise O(1).
  package var array: [Element] { storage.flattened() }

  /// Finds the first element of an identity.
  ///
  /// - Complexity: O(n).
  public func firstIndex(identifiedBy identifier: Element.DifferenceIdentifier) -> Int? {
    var start = 0
    while start < count {
      var offset = start
      let chunk = storage.chunk(at: &offset)
      if let index = chunk.firstIndex(where: { $0.differenceIdentifier == identifier }) {
        return start + index
      }
      start += chunk.count
    }
    return nil
  }
}

extension Snapshot: RandomAccessCollection {
  @inlinable public var startIndex: Int { 0 }
  @inlinable public var endIndex: Int { storage.count }
  @inlinable public var count: Int { storage.count }
  @inlinable public var isEmpty: Bool { storage.count == 0 }

  // Those that all collections of such indices have cost ten times as much in generic code.
  @inlinable public func index(after i: Int) -> Int { i + 1 }
  @inlinable public func index(before i: Int) -> Int { i - 1 }
  @inlinable public func index(_ i: Int, offsetBy distance: Int) -> Int { i + distance }
  @inlinable public func distance(from start: Int, to end: Int) -> Int { end - start }

  /// The element at an offset.
  ///
  /// - Complexity: O(log n) for a long collection that was edited, otherwise O(1).
  @inlinable public subscript(position: Int) -> Element { storage[position] }

  @inlinable
  public func makeIterator() -> Iterator { Iterator(storage) }

  /// Calls a closure with all elements side by side in memory, if that is how they are stored.
  ///
  /// - Parameter body: Reads them.
  /// - Returns: What `body` returns; nil for a long collection that was edited.
  @inlinable
  public func withContiguousStorageIfAvailable<Result>(
    _ body: (UnsafeBufferPointer<Element>) throws -> Result
  ) rethrows -> Result? {
    try storage.array?.withContiguousStorageIfAvailable(body)
  }

  /// Reads the elements in order.
  public struct Iterator: IteratorProtocol {
    // What is read next is mostly in the leaf at hand.
    @usableFromInline var chunk: [Element]
    @usableFromInline var position = 0
    /// The offset behind the leaf at hand.
    @usableFromInline var end: Int
    @usableFromInline let storage: PersistentArray<Element>

    @inlinable
    init(_ storage: PersistentArray<Element>) {
      self.storage = storage
      chunk = storage.array ?? []
      end = chunk.count
    }

    /// The next element, if there is one.
    @inlinable
    public mutating func next() -> Element? {
      if position == chunk.count {
        if end == storage.count { return nil }
        var offset = end
        chunk = storage.chunk(at: &offset)
        position = 0
        end += chunk.count
      }
      defer { position += 1 }
      return chunk[position]
    }
  }
}

extension Snapshot.Iterator: Sendable {}

extension Snapshot: ExpressibleByArrayLiteral {
  public init(arrayLiteral elements: Element...) {
    storage = PersistentArray(elements)
  }
}

extension Snapshot: CustomStringConvertible {
  public var description: String { array.description }
}

extension Array where Element: Differentiable & Sendable {
  /// Makes an array of a snapshot's elements.
  ///
  /// - Complexity: O(n) for a long collection that was edited, otherwise O(1).
  public init(_ snapshot: Snapshot<Element>) {
    self = snapshot.array
  }
}

extension PersistentArray where Element: Differentiable & Sendable {
  /// Makes one of some elements, sharing what a snapshot holds.
  init(_ elements: some Sequence<Element>) {
    if let snapshot = elements as? Snapshot<Element> {
      self = snapshot.storage
    } else {
      self.init(Array(elements))
    }
  }
}

/// Returns whether two elements have the same identity and content.
package func isSame<Element: Differentiable>(_ one: Element, _ other: Element) -> Bool {
  sameIdentity(one.differenceIdentifier, other.differenceIdentifier) && sameContent(one, other)
}
