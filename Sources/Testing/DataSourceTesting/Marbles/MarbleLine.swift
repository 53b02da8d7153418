/// The events at each tick of a marble line.
struct MarbleLine: Equatable {
  enum Marble: Equatable {
    case value(String)
    case end
  }

  /// The events at each tick, up to the last event.
  private(set) var ticks: [[Marble]] = []

  init() {}

  /// Parses a line in the format of ``Marbles``.
  init(_ text: String) {
    var rest = text[...]
    var length = 0
    while let character = Self.next(&rest) {
      switch character {
      case "-": break
      case "(":
        while true {
          guard let inner = Self.next(&rest) else {
            preconditionFailure("the marble line \(text) has a ( that is not closed")
          }
          precondition(inner != "-", "the marble line \(text) has a - between ( and )")
          if inner == ")" { break }
          add(Self.marble(inner, &rest, of: text), at: length)
        }
      default: add(Self.marble(character, &rest, of: text), at: length)
      }
      length += 1
    }
  }

  /// Removes and returns the next character that is not a blank.
  private static func next(_ rest: inout Substring) -> Character? {
    rest = rest.drop(while: \.isWhitespace)
    return rest.popFirst()
  }

  private static func marble(
    _ character: Character, _ rest: inout Substring, of text: String
  ) -> Marble {
    switch character {
    case "|": return .end
    case "[":
      guard let close = rest.firstIndex(of: "]") else {
        preconditionFailure("the marble line \(text) has a [ that is not closed")
      }
      defer { rest = rest[rest.index(after: close)...] }
      return .value(String(rest[..<close]))
    case ")", "]", "(":
      preconditionFailure("the marble line \(text) has an unexpected \(character)")
    default: return .value(String(character))
    }
  }

  mutating func add(_ marble: Marble, at tick: Int) {
    while ticks.count <= tick { ticks.append([]) }
    ticks[tick].append(marble)
  }
}

extension MarbleLine: CustomStringConvertible {
  var description: String {
    ticks.map { marbles in
      let text = marbles.map(Self.text).joined()
      return marbles.isEmpty ? "-" : marbles.count == 1 ? text : "(\(text))"
    }.joined()
  }

  private static func text(_ marble: Marble) -> String {
    switch marble {
    case .end: "|"
    case .value(let value):
      value.count == 1 && !"-|()[] ".contains(value) ? value : "[\(value)]"
    }
  }
}
