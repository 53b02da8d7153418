import FileSources
import Foundation
import ObservableCollections
import ReactiveSignals
import RemoteSources
import SQLiteSources
import SwappableSources

/// A source of elements, as given on the command line.
struct SourceSpecification: Sendable, Equatable {
  enum Kind: Sendable, Equatable {
    case json(path: String)
    case jsonLines(path: String)
    case sqlite(path: String, sql: String)
    /// A list that another process serves on a socket.
    case live(path: String, list: String)
    /// The events on standard input.
    case lines
  }

  /// The text on the command line.
  let text: String
  let kind: Kind

  /// Parses `json:PATH`, `jsonl:PATH`, `sqlite:PATH?SQL` or `live:unix:PATH#NAME`.
  ///
  /// - Parameters:
  ///   - text: The text on the command line.
  ///   - allowsLines: A Boolean value that indicates whether `lines:-` is allowed as well.
  init(_ text: String, allowsLines: Bool = false) throws(LivelistError) {
    self.text = text
    guard !text.utf8.contains(0) else {
      throw .usage("the source \"\(text)\" contains a NUL character; remove it")
    }
    if let path = try SourceSpecification.path(in: text, after: "json:") {
      kind = .json(path: path)
    } else if let path = try SourceSpecification.path(in: text, after: "jsonl:") {
      kind = .jsonLines(path: path)
    } else if let rest = SourceSpecification.rest(of: text, after: "sqlite:") {
      kind = try SourceSpecification.sqlite(rest, in: text)
    } else if let rest = SourceSpecification.rest(of: text, after: "live:") {
      kind = try SourceSpecification.live(rest, in: text)
    } else if let rest = SourceSpecification.rest(of: text, after: "lines:") {
      guard rest == "-" else {
        throw .usage(
          "unknown source \"\(text)\"; use lines:- for the events on standard input")
      }
      guard allowsLines else {
        throw .usage(
          "only livelist view supports the source lines:-; "
            + "use json:PATH, jsonl:PATH, sqlite:PATH?SQL or live:unix:PATH#NAME")
      }
      kind = .lines
    } else {
      throw .usage(
        "unknown source \"\(text)\"; use json:PATH for a file with a JSON array, "
          + "jsonl:PATH for a file with a JSON value on each line, sqlite:PATH?SQL for a query, "
          + "or live:unix:PATH#NAME for a list that another process serves")
    }
  }

  // Compare bytes: a combining mark after the colon would make it a different character.
  private static func rest(of text: String, after scheme: String) -> String? {
    guard text.utf8.starts(with: scheme.utf8) else { return nil }
    return String(decoding: text.utf8.dropFirst(scheme.utf8.count), as: UTF8.self)
  }

  private static func path(in text: String, after scheme: String) throws(LivelistError) -> String? {
    guard let path = rest(of: text, after: scheme) else { return nil }
    guard !path.isEmpty else {
      throw .usage("the source \"\(text)\" has no path; use \(scheme)PATH")
    }
    return path
  }

  private static func live(_ rest: String, in text: String) throws(LivelistError) -> Kind {
    guard let place = Self.rest(of: rest, after: "unix:"),
      let mark = place.utf8.lastIndex(of: UInt8(ascii: "#")), mark != place.utf8.startIndex,
      case let list = place.utf8[place.utf8.index(after: mark)...], !list.isEmpty
    else {
      throw .usage("the source \"\(text)\" has no socket or no name; use live:unix:PATH#NAME")
    }
    return .live(
      path: String(decoding: place.utf8[..<mark], as: UTF8.self),
      list: String(decoding: list, as: UTF8.self))
  }

  private static func sqlite(_ rest: String, in text: String) throws(LivelistError) -> Kind {
    let parts = rest.utf8.split(
      separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false
    ).map { String(decoding: $0, as: UTF8.self) }
    guard !parts[0].isEmpty else {
      throw .usage("the source \"\(text)\" has no path; use sqlite:PATH?SQL")
    }
    if let path = existingPathWithQuestionMark(in: rest, first: parts[0]) {
      throw .usage(
        "the path \"\(path)\" contains a \"?\", but the first \"?\" ends the path; "
          + "rename the file, or use a symbolic link without \"?\" in its name")
    }
    guard parts.count == 2, !parts[1].allSatisfy(\.isWhitespace) else {
      throw .usage(
        "the source \"\(text)\" has no query; append one to the path, "
          + "for example sqlite:\(parts[0])?SELECT * FROM …")
    }
    return .sqlite(path: parts[0], sql: parts[1])
  }

  /// Returns the path of an existing file that contains a question mark, if the user probably meant
  /// it.
  ///
  /// That is the case if the part before the first question mark is not a file, but a longer part
  /// is.
  private static func existingPathWithQuestionMark(in rest: String, first: String) -> String? {
    let files = FileManager.default
    guard !files.fileExists(atPath: first) else { return nil }
    let bytes = Array(rest.utf8)
    let marks = bytes.indices.filter { bytes[$0] == UInt8(ascii: "?") }
    return (marks.dropFirst() + [bytes.count]).lazy
      .map { String(decoding: bytes[..<$0], as: UTF8.self) }
      .first { $0.utf8.count > first.utf8.count && files.fileExists(atPath: $0) }
  }
}

// MARK: Opening

extension SourceSpecification {
  /// Creates the data source, behind a guard if there is one.
  func open(
    key: String?, guardedBy changeGuard: ChangeGuard<JSONElement>?
  ) throws(LivelistError) -> any DataSource<JSONElement> {
    let source = try open(key: key)
    guard let changeGuard else { return source }
    return source.guarded(by: changeGuard)
  }

