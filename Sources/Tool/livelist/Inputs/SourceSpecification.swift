import FileSources
import FileWatching
import Foundation
import HTTPSources
import PostgresSources
import SwappablePrimitives

/// A source of elements, as given on the command line.
struct SourceSpecification: Sendable, Equatable {
  /// A format of files and of standard input.
  enum Format: Sendable, Equatable {
    /// A JSON array.
    case json
    /// One JSON value on each line.
    case jsonLines
    /// An array or object in a JSON document.
    case document(JSONPointer)
    /// Rows of fields after a header, with a character between two fields.
    case rows(delimiter: Character)

    /// Comma-separated values.
    static let csv = Format.rows(delimiter: ",")
    /// Tab-separated values.
    static let tsv = Format.rows(delimiter: "\t")
  }

  indirect enum Kind: Sendable, Equatable {
    case file(path: ByteString, Format)
    /// All files whose paths match a pattern.
    case files(PathPattern, Format)
    case query(path: ByteString, sql: String)
    case table(path: ByteString, name: String)
    /// A query of a PostgreSQL server.
    case serverQuery(connectionString: String, sql: String)
    /// A list that another process serves on a socket.
    case live(path: ByteString, list: String)
    /// A list that a web service sends as Server-Sent Events.
    case web(URL)
    /// A pipe or standard input, read to its end. Without a format, the contents tell the format.
    case pipe(path: ByteString, Format?)
    /// The output of a command, which runs again after an interval, or only when it is asked to.
    case command(ByteString, every: Duration?, Format?)
    /// The events on standard input.
    case events
    /// Several sources as one list, in their order.
    case several([SourceSpecification])
  }

  /// The use of standard input that a command allows.
  enum Input {
    case none
    /// As a list.
    case list
    /// As a list, or as the events that `watch` writes.
    case events
  }

  /// The beginnings of sources that any command takes, besides the paths of files.
  static let schemes = [
    "json:", "jsonl:", "csv:", "tsv:", "every:", "cmd:", "sqlite:", "postgres:", "live:unix:",
    "https://", "http://",
  ]
  /// The path of standard input.
  static let standardInput: ByteString = "/dev/stdin"

  /// The text on the command line for people, without passwords.
  let text: String
  let kind: Kind

  /// Parses a source.
  ///
  /// - Parameters:
  ///   - text: The text on the command line.
  ///   - input: The use of standard input that the command allows.
  init(_ text: ByteString, allowing input: Input = .none) throws(LivelistError) {
    self.text = SourceParser(text: text).shown
    guard !text.bytes.contains(0) else {
      throw .usage("the source \"\(self.text)\" contains a NUL character; remove it")
    }
    kind = try SourceParser(text: text).kind()
    switch kind {
    case .file, .files, .query, .table, .live:
      // The errors of files show their paths, and those of queries their SQL.
      guard !AddressText(text.description).hasSecret else {
        throw .usage(
          "\"\(self.text)\" is no file and no address; for a file that does not exist yet, use "
            + "./PATH")
      }
    case .pipe where readsInput && input == .none:
      throw .usage(
        "\"\(self.text)\" is standard input, which this command needs itself; use a file, a named pipe, "
          + "or <(command)")
    case .events where input != .events:
      throw .usage("only livelist view supports the source lines:-; \(SourceParser.kindsHint)")
    default: break
    }
  }

  /// Parses the operands of a command. Several sources are one list, in their order.
  init(operands words: Arguments, allowing input: Input = .none) throws(LivelistError) {
    try words.checkCount(1..., "needs a source")
    if words.operands.count == 1 {
      self = try SourceSpecification(words.operands[0], allowing: input)
      return
    }
    var parts: [SourceSpecification] = []
    for word in words.operands { parts.append(try SourceSpecification(word)) }
    text = parts.map(\.text).joined(separator: " ")
    kind = .several(parts)
  }

  var readsInput: Bool {
    switch kind {
    case .events: true
    case .pipe(let path, _): path == SourceSpecification.standardInput
    case .several(let parts): parts.contains(where: \.readsInput)
    case .file, .files, .query, .table, .serverQuery, .live, .web, .command: false
    }
  }

