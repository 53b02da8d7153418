public import SwappablePrimitives

/// The ordering values of a row, as bytes that compare as the database compares the values.
///
/// The first eight bytes are stored in place, where most comparisons end. An arena stores the rest.
@usableFromInline
package struct SortKey: Sendable {
  @usableFromInline var prefix: UInt64 = 0
  /// The offset of the rest in the arena, and in the lower bits its length.
  @usableFromInline var rest: UInt64 = 0

  @inlinable static var countBits: UInt64 { 30 }

  /// Creates the key of a row that only its rowid orders.
  @inlinable package init() {}

  /// Creates a key, or returns `nil` if the rest is too large or too far back.
  @inlinable
  init?(prefix: UInt64, restStart: Int, restCount: Int) {
    guard restCount < 1 << SortKey.countBits, restStart < 1 << (64 - SortKey.countBits) else {
      return nil
    }
    self.prefix = prefix
    rest = UInt64(restStart) << SortKey.countBits | UInt64(restCount)
  }

  /// Creates the key of an integer without a class, such as a rowid.
  @inlinable
  package init(_ integer: Int64) {
    prefix = UInt64(bitPattern: integer) ^ 1 << 63
  }

  /// The integer of a key without a class, or `nil` if the key is longer.
  @inlinable package var integer: Int64? {
    rest == 0 ? Int64(bitPattern: prefix ^ 1 << 63) : nil
  }

  @inlinable var restCount: Int { Int(rest & ((1 << SortKey.countBits) - 1)) }
  @inlinable var restStart: Int { Int(rest >> SortKey.countBits) }
}

@usableFromInline
package struct SortKeyArena: Sendable {
  @usableFromInline package internal(set) var bytes: [UInt8] = []
  /// The number of bytes of the keys that are in use.
  @usableFromInline package internal(set) var usedCount = 0

  @inlinable init() {}

  /// A Boolean value that indicates whether most of the bytes belong to removed keys.
  var isWasteful: Bool { bytes.count > 2 * usedCount + 1 << 16 }

  /// Adds a key that is not in use yet. Returns `nil` if it is too large.
  mutating func add(_ key: borrowing SortKeyWriter) -> SortKey? {
    guard
      let added = SortKey(
        prefix: key.prefix, restStart: bytes.count, restCount: max(0, key.bytes.count - 8))
    else { return nil }
    key.bytes.withUnsafeBytes { key in
      if key.count > 8 { bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: key[8...])) }
    }
    return added
  }

  /// Adds a key of another arena that is not in use yet.
  mutating func add(_ key: SortKey, of other: SortKeyArena) -> SortKey? {
    guard
      let added = SortKey(
        prefix: key.prefix, restStart: bytes.count, restCount: key.restCount)
    else { return nil }
    bytes.append(contentsOf: other.bytes[key.restStart..<key.restStart + key.restCount])
    return added
  }

  @inlinable
  mutating func use(_ key: SortKey) {
    usedCount += key.restCount
  }

  @inlinable
  mutating func remove(_ key: SortKey) {
    usedCount -= key.restCount
  }

  /// Forgets the key that was added last, and is not in use.
  mutating func removeLast(_ key: SortKey) {
    bytes.removeLast(key.restCount)
  }

  /// Compares two keys, and returns a number below, equal to or above 0.
  @inlinable func compare(_ one: SortKey, _ other: SortKey) -> Int {
    if one.prefix != other.prefix { return one.prefix < other.prefix ? -1 : 1 }
    let (left, right) = (one.restCount, other.restCount)
    guard left > 0, right > 0 else { return left - right }
    return bytes.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return 0 }
      let result = compareBytes(
        base + one.restStart, base + other.restStart, count: min(left, right))
      return result != 0 ? result : left - right
    }
  }

  /// Returns the number of bytes that all keys share at their start, or 0 if their prefixes differ.
  @inlinable
  func sharedCount(_ keys: some Collection<SortKey>) -> Int {
    guard let first = keys.first else { return 0 }
    var shared = first.restCount
    for key in keys {
      if key.prefix != first.prefix { return 0 }
      shared = min(shared, key.restCount)
      var count = 0
      while count < shared, bytes[first.restStart + count] == bytes[key.restStart + count] {
        count += 1
      }
      shared = count
    }
    return 8 + shared
  }

  /// Returns eight bytes of a key, padded with zeros. The offset is 0 or at least 8.
  @inlinable
  func word(of key: SortKey, at offset: Int) -> UInt64 {
    guard offset >= 8 else { return key.prefix }
    var word: UInt64 = 0
    let start = key.restStart + offset - 8
    let end = key.restStart + key.restCount
    for place in start..<start + 8 { word = word << 8 | (place < end ? UInt64(bytes[place]) : 0) }
    return word
  }
}

