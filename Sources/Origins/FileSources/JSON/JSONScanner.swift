/// A scanner that checks a JSON text byte by byte and optionally writes its compact canonical form.
///
/// The scanner accesses memory with pointers and checks bounds once for eight bytes, because arrays
/// are slower. Two invariants keep it safe:
///
/// - Each read checks that its offset is less than `count`.
/// - The canonical form of a text is never longer than the text: an escape is never longer than the
///   bytes that it replaces. Therefore, a buffer of the size of the text after `beginOutput` is large
///   enough.
struct JSONScanner {
  /// An error at a byte offset. Its line and column are computed when it is reported.
  struct ScanError: Error {
    var code: JSONElement.ParsingError.Code
    var offset: Int
    var reason: String
    /// The offset of the element of the outermost array that contains the error.
    var elementOffset: Int?
  }

  /// The maximum number of nested arrays and objects, including the outermost one.
  static let maximumDepth = 512
  /// The number of arrays and objects around an element in an event.
  static let eventDepth = 3

  private let input: UnsafePointer<UInt8>
  /// The length of the text.
  private let end: Int
  /// The offset after the part of the text that may be read.
  private(set) var count: Int
  private let output: UnsafeMutablePointer<UInt8>
  private let capacity: Int
  /// The closing brackets of the open arrays and objects.
  private let closings: UnsafeMutablePointer<UInt8>
  private let maximumDepth: Int
  private(set) var position: Int
  private(set) var written = 0
  /// The offset after the input that was copied or dropped. The bytes from here up to the position are
  /// canonical and not yet copied.
  private var copied: Int

