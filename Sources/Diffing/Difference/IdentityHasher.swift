/// Hashes identities for the tables of a difference.
///
/// Identities that are told by their bytes, and strings of ASCII, are hashed by one multiplication for each
/// 16 bytes, all others by their own `hash(into:)`: `DifferenceBenchmarks W9`, whose identities are
/// integers, takes 1.2 ms, and took 6.5 ms with these in a structure that says nothing of its bytes.
/// The factors are drawn for each process, so that nobody can prepare identities that collide.
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
    // Odd, so that no bit is lost.
    self.factor = factor | 1
  }

  @inlinable
  package init() {
    self = Self.process
  }

  /// The hash of an element's identity.
  @inlinable
  func hash<Element: Differentiable>(_ element: UnsafePointer<Element>) -> UInt64 {
    let identifier = element.pointee.differenceIdentifier
    if Element.hasBitwiseIdentity {
      return withUnsafeBytes(of: identifier) { fold($0, from: 0) }
    }
    return hash(identifier)
  }

  /// The hash of an identity by its own account, or that of a string.
  @inlinable
  func hash<Identifier: Hashable>(_ identifier: Identifier) -> UInt64 {
    if Identifier.self == String.self {
      return hash(string: unsafeBitCast(identifier, to: String.self))
    }
    // Mixed, since some types give numbers that differ in a few bits only.
    return mix(UInt64(truncatingIfNeeded: identifier.hashValue), 0)
  }

  /// The hash of a string: equal for all that are canonically equal.
  @inlinable
  package func hash(string: String) -> UInt64 {
    var string = string
    let hash: UInt64? = string.withUTF8 { text in
      isASCII(text) ? fold(UnsafeRawBufferPointer(text), from: UInt64(text.count)) : nil
    }
    return hash ?? self.hash(beyondASCII: string)
  }

  /// The hash of a string that is not all ASCII.
  @usableFromInline
  func hash(beyondASCII string: String) -> UInt64 {
    // The characters that are canonically equal to one of ASCII: the Greek question mark, the Greek
    // grave accent that stands alone, and the sign of kelvin.
    let equals: [Unicode.Scalar: Unicode.Scalar] = [
      "\u{37E}": ";", "\u{1FEF}": "`", "\u{212A}": "K",
    ]
    var ascii = String.UnicodeScalarView()
    for scalar in string.unicodeScalars {
      guard let scalar = scalar.isASCII ? scalar : equals[scalar] else {
        return mix(UInt64(truncatingIfNeeded: string.hashValue), 0)
      }
      ascii.append(scalar)
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

  /// The hash of some bytes.
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

  /// Two words multiplied, both halves of the product folded into one.
  @inlinable
  func mix(_ one: UInt64, _ other: UInt64) -> UInt64 {
    let product = (one ^ seed).multipliedFullWidth(by: other ^ factor)
    return product.high ^ product.low
  }
}
