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
struct ListArgument: ExpressibleByArgument {
  let name: String
  let source: SourceSpecification

  init?(argument: String) {
    guard let (name, source) = parts(of: argument[...]) else { return nil }
    (self.name, self.source) = (name, source)
  }
}

/// The argument `LIST:NAME=SOURCE`.
struct SourceArgument: ExpressibleByArgument {
  let list: String
  let name: String
  let source: SourceSpecification

  init(list: String, name: String, _ source: SourceSpecification) {
    (self.list, self.name, self.source) = (list, name, source)
  }

  init?(argument: String) {
    guard let colon = argument.firstIndex(of: ":"), isName(argument[..<colon]),
      let (name, source) = parts(of: argument[argument.index(after: colon)...])
    else { return nil }
    self.init(list: String(argument[..<colon]), name: name, source)
  }
}

/// The argument `MEMBER` or `LIST:MEMBER`.
struct KeyArgument: ExpressibleByArgument {
  let list: String?
  let member: String

  init?(argument: String) {
    let colon = argument.firstIndex(of: ":")
    list = colon.map { String(argument[..<$0]) }
    member = colon.map { String(argument[argument.index(after: $0)...]) } ?? argument
    guard !member.isEmpty else { return nil }
  }
}

private func parts(of text: Substring) -> (name: String, source: SourceSpecification)? {
  guard let equals = text.firstIndex(of: "="), isName(text[..<equals]),
    let source = try? SourceSpecification(text[text.index(after: equals)...])
  else { return nil }
  return (String(text[..<equals]), source)
}

/// Returns a Boolean value that indicates whether a text can be a name in an address.
private func isName(_ text: Substring) -> Bool {
  !text.isEmpty
    && text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
}
