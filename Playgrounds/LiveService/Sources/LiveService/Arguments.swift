import ArgumentParser
import Swappable

/// A file with the elements of a list, as given on the command line.
enum SourceSpecification: Sendable {
  case json(path: String)
  case jsonLines(path: String)

  /// Parses `json:PATH` or `jsonl:PATH`.
  init(_ text: Substring) throws {
    guard let colon = text.firstIndex(of: ":"), text.index(after: colon) < text.endIndex else {
      throw ValidationError("unknown source \"\(text)\"; use json:PATH or jsonl:PATH")
    }
    let path = String(text[text.index(after: colon)...])
    switch text[..<colon] {
    case "json": self = .json(path: path)
    case "jsonl": self = .jsonLines(path: path)
    default: throw ValidationError("unknown source \"\(text)\"; use json:PATH or jsonl:PATH")
    }
  }

  /// Creates the data source. The file need not exist yet.
  func open(key: String?) -> any DataSource<JSONElement> {
    switch self {
    case .json(let path): JSONFileDataSource<JSONElement>(path: path, key: key)
    case .jsonLines(let path): JSONLinesDataSource<JSONElement>(path: path, key: key)
    }
  }
}

/// The argument `NAME=SOURCE`.
struct ListArgument {
  let name: String
  let source: SourceSpecification

  init(_ argument: String) throws {
    (name, source) = try parts(of: argument[...])
  }
}

/// The argument `LIST:NAME=SOURCE`.
struct SourceArgument {
  let list: String
  let name: String
  let source: SourceSpecification

  init(list: String, name: String, _ source: SourceSpecification) {
    (self.list, self.name, self.source) = (list, name, source)
  }

  init(_ argument: String) throws {
    let (list, rest) = try split(argument[...], at: ":", "LIST:NAME=SOURCE")
    let (name, source) = try parts(of: rest)
    self.init(list: list, name: name, source)
  }
}

/// The argument `MEMBER` or `LIST:MEMBER`.
struct KeyArgument {
  let list: String?
  let member: String

  init(_ argument: String) throws {
    let colon = argument.firstIndex(of: ":")
    list = colon.map { String(argument[..<$0]) }
    member = colon.map { String(argument[argument.index(after: $0)...]) } ?? argument
    guard !member.isEmpty else { throw ValidationError("the name of the member is missing") }
  }
}

private func parts(of text: Substring) throws -> (name: String, source: SourceSpecification) {
  let (name, source) = try split(text, at: "=", "NAME=SOURCE")
  return (name, try SourceSpecification(source))
}

/// Splits a text after a name that can be part of an address.
private func split(
  _ text: Substring, at separator: Character, _ form: String
) throws -> (name: String, rest: Substring) {
  guard let end = text.firstIndex(of: separator) else {
    throw ValidationError("\"\(text)\" has no \"\(separator)\"; use \(form)")
  }
  let name = text[..<end]
  guard !name.isEmpty,
    name.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) })
  else {
    throw ValidationError("\"\(name)\" is not a name; use letters, digits, - and _")
  }
  return (String(name), text[text.index(after: end)...])
}
