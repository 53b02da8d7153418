import SwappablePrimitives

/// An option of one command or of several.
///
/// `Option.all`, in Options.swift, is the table of all options. The parser, the help, the completions and the errors read it.
struct Option: Sendable {
  /// The option as it is written, for example `--key`.
  let name: String
  /// The option in one letter, for example `-k`.
  var shortName: String?
  /// The name of the value in the help, or `nil` if the option takes none or one of several words.
  var value: String?
  /// A Boolean value that indicates whether the value may be left out. It follows an equals sign.
  var isValueOptional = false
  /// The words of which the value is one, or none if it may be any text.
  var choices: [String] = []
  /// Other words for choices.
  var synonyms: [String] = []
  /// A value that shows the form of values that are not obvious.
  var example: String?
  /// A Boolean value that indicates whether the value is given to the system, and need not be UTF-8.
  var isBytes = false
  /// A Boolean value that indicates whether the value may be a secret, which no message shows.
  var isSecret = false
  /// The commands that take the option.
  let commands: [CommandName]
  /// The actions of the command `triggers` that take the option.
  var actions: [Triggers.Action] = []
  /// The commands in which the option may occur several times.
  var repeats: [CommandName] = []
  /// The option in the synopsis of a command, if it is more than the option and its value.
  var synopsis: [CommandName: String] = [:]
  var isRequired = false
  /// The options that contradict this one.
  var conflicts: [String] = []
  /// A summary in a few words for completions, without apostrophes and brackets.
  let summary: String
  /// The explanation in the help.
  let help: String
  /// Parses a value that is given, and stores it.
  let store: @Sendable (inout Options, Given) throws(LivelistError) -> Void

  struct Given {
    let option: Option
    let bytes: ByteString

    var text: String { bytes.description }

    /// Returns the error for a value, or a part of it, that is not valid.
    ///
    /// - Parameters:
    ///   - advice: What to use instead, as it follows the word "use".
    ///   - part: The part of the value that is not valid, or `nil` for all of it.
    func mistake(_ advice: String, part: String? = nil) -> LivelistError {
      let shown = SourceSpecification.redacted(part ?? text)
      return .usage("\(option.name) cannot be \"\(shown)\"; use \(advice)")
    }

    func number(in range: ClosedRange<Int>) throws(LivelistError) -> Int {
      guard let number = Int(text), range.contains(number) else {
        throw mistake(
          "a number from \(range.lowerBound) to \(range.upperBound)"
            + (option.example.map { ", such as \(option.name) \($0)" } ?? ""))
      }
      return number
    }
  }

  /// The name and the short name.
  var names: [String] { [name, shortName].compactMap(\.self) }

  var takesValue: Bool { value != nil || !choices.isEmpty }

  var usage: String {
    if isValueOptional, let value { return "\(name)[=\(value)]" }
    let value = choices.isEmpty ? value : choices.joined(separator: "|")
    return [name, value].compactMap(\.self).joined(separator: " ")
  }

  /// The names and the value, as a list of options shows them.
  var term: String { (shortName.map { "\($0), " } ?? "") + usage }

  /// The advice to use the option correctly.
  var hint: String {
    "use \(usage)"
      + (example.map { ", for example \(name)\(isValueOptional ? "=" : " ")\($0)" } ?? "")
  }

  /// Returns the option that a word means.
  static func named(_ word: String) -> Option? { all.first { $0.names.contains(word) } }
}

// MARK: Options of other programs

extension Option {
  /// The commands that print or show lists.
  static let lists: [CommandName] = [.watch, .view, .diff]
  /// The commands whose sources may be lists of web services.
  static let webReaders: [CommandName] = lists + [.apply, .merge, .serve, .explain]

  /// What to use in place of options that other programs have.
  private static let foreign: [(words: [String], commands: [CommandName], advice: String)] = [
    (["--brief"], [.diff], "use --quiet, which prints nothing, and the exit status"),
    (
      ["--unified", "-u"], [.watch, .diff], "use --format text, which has colors on a terminal"
    ),
    (["--reverse", "-r"], lists, "for descending order, use --sort 'FIELD desc'"),
    (["-f"], lists, "use --where to select elements, and --format in full for the format"),
    (["--select", "--filter"], lists, "use --where, for example --where 'stock < 10'"),
    (["--tail"], lists, "use --limit -N for the last N elements"),
    (
      ["--once", "-1"], [.watch, .view],
      "to print the contents once, use livelist view --format json SOURCE, or, as events, "
        + "livelist watch --until-eof SOURCE </dev/null"
    ),
    (["--columns", "-c"], lists, "use --fields, for example --fields id,title"),
    (
      ["--follow", "-F"], [.watch, .view],
      "watch and view always follow the source, also if it is rotated; in a view, F follows the end"
    ),
    (
      ["--ignore-fields", "--exclude", "-I"], lists,
      "use --ignore, for example --ignore age,updated"
    ),
    (
      ["--json"], [.view],
      "to print the list once as JSON, use --format json; to print events, use livelist watch"
    ),
    (["--json"], [.watch, .diff], "use --format json, which is the default"),
  ]

  /// Returns what to use in place of an option that other programs have, or `nil` if the command has nothing
  /// like it.
  static func advice(forOther word: String, of command: CommandName) -> String? {
    foreign.first { $0.words.contains(word) && $0.commands.contains(command) }?.advice
  }
}
