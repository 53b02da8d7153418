package import Foundation
import RemoteSources
import SwappablePrimitives

struct EventRequest: Sendable {
  let url: URL
  /// Headers that each server receives.
  let headers: [String: String]
  /// Headers that only the server receives that the user has named.
  let privateHeaders: [String: String]

  /// Returns the headers for an address, to which a server may have redirected the request.
  func headers(for target: URL) -> [String: String] {
    origin(of: target) == origin(of: url) ? headers.replacing(with: privateHeaders) : headers
  }

  private func origin(of url: URL) -> [String?] {
    let scheme = url.scheme?.lowercased()
    return [scheme, url.host?.lowercased(), "\(url.port ?? (scheme == "https" ? 443 : 80))"]
  }

  /// Returns the error of a redirection that would end the encryption, or `nil` for another redirection.
  static func refusal(ofRedirectionTo target: URL, from url: URL) -> TransportError? {
    guard url.scheme?.lowercased() == "https", target.scheme?.lowercased() != "https" else {
      return nil
    }
    let host = (target.host ?? "").withoutControlCharacters
    return TransportError(
      "the server redirects the request from https to http://\(host), which is not encrypted; "
        + "correct the server, or use an address that is not redirected")
  }
}

extension [String: String] {
  /// Returns these headers and others, which replace headers of the same name, without regard to case.
  package func replacing(with others: Self) -> Self {
    let names = Set(others.keys.map { $0.lowercased() })
    return filter { !names.contains($0.key.lowercased()) }.merging(others) { $1 }
  }
}

extension StringProtocol {
  /// The text without control characters, which could change the terminal that shows it.
  var withoutControlCharacters: String {
    let scalars = unicodeScalars.filter { $0.properties.generalCategory != .control }
    return String(String.UnicodeScalarView(scalars))
  }

  /// The text without white space at both ends.
  ///
  /// `trimmingCharacters(in:)` would add 40 MB of tables of languages to a program.
  var withoutOuterSpace: String {
    var text = drop(while: \.isWhitespace)
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}

extension URL {
  /// Creates an address from text that may contain characters that an address must escape, such as `é` and spaces.
  ///
  /// An escape that is there, which is `%` and two hexadecimal digits, stays. A `%` elsewhere becomes `%25`.
  /// `URL(string:)` escapes each `%` of a component that has another character to escape.
  package init?(escaping text: String, relativeTo base: URL? = nil) {
    let bytes = Array(text.utf8)
    let isDelimiter = { (byte: UInt8) in "/?#".utf8.contains(byte) }
    var host = 0..<0
    if let slash = bytes.firstIndex(where: isDelimiter), bytes[slash...].starts(with: "//".utf8),
      slash == 0 || bytes[slash - 1] == UInt8(ascii: ":")
    {
      let authority = bytes[(slash + 2)...].prefix { !isDelimiter($0) }
      let user = authority.lastIndex(of: UInt8(ascii: "@"))
      host = (user.map { $0 + 1 } ?? authority.startIndex)..<authority.endIndex
    }
    // `URL` itself encodes the name of a host, which has other rules.
    self.init(
      string: Self.escaped(bytes[..<host.lowerBound]) + String(decoding: bytes[host], as: UTF8.self)
        + Self.escaped(bytes[host.upperBound...]), relativeTo: base)
  }

  private static func escaped(_ bytes: ArraySlice<UInt8>) -> String {
    bytes.indices.map { index in
      let (byte, digits) = (UnicodeScalar(bytes[index]), bytes[(index + 1)...].prefix(2))
      let isEscape =
        byte == "%" && digits.count == 2
        && digits.allSatisfy { Character(UnicodeScalar($0)).isHexDigit }
      let isPlain = ("!"..."~").contains(byte) && !"\"%<>[\\]^`{|}".unicodeScalars.contains(byte)
      return isEscape || isPlain ? "\(byte)" : "%\(bytes[index].hexadecimal.uppercased())"
    }.joined()
  }

