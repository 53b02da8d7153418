import Foundation
import HTTPSources
import SwappablePrimitives

/// Sources of the form `https://HOST/PATH`, and texts that resemble them.
enum WebAddress {
  /// The schemes of sources that have a path, which an address may follow by mistake.
  private static let localSchemes: [ByteString] = [
    "json:", "jsonl:", "csv:", "tsv:", "sqlite:", "live:unix:",
  ]

  /// Returns a Boolean value that indicates whether a source has the scheme of a web service, also in capitals.
  static func isSource(_ text: ByteString) -> Bool {
    let start = String(decoding: text.bytes.prefix(8), as: UTF8.self).lowercased()
    return start == "https://" || start.hasPrefix("http://")
  }

  /// Returns the text before the first `:/`, and the colon, of a text that resembles an address.
  ///
  /// A scheme of this program does not count: the result for `json:http://HOST` is `http:`. In a path or a query, other
  /// text comes before `:/`. The result is `nil` for them.
  static func scheme(of text: ByteString) -> ByteString? {
    let bytes = text.bytes
    let local = localSchemes.first { text.hasPrefix($0) }
    let start = local?.bytes.count ?? 0
    let marks = "/?#".utf8
    guard let slash = bytes[start...].firstIndex(where: marks.contains),
      bytes[slash] == UInt8(ascii: "/"), slash - start > 1,
      bytes[slash - 1] == UInt8(ascii: ":")
    else { return nil }
    return ByteString(bytes: bytes[start..<slash])
  }

  /// Returns the URL of a web service, or `nil` for other texts.
  static func url(_ text: String) -> URL? {
    guard isSource(ByteString(text)), let url = URL(escaping: text), url.host?.isEmpty == false
    else { return nil }
    return url
  }
}
