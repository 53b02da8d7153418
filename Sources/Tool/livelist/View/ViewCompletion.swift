import FileSources
import SwappablePrimitives

/// The completion of the text that the user types in a prompt.
///
/// The text is encoded: a private scalar replaces each byte of a path that is not UTF-8.
struct ViewCompletion: Equatable {
  /// The text, extended by the characters that all candidates share.
  let text: String
  /// The candidates, or an empty array if there is at most one.
  let candidates: [String]

  /// The commands, with a space if an argument follows.
  private static let commands = ["swap ", "sort ", "filter ", "info", "help", "quit"]
  private static let schemes = SourceSpecification.schemes + ["lines:-"]

  /// Completes a text.
  ///
  /// - Parameters:
  ///   - text: The text before the cursor.
  ///   - kind: The kind of prompt.
  ///   - titles: The titles of the columns.
  init(_ text: String, in kind: ViewPrompt.Kind, titles: [String]) {
    switch kind {
    case .search: self.init(text, rest: "", all: [])
    case .filter: self.init(filter: text, after: "", titles)
    case .command:
      let words = text.drop(while: \.isWhitespace)
      let name = words.prefix { !$0.isWhitespace }
      guard name.endIndex < words.endIndex else {
        let start = String(text[..<words.startIndex])
        self.init(start, rest: String(name), all: Self.commands)
        return
      }
      let rest = String(words.dropFirst(name.count).drop(while: \.isWhitespace))
      let start = String(text.dropLast(rest.count))
      switch name {
      case "sort": self.init(order: rest, after: start, titles)
      case "filter": self.init(filter: rest, after: start, titles)
      case "swap": self.init(source: rest, after: start)
      default: self.init(text, rest: "", all: [])
      }
    }
  }

  /// Completes a text to one of several candidates.
  ///
  /// - Parameters:
  ///   - start: The text before the part to complete.
  ///   - rest: The part to complete.
  ///   - all: The candidates, of which the ones that begin with the part remain.
  private init(_ start: String, rest: String, all: [String]) {
    let matching = all.filter { $0.hasPrefix(rest) }
    let common = matching.dropFirst().reduce(matching.first ?? rest) { common, candidate in
      String(zip(common, candidate).prefix { String($0).hasSameBytes(as: String($1)) }.map(\.0))
    }
    text = start + common
    candidates = matching.count > 1 ? matching : []
  }

  private init(order text: String, after start: String, _ titles: [String]) {
    let directions = titles.filter { text.hasPrefix($0 + " ") }
      .flatMap { [$0 + " asc", $0 + " desc", $0 + " natural"] }
    self.init(
      start, rest: text, all: titles.map { $0 + " " }.filter { $0 != text } + directions)
  }

  /// Completes the field of a condition.
  private init(filter text: String, after start: String, _ titles: [String]) {
    let fields = titles.map { title in
      let isSimple = (try? ElementPredicate(title + "="))?.comparisons.map(\.field) == [title]
      return isSimple ? title : (try? JSONElement(.string(title)).description) ?? title
    }
    self.init(start, rest: text, all: fields)
  }
}

// MARK: Sources

extension ViewCompletion {
  /// Completes the scheme, or the path after it.
  private init(source text: String, after start: String) {
    let scheme = Self.schemes.first { text.hasPrefix($0) } ?? ""
    let path = text.dropFirst(scheme.count)
    // A query or the name of a list follows the path.
    let hasPathEnded =
      scheme == "sqlite:" && path.contains("?") || scheme == "postgres:" || scheme == "lines:-"
    if hasPathEnded {
      self.init(start + text, rest: "", all: [])
      return
    }
    let nameStart = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
    let (folder, name) = (String(path[..<nameStart]), String(path[nameStart...]))
    let names = Self.names(inFolder: folder, startingWith: name)
    self.init(
      start + scheme + folder, rest: name,
      all: scheme.isEmpty && folder.isEmpty ? Self.schemes + names : names)
  }

  /// Returns the encoded names of files, in order. The name of a folder ends with a slash.
  ///
  /// Names that begin with a point are included only if the text begins with one.
  private static func names(inFolder folder: String, startingWith text: String) -> [String] {
    let folder = ByteString(encoded: folder.isEmpty ? "." : folder)
    return (folder.namesInDirectory() ?? []).sorted()
      .filter { name in
        name.encoded.hasPrefix(text) && (!name.hasPrefix(".") || text.hasPrefix("."))
      }
      .map { folder.appending(name: $0).isDirectory ? $0.encoded + "/" : $0.encoded }
  }
}
