import DataSourceTesting

/// A JSON value that can be written in several ways.
indirect enum RandomJSON {
  case plain(String)
  case string([Unicode.Scalar])
  case array([RandomJSON])
  case object([(name: [Unicode.Scalar], value: RandomJSON)])

  static func make(depth: Int, using random: inout SeededGenerator) -> RandomJSON {
    let kind = Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &random)
    Coverage.note(["literal", "number", "string", "string", "array", "object"][kind])
    switch kind {
    case 0: return .plain(["null", "true", "false"].randomElement(using: &random) ?? "null")
    case 1: return .plain(number(using: &random))
    case 2, 3: return .string(scalars(using: &random))
    case 4:
      let count = Int.random(in: 0..<5, using: &random)
      return .array((0..<count).map { _ in make(depth: depth - 1, using: &random) })
    default:
      // Names are unique, because the order of members with the same name counts.
      var names: Set<[Unicode.Scalar]> = []
      for _ in 0..<Int.random(in: 0..<5, using: &random) {
        names.insert(scalars(using: &random))
      }
      var members: [(name: [Unicode.Scalar], value: RandomJSON)] = []
      for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }).shuffled(using: &random) {
        members.append((name, make(depth: depth - 1, using: &random)))
      }
      return .object(members)
    }
  }

  private static func number(using random: inout SeededGenerator) -> String {
    var text = Bool.random(using: &random) ? "-" : ""
    text += String(UInt64.random(in: 0 ... .max, using: &random) >> (random.next() % 64))
    if Bool.random(using: &random) { text += "." + String(random.next() % 1_000) }
    if Bool.random(using: &random) {
      text +=
        (["e", "E", "e+", "E-"].randomElement(using: &random) ?? "e")
        + String(random.next() % 400)
    }
    return text
  }

  private static func scalars(using random: inout SeededGenerator) -> [Unicode.Scalar] {
    (0..<Int.random(in: 0..<12, using: &random)).map { _ in
      let limits: [UInt32] = [0x20, 0x80, 0x80, 0x80, 0x800, 0xD800, 0x11_0000]
      let limit = limits.randomElement(using: &random) ?? 0x80
      return Unicode.Scalar(UInt32.random(in: 0..<limit, using: &random)) ?? "\""
    }
  }

  func text(spaced: Bool, shuffled: Bool, using random: inout SeededGenerator) -> String {
    func space() -> String {
      guard spaced else { return "" }
      return ["", "", " ", "\n", "\t\r\n  "].randomElement(using: &random) ?? ""
    }
    switch self {
    case .plain(let text): return space() + text + space()
    case .string(let scalars):
      return space() + Self.quoted(scalars, loosely: spaced, using: &random) + space()
    case .array(let items):
      let body = items.map { $0.text(spaced: spaced, shuffled: shuffled, using: &random) }
      return space() + "[" + (items.isEmpty ? space() : body.joined(separator: ",")) + "]" + space()
    case .object(let members):
      let ordered = shuffled ? members.shuffled(using: &random) : members
      let body = ordered.map { member in
        space() + Self.quoted(member.name, loosely: spaced, using: &random) + space() + ":"
          + member.value.text(spaced: spaced, shuffled: shuffled, using: &random)
      }
      return space() + "{" + (members.isEmpty ? space() : body.joined(separator: ",")) + "}"
        + space()
    }
  }

  private static func quoted(
    _ scalars: [Unicode.Scalar], loosely: Bool, using random: inout SeededGenerator
  ) -> String {
    var text = "\""
    for scalar in scalars {
      if loosely, random.next() % 4 == 0 {
        for unit in String(Character(scalar)).utf16 {
          let digits = String(unit, radix: 16, uppercase: Bool.random(using: &random))
          text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
        continue
      }
      switch scalar {
      case "\"", "\\": text += "\\" + String(Character(scalar))
      case "\u{8}": text += "\\b"
      case "\t": text += "\\t"
      case "\n": text += "\\n"
      case "\u{C}": text += "\\f"
      case "\r": text += "\\r"
      case "\0"..<" ":
        text += "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
      case "/" where loosely: text += "\\/"
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}
