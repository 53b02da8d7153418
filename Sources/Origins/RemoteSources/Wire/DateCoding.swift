import Foundation

/// Dates of served lists are milliseconds since 1970, as JavaScript counts them.
///
/// A `Date` stores seconds since 2001 in binary, so milliseconds can have a fraction. A number has the digits that lead
/// back to an equal date.
enum DateCoding {
  static let encoding = JSONEncoder.DateEncodingStrategy.custom { date, encoder in
    var container = encoder.singleValueContainer()
    // Most dates are whole milliseconds. The same result is computed in less time.
    let whole = (date.timeIntervalSince1970 * 1000).rounded()
    if abs(whole) < wholeLimit, Self.date(whole: whole) == date {
      return try container.encode(Int64(whole))
    }
    guard let milliseconds = milliseconds(of: date), !milliseconds.isNaN else {
      let problem = "a date \(date.timeIntervalSince1970) seconds after 1970 is no number of JSON"
      throw EncodingError.invalidValue(
        date, .init(codingPath: encoder.codingPath, debugDescription: problem))
    }
    try container.encode(milliseconds)
  }

  static let decoding = JSONDecoder.DateDecodingStrategy.custom { decoder in
    let container = try decoder.singleValueContainer()
    let milliseconds = try container.decode(Decimal.self)
    // A fraction with many digits would be lost in an integer.
    if milliseconds.exponent >= 0, let whole = try? Double(container.decode(Int64.self)),
      abs(whole) < wholeLimit, let date = date(whole: whole)
    {
      return date
    }
    return date(seconds: milliseconds.shifted(by: -3))
  }

  /// Below it, the quotients of whole numbers by 1,000 are different.
  private static let wholeLimit = 1e15

  /// Returns the date of whole milliseconds if `date(seconds:)` returns the same.
  private static func date(whole: Double) -> Date? {
    let date = Date(timeIntervalSince1970: whole / 1000)
    return date.timeIntervalSince1970 == whole / 1000 ? date : nil
  }

  private static let secondsTo2001 = Decimal(978_307_200)

  /// Returns a number of milliseconds since 1970 whose seconds `date(seconds:)` turns into an equal date.
  ///
  /// A date within 10⁻¹³ seconds of 2001 can need more digits than a `Decimal` has. It is rounded.
  private static func milliseconds(of date: Date) -> Decimal? {
    let (since1970, since2001) = (date.timeIntervalSince1970, date.timeIntervalSinceReferenceDate)
    guard let seconds = decimal(since1970) else { return nil }
    if Date(timeIntervalSince1970: since1970) == date { return seconds.shifted(by: 3) }
    let exact = (decimal(since2001) ?? 0) + secondsTo2001
    // The last two have more digits than any `Double` needs, so they are not taken for seconds since 1970.
    let quarter = decimal(since2001.ulp / 4) ?? 0
    let found = [exact, exact + quarter, exact - quarter].first { self.date(seconds: $0) == date }
    return (found ?? seconds).shifted(by: 3)
  }

  /// Returns the date at a number of seconds since 1970.
  ///
  /// The shortest text of a `Double` since 1970 means this `Double`. Any other number is rounded once, to seconds since
  /// 2001, which are finer.
  private static func date(seconds: Decimal) -> Date {
    let date = Date(timeIntervalSince1970: double(seconds))
    if decimal(date.timeIntervalSince1970) == seconds { return date }
    return Date(timeIntervalSinceReferenceDate: double(seconds - secondsTo2001))
  }

  private static func decimal(_ number: Double) -> Decimal? { Decimal(string: number.description) }
  private static func double(_ number: Decimal) -> Double { Double(number.description) ?? .nan }
}

extension Decimal {
  /// The number times a power of 10.
  fileprivate func shifted(by exponent: Int) -> Decimal {
    Decimal(sign: .plus, exponent: exponent, significand: self)
  }
}
