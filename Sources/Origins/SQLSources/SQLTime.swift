/// A moment in UTC or without a time zone, from the ISO format of PostgreSQL or SQLite.
package struct SQLTime: Equatable {
  /// The days since 1970-01-01. `.max` is the value `infinity`, and `.min` is `-infinity`.
  package var days: Int64
  /// The microseconds of the day, from 0.
  package var microseconds: Int64

  package init(days: Int64, microseconds: Int64) {
    self.days = days
    self.microseconds = microseconds
  }

  /// Reads a `date`, `timestamp` or `timestamp with time zone` of PostgreSQL, or a date of SQLite with or without a time.
  /// Returns `nil` for another text.
  package init?(_ text: UnsafeRawBufferPointer) {
    if text.first == UInt8(ascii: "i") {
      self.init(days: .max, microseconds: 0)
      return
    }
    if text.count > 1, text[0] == UInt8(ascii: "-"), text[1] == UInt8(ascii: "i") {
      self.init(days: .min, microseconds: 0)
      return
    }
    var scanner = Scanner(text: text)
    guard let written = scanner.number(digits: 4...9), scanner.skip("-"),
      let month = scanner.number(), scanner.skip("-"), let day = scanner.number()
    else { return nil }
    var time: Int64 = 0
    let hasSeparator = scanner.skip(" ") || scanner.skip("T")
    scanner.skipSpaces()
    if hasSeparator, !scanner.isAtEnd, !scanner.isAtBC {
      guard let hour = scanner.number(), scanner.skip(":"), let minute = scanner.number(),
        let second = scanner.skip(":") ? scanner.number() : 0, hour <= 24, minute < 60, second < 60
      else { return nil }
      time = ((hour * 60 + minute) * 60 + second) * 1_000_000
      if scanner.skip(".") { time += scanner.fraction() }
      scanner.skipSpaces()
      let isEast = scanner.skip("+")
      if isEast || scanner.skip("-") {
        guard let hours = scanner.number() else { return nil }
        _ = scanner.skip(":")
        let minutes = scanner.number() ?? 0
        let seconds = scanner.skip(":") ? scanner.number() ?? 0 : 0
        guard hours < 24, minutes < 60, seconds < 60 else { return nil }
        let offset = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000
        time -= isEast ? offset : -offset
      } else {
        _ = scanner.skip("Z") || scanner.skip("z")
      }
      scanner.skipSpaces()
    }
    let year = scanner.isAtBC ? 1 - written : written
    let days = SQLTime.days(year: year, month: month, day: day)
    // The day of another month comes back as another date.
    guard scanner.isAtBC || scanner.isAtEnd, SQLTime.date(days: days) == (year, month, day) else {
      return nil
    }
    let perDay: Int64 = 86_400_000_000
    let carry = time >= 0 ? time / perDay : (time - perDay + 1) / perDay
    self.init(days: days + carry, microseconds: time - carry * perDay)
  }

  /// Returns the days since 1970-01-01 in the Gregorian calendar.
  ///
  /// The years begin in March, so the leap day is the last one, and 400 of them have a fixed number of days.
  package static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  /// Returns the date of a number of days since 1970-01-01. The year 0 is 1 BC.
  package static func date(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let days = days + 719_468
    let era = (days >= 0 ? days : days - 146_096) / 146_097
    let dayOfEra = days - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let month = (5 * dayOfYear + 2) / 153
    return (
      yearOfEra + era * 400 + (month >= 10 ? 1 : 0), month < 10 ? month + 3 : month - 9,
      dayOfYear - (153 * month + 2) / 5 + 1
    )
  }

  /// The largest number of days that is a date for the server, about 5.9 million years.
  private static let dayLimit: Int64 = 2_200_000_000

  /// Creates the moment that is nearest to a number of seconds.
  package init(secondsSince1970 seconds: Double) {
    guard seconds.isFinite, abs(seconds) < Double(SQLTime.dayLimit) * 86_400 else {
      self.init(days: seconds > 0 ? .max : .min, microseconds: 0)
      return
    }
    let day = (seconds / 86_400).rounded(.down)
    let microseconds = Int64(((seconds - day * 86_400) * 1_000_000).rounded())
    let isNextDay = microseconds >= 86_400_000_000
    self.init(
      days: Int64(day) + (isNextDay ? 1 : 0), microseconds: isNextDay ? 0 : microseconds)
  }

  package var isFinite: Bool { days != .max && days != .min }

  package var secondsSince1970: Double {
    // Add exactly where the microseconds fit into 64 bits.
    guard abs(days) < 100_000_000 else { return Double(days) * 86_400 }
    return Double(days * 86_400_000_000 + microseconds) / 1_000_000
  }

  /// The moment as the server reads it as a `timestamp with time zone`.
  package var text: String {
    guard isFinite else { return days > 0 ? "infinity" : "-infinity" }
    func padded(_ number: Int64, _ width: Int) -> String {
      let text = "\(number)"
      return String(repeating: "0", count: max(0, width - text.count)) + text
    }
    let (year, month, day) = SQLTime.date(days: days)
    let seconds = microseconds / 1_000_000
    return
      "\(padded(year > 0 ? year : 1 - year, 4))-\(padded(month, 2))-\(padded(day, 2)) "
      + "\(padded(seconds / 3600, 2)):\(padded(seconds / 60 % 60, 2)):\(padded(seconds % 60, 2))"
      + ".\(padded(microseconds % 1_000_000, 6))+00\(year > 0 ? "" : " BC")"
  }

  private struct Scanner {
    let text: UnsafeRawBufferPointer
    var position = 0

    mutating func number(digits: ClosedRange<Int> = 2...2) -> Int64? {
      var value: Int64 = 0
      let start = position
      while position < text.count, text[position] >= 48, text[position] <= 57,
        position - start < digits.upperBound
      {
        value = value * 10 + Int64(text[position] - 48)
        position += 1
      }
      return position - start >= digits.lowerBound ? value : nil
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

    mutating func skipSpaces() { while skip(" ") {} }

    var isAtEnd: Bool { position == text.count }
    var isAtBC: Bool { position + 1 < text.count && text[position] == UInt8(ascii: "B") }
  }
}
