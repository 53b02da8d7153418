/// A line that the user types.
struct ViewPrompt: Equatable {
  enum Kind: String {
    case search = "/"
    case filter = "filter: "
    case command = ":"
  }

  let kind: Kind
  private(set) var text: String

  init(_ kind: Kind, text: String = "") {
    self.kind = kind
    self.text = text
  }

  mutating func type(_ more: String) { text += more }

  /// Takes the last character away.
  ///
  /// - Returns: Whether there was one.
  mutating func deleteBackward() -> Bool {
    guard !text.isEmpty else { return false }
    text.removeLast()
    return true
  }

  /// Takes the last word away.
  mutating func deleteWord() {
    while text.last?.isWhitespace == true { text.removeLast() }
    while let last = text.last, !last.isWhitespace { text.removeLast() }
  }

  mutating func clear() { text = "" }
}

/// A line that begins with a colon.
enum ViewCommand: Equatable {
  case swap(String)
  case sort(ViewOrder?)
  case filter(String)
  case row(Int)
  case help
  case quit

  /// Understands a line; nil for one that holds nothing.
  ///
  /// - Parameter titles: The columns' titles, which the list can be sorted by.
  init?(_ line: String, titles: [String]) throws(Failure) {
    let words = line.drop(while: \.isWhitespace)
    if words.isEmpty { return nil }
    let name = words.prefix { !$0.isWhitespace }
    var rest = words.dropFirst(name.count).drop(while: \.isWhitespace)
    while rest.last?.isWhitespace == true { rest.removeLast() }
    switch name {
    case "swap":
      guard !rest.isEmpty else {
        throw .usage("swap lacks its source; write :swap SOURCE, as in :swap json:list.json")
      }
      self = .swap(String(rest))
    case "sort": self = .sort(try ViewCommand.order(String(rest), titles))
    case "filter": self = .filter(String(rest))
    case "help": self = .help
    case "q", "quit": self = .quit
    default:
      guard let row = Int(name), row > 0, rest.isEmpty else {
        let shown = name.count > 30 ? name.prefix(30) + "…" : name
        throw .usage(
          "there is no command \"\(shown)\"; there are swap, sort, filter, help, quit, and a row's number"
        )
      }
      self = .row(row)
    }
  }

  private static func order(_ rest: String, _ titles: [String]) throws(Failure) -> ViewOrder? {
    if rest.isEmpty { return nil }
    if titles.contains(rest) { return ViewOrder(column: rest) }
    // A column may be called so itself, hence last.
    for (ending, isDescending) in [(" desc", true), (" asc", false)] where rest.hasSuffix(ending) {
      let column = String(rest.dropLast(ending.count))
      if titles.contains(column) { return ViewOrder(column: column, isDescending: isDescending) }
    }
    throw .usage(
      "there is no column \"\(rest)\" to sort by; there are \(titles.joined(separator: ", "))")
  }
}
