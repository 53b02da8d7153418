import Foundation
import HTTPSources
import SwappablePrimitives

/// The values of the option `--header`, each of which is a header or the path of a file of headers.
///
/// No error shows a header, because it may be a secret.
enum HeaderOption {
  /// Adds the headers of a value. A later header replaces an earlier one of the same name, without regard to case.
  static func add(
    _ given: Option.Given, to headers: inout [String: String]
  ) throws(LivelistError) {
    guard given.text.hasPrefix("@"), given.text != "@" else {
      return try add(line: given.text[...], from: "--header", to: &headers)
    }
    let path = given.text.dropFirst()
    guard let text = try? String(contentsOfFile: String(path), encoding: .utf8) else {
      throw .input(
        "cannot read the headers in \(path); check the path, and that the file is UTF-8 text")
    }
    let lines = text.drop { $0 == "\u{FEFF}" }
      .split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    for (offset, line) in lines.enumerated() where !line.allSatisfy(\.isWhitespace) {
      try add(line: line, from: "line \(offset + 1) of the headers in \(path)", to: &headers)
    }
  }

  /// Adds the header of a line.
  ///
  /// - Parameters:
  ///   - line: The name, a colon, and the value.
  ///   - origin: The place of the line, for errors.
  ///   - headers: The headers before it.
  private static func add(
    line: Substring, from origin: String, to headers: inout [String: String]
  ) throws(LivelistError) {
    guard let parts = ByteString(line).split(at: ":") else {
      throw .usage(
        "\(origin) has no colon; use NAME:VALUE\(origin == "--header" ? " or @FILE" : ""), "
          + "for example 'Authorization: Bearer KEY'")
    }
    let name = parts.before.description.trimmingCharacters(in: space)
    guard !name.isEmpty, name.utf8.allSatisfy(isTokenByte) else {
      throw .usage(
        "\(origin) has no valid name before the colon; use letters, digits and hyphens, "
          + "for example 'Authorization: Bearer KEY'")
    }
    let value = parts.after.description.trimmingCharacters(in: space)
    guard !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
      throw .usage("\(origin) has a control character in the value of \(name); remove it")
    }
    headers = headers.replacing(with: [name: value])
  }

  /// The characters that are not part of a name or a value at their ends.
  private static let space = CharacterSet(charactersIn: " \t")

  /// Returns a Boolean value that indicates whether a name may contain a byte: a `tchar` of RFC 9110, section 5.6.2.
  private static func isTokenByte(_ byte: UInt8) -> Bool {
    let character = Character(UnicodeScalar(byte))
    return character.isASCII && (character.isLetter || character.isNumber)
      || "!#$%&'*+-.^_`|~".utf8.contains(byte)
  }
}
