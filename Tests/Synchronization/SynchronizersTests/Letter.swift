import Diffing

/// An element such as `A1`: the letter is the key, and the digit is the content.
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
