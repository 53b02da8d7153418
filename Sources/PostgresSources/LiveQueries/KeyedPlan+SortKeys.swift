import SwappableSources

extension KeyedPlan {
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
  static func writeKey(_ key: [String?], _ writer: inout SortKeyWriter) {
    writer.removeAll()
    for part in key {
      guard var part else {
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
  mutating func add(_ text: UnsafeRawBufferPointer, as kind: KeyedPlan.Order.Kind) {
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
      let time = PostgresTime(text) ?? PostgresTime(days: 0, microseconds: 0)
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

/// A moment in UTC or without a time zone, from the ISO format of the server.
struct PostgresTime: Equatable {
  /// The days since 1970-01-01. `.max` is the value `infinity`, and `.min` is `-infinity`.
  var days: Int64
  /// The microseconds of the day, from 0.
  var microseconds: Int64

  init(days: Int64, microseconds: Int64) {
    self.days = days
    self.microseconds = microseconds
  }

  /// Reads a `date`, `timestamp` or `timestamp with time zone`, or returns `nil` for another text.
  init?(_ text: UnsafeRawBufferPointer) {
    if text.first == UInt8(ascii: "i") {
      self.init(days: .max, microseconds: 0)
      return
    }
    if text.count > 1, text[0] == UInt8(ascii: "-"), text[1] == UInt8(ascii: "i") {
      self.init(days: .min, microseconds: 0)
      return
    }
    var scanner = Scanner(text: text)
    guard let written = scanner.number(), scanner.skip("-"), let month = scanner.number(),
      scanner.skip("-"), let day = scanner.number()
    else { return nil }
    var time: Int64 = 0
    if scanner.skip(" ") || scanner.skip("T"), !scanner.isAtBC {
      guard let hour = scanner.number(), scanner.skip(":"), let minute = scanner.number() else {
        return nil
      }
      let second = scanner.skip(":") ? scanner.number() ?? 0 : 0
      time = ((hour * 60 + minute) * 60 + second) * 1_000_000
      if scanner.skip(".") { time += scanner.fraction() }
      let isEast = scanner.skip("+")
      if isEast || scanner.skip("-") {
        guard let hours = scanner.number() else { return nil }
        let minutes = scanner.skip(":") ? scanner.number() ?? 0 : 0
        let seconds = scanner.skip(":") ? scanner.number() ?? 0 : 0
        let offset = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000
        time -= isEast ? offset : -offset
      } else {
        _ = scanner.skip("Z")
      }
      _ = scanner.skip(" ")
    }
    let year = scanner.isAtBC ? 1 - written : written
    let perDay: Int64 = 86_400_000_000
    let carry = time >= 0 ? time / perDay : (time - perDay + 1) / perDay
    self.init(
      days: PostgresTime.days(year: year, month: month, day: day) + carry,
      microseconds: time - carry * perDay)
  }

  /// Returns the days since 1970-01-01 in the Gregorian calendar.
  ///
  /// The years begin in March, so the leap day is the last one, and 400 of them have a fixed number of days.
  static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  private struct Scanner {
    let text: UnsafeRawBufferPointer
    var position = 0

    mutating func number() -> Int64? {
      var value: Int64 = 0
      let start = position
      while position < text.count, text[position] >= 48, text[position] <= 57, position - start < 9
      {
        value = value * 10 + Int64(text[position] - 48)
        position += 1
      }
      return position > start ? value : nil
    }

    /// The microseconds of a fraction of a second.
    mutating func fraction() -> Int64 {
      var value: Int64 = 0
      var unit: Int64 = 100_000
      while position < text.count, text[position] >= 48, text[position] <= 57 {
        value += Int64(text[position] - 48) * unit
        unit /= 10
        position += 1
      }
      return value
    }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
      guard position < text.count, text[position] == UInt8(ascii: character) else { return false }
      position += 1
      return true
    }

    var isAtBC: Bool { position + 1 < text.count && text[position] == UInt8(ascii: "B") }
  }
}
