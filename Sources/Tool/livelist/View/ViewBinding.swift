import FileSources
import SwappablePrimitives
import TerminalViews

/// A key of a view that runs a command for rows.
struct ViewBinding: Sendable, Equatable {
  let key: TerminalKey
  /// The name of the key, for example `d` or `ctrl-x`.
  let name: String
  let command: ByteString
  /// A Boolean value that indicates whether the user is asked first.
  private(set) var asksFirst = false
  /// A Boolean value that indicates whether the output is shown in place of the list.
  private(set) var showsOutput = false

  /// The most bytes of `LIVELIST_KEYS`. Linux limits one variable to 128 KB.
  private static let keyLimit = 100_000

  /// The keys without which marks, commands and the end of the view cannot be reached.
  private static let reservedCharacters: Set<Character> = [" ", "q", "Q", ":", "?", "/", "v", "u"]
  /// The letters that are other keys with the Control key, or that the view needs with it.
  private static let reservedControls: Set<Character> = ["c", "h", "i", "j", "l", "m", "z"]
  private static let reservedNames: Set<String> = [
    "enter", "return", "esc", "escape", "space", "tab", "up", "down", "left", "right", "pageup",
    "pagedown", "pgup", "pgdn", "home", "end", "backspace",
  ]

  /// Parses `KEY=COMMAND`, where `confirm:` and `wait:` may precede the command.
  init(_ given: Option.Given) throws(LivelistError) {
    guard let (name, value) = given.bytes.split(at: "=") else {
      throw given.mistake("a key and a command, such as --bind 'd=rm \"$LIVELIST_KEY\"'")
    }
    (self.name, key) = (name.description, try ViewBinding.key(name.description, given))
    var command = value
    while true {
      if command.hasPrefix("confirm:") {
        (command, asksFirst) = (command.dropFirst(8), true)
      } else if command.hasPrefix("wait:") {
        (command, showsOutput) = (command.dropFirst(5), true)
      } else {
        break
      }
    }
    guard !command.description.allSatisfy(\.isWhitespace) else {
      throw .usage("--bind has no command for the key \"\(name)\"; use --bind '\(name)=COMMAND'")
    }
    self.command = command
  }

  /// Returns the key with a name.
  private static func key(
    _ name: String, _ given: Option.Given
  ) throws(LivelistError) -> TerminalKey {
    let lowercase = name.lowercased()
    var key: TerminalKey?
    var isReserved = reservedNames.contains(lowercase)
    if let character = name.first, name.unicodeScalars.count == 1 {
      key = .character(character)
      isReserved = reservedCharacters.contains(character)
    } else if lowercase.hasPrefix("ctrl-"), let letter = letter(of: lowercase.dropFirst(5)) {
      key = .control(letter)
      isReserved = reservedControls.contains(letter)
    } else if lowercase.hasPrefix("alt-"), let letter = letter(of: name.dropFirst(4)) {
      key = .alternate(letter)
    } else if lowercase.hasPrefix("f"), let number = Int(name.dropFirst()), 1...12 ~= number {
      key = .function(number)
    }
    if isReserved {
      throw .usage(
        "--bind cannot use the key \"\(name)\", which the view needs itself; use another one, "
          + "such as d")
    }
    guard let key else {
      throw given.mistake(
        "a character, ctrl-LETTER, alt-LETTER or f1 to f12 as the key", part: name)
    }
    return key
  }

  private static func letter(of text: Substring) -> Character? {
    text.first.flatMap { text.count == 1 && $0.isASCII && $0.isLetter ? $0 : nil }
  }

  /// The command, shortened for a line.
  var title: String {
    TerminalText.truncated(TerminalText.printable(command.description), to: 30)
  }

  /// Returns the variables that the command receives in addition to those of the program.
  ///
  /// Keys are passed in variables only, because the shell would perform a key inside the command line.
  static func variables(
    for elements: [JSONElement]
  ) throws(LivelistError) -> [String: String] {
    let keys = elements.map { key(of: $0) }
    let first = keys.first ?? ""
    guard first.utf8.count <= keyLimit, !first.utf8.contains(0) else {
      throw .input(
        "the key of the row is too long for a variable, or has a NUL character; use --key FIELD")
    }
    var variables = ["LIVELIST_KEY": first, "LIVELIST_COUNT": "\(keys.count)", "LIVELIST_KEYS": ""]
    // A key with a line break would be two keys, one of which may be the key of another element.
    let isListable =
      keys.reduce(0) { $0 + $1.utf8.count + 1 } <= keyLimit
      && keys.allSatisfy { !$0.utf8.contains(0) && !$0.utf8.contains(0x0A) }
    if isListable { variables["LIVELIST_KEYS"] = keys.joined(separator: "\n") }
    return variables
  }

  /// The characters of a key that is a string, and the JSON text of any other key.
  private static func key(of element: JSONElement) -> String {
    let text = element.differenceIdentifier.description
    return (try? JSONElement(parsing: text)).map(ViewColumns.text) ?? text
  }
}

/// A command to run for elements, which are those at the time when the user pressed the key.
struct ViewTask: Equatable {
  let binding: ViewBinding
  let elements: [JSONElement]

  /// The question whether to run the command.
  var question: String {
    let one = elements.first?.changeLabel ?? "this row"
    let rows = elements.count == 1 ? one : "\(elements.count) rows"
    return "run \(binding.title) for \(TerminalText.truncated(rows, to: 40))? y/n"
  }
}
