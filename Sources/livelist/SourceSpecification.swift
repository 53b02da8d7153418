import Foundation

/// Which elements are to be read, as written on the command line.
struct SourceSpecification: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    case json(path: String)
    case jsonLines(path: String)
    case sqlite(path: String, sql: String)
    /// Events on standard input.
    case lines
  }

  /// As it was written.
  let text: String
  let kind: Kind

  /// Understands `json:PATH`, `jsonl:PATH` and `sqlite:PATH?SQL`.
  ///
  /// - Parameter canBeLines: Whether `lines:-` is understood as well.
  init(_ text: String, canBeLines: Bool = false) throws(Failure) {
    self.text = text
    guard !text.utf8.contains(0) else {
      throw .usage("\"\(text)\" holds a NUL character, which no path and no SQL holds; remove it")
    }
    if let path = try SourceSpecification.path(in: text, after: "json:") {
      kind = .json(path: path)
    } else if let path = try SourceSpecification.path(in: text, after: "jsonl:") {
      kind = .jsonLines(path: path)
    } else if let rest = SourceSpecification.rest(of: text, after: "sqlite:") {
      kind = try SourceSpecification.sqlite(rest, in: text)
    } else if let rest = SourceSpecification.rest(of: text, after: "lines:") {
      guard rest == "-" else {
        throw .usage("\"\(text)\" is no source; write lines:- for events on standard input")
      }
      guard canBeLines else {
        throw .usage(
          "lines:- is a source of livelist view only; "
            + "write json:PATH, jsonl:PATH or sqlite:PATH?SQL here")
      }
      kind = .lines
    } else {
      throw .usage(
        "\"\(text)\" is no source; write json:PATH for a file with a JSON array, "
          + "jsonl:PATH for one with a value on each line, or sqlite:PATH?SQL for a query")
    }
  }

  // Bytes, since a mark that combines with the character before it must not hide that.
  private static func rest(of text: String, after scheme: String) -> String? {
    guard text.utf8.starts(with: scheme.utf8) else { return nil }
    return String(decoding: text.utf8.dropFirst(scheme.utf8.count), as: UTF8.self)
  }

  private static func path(in text: String, after scheme: String) throws(Failure) -> String? {
    guard let path = rest(of: text, after: scheme) else { return nil }
    guard !path.isEmpty else {
      throw .usage("\"\(text)\" has no path; write \(scheme)PATH")
    }
    return path
  }

  private static func sqlite(_ rest: String, in text: String) throws(Failure) -> Kind {
    let parts = rest.utf8.split(
      separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false
    ).map { String(decoding: $0, as: UTF8.self) }
    guard !parts[0].isEmpty else {
      throw .usage("\"\(text)\" has no path; write sqlite:PATH?SQL")
    }
    if let path = existingPathWithMark(in: rest, first: parts[0]) {
      throw .usage(
        "the path \"\(path)\" holds a \"?\", which ends a path in \"\(text)\"; "
          + "rename the file, or make a symbolic link to it without one")
    }
    guard parts.count == 2, !parts[1].allSatisfy(\.isWhitespace) else {
      throw .usage(
        "\"\(text)\" has no query; write one behind the path, "
          + "as in sqlite:\(parts[0])?SELECT * FROM …")
    }
    return .sqlite(path: parts[0], sql: parts[1])
  }

  /// A file whose path holds a question mark and was probably meant: the part before the first one
  /// is no file, and a longer part is.
  private static func existingPathWithMark(in rest: String, first: String) -> String? {
    let files = FileManager.default
    guard !files.fileExists(atPath: first) else { return nil }
    let bytes = Array(rest.utf8)
    let marks = bytes.indices.filter { bytes[$0] == UInt8(ascii: "?") }
    return (marks.dropFirst() + [bytes.count]).lazy
      .map { String(decoding: bytes[..<$0], as: UTF8.self) }
      .first { $0.utf8.count > first.utf8.count && files.fileExists(atPath: $0) }
  }
}