  /// Creates the data source. The file need not exist yet.
  ///
  /// - Parameter key: The field that identifies elements. If it is `nil`, the first column of a
  ///   query or the whole element of a file identifies them.
  func open(key: String?) throws(LivelistError) -> any DataSource<JSONElement> {
    switch kind {
    case .json(let path):
      return JSONFileDataSource<JSONElement>(path: path, key: key)
    case .jsonLines(let path):
      return JSONLinesDataSource<JSONElement>(path: path, key: key)
    case .live(let path, let list):
      return RemoteDataSource<JSONElement>(.unixSocket(path: path, list: list), key: key)
    case .lines: return LinesDataSource(descriptor: STDIN_FILENO, key: key)
    case .sqlite(let path, let sql):
      do throws(SQLiteError) {
        return try SQLiteDataSource(path: path, sql: sql, uniqueColumnNames: true) { row in
          try SQLiteElements.element(of: row, key: key)
        }
      } catch {
        throw LivelistError(error)
      }
    }
  }
}

extension DataSource<JSONElement> {
  /// Waits until the source is loaded, and returns its contents.
  func loadedSnapshot() async throws(LivelistError) -> Snapshot<JSONElement> {
    do {
      return try await loaded()
    } catch {
      throw LivelistError(cannotLoad: error)
    }
  }
}

extension SwappableContainer<JSONElement> {
  /// Swaps to a source, and waits for the outcome, or until the guard refuses the change.
  ///
  /// - Parameters:
  ///   - key: The field that identifies elements.
  ///   - changeGuard: The guard of the swap, and of the new source.
  /// - Returns: The new source.
  @discardableResult
  func swap(
    to specification: SourceSpecification, key: String?,
    guardedBy changeGuard: ChangeGuard<JSONElement>? = nil
  ) async throws(LivelistError) -> any DataSource<JSONElement> {
    let source: any DataSource<JSONElement>
    do throws(LivelistError) {
      source = try specification.open(key: key, guardedBy: changeGuard)
    } catch {
      throw .input("cannot swap to \(specification.text): \(error.message)")
    }
    switch await outcomeOrHold(of: swap(to: source, guardedBy: changeGuard)) {
    case .swapped, .unchanged, nil: return source
    case .failed(let error):
      throw .input(
        "cannot swap to \(specification.text): \(LivelistError(cannotLoad: error).message)")
    case .superseded, .cancelled, .cycle:
      throw .input("cannot swap to \(specification.text): the swap was canceled")
    }
  }

  /// Returns the outcome of a swap, or `nil` as soon as its change is refused.
  private func outcomeOrHold(of swap: SwapHandle) async -> SwapHandle.Outcome? {
    let (ends, end) = AsyncStream.makeStream(of: SwapHandle.Outcome?.self)
    let observation = pendingChange.observe { if $0 != nil { end.yield(nil) } }
    let waiting = Task { end.yield(await swap.outcome) }
    defer { withExtendedLifetime((observation, waiting)) {} }
    for await first in ends { return first }
    return nil
  }
}

extension LivelistError {
  /// Creates the error for a source that cannot be loaded.
  init(cannotLoad error: any Error) {
    switch (error as? SourceError)?.underlying {
    case let underlying as SQLiteError: self.init(underlying)
    case let underlying? where (error as? SourceError)?.code == "file-missing":
      // The source would continue to wait for the file, but the program does not.
      self = .input("\(underlying); check the path, or create the file first")
    default: self = .input("\(error)")
    }
  }

  /// Creates the error for a SQLite error.
  ///
  /// The advice of a `SQLiteError` is for programmers. This error has advice for users of the
  /// program.
  fileprivate init(_ error: SQLiteError) {
    var error = error
    switch error.code {
    case .writes: error.help = "use a SELECT statement"
    case .severalStatements: error.help = "use a single SELECT statement"
    case .arguments:
      error.help = "write the values into the SQL, because livelist binds no arguments"
    case .decoding: error.help = "change the query, or the field of --key"
    default: break
    }
    self = .input(error.description)
  }
}

// MARK: SQLite

/// The conversion of rows to JSON objects, with members in the order of the columns.
private enum SQLiteElements {
  /// - Parameter key: The column that identifies rows, or `nil` for the first column.
  static func element(of row: SQLiteRow, key: String?) throws -> JSONElement {
    // SQLite ignores the case of column names. JSON does not ignore the case of member names.
    if let key, !row.columnNames.contains(where: { $0.utf8.elementsEqual(key.utf8) }) {
      throw MissingKeyColumnError(key: key, columns: row.columnNames)
    }
    let members = zip(row.columnNames, row.values).map { (name: $0, value: scalar($1)) }
    return try JSONElement(members: members, key: key ?? row.columnNames.first)
  }

  private static func scalar(_ value: SQLiteValue) -> JSONElement.Scalar {
    switch value {
    case .null: .null
    case .integer(let number): .integer(number)
    case .real(let number): .number(text(of: number))
    case .text(let text): .string(text)
    case .blob(let bytes): .string(Data(bytes).base64EncodedString())
    }
  }

  /// Returns the shortest digits that represent the number exactly.
  ///
  /// They always contain a point or an exponent. Therefore, a real is never read as an integer.
  private static func text(of number: Double) -> String {
    // SQLite writes infinities in this form, too, and reads it as infinity.
    if number.isInfinite { return number < 0 ? "-9e999" : "9e999" }
    return number.description
  }
}

/// An error for a query without a column that has the name of the key.
private struct MissingKeyColumnError: Error, CustomStringConvertible {
  let key: String
  let columns: [String]

  var description: String {
    "the key column \"\(key)\" is missing; the columns are "
      + columns.joined(separator: ", ")
  }
}
