public import Diffing

/// An immutable view of a whole collection at one revision.
///
/// Copying a snapshot takes O(1). Later edits of the collection do not change it. Snapshots of one
/// collection share the elements that were not edited between them.
///
/// A short collection is stored as one array, and so are elements that were loaded or replaced
/// together. A long collection that was edited since is stored as a tree. There, reading one
/// element takes O(log n), and reading all in order takes O(n).
public struct Snapshot<Element: Differentiable & Sendable>: Sendable {
  @usableFromInline package let storage: PersistentArray<Element>

  @inlinable
  package init(_ storage: PersistentArray<Element>) {
    self.storage = storage
  }

  /// Creates a snapshot of a sequence.
  ///
  /// - Complexity: O(1) for an array or another snapshot, otherwise O(n).
  @inlinable
  public init(_ elements: some Sequence<Element>) {
    storage = PersistentArray(elements)
  }

  /// Creates an empty snapshot.
  @inlinable
  public init() {
    storage = PersistentArray([])
  }

  /// The elements as an array.
  ///
  /// - Complexity: O(n) for a tree, otherwise O(1).
  @inlinable package var array: [Element] { storage.flattened() }

  /// Returns the offset of the first element with an identity, or `nil` if there is none.
  ///
  /// - Complexity: O(n).
  @inlinable
  public func firstIndex(identifiedBy identifier: Element.DifferenceIdentifier) -> Int? {
    var start = 0
    while start < storage.count {
      let (index, end) = storage.withChunk(at: start) { chunk, _ in
        (chunk.firstIndex { $0.differenceIdentifier == identifier }, start + chunk.count)
      }
      if let index { return start + index }
      start = end
    }
    return nil
  }

  /// Returns the offset of the first element with each identity.
  ///
  /// Use this for many searches in one snapshot:
  ///
  ///     let offsets = todos.snapshot.firstIndices()
  ///     let marked = selection.compactMap { offsets[$0] }
  ///
  /// - Complexity: O(n).
  @inlinable
  public func firstIndices() -> [Element.DifferenceIdentifier: Int] {
    Dictionary(zip(lazy.map { $0.differenceIdentifier }, indices)) { first, _ in first }
  }
}

extension Snapshot: RandomAccessCollection {
  @inlinable public var startIndex: Int { 0 }
  @inlinable public var endIndex: Int { storage.count }
  @inlinable public var count: Int { storage.count }
  @inlinable public var isEmpty: Bool { storage.count == 0 }

  // The default implementations for integer indices are slow in generic code.
  @inlinable public func index(after i: Int) -> Int { i + 1 }
  @inlinable public func index(before i: Int) -> Int { i - 1 }
  @inlinable public func index(_ i: Int, offsetBy distance: Int) -> Int { i + distance }
  @inlinable public func distance(from start: Int, to end: Int) -> Int { end - start }

  /// Accesses the element at an offset.
  ///
  /// - Complexity: O(log n) for a long collection that was edited, otherwise O(1).
  @inlinable public subscript(position: Int) -> Element { storage[position] }

  @inlinable
  public func makeIterator() -> Iterator { Iterator(storage) }

  /// Calls a closure with the elements in contiguous memory, if they are stored as one array.
  ///
  /// - Parameter body: A closure that reads the elements.
  /// - Returns: The return value of `body`, or `nil` for a long collection that was edited.
  @inlinable
  public func withContiguousStorageIfAvailable<Result>(
    _ body: (UnsafeBufferPointer<Element>) throws -> Result
  ) rethrows -> Result? {
    try storage.array?.withContiguousStorageIfAvailable(body)
  }

  /// An iterator over the elements of a snapshot.
  public struct Iterator: IteratorProtocol, @unchecked Sendable {
    // Sendable: a leaf is not edited while `storage` retains its tree.

    @usableFromInline let storage: PersistentArray<Element>
    /// All elements if they are one array. Otherwise, the array is empty.
    @usableFromInline let array: [Element]
    // Keep the current leaf, because the next element is usually in the same leaf.
    @usableFromInline var leaf: UnsafePointer<Element>?
    /// The number of elements of the current leaf, or of the array.
    @usableFromInline var length: Int
    /// The position of the next element in the current leaf, or in the array.
    @usableFromInline var position = 0
    /// The offset after the last element of the current leaf, or of the array.
    @usableFromInline var end: Int

    @inlinable
    init(_ storage: PersistentArray<Element>) {
      self.storage = storage
      array = storage.array ?? []
      length = array.count
      end = array.count
    }

    /// Returns the next element, or `nil` at the end.
    @inlinable
    public mutating func next() -> Element? {
      if position == length {
        guard case .tree(let root) = storage, end < root.count else { return nil }
        var offset = end
        let elements = root.leafChild(at: &offset).buffer(Element.self)
        leaf = elements.baseAddress
        length = elements.count
        position = 0
        end += length
      }
      defer { position += 1 }
      return if let leaf { leaf[position] } else { array[position] }
    }
  }
}

extension Snapshot: ExpressibleByArrayLiteral {
  public init(arrayLiteral elements: Element...) {
    storage = PersistentArray(elements)
  }
}

extension Snapshot: CustomStringConvertible {
  public var description: String { array.description }
}

extension Array where Element: Differentiable & Sendable {
  /// Creates an array of the elements of a snapshot.
  ///
  /// - Complexity: O(n) for a long collection that was edited, otherwise O(1).
  public init(_ snapshot: Snapshot<Element>) {
    self = snapshot.array
  }
}

extension PersistentArray where Element: Differentiable & Sendable {
  /// Creates a list of the elements of a sequence. The list shares the storage of a snapshot.
  @inlinable
  init(_ elements: some Sequence<Element>) {
    if let snapshot = elements as? Snapshot<Element> {
      self = snapshot.storage
    } else {
      self.init(Array(elements))
    }
  }
}
