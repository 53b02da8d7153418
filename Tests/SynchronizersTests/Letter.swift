import Diffing

/// A letter is a key, the digit behind it content: `A1`.
struct Letter: Differentiable, Hashable, Sendable, CustomStringConvertible {
  var key: Character
  var content: String

  var differenceIdentifier: Character { key }
  func isContentEqual(to source: Letter) -> Bool { content == source.content }
  var description: String { "\(key)\(content)" }

  static func list(_ text: String) -> [Letter] {
    text.split(separator: " ").map { Letter(key: $0.first ?? " ", content: String($0.dropFirst())) }
  }
}
