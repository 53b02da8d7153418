// Identical bytes are the same for every equality that is reflexive, and comparing them calls no user
// code, retains nothing and costs a few instructions. Different bytes decide nothing: padding, and
// strings with storage of their own, may differ and yet be equal.
//
// All of this is inlinable, because unspecialised it would cost several times what it saves.

/// Tells whether two values of one type have identical bytes.
///
/// Up to eight words are compared without a branch between them.
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

/// Tells whether two values are of equal content: of identical bytes, or equal by their own account.
@inlinable
package func sameContent<Element: Differentiable>(_ a: Element, _ b: Element) -> Bool {
  withUnsafePointer(to: a) { a in
    withUnsafePointer(to: b) { b in sameBits(a, b) || b.pointee.isContentEqual(to: a.pointee) }
  }
}

/// Tells whether two identities are equal: by their own account, or of identical bytes.
@inlinable
package func sameIdentity<Identifier: Equatable>(_ a: Identifier, _ b: Identifier) -> Bool {
  a == b
    || withUnsafePointer(to: a) { a in withUnsafePointer(to: b) { b in sameBits(a, b) } }
}

/// Tells whether two elements have equal identities.
@inlinable
func sameIdentity<Element: Differentiable>(
  at a: UnsafePointer<Element>, _ b: UnsafePointer<Element>
) -> Bool {
  let a = a.pointee.differenceIdentifier
  let b = b.pointee.differenceIdentifier
  if Element.hasBitwiseIdentity {
    return withUnsafePointer(to: a) { a in withUnsafePointer(to: b) { b in sameBits(a, b) } }
  }
  return sameIdentity(a, b)
}

/// Tells whether two collections have equal contents: the same identities and equal content at every
/// offset.
///
/// - Complexity: O(*n*), without a comparison of the elements' own where the bytes are identical.
@inlinable
package func haveSameContents<Element: Differentiable>(
  _ a: some Collection<Element>, _ b: some Collection<Element>
) -> Bool {
  withContiguousElements(of: a) { a in
    withContiguousElements(of: b) { b in
      guard a.count == b.count else { return false }
      guard let firstA = a.baseAddress, let firstB = b.baseAddress, firstA != firstB else {
        return true
      }
      for offset in 0..<a.count {
        let relation = Relation(firstA + offset, firstB + offset)
        if relation != .equal { return false }
      }
      return true
    }
  }
}

/// What an element is to another one.
@usableFromInline
@frozen
enum Relation {
  /// The same identity and equal content.
  case equal
  /// The same identity, but different content.
  case updated
  /// Another identity.
  case unrelated

  @inlinable
  init<Element: Differentiable>(_ old: UnsafePointer<Element>, _ new: UnsafePointer<Element>) {
    if sameBits(old, new) {
      self = .equal
    } else if sameIdentity(old.pointee.differenceIdentifier, new.pointee.differenceIdentifier) {
      self = new.pointee.isContentEqual(to: old.pointee) ? .equal : .updated
    } else {
      self = .unrelated
    }
  }
}

/// Calls a closure with all elements of a collection side by side in memory, copying them only where
/// they are not.
@inlinable
func withContiguousElements<Element, Result>(
  of collection: some Collection<Element>, _ body: (UnsafeBufferPointer<Element>) -> Result
) -> Result {
  collection.withContiguousStorageIfAvailable(body)
    ?? ContiguousArray(collection).withUnsafeBufferPointer(body)
}
