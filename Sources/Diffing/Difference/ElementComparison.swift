// Identical bytes are equal under each reflexive equality. Comparing them calls no user code,
// retains nothing and takes a few instructions. Different bytes do not imply a difference: padding,
// and strings with storage of their own, may differ although the values are equal.
//
// All functions are inlinable, because without specialization they would cost several times as much
// as they save.

/// Returns a Boolean value that indicates whether two values of one type have identical bytes.
///
/// Up to eight words are compared without branches.
@inlinable
package func sameBits<Value>(
  _ a: UnsafePointer<Value>, _ b: UnsafePointer<Value>
) -> Bool {
  let a = UnsafeRawPointer(a)
  let b = UnsafeRawPointer(b)
  let size = MemoryLayout<Value>.size
  var offset = 0
  var difference: UInt64 = 0
  while offset &+ 8 <= size {
    difference |=
      a.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      ^ b.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    offset &+= 8
    if offset & 63 == 0, difference != 0 { return false }
  }
  if offset &+ 4 <= size {
    difference |= UInt64(
      a.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        ^ b.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    offset &+= 4
  }
  while offset < size {
    difference |= UInt64(
      a.load(fromByteOffset: offset, as: UInt8.self)
        ^ b.load(fromByteOffset: offset, as: UInt8.self))
    offset &+= 1
  }
  return difference == 0
}

/// Returns a Boolean value that indicates whether two values have identical bytes or equal content, without the
/// elements of a section.
@inlinable
package func sameOwnContent<Element: Differentiable>(_ a: Element, _ b: Element) -> Bool {
  withUnsafePointer(to: a) { a in
    withUnsafePointer(to: b) { b in sameBits(a, b) || b.pointee.isContentEqual(to: a.pointee) }
  }
}

/// Returns a Boolean value that indicates whether two values have identical bytes or equal content, with all that
/// belongs to them.
@inlinable
package func sameContent<Element: Differentiable>(_ a: Element, _ b: Element) -> Bool {
  withUnsafePointer(to: a) { a in
    withUnsafePointer(to: b) { b in sameBits(a, b) || b.pointee.isWholeContentEqual(to: a.pointee) }
  }
}

/// Returns a Boolean value that indicates whether two identities are equal or have identical bytes.
@inlinable
package func sameIdentity<Identifier: Equatable>(_ a: Identifier, _ b: Identifier) -> Bool {
  a == b
    || withUnsafePointer(to: a) { a in withUnsafePointer(to: b) { b in sameBits(a, b) } }
}

/// A way to compare the identities of elements, known at compile time.
@usableFromInline
protocol IdentityComparison {
  associatedtype Element: Differentiable

  /// A Boolean value that indicates whether two identities are equal exactly if their bytes are.
  static var isBitwise: Bool { get }
}

extension IdentityComparison {
  /// Returns a Boolean value that indicates whether two elements have equal identities.
  @inlinable
  static func areEqual(_ a: UnsafePointer<Element>, _ b: UnsafePointer<Element>) -> Bool {
    let a = a.pointee.differenceIdentifier
    let b = b.pointee.differenceIdentifier
    if isBitwise {
      return withUnsafePointer(to: a) { a in withUnsafePointer(to: b) { b in sameBits(a, b) } }
    }
    return sameIdentity(a, b)
  }
}

/// A comparison using `==`.
@usableFromInline
enum EqualityComparison<Element: Differentiable>: IdentityComparison {
  @inlinable static var isBitwise: Bool { false }
}

/// A comparison byte by byte.
@usableFromInline
enum BytewiseComparison<Element: Differentiable>: IdentityComparison {
  @inlinable static var isBitwise: Bool { true }
}

/// Returns a Boolean value that indicates whether two collections have the same identities and
/// equal content at each offset.
///
/// - Complexity: O(*n*). Elements with identical bytes are not compared otherwise.
@inlinable
package func haveSameContents<Element: Differentiable>(
  _ a: some Collection<Element>, _ b: some Collection<Element>
) -> Bool {
  a.withContiguousElements { a in
    b.withContiguousElements { b in
      guard a.count == b.count else { return false }
      guard let firstA = a.baseAddress, let firstB = b.baseAddress, firstA != firstB else {
        return true
      }
      for offset in 0..<a.count {
        let (a, b) = (firstA + offset, firstB + offset)
        if sameBits(a, b) { continue }
        guard
          sameIdentity(a.pointee.differenceIdentifier, b.pointee.differenceIdentifier),
          b.pointee.isWholeContentEqual(to: a.pointee)
        else { return false }
      }
      return true
    }
  }
}

extension Collection {
  /// Calls a closure with the elements in contiguous memory. If they are not contiguous, they are
  /// copied first.
  @inlinable
  func withContiguousElements<Result>(_ body: (UnsafeBufferPointer<Element>) -> Result) -> Result {
    withContiguousStorageIfAvailable(body)
      ?? ContiguousArray(self).withUnsafeBufferPointer(body)
  }
}