  /// Calls a closure with a scanner, which must not outlive the call.
  ///
  /// - Parameters:
  ///   - bytes: The text.
  ///   - start: The offset of the first byte to scan.
  ///   - capacity: The length of the longest text to write at once, or 0 for a scanner that only checks.
  ///   - maximumDepth: The maximum number of nested arrays and objects.
  ///   - body: The closure.
  static func withScanner<Result, Failure>(
    of bytes: [UInt8], from start: Int, capacity: Int, maximumDepth: Int = maximumDepth,
    _ body: (inout JSONScanner) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withUnsafeBufferPointer { (bytes) throws(Failure) in
      // The closing brackets follow the output.
      let output = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity + maximumDepth)
      defer { output.deallocate() }
      var scanner = JSONScanner(
        input: bytes.baseAddress ?? UnsafePointer(output), end: bytes.count, count: bytes.count,
        output: output, capacity: capacity, closings: output + capacity, maximumDepth: maximumDepth,
        position: start, copied: start)
      return try body(&scanner)
    }
  }

  // MARK: - Reading

  /// The byte at the position, or `nil` at the end.
  @inline(__always)
  var next: UInt8? { position < count ? input[position] : nil }

  @inline(__always)
  mutating func advance() { position += 1 }

  @inline(__always)
  mutating func skipSpace() {
    while position < count {
      switch input[position] {
      case 0x20, 0x0A, 0x0D, 0x09: position += 1
      default: return
      }
    }
  }

  func error(_ code: JSONElement.ParsingError.Code, _ reason: String, at offset: Int? = nil)
    -> ScanError
  {
    ScanError(code: code, offset: offset ?? position, reason: reason)
  }

  // MARK: - Writing

  /// Continues at an offset. The caller knows that the bytes before it are valid.
  mutating func jump(to offset: Int) {
    precondition(
      offset >= position && offset <= count,
      "offset \(offset) is out of range \(position)...\(count)")
    position = offset
    copied = offset
  }

  /// Continues in a part of the text. The scanner does not read beyond the part.
  mutating func jump(into range: Range<Int>) {
    precondition(
      range.count <= capacity,
      "a part must have at most \(capacity) bytes, but has \(range.count)")
    precondition(range.upperBound <= end, "the part \(range) is out of range 0..<\(end)")
    count = range.upperBound
    jump(to: range.lowerBound)
  }

  /// Begins at a part of the text, also after an error or before the position.
  ///
  /// The scanner may read a few bytes beyond the part, because the end of a text takes longer to scan
  /// than its middle.
  mutating func restart(at part: Range<Int>) {
    precondition(part.upperBound <= end, "the part \(part) is out of range 0..<\(end)")
    count = min(part.upperBound + 8, end)
    position = part.lowerBound
    copied = position
  }

  /// Discards the output, and begins a new one at the position.
  mutating func beginOutput() {
    written = 0
    copied = position
  }

  /// Returns the output since `beginOutput`.
  mutating func takeOutput() -> [UInt8] {
    copyPending()
    return [UInt8](UnsafeBufferPointer(start: output, count: written))
  }

  private var writes: Bool {
    @inline(__always) get { capacity > 0 }
  }

  /// Copies the input since the last copy, up to the position.
  @inline(__always)
  private mutating func copyPending() {
    guard writes else { return }
    let length = position - copied
    if length > 0 {
      (output + written).update(from: input + copied, count: length)
      written += length
    }
    copied = position
  }

  /// Skips white space without copying it.
  @inline(__always)
  private mutating func dropSpace() {
    guard position < count, input[position] <= 0x20 else { return }
    copyPending()
    skipSpace()
    copied = position
  }

  @inline(__always)
  private mutating func put(_ byte: UInt8) {
    guard writes else { return }
    output[written] = byte
    written += 1
  }

  // MARK: - Values

  /// A search for a member of the outermost object.
  struct KeyMatch {
    /// The canonical name, including its quotes.
    let name: [UInt8]
    /// The range, in the output, of the value of the last member with the name.
    var value: Range<Int>?
  }

  /// Checks and writes one value, which begins at the position.
  ///
  /// The method is not recursive. Calls that are nested as deeply as values may be would not fit on the
  /// stacks of most threads.
  ///
  /// - Parameters:
  ///   - depth: The number of open arrays and objects.
  ///   - key: The member to find if the value is an object.
  /// - Throws: An error for the first byte that is not valid.
  mutating func scanValue(depth: Int, key: inout KeyMatch?) throws(ScanError) {
    let outerDepth = depth
    var depth = depth
    /// The start of the key's value in the output, while the value is being scanned.
    var keyStart: Int?
    while true {
      if try beginValue(depth: depth) {
        depth += 1
      } else {
        // The value has ended. The arrays and objects that contain it may end here, too.
        while true {
          if depth == outerDepth { return }
          if let start = keyStart, depth == outerDepth + 1 {
            copyPending()
            key?.value = start..<written
            keyStart = nil
          }
          dropSpace()
          let closing = closings[depth - 1]
          let container = closing == UInt8(ascii: "]") ? "array" : "object"
          if try scanSeparator(closing: closing, of: container) { break }
          depth -= 1
        }
      }
      if closings[depth - 1] == UInt8(ascii: "]") { continue }
      let name = try scanName()
      if depth == outerDepth + 1, let wanted = key?.name, matches(wanted, name) {
        copyPending()
        keyStart = written
      }
    }
  }

  /// Scans a value, or the opening bracket of an array or object.
  ///
  /// - Returns: `true` if the next value is inside the array or object.
  @inline(__always)
  private mutating func beginValue(depth: Int) throws(ScanError) -> Bool {
    guard position < count else {
      throw error(.truncated, "the text ends where a value is expected")
    }
    switch input[position] {
    case UInt8(ascii: "\""): try scanString()
    case UInt8(ascii: "{"): return try open(UInt8(ascii: "}"), depth: depth + 1)
    case UInt8(ascii: "["): return try open(UInt8(ascii: "]"), depth: depth + 1)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try scanNumber()
    case UInt8(ascii: "t"): try scanLiteral("true")
    case UInt8(ascii: "f"): try scanLiteral("false")
    case UInt8(ascii: "n"): try scanLiteral("null")
    default: throw unexpected(expecting: "a value")
    }
    return false
  }

  /// Scans an opening bracket. If the array or object is empty, scans the closing bracket, too.
  ///
  /// - Returns: `true` if the array or object is not empty.
  private mutating func open(_ closing: UInt8, depth: Int) throws(ScanError) -> Bool {
    if depth > maximumDepth {
      throw error(.depth, "arrays and objects are nested more than \(maximumDepth) levels deep")
    }
    position += 1
    dropSpace()
    if next == closing {
      position += 1
      return false
    }
    closings[depth - 1] = closing
    return true
  }

  /// Scans the name of a member and the colon after it.
  ///
  /// - Returns: The range of the name in the output.
  private mutating func scanName() throws(ScanError) -> Range<Int> {
    guard let first = next else { throw truncated("object") }
    guard first == UInt8(ascii: "\"") else {
      throw unexpected(expecting: "a member's name in double quotes")
    }
    copyPending()
    let start = written
    try scanString()
    copyPending()
    let end = written
    dropSpace()
    guard let colon = next else { throw truncated("object") }
    guard colon == UInt8(ascii: ":") else {
      throw unexpected(expecting: "a colon after the member's name")
    }
    position += 1
    dropSpace()
    if position == count { throw truncated("object") }
    return start..<end
  }

  /// Scans a comma, or the closing bracket of an array or object.
  ///
  /// - Returns: `true` if the array or object continues.
  mutating func scanSeparator(
    closing: UInt8, of container: String
  ) throws(ScanError) -> Bool {
    guard let byte = next else { throw truncated(container) }
    if byte == closing {
      position += 1
      return false
    }
    let close = Character(Unicode.Scalar(closing))
    guard byte == UInt8(ascii: ",") else {
      throw unexpected(expecting: "a comma or the closing \(close) of the \(container)")
    }
    let comma = position
    position += 1
    dropSpace()
    guard let following = next else { throw truncated(container) }
    if following == closing {
      throw error(
        .syntax, "there is a comma before the closing \(close); remove it", at: comma)
    }
    return true
  }

  private func matches(_ name: [UInt8], _ range: Range<Int>) -> Bool {
    guard range.count == name.count else { return false }
    for offset in 0..<name.count where output[range.lowerBound + offset] != name[offset] {
      return false
    }
    return true
  }

  private mutating func scanLiteral(_ literal: StaticString) throws(ScanError) {
    for offset in 0..<literal.utf8CodeUnitCount {
      guard position + offset < count else {
        throw error(.truncated, "the text ends inside \(literal)", at: count)
      }
      guard input[position + offset] == literal.utf8Start[offset] else {
        throw unexpected(expecting: "a value")
      }
    }
    position += literal.utf8CodeUnitCount
    if let byte = next, Self.continuesWord(byte) {
      throw error(.syntax, "\(literal) is followed by more letters; put words in double quotes")
    }
  }

  private static func continuesWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."),
      UInt8(ascii: "+"), UInt8(ascii: "-"):
      true
    default: false
    }
  }

  // MARK: - Numbers

  /// Scans a number. It is kept as it is written, so no digit is lost.
  private mutating func scanNumber() throws(ScanError) {
    let start = position
    if input[position] == UInt8(ascii: "-") { position += 1 }
    let firstDigit = position
    try scanDigits(start)
    if position - firstDigit > 1, input[firstDigit] == UInt8(ascii: "0") {
      throw error(
        .syntax, "a number begins with 0; remove the zero, or write a string", at: start)
    }
    if next == UInt8(ascii: ".") {
      position += 1
      try scanDigits(start)
    }
    if let e = next, e | 0x20 == UInt8(ascii: "e") {
      position += 1
      if let sign = next, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { position += 1 }
      try scanDigits(start)
    }
    if let byte = next, Self.continuesWord(byte) {
      throw error(
        .syntax, "a number is followed by \(Self.quoted(byte)); a comma may be missing")
    }
  }

  private mutating func scanDigits(_ start: Int) throws(ScanError) {
    let first = position
    while position < count, input[position] &- 0x30 < 10 { position += 1 }
    if position == first {
      if position == count { throw error(.truncated, "the text ends inside a number") }
      throw error(
        .syntax, "a digit is expected in the number, but \(Self.quoted(input[position])) is found")
    }
  }

  // MARK: - Strings

  private mutating func scanString() throws(ScanError) {
    let start = position
    position += 1
    while true {
      skipPlain()
      guard position < count else {
        throw error(
          .truncated, "the text ends inside a string; its closing quote is missing", at: start)
      }
      let byte = input[position]
      if byte == UInt8(ascii: "\"") {
        position += 1
        return
      }
      if byte == UInt8(ascii: "\\") {
        try scanEscape(start)
      } else if byte < 0x20 {
        throw error(.syntax, Self.controlCharacterReason(byte))
      } else {
        try scanMultibyte()
      }
    }
  }

  /// Skips the bytes of a string that need no treatment, eight at a time.
  @inline(__always)
  private mutating func skipPlain() {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    while position + 8 <= count {
      let word = UnsafeRawPointer(input + position).loadUnaligned(as: UInt64.self).littleEndian
      let quote = word ^ (ones &* 0x22)
      let backslash = word ^ (ones &* 0x5C)
      // The high bit of each special byte is set. A borrow only disturbs bytes after a special byte.
      let special =
        (((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
          | ((word &- (ones &* 0x20)) & ~word) | word) & highs
      if special != 0 {
        position += special.trailingZeroBitCount >> 3
        return
      }
      position += 8
    }
    while position < count {
      let byte = input[position]
      if byte < 0x20 || byte >= 0x80 || byte == 0x22 || byte == 0x5C { return }
      position += 1
    }
  }

  /// Scans one Unicode scalar of several bytes. The ranges are from the Unicode standard, table 3-7.
  private mutating func scanMultibyte() throws(ScanError) {
    let lead = input[position]
    let (length, second): (Int, ClosedRange<UInt8>)
    switch lead {
    case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: throw notUTF8()
    }
    for offset in 1..<length {
      guard position + offset < count else {
        throw error(.truncated, "the text ends inside a character")
      }
      let byte = input[position + offset]
      guard offset == 1 ? second.contains(byte) : (0x80...0xBF).contains(byte) else {
        throw notUTF8()
      }
    }
    position += length
  }

  private mutating func scanEscape(_ start: Int) throws(ScanError) {
    guard position + 1 < count else {
      throw error(
        .truncated, "the text ends inside a string; its closing quote is missing", at: start)
    }
    switch input[position + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      position += 2
    case UInt8(ascii: "/"):
      copyPending()
      position += 1
      copied = position
      position += 1
    case UInt8(ascii: "u"):
      copyPending()
      try scanUnicodeEscape()
      copied = position
    default:
      throw error(
        .syntax,
        "\\\(Self.quoted(input[position + 1])) is not an escape; write \\\\ for a backslash")
    }
  }

  private mutating func scanUnicodeEscape() throws(ScanError) {
    var value = try codeUnit(at: position)
    position += 6
    if (0xD800...0xDBFF).contains(value), position + 1 < count,
      input[position] == UInt8(ascii: "\\"), input[position + 1] == UInt8(ascii: "u")
    {
      let low = try codeUnit(at: position)
      if (0xDC00...0xDFFF).contains(low) {
        position += 6
        value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
      }
    }
    guard let scalar = Unicode.Scalar(value) else { return putEscape(value) }
    switch value {
    case 0x22, 0x5C:
      put(UInt8(ascii: "\\"))
      put(UInt8(value))
    case 0..<0x20:
      if let letter = JSONText.shortEscape(UInt8(value)) {
        put(UInt8(ascii: "\\"))
        put(letter)
      } else {
        putEscape(value)
      }
    default: for byte in scalar.utf8 { put(byte) }
    }
  }

  private func codeUnit(at offset: Int) throws(ScanError) -> UInt32 {
    var unit: UInt32 = 0
    for index in (offset + 2)..<(offset + 6) {
      guard index < count else {
        throw error(.truncated, "the text ends inside an escape", at: offset)
      }
      let byte = input[index]
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - 0x30
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - 0x57
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - 0x37
      default:
        throw error(.syntax, "\\u must be followed by four hexadecimal digits", at: offset)
      }
      unit = unit << 4 | UInt32(digit)
    }
    return unit
  }

  /// Writes a code unit as an escape: a surrogate without its partner, or a control character.
  private mutating func putEscape(_ unit: UInt32) {
    put(UInt8(ascii: "\\"))
    put(UInt8(ascii: "u"))
    for shift in [12, 8, 4, 0] { put(JSONText.hexDigit(UInt8(unit >> UInt32(shift) & 0xF))) }
  }
}
