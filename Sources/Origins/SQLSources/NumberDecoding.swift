/// The unit of a number that is decoded as a date.
///
/// The raw values are texts for messages.
package enum DateUnit: String, Sendable {
  case secondsSince1970 = "seconds since 1970"
  case millisecondsSince1970 = "milliseconds since 1970"
  case julianDays = "Julian days"

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
    guard let numberText = value.numberText, let number = Double(numberText) else {
      var text = value.read(String.self) ?? ""
      let time = text.withUTF8 { SQLTime(UnsafeRawBufferPointer($0)) }
      if let seconds = time.flatMap({ DateUnit.secondsSince1970.seconds($0.secondsSince1970) }) {
        return seconds
      }
      throw mismatchError(
        at: position, value, "is not a date in the years 1 to 9999",
        help: "write dates in UTC, for example as 2026-11-28 12:00:00 or 2026-11-28T12:00:00.000Z")
    }
    let chosen = unit ?? .secondsSince1970
    let seconds = chosen.seconds(number)
    // An integer is never taken for Julian days, which have a fraction at all times but noon.
    var likely = seconds == nil ? DateUnit.millisecondsSince1970 : .julianDays
    if unit != nil || seconds != nil && Int(numberText) != nil || likely.seconds(number) == nil {
      likely = chosen
    }
    if let seconds, likely == chosen { return seconds }
    throw mismatchError(
      at: position, value,
      likely == chosen
        ? "is not in the years 1 to 9999 as \(chosen.rawValue)"
        : "looks like \(likely.rawValue) and not like \(chosen.rawValue)",
      help: likely == chosen
        ? "correct the value, or decode the row with the unit of its dates"
        : "decode the row with dates: .\(likely), or with dates: .\(chosen) if that is the unit")
  }
}

/// Reads the text of a number, or returns `nil` if it is another text or has more than 38 digits.
func decimal<Number: SignedNumeric & ExpressibleByFloatLiteral>(
  _ text: String, as type: Number.Type
) -> Number? {
  let parts = text.lowercased().split(separator: "e")
  guard Double(text)?.isFinite == true, let mantissa = parts.first, !mantissa.contains("x"),
    let written = parts.count == 1 ? 0 : Int(parts[1]), (-1000...1000).contains(written),
    let tenth = (0.1 as? Number.FloatLiteralType).map(Number.init(floatLiteral:))
  else { return nil }
  let fraction = mantissa.split(separator: ".", omittingEmptySubsequences: false).dropFirst()
  var exponent = written - (fraction.first?.count ?? 0)
  var digits = mantissa.compactMap(\.wholeNumberValue)
  while digits.last == 0 {
    digits.removeLast()
    exponent += 1
  }
  guard digits.isEmpty || abs(exponent) < 128, digits.drop(while: { $0 == 0 }).count <= 38 else {
    return nil
  }
  if digits.isEmpty { return 0 }
  var number = digits.reduce(0 as Number) { $0 * 10 + (Number(exactly: $1) ?? 0) }
  for _ in 0..<abs(exponent) { number *= exponent < 0 ? tenth : 10 }
  return mantissa.hasPrefix("-") ? 0 - number : number
}
