/// A hash function for identities in the tables of a difference.
///
/// Bitwise identities and ASCII strings are hashed with one multiplication for each 16 bytes. All
/// other identities are hashed with their own `hash(into:)`, which takes longer
/// (`DifferenceBenchmarks W9`). The factors are random for each process, which makes it hard to
/// prepare collisions. That is not proved.
@usableFromInline
package struct IdentityHasher: Sendable {
  @usableFromInline let seed: UInt64
  @usableFromInline let factor: UInt64

  @usableFromInline
  static let process = IdentityHasher(
    seed: .random(in: 0 ... .max), factor: .random(in: 0 ... .max))

  @usableFromInline
  init(seed: UInt64, factor: UInt64) {
    self.seed = seed
    // Odd, to keep all bits in a multiplication.
    self.factor = factor | 1
  }

  @inlinable
  package init() {
    self = Self.process
  }

  /// Returns the hash of an element's identity.
  @inlinable
  func hash<Comparison: IdentityComparison>(
    _ element: UnsafePointer<Comparison.Element>, _: Comparison.Type
  ) -> UInt64 {
    let identifier = element.pointee.differenceIdentifier
    if Comparison.isBitwise {
      return withUnsafeBytes(of: identifier) { fold($0, from: 0) }
    }
    return hash(identifier)
  }

  /// Returns the hash of an identity that is not bitwise.
  @inlinable
  func hash<Identifier: Hashable>(_ identifier: Identifier) -> UInt64 {
    if Identifier.self == String.self {
      return hash(string: unsafeBitCast(identifier, to: String.self))
    }
    // Mix the bits, because the hash values of some types differ in few bits.
    return mix(UInt64(truncatingIfNeeded: identifier.hashValue), 0)
  }

  /// Returns the hash of a string. Canonically equal strings have equal hashes.
  @inlinable
  package func hash(string: String) -> UInt64 {
    var string = string
    let hash: UInt64? = string.withUTF8 { text in
      isASCII(text) ? fold(UnsafeRawBufferPointer(text), from: UInt64(text.count)) : nil
    }
    return hash ?? self.hash(beyondASCII: string)
  }

  /// Returns the hash of a string with non-ASCII scalars.
  @usableFromInline
  func hash(beyondASCII string: String) -> UInt64 {
    var ascii = String.UnicodeScalarView()
    for scalar in string.unicodeScalars {
      // Three other scalars are canonically equal to an ASCII character: the Greek question mark, the
      // Greek varia and the kelvin sign.
      switch scalar {
      case _ where scalar.isASCII: ascii.append(scalar)
      case "\u{37E}": ascii.append(";")
      case "\u{1FEF}": ascii.append("`")
      case "\u{212A}": ascii.append("K")
      default: return mix(UInt64(truncatingIfNeeded: string.hashValue), 0)
      }
    }
    return hash(string: String(ascii))
  }

  @inlinable
  func isASCII(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    let bytes = UnsafeRawBufferPointer(text)
    var offset = 0
    var high: UInt64 = 0
    while offset &+ 8 <= bytes.count {
      high |= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      offset &+= 8
    }
    while offset < bytes.count {
      high |= UInt64(bytes[offset])
      offset &+= 1
    }
    return high & 0x8080_8080_8080_8080 == 0
  }

  /// Returns the hash of some bytes.
  @inlinable
  package func fold(_ bytes: UnsafeRawBufferPointer, from start: UInt64) -> UInt64 {
    let size = bytes.count
    var hash = start
    var offset = 0
    while offset &+ 16 <= size {
      hash = mix(
        hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self),
        bytes.loadUnaligned(fromByteOffset: offset &+ 8, as: UInt64.self))
      offset &+= 16
    }
    if offset &+ 8 <= size {
      hash = mix(hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self), 1)
      offset &+= 8
    }
    if offset < size {
      var last: UInt64 = 0
      while offset < size {
        last = last << 8 | UInt64(bytes[offset])
        offset &+= 1
      }
      hash = mix(hash ^ last, 2)
    }
    return hash
  }

  /// Multiplies two words and combines both halves of the product.
  @inlinable
  func mix(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let product = (one ^ seed).multipliedFullWidth(by: other ^ factor)
    return product.high ^ product.low
  }
}