  var isWebAddress: Bool {
    ["http", "https"].contains(scheme?.lowercased()) && !(host ?? "").isEmpty
  }
}

/// The head of an answer.
struct AnswerHead {
  let statusCode: Int
  /// The media type in lower case, without parameters, or an empty string.
  let mediaType: String
  let retryAfter: String?
  /// The compression in lower case, or `nil` if the body is not compressed.
  let compression: String?

  init(
    statusCode: Int, contentType: String?, retryAfter: String?, contentEncoding: String? = nil
  ) {
    self.statusCode = statusCode
    mediaType = contentType?.prefix { $0 != ";" }.withoutOuterSpace.lowercased() ?? ""
    self.retryAfter = retryAfter
    let encoding = contentEncoding?.withoutOuterSpace.lowercased() ?? ""
    compression = ["", "identity"].contains(encoding) ? nil : encoding
  }

  /// A Boolean value that indicates whether the body is a stream of events, which may be compressed.
  var isStream: Bool { statusCode == 200 && mediaType == "text/event-stream" }

  /// A Boolean value that indicates whether events follow.
  var hasEvents: Bool { isStream && compression == nil }

  /// A Boolean value that indicates whether the answer is a page, whose first line says nothing.
  var isPage: Bool { mediaType.hasSuffix("html") || mediaType == "application/xhtml+xml" }

  /// A Boolean value that indicates whether the first line of the body is part of the error.
  var hasReason: Bool { statusCode != 200 && !isPage && compression == nil }
}

/// The lines of the events in an answer, as they arrive.
struct EventReceiver {
  /// The maximum number of parts that were received and not read yet. Most parts have 16 kB. After that, the server waits.
  static let partLimit = 64
  /// The maximum number of bytes of an event, which is the limit of the source for a line.
  private static let eventLimit = 1 << 30
  /// The number of bytes of an error's answer that are read at most.
  private static let errorLimit = 4_096
  /// The time that an error's answer may take after its head.
  private static let errorTime = Duration.seconds(5)

  typealias Lines = AsyncThrowingStream<[UInt8], any Error>.Continuation

  let lines: Lines
  private var parser = EventStreamParser(maximumEventSize: eventLimit)
  /// The answer if it is no stream of events, and the beginning of its body.
  private var refusal: (head: AnswerHead, body: [UInt8])?
  /// The time at which an error's answer is given up, although its body has no end, or `nil` for events.
  private(set) var deadline: ContinuousClock.Instant?

  init(_ lines: Lines) { self.lines = lines }

  /// Receives the head of the answer. The first part for the source, which is empty, says that events follow.
  ///
  /// - Returns: A Boolean value that indicates whether the body is needed.
  mutating func receive(_ head: AnswerHead) -> Bool {
    if head.hasEvents {
      lines.yield([])
      return true
    }
    refusal = (head, [])
    deadline = .now + Self.errorTime
    return head.hasReason
  }

  /// Receives a part of the body.
  ///
  /// - Returns: A part for the source, which is empty if no line is complete, or `nil` if the answer is no stream of events.
  /// - Throws: An error if no more bytes are needed.
  mutating func receive(_ bytes: some Sequence<UInt8>) throws -> [UInt8]? {
    if var refusal {
      refusal.body += bytes
      self.refusal = refusal
      if refusal.body.count < Self.errorLimit, !TransportError.hasLine(refusal.body) { return nil }
      throw TransportError(refusal.head, body: refusal.body)
    }
    var part: [UInt8] = []
    for event in try parser.parse(bytes) where event.type == "message" {
      // A carriage return is white space of JSON between values, and is not valid inside a string.
      part += event.data.utf8.lazy.map { $0 == UInt8(ascii: "\n") ? UInt8(ascii: "\r") : $0 }
      part.append(UInt8(ascii: "\n"))
    }
    return part
  }

  /// Ends the lines. An error of the connection does not matter if the answer itself is an error.
  func end(_ error: (any Error)?) {
    if let refusal {
      lines.finish(throwing: TransportError(refusal.head, body: refusal.body))
    } else if let time = parser.reconnectionTime {
      let reason = error.map { "\($0)" } ?? "the server closed the connection"
      let delay = min(time, TransportError.longestDelay)
      lines.finish(throwing: TransportError(reason, retry: .after(delay)))
    } else {
      lines.finish(throwing: error)
    }
  }
}
