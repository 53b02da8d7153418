/// The unit of a number that is decoded as a date.
package enum DateUnit: String, Sendable {
  case secondsSince1970, millisecondsSince1970, julianDays

  /// Returns a date as seconds since 1970, or `nil` if it is not in the years 1 to 9999.
  fileprivate func seconds(_ number: Double) -> Double? {
    let seconds =
      switch self {
      case .secondsSince1970: number
      case .millisecondsSince1970: number / 1000
      // SQLite computes in milliseconds. Julian days have fewer correct digits.
      case .julianDays: ((number - 2_440_587.5) * 86_400_000).rounded() / 1000
      }
    return (-62_135_596_800..<253_402_300_800).contains(seconds) ? seconds : nil
  }
}

/// The types of Foundation that are read from numbers. This module does not import it.
enum FoundationType {
  case date, decimal

  init?(_ type: Any.Type) {
    switch _typeName(type, qualified: true) {
    case "FoundationEssentials.Date", "Foundation.Date": self = .date
    case "FoundationEssentials.Decimal", "Foundation.Decimal", "__C.NSDecimal": self = .decimal
    default: return nil
    }
  }
}

extension SQLRow {
  /// Returns the date in a column as seconds since 1970.
  ///
  /// - Parameters:
  ///   - value: The value of the column, or one of its elements.
  ///   - unit: The unit of a number, or `nil` for seconds that do not look like another unit.
  func secondsSince1970(
    _ value: Value, at position: Int, _ unit: DateUnit?
  ) throws(Failure) -> Double {
    guard !value.isNull else { throw mismatchError(at: position, wanted: "Date") }
    let problem: (String, help: String)
    if let text = value.numberText, let number = Double(text) {
      let seconds = (unit ?? .secondsSince1970).seconds(number)
      let mayBeJulian = unit == nil && Int(text) == nil
      if let seconds, !mayBeJulian || DateUnit.julianDays.seconds(number) == nil { return seconds }
      if seconds != nil {
        problem = (
          "looks like Julian days and not like seconds since 1970",
          "decode the row with dates: .julianDays, or with dates: .secondsSince1970"
        )
      } else if unit == nil, DateUnit.millisecondsSince1970.seconds(number) != nil {
        problem = (
          "looks like milliseconds since 1970 and not like seconds",
          "decode the row with dates: .millisecondsSince1970"
        )
      } else {
        problem = (
          "is not in the years 1 to 9999 as \(unit ?? .secondsSince1970)",
          "correct the value, or decode the row with the unit of its dates"
        )
      }
    } else {
      var text = value.read(String.self) ?? ""
      let time = text.withUTF8 { SQLTime(UnsafeRawBufferPointer($0)) }
      if let time, let seconds = DateUnit.secondsSince1970.seconds(time.secondsSince1970) {
        return seconds
      }
      problem = (
        "is not a date in the years 1 to 9999",
        "write dates in UTC, for example as 2026-11-28 12:00:00 or 2026-11-28T12:00:00.000Z"
      )
    }
    throw mismatchError(at: position, value, problem.0, help: problem.help)
  }
}

/// Reads the text of a number, or returns `nil` if it is another text or has more than 38 digits.
func decimal<Number: SignedNumeric & ExpressibleByFloatLiteral>(
  _ text: String, as type: Number.Type
) -> Number? {
  let parts = text.lowercased().split(separator: "e")
  guard Double(text)?.isFinite == true,
    let tenth = (0.1 as? Number.FloatLiteralType).map(Number.init(floatLiteral:)),
    var exponent = parts.count > 1 ? Int(parts[1]) : 0
  else { return nil }
  var (number, digits, isFraction) = (0 as Number, 0, false)
  for byte in parts[0].utf8 {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      guard let digit = Number(exactly: byte - UInt8(ascii: "0")) else { return nil }
      number = number * 10 + digit
      if number != 0 { digits += 1 }
      if isFraction { exponent -= 1 }
    case UInt8(ascii: "."): isFraction = true
    case UInt8(ascii: "-"), UInt8(ascii: "+"): continue
    default: return nil
    }
  }
  guard digits <= 38, abs(exponent) < 128 else { return nil }
  for _ in 0..<abs(exponent) { number *= exponent < 0 ? tenth : 10 }
  return parts[0].hasPrefix("-") && number != 0 ? -number : number
}
