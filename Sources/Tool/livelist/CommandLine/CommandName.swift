import RemoteSources

/// A command of the tool.
protocol Command: Sendable {
  func run(_ output: Output) async throws(LivelistError)
}

/// The name of a command, with its description.
///
/// The parser, the help and the completions use this description.
enum CommandName: String, CaseIterable {
  case watch
  case view
  case diff
  case apply
  case merge
  case mergeDriver = "merge-driver"
  case serve
  case explain
  case triggers
  case completions

  /// Creates the command for the arguments after its name.
  func command(_ words: Arguments) throws(LivelistError) -> any Command {
    switch self {
    case .watch: try Watch(words)
    case .view: try View(words)
    case .diff: try Diff(words)
    case .apply: try Apply(words)
    case .merge: try Merge(words)
    case .mergeDriver: try MergeDriver(words)
    case .serve: try Serve(words)
    case .explain: try Explain(words)
    case .triggers: try Triggers(words)
    case .completions: Printing(text: try Completions.script(words))
    }
  }

  struct Description {
    /// The operands as the usage shows them.
    let operands: String
    /// The words of which the first operand is one, or none if it is a source.
    var operandWords: [String] = []
    /// A summary in a few words for completions.
    let summary: String
    /// The explanation in the help.
    let help: String
  }

  var description: Description {
    switch self {
    case .watch:
      Description(
        operands: "SOURCE …", summary: "print the changes of a list",
        help: """
          Prints the events of SOURCE as JSON Lines: first the initial contents, then each change, \
          and the status whenever it changes. Several sources are one list, in their order.
          """)
    case .view:
      Description(
        operands: "SOURCE …", summary: "show a live list in the terminal",
        help: """
          Shows SOURCE as a live list in the terminal. A row that you choose stays on its line while \
          the list changes. Press Enter for all fields of a row, f to filter, F to follow the end, \
          and ? for all keys. Without a terminal, or with --format, the list is printed once; a \
          column is at most 200 characters wide, and longer texts displace the rest of their lines. \
          With --group-by, the list has a section for each value of the field. Space marks rows, --bind \
          gives a key a command for them, and --choose prints them.
          """)
    case .diff:
      Description(
        operands: "OLD NEW", summary: "compare two lists",
        help: """
          Prints the difference between two sources as one change event, or nothing if they are \
          equal. The text format has one line for each element that was inserted (+), deleted (-), \
          updated (~) or moved (>), with its offset, its key, and the fields that differ.
          """)
    case .apply:
      Description(
        operands: "[OLD]", summary: "apply events, and print the resulting list",
        help: """
          Applies the events on standard input and prints the resulting elements as a JSON array, \
          one element a line. OLD holds the elements before the first event. It is required unless \
          the first event is an initial event.
          """)
    case .merge:
      Description(
        operands: "BASE MINE THEIRS", summary: "merge two lists that were edited independently",
        help: """
          Merges two lists, MINE and THEIRS, that were edited independently. BASE is their common \
          ancestor. Prints the elements as a JSON array, one element a line. Edits of one side only \
          are kept. Different edits of the same element are a conflict: the preferred side wins, \
          and a line on standard error reports the conflict.
          """)
    case .mergeDriver:
      Description(
        operands: "BASE MINE THEIRS [PATH]", summary: "merge a list of a git repository",
        help: """
          Merges a JSON file for git, as git's merge driver: writes the result to MINE. Elements, and the members \
          of each element, are merged as with merge --by-field. What did not change keeps its bytes, and \
          the rest the layout of the file. Exits with 1 if there are conflicts, which are marked in the file. A \
          file that is no such list is merged line by line with git merge-file. With --install, prints the two lines \
          that set git up.
          """)
    case .serve:
      Description(
        operands: "NAME=SOURCE …", summary: "serve lists to other processes",
        help: """
          Serves lists to other processes of this user, on the socket at PATH. Each list has a \
          name, and is read as the source live:unix:PATH#NAME. A reader that was away receives one \
          change.
          """)
    case .explain:
      Description(
        operands: "SOURCE …", summary: "print how a source is kept in step",
        help: """
          Loads SOURCE once, and prints how it is kept in step, why, and how long it took to load. \
          For a query that runs again as a whole after each change, it says what would help.
          """)
    case .triggers:
      Description(
        operands: Triggers.Action.words.joined(separator: "|") + " postgres:CONNINFO [TABLE …]",
        operandWords: Triggers.Action.words,
        summary: "install the change triggers of a PostgreSQL server",
        help: """
          Installs, removes or shows triggers of tables of a PostgreSQL server. They record the keys \
          of the rows that a program writes. After a change, sources read only the rows with these \
          keys, instead of their whole results. A trigger never makes a write fail. The role must \
          own the tables.
          """)
    case .completions:
      Description(
        operands: Completions.shells.joined(separator: "|"), operandWords: Completions.shells,
        summary: "print the completions for a shell",
        help: """
          Prints the completions for a shell. For bash: eval "$(livelist completions bash)".
          """)
    }
  }

  /// The options of the command, in the order of the help.
  var options: [Option] { Option.all.filter { $0.commands.contains(self) } }

  /// The command line in short, for errors.
  var usage: String {
    let isOptional = options.count > requiredWords.count
    let words = ["livelist \(rawValue)"] + (isOptional ? ["[OPTION …]"] : []) + requiredWords
    return (words + [description.operands]).joined(separator: " ")
  }

  /// The words of the command line after the name of the command.
  var synopsis: [String] {
    let others = options.filter { !$0.isRequired }.map {
      $0.synopsis[self] ?? "[\($0.usage)]" + ($0.repeats.contains(self) ? " …" : "")
    }
    return requiredWords + others + [description.operands]
  }

  /// The options that must be given, with their values.
  private var requiredWords: [String] { options.filter(\.isRequired).map(\.usage) }
}

/// A command that prints a text.
struct Printing: Command {
  let text: String

  static let version = Printing(text: "livelist \(Livelist.version)\n")

  func run(_ output: Output) { output.line { $0.append(text) } }
}
