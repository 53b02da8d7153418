import SQLSources

extension PostgresIncrementalPlan {
  /// Writes the primary key of a row.
  func writeKey(of row: ReceivedRow, _ writer: inout SortKeyWriter) {
    writer.removeAll()
    for position in keyPositions {
      guard let text = row.text(at: position) else {
        writer.addNull()
        continue
      }
      writer.add(text: text, ignoresCase: false)
    }
  }

  /// Writes a primary key that a trigger has recorded.
  static func writeKey(_ key: [PostgresValue], _ writer: inout SortKeyWriter) {
    writer.removeAll()
    for part in key {
      guard case .text(var part) = part else {
        writer.addNull()
        continue
      }
      part.withUTF8 { writer.add(text: UnsafeRawBufferPointer($0), ignoresCase: false) }
    }
  }

  /// Writes the values that order a row.
  func writeOrder(of row: ReceivedRow, _ writer: inout SortKeyWriter) {
    writer.removeAll()
    for order in orders {
      if let text = row.text(at: order.position) {
        writer.add(text, as: order.kind)
      } else {
        // The class of other values is between these two, also after the inversion of descending columns.
        writer.begin(class: order.hasNullsFirst != order.isDescending ? 1 : 250)
      }
      writer.end(isDescending: order.isDescending)
    }
  }
}

extension SortKeyWriter {
  /// Writes the text of a value in a form whose bytes compare as the server compares the values.
  mutating func add(_ text: UnsafeRawBufferPointer, as kind: PostgresIncrementalPlan.Order.Kind) {
    switch kind {
    case .integer:
      add(PostgresValue.integer(in: text) ?? 0)
    case .floatingPoint:
      // NaN is greater than all numbers for the server, and so are its bits.
      let number = Double(String(text)) ?? .nan
      add(number.isNaN ? Double.nan : number)
    case .numeric: addNumeric(text)
    case .bytes: add(text: text, ignoresCase: false)
    case .time:
      // The range of `date` in microseconds exceeds 64 bits.
      let time = SQLTime(text) ?? SQLTime(days: 0, microseconds: 0)
      begin(class: 2)
      add(word: UInt64(bitPattern: time.days) ^ 1 << 63)
      add(word: UInt64(bitPattern: time.microseconds))
    }
  }

  /// Writes a number of any precision: the sign, the exponent, and the digits without zeros at both ends.
  private mutating func addNumeric(_ text: UnsafeRawBufferPointer) {
    begin(class: 2)
    var digits = text[...]
    let isNegative = digits.first == UInt8(ascii: "-")
    if isNegative { digits = digits.dropFirst() }
    if digits.first == UInt8(ascii: "N") { return addByte(6) }
    if digits.first == UInt8(ascii: "I") { return addByte(isNegative ? 1 : 5) }
    let point = digits.firstIndex(of: UInt8(ascii: ".")) ?? digits.endIndex
    var exponent = point - digits.startIndex
    var significant = digits.filter { $0 != UInt8(ascii: ".") }
    let zeros = significant.prefix { $0 == UInt8(ascii: "0") }.count
    significant.removeFirst(zeros)
    exponent -= zeros
    while significant.last == UInt8(ascii: "0") { significant.removeLast() }
    if significant.isEmpty { return addByte(3) }
    addByte(isNegative ? 2 : 4)
    let mask: UInt8 = isNegative ? 255 : 0
    let biased = UInt32(clamping: exponent + 1 << 30)
    for shift in [24, 16, 8, 0] { addByte(UInt8(truncatingIfNeeded: biased >> shift) ^ mask) }
    for digit in significant { addByte(digit ^ mask) }
    addByte(mask)
  }
}
