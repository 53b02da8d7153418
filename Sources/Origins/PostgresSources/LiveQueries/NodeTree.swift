/// A tree of a parsed query, as the server stores it for a view (`pg_node_tree`).
///
/// The format is `{NAME :field value …}` for nodes, `(value …)` for lists, and words. It differs a little between
/// versions of the server, so users of the tree look for the few fields that they know, and give up if one is missing.
indirect enum NodeTree: Equatable {
  case node(name: String, fields: [String: [NodeTree]])
  case list([NodeTree])
  case word(String)

  /// Reads the text of a tree. Returns `nil` if it has another format.
  init?(_ text: String) {
    var parser = NodeParser(bytes: Array(text.utf8))
    guard let tree = parser.parse(depth: 0) else { return nil }
    self = tree
  }

  /// The name of a node, or `nil` for a list or a word.
  var name: String? {
    if case .node(let name, _) = self { name } else { nil }
  }

  /// The first value of a field, or `nil` if the node does not have it or if it is empty (`<>`).
  subscript(field: String) -> NodeTree? {
    guard case .node(_, let fields) = self, let value = fields[field]?.first, value != .word("<>")
    else { return nil }
    return value
  }

  /// The word that a field contains.
  func word(_ field: String) -> String? {
    if case .word(let word)? = self[field] { word } else { nil }
  }

  /// The number that a field contains.
  func number(_ field: String) -> Int? { word(field).flatMap { Int($0) } }

  /// The elements of a list.
  var elements: [NodeTree] {
    if case .list(let elements) = self { elements } else { [] }
  }

  /// Calls a closure with each node, including this one.
  func forEachNode(_ body: (NodeTree) -> Void) {
    switch self {
    case .node(_, let fields):
      body(self)
      for values in fields.values { for value in values { value.forEachNode(body) } }
    case .list(let elements): for element in elements { element.forEachNode(body) }
    case .word: break
    }
  }
}

private struct NodeParser {
  private static let maximumDepth = 400

  let bytes: [UInt8]
  var position = 0

  private var byte: UInt8 { position < bytes.count ? bytes[position] : 0 }

  private mutating func skipSpace() {
    while byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\n") { position += 1 }
  }

  mutating func parse(depth: Int) -> NodeTree? {
    skipSpace()
    guard position < bytes.count, depth < NodeParser.maximumDepth else { return nil }
    switch byte {
    case UInt8(ascii: "{"): return parseNode(depth: depth)
    case UInt8(ascii: "("):
      position += 1
      var elements: [NodeTree] = []
      while true {
        skipSpace()
        if byte == UInt8(ascii: ")") {
          position += 1
          return .list(elements)
        }
        guard let element = parse(depth: depth + 1) else { return nil }
        elements.append(element)
      }
    case UInt8(ascii: ")"), UInt8(ascii: "}"): return nil
    default: return .word(parseWord())
    }
  }

  private mutating func parseNode(depth: Int) -> NodeTree? {
    position += 1
    let name = parseWord()
    var fields: [String: [NodeTree]] = [:]
    var field: String?
    while true {
      skipSpace()
      switch byte {
      case 0: return nil
      case UInt8(ascii: "}"):
        position += 1
        return .node(name: name, fields: fields)
      case UInt8(ascii: ":"):
        position += 1
        field = parseWord()
        fields[field ?? ""] = []
      default:
        guard let value = parse(depth: depth + 1), let field else { return nil }
        fields[field]?.append(value)
      }
    }
  }

  private mutating func parseWord() -> String {
    var word: [UInt8] = []
    while position < bytes.count, !" \n(){}".utf8.contains(byte) {
      if byte == UInt8(ascii: "\\") { position += 1 }
      if position < bytes.count { word.append(byte) }
      position += 1
    }
    return String(decoding: word, as: UTF8.self)
  }
}
