import Foundation

/// Dates of served lists are milliseconds since 1970, as JavaScript counts them.
///
/// A `Date` stores seconds since 2001 in binary, so milliseconds can have a fraction. A number has the digits that lead
/// back to an equal date.
enum DateCoding {
  static let encoding = JSONEncoder.DateEncodingStrategy.custom { date, encoder in
    var container = encoder.singleValueContainer()
    let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
    if abs(milliseconds) < wholeLimit, Self.date(wholeMilliseconds: milliseconds) == date {
      return try container.encode(Int64(milliseconds))
    }
    guard let milliseconds = Self.milliseconds(of: date) else {
      let problem =
        "a date \(date.timeIntervalSince1970) seconds after 1970 is not in the range of JSON; "
        + "correct the date"
      throw EncodingError.invalidValue(
        date, .init(codingPath: encoder.codingPath, debugDescription: problem))
    }
    try container.encode(milliseconds)
  }

  static let decoding = JSONDecoder.DateDecodingStrategy.custom { decoder in
    let container = try decoder.singleValueContainer()
    let milliseconds = try container.decode(Decimal.self)
    // Without the exponent, the fraction of a number with many digits would be lost.
    if milliseconds.exponent >= 0, let whole = try? container.decode(Int64.self),
      abs(Double(whole)) < wholeLimit, let date = date(wholeMilliseconds: Double(whole))
    {
      return date
    }
    return date(milliseconds: milliseconds)
  }

  /// Below this number, `Double` represents all whole milliseconds, and their quotients by 1,000 are different.
  private static let wholeLimit = 1e15

  private static let secondsTo2001 = Decimal(978_307_200)

  /// Returns the date of whole milliseconds if `date(milliseconds:)` returns the same. This is faster.
  private static func date(wholeMilliseconds: Double) -> Date? {
    let date = Date(timeIntervalSince1970: wholeMilliseconds / 1000)
    return date.timeIntervalSince1970 == wholeMilliseconds / 1000 ? date : nil
  }

  /// Returns a number of milliseconds since 1970 from which `date(milliseconds:)` makes an equal date.
  ///
  /// A date within 10⁻¹⁸ seconds of 2001 can need more digits than a `Decimal` has. It is rounded.
  private static func milliseconds(of date: Date) -> Decimal? {
    let reference = date.timeIntervalSinceReferenceDate
    guard let since1970 = decimal(date.timeIntervalSince1970) else { return nil }
    if Date(timeIntervalSince1970: date.timeIntervalSince1970) == date {
      return since1970.shifted(by: 3)
    }
    let exact = (decimal(reference) ?? 0) + secondsTo2001
    // The last two have more digits than any `Double` needs, so they are not taken for seconds since 1970.
    let quarter = decimal(reference.ulp / 4) ?? 0
    return [exact, exact + quarter, exact - quarter].lazy.map { $0.shifted(by: 3) }
      .first { Self.date(milliseconds: $0) == date } ?? since1970.shifted(by: 3)
  }

  /// Returns the date at a number of milliseconds since 1970.
  ///
  /// A number that is the shortest text of a `Double` since 1970 means this `Double`. Any other is rounded once, to
  /// seconds since 2001, which are finer.
  private static func date(milliseconds: Decimal) -> Date {
    let seconds = milliseconds.shifted(by: -3)
    let date = Date(timeIntervalSince1970: double(seconds))
    if decimal(date.timeIntervalSince1970) == seconds { return date }
    return Date(timeIntervalSinceReferenceDate: double(seconds - secondsTo2001))
  }

  private static func decimal(_ number: Double) -> Decimal? {
    Decimal(string: number.description, locale: nil)
  }

  private static func double(_ number: Decimal) -> Double { Double(number.description) ?? .nan }
}

extension Decimal {
  /// The number times a power of 10.
  fileprivate func shifted(by exponent: Int) -> Decimal {
    Decimal(sign: .plus, exponent: exponent, significand: self)
  }
}
