// Identical bytes are equal under each reflexive equality. Comparing them calls no user code,
// retains nothing and takes a few instructions. Different bytes do not imply a difference: padding,
// and strings with storage of their own, may differ although the values are equal.
//
// All functions are inlinable, because without specialization they would cost several times as much
// as they save.

extension UnsafePointer {
  /// Returns a Boolean value that indicates whether two values have identical bytes.
  ///
  /// Up to eight words are compared without branches.
  @inlinable
  func hasSameBytes(as other: Self) -> Bool {
    let a = UnsafeRawPointer(self)
    let b = UnsafeRawPointer(other)
    let size = MemoryLayout<Pointee>.size
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
}

extension Differentiable {
  /// Returns a Boolean value that indicates whether this value and an earlier one have identical
  /// bytes or equal content, without the elements of a section.
  @inlinable
  package func hasSameOwnContent(as source: Self) -> Bool {
    withUnsafePointer(to: self) { new in
      withUnsafePointer(to: source) { old in
        new.hasSameBytes(as: old) || new.pointee.isContentEqual(to: old.pointee)
      }
    }
  }

  /// Returns a Boolean value that indicates whether this value and an earlier one have identical
  /// bytes or equal content, with all that belongs to them.
  @inlinable
  package func hasSameContent(as source: Self) -> Bool {
    withUnsafePointer(to: self) { new in
      withUnsafePointer(to: source) { old in
        new.hasSameBytes(as: old) || new.pointee.isWholeContentEqual(to: old.pointee)
      }
    }
  }

  /// Returns a Boolean value that indicates whether two values have the same identity.
  @inlinable
  package func hasSameIdentity(as other: Self) -> Bool {
    differenceIdentifier.isSameIdentity(as: other.differenceIdentifier)
  }

  /// Returns a Boolean value that indicates whether two values have the same identity and content.
  @inlinable
  package func isSame(as other: Self) -> Bool {
    hasSameIdentity(as: other) && hasSameContent(as: other)
  }
}

extension Equatable {
  /// Returns a Boolean value that indicates whether two identities are equal or have identical
  /// bytes.
  @inlinable
  package func isSameIdentity(as other: Self) -> Bool {
    self == other
      || withUnsafePointer(to: self) { a in
        withUnsafePointer(to: other) { b in a.hasSameBytes(as: b) }
      }
  }
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
      return withUnsafePointer(to: a) { a in
        withUnsafePointer(to: b) { b in a.hasSameBytes(as: b) }
      }
    }
    return a.isSameIdentity(as: b)
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

extension Collection where Element: Differentiable {
  /// Returns a Boolean value that indicates whether another collection has the same identities and
  /// equal content at each offset.
  ///
  /// - Complexity: O(*n*). Elements with identical bytes are not compared otherwise.
  @inlinable
  package func hasSameContents(as other: some Collection<Element>) -> Bool {
    withContiguousElements { a in
      other.withContiguousElements { b in
        guard a.count == b.count else { return false }
        guard let firstA = a.baseAddress, let firstB = b.baseAddress, firstA != firstB else {
          return true
        }
        for offset in 0..<a.count {
          let (a, b) = (firstA + offset, firstB + offset)
          if a.hasSameBytes(as: b) { continue }
          guard
            a.pointee.hasSameIdentity(as: b.pointee),
            b.pointee.isWholeContentEqual(to: a.pointee)
          else { return false }
        }
        return true
      }
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
