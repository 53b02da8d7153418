/// Writes the values of one row as a sort key.
///
/// A column is a byte for its class (NULL before numbers before text before blobs) and then:
/// - a number: the bits of the largest `Double` that is not greater, turned so that they compare as
///   unsigned, and what is left of an integer, so that integers and reals compare exactly;
/// - text and blobs: their bytes, 0 as 0 255, ended by 0 0. Ignoring case, text counts up to its first
///   NUL character, as in SQLite, and after that its length.
///
/// No column is the beginning of another one, so that one after the other they compare in turn. Of a
/// descending column all bits are turned.
struct SortKeyWriter: ~Copyable {
  private(set) var bytes: [UInt8] = []
  private var columnStart = 0

  /// Begins another row.
  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  /// The first eight bytes, filled up by zeros.
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

  mutating func addNull() {
    begin(class: 1)
  }

  mutating func add(_ number: Int64) {
    begin(class: 2)
    var floor = Double(number)
    // Rounding may have gone up, at the end even to a number that no integer is.
    if floor >= 0x1p63 || Int64(floor) > number { floor = floor.nextDown }
    add(bitsOf: floor, rest: UInt16(number - Int64(floor)))
  }

  mutating func add(_ number: Double) {
    begin(class: 2)
    add(bitsOf: number, rest: 0)
  }

  mutating func add(blob: UnsafeRawBufferPointer) {
    begin(class: 4)
    addEscaped(blob)
  }

  mutating func add(text: UnsafeRawBufferPointer, ignoresCase: Bool) {
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

  /// Writes the columns that a row is ordered by.
  mutating func write(_ keys: [TablePlan.Key], of statement: SQLiteStatement) {
    bytes.removeAll(keepingCapacity: true)
    for key in keys {
      switch statement.storedValue(at: key.position) {
      case .null: addNull()
      case .integer(let number): add(number)
      case .real(let number): add(number)
      case .text(let text): add(text: text, ignoresCase: key.ignoresCase)
      case .blob(let blob): add(blob: blob)
      }
      end(isDescending: key.isDescending)
    }
  }

  /// Ends a column.
  mutating func end(isDescending: Bool) {
    guard isDescending else { return }
    for offset in columnStart..<bytes.count { bytes[offset] = ~bytes[offset] }
  }

  private mutating func begin(class kind: UInt8) {
    columnStart = bytes.count
    bytes.append(kind)
  }

  private mutating func addEscaped(_ content: UnsafeRawBufferPointer) {
    if System.contains(0, content) {
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
    // Both zeros are one number.
    let bits = (number == 0 ? 0.0 : number).bitPattern
    add(word: bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
    bytes.append(UInt8(rest >> 8))
    bytes.append(UInt8(rest & 255))
  }

  private mutating func add(word: UInt64) {
    withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
  }
}