/// Writes the values of a row as a sort key.
///
/// A column begins with a byte for its class: NULL, numbers, text, and blobs, in this order. The
/// value follows:
/// - A number is written as the bits of the largest `Double` that is not greater, changed to
///   compare as unsigned. The remainder of an integer follows, so integers and reals compare
///   exactly.
/// - Text and blobs are written as bytes, with 0 as 0 255, and end with 0 0. If case is ignored,
///   text ends at its first NUL character, as in SQLite, and its length follows.
///
/// No column is a prefix of another, so several columns compare in order. All bits of a descending
/// column are inverted.
@usableFromInline
package struct SortKeyWriter: ~Copyable {
  @usableFromInline package internal(set) var bytes: [UInt8] = []
  private var columnStart = 0

  package init() {}

  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  /// The first eight bytes, padded with zeros.
  var prefix: UInt64 {
    bytes.withUnsafeBytes { bytes in
      if bytes.count >= 8 { return UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) }
      var word: UInt64 = 0
      for offset in 0..<8 {
        word = word << 8 | (offset < bytes.count ? UInt64(bytes[offset]) : 0)
      }
      return word
    }
  }

  package mutating func addNull() {
    begin(class: 1)
  }

  package mutating func add(_ number: Int64) {
    begin(class: 2)
    var floor = Double(number)
    // The conversion may have rounded up, even to a number that no integer has.
    if floor >= 0x1p63 || Int64(floor) > number { floor = floor.nextDown }
    add(bitsOf: floor, rest: UInt16(number - Int64(floor)))
  }

  package mutating func add(_ number: Double) {
    begin(class: 2)
    add(bitsOf: number, rest: 0)
  }

  package mutating func add(blob: UnsafeRawBufferPointer) {
    begin(class: 4)
    addEscaped(blob)
  }

  package mutating func add(text: UnsafeRawBufferPointer, ignoresCase: Bool) {
    begin(class: 3)
    if !ignoresCase { return addEscaped(text) }
    for byte in text {
      guard byte != 0 else {
        bytes += [0, 255]
        return add(word: UInt64(text.count))
      }
      bytes.append((UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte)
    }
    bytes += [0, 0]
  }

  package mutating func end(isDescending: Bool) {
    guard isDescending else { return }
    for offset in columnStart..<bytes.count { bytes[offset] = ~bytes[offset] }
  }

  /// Begins a column with a byte for its class.
  package mutating func begin(class kind: UInt8) {
    columnStart = bytes.count
    bytes.append(kind)
  }

  private mutating func addEscaped(_ content: UnsafeRawBufferPointer) {
    if content.contains(0) {
      for byte in content {
        bytes.append(byte)
        if byte == 0 { bytes.append(255) }
      }
    } else {
      bytes.append(contentsOf: content)
    }
    bytes.append(0)
    bytes.append(0)
  }

  private mutating func add(bitsOf number: Double, rest: UInt16) {
    // The two zeros are equal numbers.
    let bits = (number == 0 ? 0.0 : number).bitPattern
    add(word: bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
    bytes.append(UInt8(rest >> 8))
    bytes.append(UInt8(rest & 255))
  }

  /// Writes a byte of the present column.
  package mutating func addByte(_ byte: UInt8) {
    bytes.append(byte)
  }

  /// Writes a number whose bytes compare as the number does.
  package mutating func add(word: UInt64) {
    withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
  }
}
