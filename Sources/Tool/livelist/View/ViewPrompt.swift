import SwappablePrimitives

/// A line of input at the bottom of the screen.
struct ViewPrompt: Equatable {
  enum Kind: String {
    case search = "/"
    case filter = "filter: "
    case command = ":"
  }

  let kind: Kind
  private(set) var text: String {
    didSet { candidates = [] }
  }
  /// The candidates for a completion of the text.
  private(set) var candidates: [String] = []
  /// The number of the recalled line, from the latest one, or 0 for the line that the user has typed.
  private var recalled = 0
  /// The line that the user has typed before recalling others.
  private var typed = ""

  init(_ kind: Kind, text: String = "") {
    self.kind = kind
    self.text = text
  }

  mutating func type(_ more: String) { text += more }

  /// Removes the last character.
  ///
  /// - Returns: A Boolean value that indicates whether there was one.
  mutating func deleteBackward() -> Bool {
    guard !text.isEmpty else { return false }
    text.removeLast()
    return true
  }

  /// Removes the last word.
  mutating func deleteWord() {
    while text.last?.isWhitespace == true { text.removeLast() }
    while let last = text.last, !last.isWhitespace { text.removeLast() }
  }

  mutating func clear() { text = "" }

  /// Completes the text as far as all candidates agree.
  mutating func complete(titles: [String]) {
    let completion = ViewCompletion(text, in: kind, titles: titles)
    text = completion.text
    candidates = completion.candidates
  }

  /// Replaces the text by an earlier line, or by a later one.
  ///
  /// - Parameters:
  ///   - steps: 1 for the line before, -1 for the line after.
  ///   - lines: The lines that were entered, the latest one last.
  mutating func recall(_ steps: Int, of lines: [String]) {
    let number = recalled + steps
    guard (0...lines.count).contains(number) else { return }
    if recalled == 0 { typed = text }
    recalled = number
    text = number == 0 ? typed : lines[lines.count - number]
  }
}

/// A command that the user types after a colon.
enum ViewCommand: Equatable {
  case swap(String)
  case sort(ViewOrder?)
  case filter(String)
  case row(Int)
  case source
  case help
  case quit

  /// Parses a line. Returns `nil` if the line is blank.
  ///
  /// - Parameters:
  ///   - line: The text after the colon.
  ///   - titles: The titles of the columns by which the list can be sorted.
  init?(_ line: String, titles: [String]) throws(LivelistError) {
    let words = line.drop(while: \.isWhitespace)
    if words.isEmpty { return nil }
    let name = words.prefix { !$0.isWhitespace }
    var rest = words.dropFirst(name.count).drop(while: \.isWhitespace)
    while rest.last?.isWhitespace == true { rest.removeLast() }
    switch name {
    case "swap":
      guard !rest.isEmpty else {
        throw .usage("swap has no source; use :swap SOURCE, for example :swap list.json")
      }
      self = .swap(String(rest))
    case "sort": self = .sort(try ViewCommand.order(String(rest), titles))
    case "filter": self = .filter(String(rest))
    case "info": self = .source
    case "help": self = .help
    case "q", "q!", "quit": self = .quit
    case "group", "group-by":
      throw .usage(
        "the sections of a view are chosen when it starts; quit, and use livelist view --group-by "
          + "FIELD SOURCE")
    default:
      guard let row = Int(name), row > 0, rest.isEmpty else {
        let names = ["swap", "sort", "filter", "info", "help", "quit"]
        let command = SourceSpecification.redacted(String(name))
        let shown = command.count > 30 ? command.prefix(30) + "…" : command
        throw .usage(
          "unknown command \"\(shown)\"" + NearestWord.advice(for: name, among: names)
            + "; use \(names.joined(separator: ", ")), or a row number")
      }
      self = .row(row)
    }
  }

  private static func order(_ rest: String, _ titles: [String]) throws(LivelistError) -> ViewOrder?
  {
    if rest.isEmpty { return nil }
    /// The title that has these bytes, or that a person cannot tell from them.
    func title(_ text: String) -> String? {
      titles.first(where: text.hasSameBytes) ?? titles.first { $0 == text }
    }
    // The title of a column may end with such a word.
    var order = ViewOrder(parsing: rest) { title($0) != nil }
    if let column = title(order.column) {
      order.column = column
      return order
    }
    guard !titles.isEmpty else { throw .usage("the list is empty and has no columns yet") }
    throw .usage(
      "there is no column \"\(rest)\"; the columns are \(titles.joined(separator: ", "))")
  }
}
