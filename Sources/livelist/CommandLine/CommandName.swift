/// The name of a command, with its description.
///
/// The parser, the help and the completions use this description.
enum CommandName: String, CaseIterable {
  case watch
  case view
  case diff
  case apply
  case merge
  case serve
  case explain
  case triggers
  case completions

  /// The options of the command.
  var options: [Option] {
    switch self {
    case .watch:
      [
        .key, .where, .sort, .limit, .fields, .format, .snapshot, .changesOnly, .exec,
        .execInitial, .guard, .strictLines, .timeout, .trace, .untilEOF,
      ]
    case .view: [.key, .where, .sort, .limit, .fields, .format, .groupBy, .strictLines, .timeout]
    case .diff:
      [
        .key, .where, .sort, .limit, .fields, .format, .exitCode, .quiet, .stat, .strictLines,
        .timeout,
      ]
    case .apply: []
    case .merge: [.key, .prefer, .strict, .timeout]
    case .serve: [.key, .listen, .window, .strictLines, .timeout]
    case .explain: [.key, .strictLines, .timeout]
    case .triggers: [.wakeReaders, .reader, .lockTimeout, .attempts]
    case .completions: []
    }
  }

  /// The operands as the usage shows them.
  var operands: String {
    switch self {
    case .watch, .view, .explain: "SOURCE …"
    case .diff: "OLD NEW"
    case .apply: "[OLD]"
    case .merge: "BASE MINE THEIRS"
    case .serve: "NAME=SOURCE …"
    case .triggers: "\(operandWords.joined(separator: "|")) postgres:CONNINFO [TABLE …]"
    case .completions: operandWords.joined(separator: "|")
    }
  }

  /// The words of which the first operand is one, or none if it is a source.
  var operandWords: [String] {
    switch self {
    case .triggers: TriggersOptions.Action.allCases.map(\.rawValue)
    case .completions: ["bash", "zsh", "fish"]
    case .watch, .view, .diff, .apply, .merge, .serve, .explain: []
    }
  }

  /// The options that must be given.
  var requiredOptions: [Option] { self == .serve ? [.listen] : [] }

  /// The command line in short, for errors.
  var usage: String {
    let required = requiredOptions.map(\.usage)
    let isOptional = options.count > required.count
    return (["livelist \(rawValue)"] + (isOptional ? ["[OPTION …]"] : []) + required + [operands])
      .joined(separator: " ")
  }

  /// What the command does, in a few words for completions.
  var summary: String {
    switch self {
    case .watch: "print the changes of a list"
    case .view: "show a live list in the terminal"
    case .diff: "compare two lists"
    case .apply: "apply events, and print the resulting list"
    case .merge: "merge two lists that were edited independently"
    case .serve: "serve lists to other processes"
    case .explain: "print how a source is kept in step"
    case .triggers: "install the change triggers of a PostgreSQL server"
    case .completions: "print the completions for a shell"
    }
  }

  /// The explanation in the help.
  var help: String {
    switch self {
    case .watch:
      "Prints the events of SOURCE as JSON Lines: first the initial contents, then each change, and "
        + "the status whenever it changes. Several sources are one list, in their order."
    case .view:
      "Shows SOURCE as a live list in the terminal. A row that you choose stays on its line while the "
        + "list changes. Press Enter for all fields of a row, f to filter, F to follow the end, and ? for "
        + "all keys. Without a terminal, or with --format, the list is printed once; a column is "
        + "at most 200 characters wide, and longer texts displace the rest of their lines. With "
        + "--group-by, the list has a section for each value of the field."
    case .diff:
      "Prints the difference between two sources as one change event, or nothing if they are equal. "
        + "The text format has one line for each element that was inserted (+), deleted (-), updated "
        + "(~) or moved (>), with its offset, its key, and the fields that differ."
    case .apply:
      "Applies the events on standard input and prints the resulting elements as a JSON array, one "
        + "element a line. OLD holds the elements before the first event. It is required unless the "
        + "first event is an initial event."
    case .merge:
      "Merges two lists, MINE and THEIRS, that were edited independently. BASE is their common "
        + "ancestor. Prints the elements as a JSON array, one element a line. Edits of one side only "
        + "are kept. Different edits of the same element are a conflict: the preferred side wins, "
        + "and a line on standard error reports the conflict."
    case .serve:
      "Serves lists to other processes of this user, on the socket at PATH. Each list has a name, "
        + "and is read as the source live:unix:PATH#NAME. A reader that was away receives one change."
    case .explain:
      "Loads SOURCE once, and prints how it is kept in step, why, and how long it took to load. For "
        + "a query that runs again as a whole after each change, it says what would help."
    case .triggers:
      "Installs, removes or shows triggers of tables of a PostgreSQL server. They record the keys of the "
        + "rows that a program writes. After a change, sources read only the rows with these keys, "
        + "instead of their whole results. A trigger never makes a write fail. The role must own the "
        + "tables."
    case .completions:
      "Prints the completions for a shell. For bash: eval \"$(livelist completions bash)\"."
    }
  }
}
