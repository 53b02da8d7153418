import SwappablePQ
/// A connection string: keywords and values, or a URI, as libpq defines them.
///
/// ``redacted`` is its description, in which passwords are masked.
struct ConnectionString: Sendable, Hashable {
  /// The string as the user wrote it. It may contain a password, so it is only passed to libpq.
  let text: String

  init(_ text: String) throws(PostgresError) {
    guard !text.utf8.contains(0) else {
      throw PostgresError(
        .connectionString, "the connection string contains a NUL character",
        help: "remove the character")
    }
    self.text = text
  }

  /// The keywords whose values are secret.
  private static let secretKeywords: Set<String> = [
    "password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key",
  ]

  /// Returns a Boolean value that indicates whether a value is secret, also if its keyword is misspelled.
  private static func isSecret(_ keyword: String) -> Bool {
    secretKeywords.contains(keyword) || keyword.hasPrefix("pas") && keyword != "passfile"
      || keyword.contains("pwd") || keyword.contains("passw")
  }

  private static let mask = "…"

  /// The string without its secrets, for messages.
  ///
  /// Words that belong to no keyword are masked, too: they may be the rest of a password with a space.
  var redacted: String {
    if text.contains("://") { return Self.redact(text) }
    var visible = ""
    var position = text.startIndex
    while position < text.endIndex {
      let space = text[position...].prefix(while: \.isWhitespace)
      visible += space
      let keyword = text[space.endIndex...].prefix { !$0.isWhitespace && $0 != "=" }
      let sign = text[keyword.endIndex...].drop(while: \.isWhitespace)
      position = keyword.endIndex
      if sign.first == "=" {
        let value = sign.dropFirst().drop(while: \.isWhitespace)
        position = Self.valueEnd(in: text, from: value.startIndex)
        visible += text[keyword.startIndex..<position]
      } else if !keyword.isEmpty {
        visible += Self.mask
      }
    }
    return Self.redact(visible)
  }

  /// Returns a message without the secrets of this connection string. Of a long message, it returns the beginning.
  func redact(_ message: String) -> String {
    let limit = 5000
    let isLong = message.utf8.count > limit
    let beginning =
      isLong ? String(String.UnicodeScalarView(message.unicodeScalars.prefix(limit))) : message
    // Bytes, because a secret may end within a character of the message.
    var bytes = Array(Self.redact(beginning).utf8)
    for secret in secrets { bytes.replace(Array(secret.utf8), with: Array(Self.mask.utf8)) }
    let redacted = String(decoding: bytes, as: UTF8.self)
    // The end may be a part of a secret.
    return isLong ? redacted.dropLast(1000) + "…" : redacted
  }

  /// Returns libpq's reason for refusing this string. It quotes parts of the string, which may be parts of a password.
  /// Only keywords are shown.
  func redact(reason: String) -> String {
    let parts = redact(reason).split(separator: "\"", omittingEmptySubsequences: false)
    let shown = parts.enumerated().map { index, part -> String in
      guard index % 2 == 1, part != "=", !isKeyword(part) else { return String(part) }
      return Self.mask
    }
    return shown.joined(separator: "\"")
  }

  /// Returns a Boolean value that indicates whether a word stands before an equals sign.
  private func isKeyword(_ word: Substring) -> Bool {
    guard word.allSatisfy({ $0.isASCII && $0.isLetter || $0 == "_" }) else { return false }
    return text.ranges(of: word).contains { range in
      text[range.upperBound...].first { !$0.isWhitespace } == "="
    }
  }

  /// The secret values, as they are written and as they are meant.
  var secrets: [String] {
    var found: [String] = []
    for (range, isURI) in Self.secretRanges(in: text) {
      let written = String(text[range])
      found.append(written)
      guard isURI else {
        found.append(Self.unquoted(written))
        continue
      }
      // If a password contains a separator of URIs, libpq finds its parts in other places.
      found += ([Substring(written)] + written.split { "/?#@:".contains($0) })
        .map { Self.percentDecoded(String($0)) }
    }
    // A short value also occurs inside other words, and is masked at its place only.
    return found.filter { $0.count >= 4 }
  }

  // MARK: Finding secrets

  /// Returns text in which the values of secret keywords, and the passwords of URIs, are masked.
  static func redact(_ text: String) -> String {
    var result = text
    for (range, _) in secretRanges(in: text).reversed() {
      result.replaceSubrange(range, with: mask)
    }
    return result
  }

  /// The ranges of all secrets in a text, in order, and whether each of them belongs to a URI.
  private static func secretRanges(in text: String) -> [(Range<String.Index>, isURI: Bool)] {
    var ranges: [(Range<String.Index>, isURI: Bool)] = []
    var position = text.startIndex
    while position < text.endIndex {
      let found = secret(in: text, at: position)
      if let found { ranges.append(found) }
      let next = text.index(after: position)
      position = max(found?.0.upperBound ?? next, next)
    }
    return ranges
  }