  /// Returns the name of a command, and a mark in place of its source, which may contain secrets.
  static func redacted(command: ByteString) -> String {
    let (name, rest) = command.firstWord
    // The value of a variable may be a secret.
    if let variable = name.description.prefixMatch(of: /[A-Za-z_][A-Za-z0-9_]*=/) {
      return variable.output + "…" + (rest.isEmpty ? "" : " …")
    }
    return redacted(name.description) + (rest.isEmpty ? "" : " …")
  }

  var isPipe: Bool { if case .pipe = kind { true } else { false } }

  /// A Boolean value that indicates whether elements are identified without the option `--key`.
  var hasOwnKey: Bool {
    switch kind {
    case .query, .table, .serverQuery, .live, .web: true
    case .file, .files, .pipe, .events, .command: false
    case .several(let parts): parts.allSatisfy(\.hasOwnKey)
    }
  }
}

// MARK: Secrets

extension SourceSpecification {
  /// Returns a text that a user has given for a source without its secrets, for messages.
  ///
  /// A text that could be an address, but is none, has no user, no password and no query. The scheme of a PostgreSQL
  /// server may be missing or misspelled.
  static func redacted(_ text: String) -> String {
    if let url = WebAddress.url(text) { return "\(HTTPTransport.http(url))" }
    if PostgresSource.resembles(text) { return PostgresSource.redacted(text) }
    return AddressText(text).redacted
  }
}

/// A text that is no address, but may be meant as one.
private struct AddressText {
  /// The text without a user, a password and a query. SQL and the paths of files stay as they are.
  let redacted: String
  /// A Boolean value that indicates whether there is a user, perhaps with a password, or a query.
  let hasSecret: Bool

