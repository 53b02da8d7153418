import Foundation
import RemoteSources

extension TransportError {
  /// The longest time that a server can ask for.
  static let longestDelay = Duration.seconds(3_600)
  /// The maximum length of a body's first line in a message.
  private static let lineLimit = 200

  /// Creates the error for an answer that is no stream of events.
  ///
  /// - Parameters:
  ///   - head: The head of the answer.
  ///   - body: The beginning of the body.
  init(_ head: AnswerHead, body: [UInt8]) {
    let (code, type) = (head.statusCode, head.mediaType)
    var message =
      switch code {
      case 200 where head.isStream:
        "the server sent \(head.compression ?? ""), although the request asks for no compression"
      case 200: "the server sent \(type.isEmpty ? "no events" : type), not text/event-stream"
      case 204: "the server has no events, and asks clients not to connect again (status 204)"
      default: "the server answered with status \(code)"
      }
    if code != 200, head.isPage {
      message += " and a page"
    } else if head.hasReason, let line = Self.firstLine(of: body) {
      message += ": \(line)"
    }
    switch code {
    case 200 where head.isStream: break
    case 200, 404: message += "; check the address"
    case 401, 403: message += "; check the authorization"
    default: break
    }
    var retry = Retry.afterPause
    if code == 204 {
      retry = .never
    } else if let delay = head.retryAfter.flatMap({ Self.delay($0, at: Date()) }) {
      retry = .after(delay)
    }
    self.init(message, statusCode: code, retry: retry)
  }

  /// Returns a Boolean value that indicates whether a text has a complete line that is not blank.
  static func hasLine(_ body: [UInt8]) -> Bool {
    guard let end = body.lastIndex(of: UInt8(ascii: "\n")) else { return false }
    return firstLine(of: body[..<end]) != nil
  }

  /// Returns the first line of a text that is not blank, without control characters, or `nil` if there is none.
  private static func firstLine(of body: some Collection<UInt8>) -> String? {
    for line in String(decoding: body, as: UTF8.self).split(whereSeparator: \.isNewline) {
      let shown = line.withoutControlCharacters.withoutOuterSpace
      if !shown.isEmpty { return String(shown.prefix(lineLimit)) }
    }
    return nil
  }

  /// Returns the time that a header `Retry-After` asks for: a number of seconds, or a date.
  static func delay(_ field: String, at now: Date) -> Duration? {
    let isNumber = field.allSatisfy { ("0"..."9").contains($0) }
    let seconds =
      isNumber ? Double(field) : time(ofDate: field).map { $0 - now.timeIntervalSince1970 }
    return seconds.map { min(.seconds(min(max($0, 0), 1e9)), longestDelay) }
  }

  /// Returns the seconds since 1970 of a date such as `Sun, 06 Nov 1994 08:49:37 GMT`.
  ///
  /// A `DateFormatter` would add as many tables as `trimmingCharacters(in:)`.
  private static func time(ofDate text: String) -> Double? {
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    let words = text.split { $0 == " " || $0 == ":" }
    guard words.count == 8, words[7] == "GMT",
      let month = months.firstIndex(of: String(words[2]))
    else { return nil }
    let numbers = [1, 3, 4, 5, 6].compactMap { Int32(words[$0]) }
    guard numbers.count == 5, numbers.allSatisfy({ (0...9_999).contains($0) }) else { return nil }
    var time = tm()
    (time.tm_mday, time.tm_mon, time.tm_year) = (numbers[0], Int32(month), numbers[1] - 1_900)
    (time.tm_hour, time.tm_min, time.tm_sec) = (numbers[2], numbers[3], numbers[4])
    return Double(timegm(&time))
  }
}
