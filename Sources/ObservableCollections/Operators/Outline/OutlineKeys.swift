/// The identities of an outline, each with a number.
///
/// An identity has a number as long as it is in use: by an element that has it, or by one that names it as its parent.
@usableFromInline
final class OutlineKeys<Identifier: Hashable>: @unchecked Sendable {
  // Sendable: an operator owns the identities, and only one thread at a time calls an operator.

  @usableFromInline var numbers: [Identifier: UInt32] = [:]
  /// The identity of each number, or `nil` if the number is free.
  @usableFromInline var identifiers: [Identifier?] = []
  @usableFromInline var useCounts: [Int] = []
  @usableFromInline var free: [UInt32] = []

  @inlinable
  init(expectedCount: Int) {
    numbers.reserveCapacity(expectedCount)
    identifiers.reserveCapacity(expectedCount)
    useCounts.reserveCapacity(expectedCount)
  }

  /// Returns the number of an identity that is in use, or `nil` if it is not.
  @inlinable
  func number(of identifier: Identifier) -> UInt32? {
    // If hash values are wrong, the dictionary may have kept a number that is free now.
    guard let key = numbers[identifier], identifiers[Int(key)] != nil else { return nil }
    return key
  }

  /// Returns the number of an identity, for one more use.
  @inlinable
  func use(_ identifier: Identifier) -> UInt32 {
    if let key = number(of: identifier) {
      useCounts[Int(key)] += 1
      return key
    }
    let key = free.popLast() ?? UInt32(identifiers.count)
    if Int(key) == identifiers.count {
      identifiers.append(identifier)
      useCounts.append(1)
    } else {
      (identifiers[Int(key)], useCounts[Int(key)]) = (identifier, 1)
    }
    numbers[identifier] = key
    return key
  }

  /// Ends one use of a number.
  @inlinable
  func release(_ key: UInt32) {
    useCounts[Int(key)] -= 1
    guard useCounts[Int(key)] == 0, let identifier = identifiers[Int(key)] else { return }
    identifiers[Int(key)] = nil
    free.append(key)
    numbers[identifier] = nil
  }
}