  init(_ text: String) {
    // A word before a colon is a scheme only if slashes follow. Otherwise, it may be a user.
    let scheme =
      #/
      \s* (?: (?:jsonl?|csv|tsv|sqlite|live:unix): | (?:live|lines): (?![\/\\]) )?
      (?: ( [^\/\\?\#@:]* : [\/\\]+ | https?: ) | (?: [^\/\\?\#@:]* = )? [\/\\]{2,} )?
      /#
    let start = text.prefixMatch(of: scheme.ignoresCase().matchingSemantics(.unicodeScalar))
    let isAddress = start?.1 != nil
    let source = text[..<(start?.range.upperBound ?? text.startIndex)]
    let rest = text[source.endIndex...]
    func first(_ marks: String) -> String.Index {
      rest.unicodeScalars.firstIndex(where: marks.unicodeScalars.contains) ?? rest.endIndex
    }
    let mark = first(isAddress || first("=") != rest.endIndex ? "?#&;" : "?#")
    let (path, place) = (ByteString(String(rest)), ByteString(String(rest[..<mark])))
    let isPath =
      !isAddress
      && (["/", "./", "../"].contains(where: path.hasPrefix) || path.fileStatus() != nil
        || place.fileStatus() != nil || PathPattern(path)?.matches().paths.isEmpty == false)
    // A query such as `token=KEY` is no SQL.
    let query = rest[mark...]
    let isDatabase =
      fileKind(byEnding: place) == .database
      && (query.first == "#" || !query.contains("=") || query.contains(where: \.isWhitespace))
    let isSQL = !isAddress && (source.hasSuffix("sqlite:") || isDatabase)
    let isPointer = query.hasPrefix("#/") && fileKind(byEnding: place) != nil
    let isFile = source.contains(":") || isPointer || fileKind(byEnding: path) != nil
    let end = isPath ? rest.startIndex : isSQL ? mark : rest.endIndex
    let sign = rest[..<end].ranges(of: #/@|%40/#.matchingSemantics(.unicodeScalar)).last?.lowerBound
    let user = sign.flatMap { sign in
      let hasColon = rest[..<sign].contains(#/:|%3A/#.ignoresCase())
      return isAddress || hasColon || !isFile && sign < first("/\\?#") ? sign : nil
    }
    let hasQuery =
      !isPath && !isSQL && query.unicodeScalars.count > 1
      && (isAddress || user != nil || !isFile || query.contains("="))
    let shownEnd = hasQuery ? mark : end
    var shown =
      source + (user.map { "…" + rest[min($0, shownEnd)..<shownEnd] } ?? rest[..<shownEnd])
    // The words after a password that has no quotation marks may belong to it.
    if redactingPasswords(in: String(shown)) != shown {
      shown = redactingWords(in: String(shown))[...]
    }
    hasSecret = user != nil || hasQuery
    redacted =
      shown
      + (hasQuery
        ? "\(rest.unicodeScalars[mark])…" : redactingPasswords(in: String(rest[shownEnd...])))
  }
}

/// A parser of sources: with a scheme such as `json:`, or as a path, whose kind is guessed.
private struct SourceParser {
  let text: ByteString

  /// The text without passwords, for messages.
  var shown: String {
    guard let (scheme, command) = commandParts else {
      return SourceSpecification.redacted(text.description)
    }
    return scheme.description + SourceSpecification.redacted(command: command)
  }

  static let kindsHint =
    "use the path of a file, or json:PATH for a file with a JSON array, jsonl:PATH for a file with "
    + "a JSON value on each line, csv:PATH or tsv:PATH for rows after a header, every:TIME:COMMAND for the output "
    + "of a command, sqlite:PATH#TABLE or sqlite:PATH?SQL for rows, "
    + "postgres:CONNINFO?SQL for rows of a server, live:unix:PATH#NAME for a list that another process serves, "
    + "or https://HOST/PATH for a list that a web service sends"

  /// Returns the advice for a file that another program must convert, or `nil` for other files.
  static func conversion(ofFile path: ByteString) -> String? {
    let command: String
    switch ending(of: path) {
    case "gz": command = "gzip -dc FILE"
    case "xz": command = "xz -dc FILE"
    case "zst": command = "zstd -dc FILE"
    case "yaml", "yml": command = "yq -o json FILE"
    default: return nil
    }
    return "convert it, for example: \(command) | livelist view -"
  }

  func kind() throws(LivelistError) -> SourceSpecification.Kind {
    if let command = try command() { return command }
    if text == "-" { return .pipe(path: SourceSpecification.standardInput, nil) }
    if PostgresSource.isSource(text) { return try PostgresSource.kind(of: try string(text)) }
    if WebAddress.isSource(text) { return try web() }
    // The name of a directory may end with a colon. `live:/` and `lines:/` have errors of their own.
    if let scheme = WebAddress.scheme(of: text), !["live:", "lines:"].contains(scheme),
      !exists(scheme)
    {
      throw .usage("\"\(shown)\" is no file and no source; \(SourceParser.kindsHint)")
    }
    if let rest = rest(after: "json:") {
      if let (path, pointer) = try pointer(in: rest) {
        return try file(path, .document(pointer), scheme: "json:")
      }
      return try file(rest, .json, scheme: "json:")
    }
    if let rest = rest(after: "jsonl:") { return try file(rest, .jsonLines, scheme: "jsonl:") }
    if let rest = rest(after: "csv:") { return try file(rest, .csv, scheme: "csv:") }
    if let rest = rest(after: "tsv:") { return try file(rest, .tsv, scheme: "tsv:") }
    if let rest = rest(after: "sqlite:") { return try database(rest) }
    if let rest = rest(after: "live:") { return try live(rest) }
    if let rest = rest(after: "lines:") {
      guard rest == "-" else {
        throw .usage("unknown source \"\(shown)\"; use lines:- for the events on standard input")
      }
      return .events
    }
    return try guessed()
  }

  /// The scheme and the command of a source that runs one.
  private var commandParts: (scheme: ByteString, command: ByteString)? {
    if let rest = rest(after: "cmd:") { return ("cmd:", rest) }
    guard let (time, command) = rest(after: "every:")?.split(at: ":") else { return nil }
    return ("every:" + time + ":", command)
  }

  /// Parses `cmd:COMMAND` or `every:TIME:COMMAND`, perhaps with a pointer.
  private func command() throws(LivelistError) -> SourceSpecification.Kind? {
    guard let (scheme, command) = commandParts else {
      if text.hasPrefix("every:") {
        throw .usage("\"\(shown)\" has no command; use every:TIME:COMMAND, such as 'every:5s:ps …'")
      }
      return nil
    }
    var interval: Duration?
    if scheme != "cmd:" {
      let time = scheme.description.dropFirst("every:".count).dropLast()
      guard let parsed = Duration(text: time), parsed >= .milliseconds(100) else {
        throw .usage(
          "the interval of \"\(shown)\" cannot be \"\(time)\"; use a time from 100ms to 24h, such as every:5s:COMMAND"
        )
      }
      interval = parsed
    }
    let (given, pointer): (ByteString, JSONPointer?) = try pointer(in: command) ?? (command, nil)
    var words = given
    var format = pointer.map { SourceSpecification.Format.document($0) }
    for (prefix, rows): (ByteString, SourceSpecification.Format) in [
      ("csv:", .csv), ("tsv:", .tsv),
    ]
    where words.hasPrefix(prefix) {
      if pointer != nil {
        throw .usage("\"\(shown)\" has a JSON pointer, but the output is CSV; omit one of them")
      }
      (words, format) = (words.dropFirst(prefix.bytes.count), rows)
    }
    guard !words.description.allSatisfy(\.isWhitespace) else {
      throw .usage("\"\(shown)\" has no command; use \(scheme)COMMAND")
    }
    return .command(words.replacingEscapes, every: interval, format)
  }

  /// Separates a JSON pointer, `#/…`, at the end of a text. A path that contains it is no such text.
  private func pointer(in text: ByteString) throws(LivelistError) -> (ByteString, JSONPointer)? {
    guard !exists(text), let string = text.string,
      let mark = string.ranges(of: "#/").last?.lowerBound,
      case let tail = string[mark...].dropFirst(),
      !tail.contains(where: { $0.isWhitespace || "'\"#`)|;&".contains($0) })
    else { return nil }
    guard let decoded = tail.removingPercentEncoding, let pointer = JSONPointer(decoded) else {
      throw .usage(
        "\"#\(tail)\" is no JSON pointer; write ~0 for ~ and ~1 for / in a name, for example #/a~1b"
      )
    }
    let path = ByteString(String(string[..<mark]))
    return (exists(path) ? path : path.replacingEscapes, pointer)
  }

  private func rest(after scheme: ByteString) -> ByteString? {
    text.hasPrefix(scheme) ? text.dropFirst(scheme.bytes.count) : nil
  }

  /// Returns the text of a part that is not a path.
  private func string(_ part: ByteString) throws(LivelistError) -> String {
    guard let string = part.string else {
      throw .usage(
        "the source \"\(shown)\" is not UTF-8; only the paths of files and sockets may contain "
          + "other bytes")
    }
    return string
  }

  private func file(
    _ path: ByteString, _ format: SourceSpecification.Format, scheme: String
  ) throws(LivelistError) -> SourceSpecification.Kind {
    guard !path.isEmpty else {
      throw .usage("the source \"\(shown)\" has no path; use \(scheme)PATH")
    }
    if path == "-" { return .pipe(path: SourceSpecification.standardInput, format) }
    if isPipe(path) { return pipe(path, format) }
    // A file whose name contains such characters is meant as it is.
    if !exists(path), let pattern = PathPattern(path) { return .files(pattern, format) }
    return .file(path: path, format)
  }

  private func live(_ rest: ByteString) throws(LivelistError) -> SourceSpecification.Kind {
    let scheme: ByteString = "unix:"
    let place = rest.bytes.dropFirst(scheme.bytes.count)
    guard rest.hasPrefix(scheme), let mark = place.lastIndex(of: UInt8(ascii: "#")),
      mark != place.startIndex, case let list = place[(mark + 1)...], !list.isEmpty
    else {
      throw .usage("the source \"\(shown)\" has no socket or no name; use live:unix:PATH#NAME")
    }
    return .live(path: ByteString(bytes: place[..<mark]), list: try string(ByteString(bytes: list)))
  }

  private func web() throws(LivelistError) -> SourceSpecification.Kind {
    guard let url = WebAddress.url(try string(text)) else {
      throw .usage("the source \"\(shown)\" is no address; use https://HOST/PATH")
    }
    return .web(url)
  }

  // MARK: Databases

  /// Parses `PATH?SQL`, `PATH#TABLE` or `PATH`, or one of them with `?immutable` after the path.
  private func database(_ rest: ByteString) throws(LivelistError) -> SourceSpecification.Kind {
    if let (path, after) = rest.split(at: "?"), after.hasPrefix("immutable"), !exists(rest),
      case let query = after.dropFirst("immutable".utf8.count),
      query.isEmpty || query.hasPrefix("#") || query.hasPrefix("?")
    {
      switch try database(path + query) {
      case .query(let path, let sql):
        return .query(path: path + DatabaseTables.immutableSuffix, sql: sql)
      case .table(let path, let name):
        return .table(path: path + DatabaseTables.immutableSuffix, name: name)
      case let other: return other
      }
    }
    if let table = try table(in: rest) { return table }
    let parts = rest.split(at: "?")
    let path = parts?.before ?? rest
    guard !path.isEmpty else {
      throw .usage("the source \"\(shown)\" has no path; use sqlite:PATH#TABLE or sqlite:PATH?SQL")
    }
    if let longer = existingPathWithQuestionMark(in: rest, first: path) {
      throw .usage(
        "the path \"\(longer)\" contains a \"?\", but the first \"?\" ends the path; "
          + "rename the file, or use a symbolic link without \"?\" in its name")
    }
    guard let query = parts?.after, case let sql = try string(query),
      !sql.allSatisfy(\.isWhitespace)
    else {
      throw .usage("the source \"\(shown)\" has no query; \(DatabaseTables.hint(path: path))")
    }
    return .query(path: path, sql: sql)
  }

  /// Parses `PATH#TABLE`. A number sign in a query, or in the path of a file, does not count.
  private func table(in rest: ByteString) throws(LivelistError) -> SourceSpecification.Kind? {
    if exists(rest) { return nil }
    // The name of the file and that of the table may contain the character, too.
    let paths = SourceParser.prefixes(of: rest, before: "#")
    guard let path = paths.first(where: exists) ?? paths.first, !path.isEmpty,
      !path.contains("?") || exists(path),
      case let name = rest.dropFirst(path.bytes.count + 1), !name.isEmpty
    else { return nil }
    return .table(path: path, name: try string(name))
  }

  /// Returns the parts of a text before each occurrence of an ASCII character, the shortest first.
  private static func prefixes(
    of text: ByteString, before mark: Unicode.Scalar
  ) -> [ByteString] {
    text.bytes.indices.filter { text.bytes[$0] == UInt8(ascii: mark) }
      .map { ByteString(bytes: text.bytes[..<$0]) }
  }

  /// Returns the path of an existing file that contains a question mark, if the user probably meant
  /// it.
  ///
  /// That is the case if the part before the first question mark is not a file, but a longer part
  /// is.
  private func existingPathWithQuestionMark(
    in rest: ByteString, first: ByteString
  ) -> ByteString? {
    guard !exists(first) else { return nil }
    return (SourceParser.prefixes(of: rest, before: "?").dropFirst() + [rest])
      .first { $0.bytes.count > first.bytes.count && exists($0) }
  }

  // MARK: Paths without a scheme

  /// Guesses the kind of a path: by its ending, or else by its contents.
  private func guessed() throws(LivelistError) -> SourceSpecification.Kind {
    if exists(text) { return try kind(ofFile: text) }
    if let (path, pointer) = try pointer(in: text), fileKind(byEnding: path) != .database {
      return try file(path, .document(pointer), scheme: "")
    }
    for mark: Unicode.Scalar in ["?", "#"] {
      guard let path = text.split(at: mark)?.before, !path.isEmpty else { continue }
      if fileKind(byEnding: path) == .database
        || exists(path) && fileKind(byContents: path) == .database
      {
        return try database(text)
      }
    }
    if let pattern = PathPattern(text) {
      guard let format = fileKind(byEnding: text)?.format else {
        throw .usage(
          "the kind of the files \"\(shown)\" is not known by an ending; "
            + "use json:\(shown), jsonl:\(shown) or csv:\(shown)")
      }
      return .files(pattern, format)
    }
    switch fileKind(byEnding: text) {
    case .database: return try database(text)
    case .list(let format): return .file(path: text, format)
    case nil: throw .usage("\"\(shown)\" is no file and no source; \(SourceParser.kindsHint)")
    }
  }

  private func kind(
    ofFile path: ByteString
  ) throws(LivelistError) -> SourceSpecification.Kind {
    if isPipe(path) { return pipe(path, fileKind(byEnding: path)?.format) }
    if path.isDirectory {
      throw .usage(
        "\"\(path)\" is a directory; use a file in it, or a pattern such as '\(path)/*.json'")
    }
    switch fileKind(byEnding: path) ?? fileKind(byContents: path) {
    case .database: return try database(path)
    case .list(let format): return .file(path: path, format)
    case nil:
      throw .usage(
        "the kind of \"\(path)\" is not known by its ending or contents; "
          + (SourceParser.conversion(ofFile: path) ?? SourceParser.kindsHint))
    }
  }

  private func exists(_ path: ByteString) -> Bool { path.fileStatus() != nil }

  /// Returns a pipe. Some paths, such as `/dev/fd/0`, lead to standard input.
  private func pipe(
    _ path: ByteString, _ format: SourceSpecification.Format?
  ) -> SourceSpecification.Kind {
    var input = stat()
    let isInput =
      fstat(STDIN_FILENO, &input) == 0
      && path.fileStatus().map { FileIdentity($0) } == FileIdentity(input)
    return .pipe(path: isInput ? SourceSpecification.standardInput : path, format)
  }

  /// Returns a Boolean value that indicates whether a path leads to a pipe, socket or device.
  private func isPipe(_ path: ByteString) -> Bool {
    guard let status = path.fileStatus() else { return false }
    return ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
  }
}

extension ByteString {
  /// The text with a number sign in place of each `%23`.
  fileprivate var replacingEscapes: ByteString {
    ByteString(bytes: bytes.replacing("%23".utf8, with: "#".utf8))
  }
}

private enum FileKind: Equatable {
  case list(SourceSpecification.Format)
  case database

  var format: SourceSpecification.Format? {
    if case .list(let format) = self { format } else { nil }
  }
}

/// Returns the kind of a file with the ending of a path, if it is known.
private func fileKind(byEnding path: ByteString) -> FileKind? {
  switch ending(of: path) {
  case "json": .list(.json)
  case "jsonl", "ndjson", "log": .list(.jsonLines)
  case "csv": .list(.csv)
  case "tsv": .list(.tsv)
  case "db", "sqlite", "sqlite3", "db3": .database
  default: nil
  }
}

/// Returns the ending of the name of a file in lower case, or `nil` if the name has no point.
private func ending(of path: ByteString) -> String? {
  let parts = path.pathNames.last?.bytes.split(separator: UInt8(ascii: ".")) ?? []
  return parts.count > 1 ? parts.last.map { String(decoding: $0, as: UTF8.self).lowercased() } : nil
}

/// Returns the kind of a file by its first bytes, if it is known.
private func fileKind(byContents path: ByteString) -> FileKind? {
  guard let file = try? FileAccess.live.open(path).get(),
    let bytes = try? file.bytes(from: 0, count: 4096).get()
  else { return nil }
  if bytes.starts(with: "SQLite format 3\0".utf8) { return .database }
  if bytes.isEmpty { return .list(.jsonLines) }
  return SourceSpecification.Format(startingWith: bytes).map { .list($0) }
}

extension SourceSpecification.Format {
  /// Guesses the format of a text by its first bytes. Returns `nil` if it is not JSON.
  init?(startingWith bytes: [UInt8]) {
    switch Self.firstByte(of: bytes) {
    case UInt8(ascii: "["): self = .json
    case let byte? where "{\"-0123456789tfn".utf8.contains(byte): self = .jsonLines
    default: return nil
    }
  }

  /// Returns the first byte that is neither white space nor part of a byte order mark.
  static func firstByte(of bytes: [UInt8]) -> UInt8? {
    bytes[JSONText.bodyStart(of: bytes[...])...].first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
  }
}