  private static func secret(
    in text: String, at position: String.Index
  ) -> (Range<String.Index>, isURI: Bool)? {
    let rest = text[position...]
    if rest.hasPrefix("://") { return password(inURI: text, at: text.index(position, offsetBy: 3)) }
    // A keyword begins the text, or follows a character that cannot be part of it.
    let before = position == text.startIndex ? nil : text[text.index(before: position)]
    guard before.map({ !$0.isLetter && $0 != "_" }) ?? true else { return nil }
    let name = rest.prefix { $0.isASCII && $0.isLetter || $0 == "_" }
    guard isSecret(name.lowercased()) else { return nil }
    let sign = rest[name.endIndex...].drop(while: \.isWhitespace)
    guard sign.first == "=" else { return nil }
    let value = sign.dropFirst()
    if before == "?" || before == "&" {
      let end = value.firstIndex { "&#\"' \n".contains($0) } ?? text.endIndex
      return (value.startIndex..<end, true)
    }
    let start = value.drop(while: \.isWhitespace).startIndex
    return (start..<valueEnd(in: text, from: start), false)
  }

  /// The password between `user:` and the last `@` of an authority.
  private static func password(
    inURI text: String, at start: String.Index
  ) -> (Range<String.Index>, isURI: Bool)? {
    let end =
      text[start...].firstIndex { "/?#".contains($0) || $0.isWhitespace } ?? text.endIndex
    guard let colon = text[start..<end].firstIndex(of: ":") else { return nil }
    // A password with an unescaped "/" or "?" is wrong, but it is a password.
    let lineEnd = text[start...].firstIndex { $0.isNewline } ?? text.endIndex
    let at =
      text[colon..<end].lastIndex(of: "@")
      ?? (text[colon..<lineEnd].contains("@") ? text[colon..<lineEnd].firstIndex(of: "@") : nil)
    guard let at else { return nil }
    return (text.index(after: colon)..<at, true)
  }

  /// The end of a value, which may be in quotes and may contain characters after a backslash.
  private static func valueEnd(in text: String, from start: String.Index) -> String.Index {
    var position = start
    let isQuoted = position < text.endIndex && text[position] == "'"
    if isQuoted { position = text.index(after: position) }
    while position < text.endIndex {
      let character = text[position]
      if character == "\\" {
        position = text.index(position, offsetBy: 2, limitedBy: text.endIndex) ?? text.endIndex
        continue
      }
      if isQuoted, character == "'" { return text.index(after: position) }
      if !isQuoted, character.isWhitespace { return position }
      position = text.index(after: position)
    }
    return text.endIndex
  }

  /// Returns a value without its quotes and backslashes.
  private static func unquoted(_ text: String) -> String {
    var text = text[...]
    if text.count >= 2, text.first == "'", text.last == "'" { text = text.dropFirst().dropLast() }
    var result = ""
    while let character = text.popFirst() {
      result.append(character == "\\" ? text.popFirst() ?? character : character)
    }
    return result
  }

  private static func percentDecoded(_ text: String) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let code = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(code)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension ConnectionString {
  /// The values that libpq finds in the string, without those of the environment and of service files.
  ///
  /// - Throws: A ``PostgresError`` if the string is wrong.
  func values(_ library: LibPQ) throws(PostgresError) -> [String: String] {
    var message: UnsafeMutablePointer<CChar>?
    guard let options = library.conninfoParse(text, &message) else {
      let reason = message.map { String(cString: $0) } ?? "out of memory"
      if let message { library.freeMemory(message) }
      throw PostgresError(
        .connectionString, "the connection string is wrong: \(redact(reason: reason))",
        help: "write host=… dbname=… user=…, with values that contain spaces in '…', or "
          + "postgresql://user@host/database")
    }
    return library.takeValues(of: options)
  }

  /// A short name of the server and the database, without credentials.
  func serverName(_ values: [String: String]) -> String {
    if let service = values["service"] { return "service \(service)" }
    // After a slash too many, a user and a password are taken for a part of the database's name.
    func shown(_ name: String) -> String? {
      values[name].map { value in value.lastIndex(of: "@").map { "…" + value[$0...] } ?? value }
    }
    let host = shown("host") ?? shown("hostaddr") ?? "the local server"
    let database = shown("dbname").map { ", database \($0)" } ?? ""
    return redact(host + (values["port"].map { ":\($0)" } ?? "") + database)
  }
}

/// Returns a connection string in which passwords are masked, and words that may be the rest of a password with a space.
package func redactingWords(in connectionString: String) -> String {
  (try? ConnectionString(connectionString))?.redacted ?? redactingPasswords(in: connectionString)
}

/// Returns a text in which the passwords of connection strings are masked.
package func redactingPasswords(in text: String) -> String { ConnectionString.redact(text) }
