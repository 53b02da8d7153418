public import Diffing

/// An immutable view of a whole collection at one revision.
///
/// Copying one takes O(1); it never changes, whatever becomes of the collection.
public struct Snapshot<Element: Differentiable & Sendable>: Sendable {
  // Private, so that the storage can become another one.
  private let elements: [Element]

  /// Makes a snapshot of some elements.
  ///
  /// - Complexity: O(1) for an array, otherwise O(n).
  public init(_ elements: some Sequence<Element>) {
    self.elements = Array(elements)
  }

  /// Makes an empty snapshot.
  public init() {
    elements = []
  }

  /// The elements as an array, without copying them.
  package var array: [Element] { elements }

  /// Finds the first element of an identity.
  ///
  /// - Complexity: O(n).
  public func firstIndex(identifiedBy identifier: Element.DifferenceIdentifier) -> Int? {
    elements.firstIndex { $0.differenceIdentifier == identifier }
  }

  /// Whether this holds the same identities and contents at the same offsets as another.
  ///
  /// - Complexity: O(n), and O(1) where both are the same snapshot.
  public func hasSameContents(as other: Snapshot<Element>) -> Bool {
    guard elements.count == other.elements.count else { return false }
    return elements.withUnsafeBufferPointer { mine in
      other.elements.withUnsafeBufferPointer { theirs in
        if mine.baseAddress == theirs.baseAddress { return true }
        return zip(mine, theirs).allSatisfy { isSame($0, $1) }
      }
    }
  }
}

extension Snapshot: RandomAccessCollection {
  public var startIndex: Int { 0 }
  public var endIndex: Int { elements.count }
  public var count: Int { elements.count }
  public var isEmpty: Bool { elements.isEmpty }

  public subscript(position: Int) -> Element { elements[position] }

  public func withContiguousStorageIfAvailable<Result>(
    _ body: (UnsafeBufferPointer<Element>) throws -> Result
  ) rethrows -> Result? {
    try elements.withContiguousStorageIfAvailable(body)
  }
}

extension Snapshot: ExpressibleByArrayLiteral {
  public init(arrayLiteral elements: Element...) {
    self.elements = elements
  }
}

extension Snapshot: CustomStringConvertible {
  public var description: String { elements.description }
}

extension Array where Element: Differentiable & Sendable {
  /// Makes an array of a snapshot's elements.
  ///
  /// - Complexity: O(1).
  public init(_ snapshot: Snapshot<Element>) {
    self = snapshot.array
  }
}

/// Whether one element can stand for the other without anybody noticing.
package func isSame<Element: Differentiable>(_ one: Element, _ other: Element) -> Bool {
  sameIdentity(one.differenceIdentifier, other.differenceIdentifier) && sameContent(one, other)
}
