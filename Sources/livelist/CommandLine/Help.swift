/// The text of `--help`, made from the descriptions of the commands and options.
enum Help {
  private static let width = 100

  /// The help of one command, or of the whole tool.
  static func text(of command: CommandName?) -> String {
    guard let command else { return all }
    return
      ([usage(of: command)] + options(command.options) + (command == .triggers ? [] : sources)
      + details(of: command))
      .joined(separator: "\n") + "\n"
  }

  private static var all: String {
    let commands = CommandName.allCases.map(usage)
    return
      (["livelist: live lists for any program that reads and writes lines.\n"] + commands
      + ["livelist --help\nlivelist COMMAND --help\nlivelist --version"] + sources
      + options(Option.all) + CommandName.allCases.flatMap(details)
      + [exitStatus]).joined(separator: "\n") + "\n"
  }

  /// The command line of a command, and its explanation.
  private static func usage(of command: CommandName) -> String {
    var words = command.options.filter(\.isRequired).map(\.usage)
    words += command.options.filter { !$0.isRequired }.map {
      $0.synopsis[command] ?? "[\($0.usage)]" + ($0.repeats.contains(command) ? " …" : "")
    }
    words.append(command.description.operands)
    return filled(words, first: "livelist \(command.rawValue) ", indent: 8)
      + "\n" + filled(command.description.help, indent: 4)
  }

  private static func options(_ options: [Option]) -> [String] {
    let entries = options.map { option in
      let names = (option.shortName.map { "\($0), " } ?? "") + option.usage
      return entry(names, option.help)
    }
    return entries.isEmpty ? [] : ["\nOptions:"] + entries
  }

  private static let sources = [
    "\nSOURCE, OLD, NEW, BASE, MINE, THEIRS:",
    entry(
      "PATH",
      """
      a file; its kind is known by its ending (.json, .jsonl, .ndjson, .log, .db, .sqlite, \
      .sqlite3), or else by its contents
      """),
    entry(
      "json:PATH",
      """
      a file that contains a JSON array of objects or scalars; PATH may be a pattern such as \
      'conf.d/*.json': all these files in the order of their names, also those that come later; \
      each may contain one object instead of an array
      """),
    entry(
      "jsonl:PATH",
      """
      a JSON Lines file with one element a line; appending a line to the file inserts an element \
      at the end; PATH may be a pattern; no member names the file of an element, but jq can add \
      one: jq -c --unbuffered '. + {file: input_filename}' *.jsonl | livelist view -
      """),
    entry(
      "sqlite:PATH#TABLE", "a table of a database; without a table, the error lists the tables"),
    entry(
      "sqlite:PATH?SQL",
      """
      the rows of a query, each as an object with a member for each column; the database is opened \
      read-only, and PATH must not contain "?"
      """),
    entry(
      "postgres:CONNINFO?SQL",
      """
      the rows of a query of a PostgreSQL server; CONNINFO is a connection string of libpq, such as \
      'host=db.example dbname=shop user=app', or //app@db.example/shop; put passwords into ~/.pgpass or \
      a service file, because other users can read command lines
      """),
    entry(
      "live:unix:PATH#NAME", "a list that livelist serve, or another program, serves on a socket"),
    entry(
      "https://HOST/PATH",
      """
      a list that a web service sends as Server-Sent Events; see --header for authorization; also http://
      """),
    entry(
      "-",
      """
      standard input: a JSON array, or one element a line (not with apply and serve); also json:- and \
      jsonl:-, and pipes such as <(command); watch, view and serve show each line when it arrives
      """),
    entry("lines:-", "the events on standard input, in the format of livelist watch (view only)"),
  ]

  /// The commands on standard input, or the actions, of a command.
  private static func details(of command: CommandName) -> [String] {
    switch command {
    case .watch:
      [
        "",
        filled(
          """
          watch reads commands from standard input, one a line. It does not read them if standard \
          input is a terminal and standard output is not, because then another program, to which \
          the output is piped, reads the keys.
          """, indent: 0),
        entry("swap SOURCE", "switches to another source and prints the difference as one change"),
        entry(
          "cancel",
          """
          cancels a swap that is still loading; at the start, cancels the load and exits, or loads \
          the source of a waiting swap
          """),
        entry("accept", "prints the change that the guard has refused"),
        entry("reject", "forgets it until the source changes again"),
        entry("quit", "exits after all pending output is printed; a second quit exits at once"),
      ]
    case .serve:
      [
        "", "serve reads commands from standard input, one a line:",
        entry("swap NAME SOURCE", "switches a list to another source"),
        entry("cancel NAME", "cancels a swap that is still loading"),
        entry("quit", "closes all connections and exits"),
      ]
    case .triggers:
      ["", "The actions of triggers:"]
        + Triggers.Action.allCases.map { entry($0.rawValue, $0.help) } + [
          "",
          filled(
            """
            CONNINFO is a connection string of libpq, such as 'host=db.example dbname=shop user=app', or \
            //app@db.example/shop; put passwords into ~/.pgpass or a service file. TABLE is a name as in \
            SQL: item, shop.item or '"Item"'. Only install and sql take --wake-readers and --reader. Only \
            install and uninstall take --lock-timeout and --attempts.
            """, indent: 0),
        ]
    case .view, .diff, .apply, .merge, .explain, .completions: []
    }
  }

  private static let exitStatus =
    "\n"
    + filled(
      """
      Exit status: 0 on success; 1 if a source cannot be loaded at the start, events cannot be \
      applied, or a server refuses the triggers; 2 if the command line is not valid; 3 if merge --strict found a conflict. With \
      --exit-code or --quiet, diff exits with 1 if something differs and with 2 for trouble.
      """, indent: 0)

  // MARK: Layout

  /// A term and its explanation.
  private static func entry(_ term: String, _ text: String) -> String {
    let column = 24
    let indented = filled(text, indent: column)
    // A long term has a line of its own.
    guard term.count + 6 <= column else { return "    \(term)\n\(indented)" }
    let space = String(repeating: " ", count: column - term.count - 4)
    return "    \(term)\(space)\(indented.dropFirst(column))"
  }

  private static func filled(_ text: String, indent: Int) -> String {
    let space = String(repeating: " ", count: indent)
    return filled(text.split(separator: " ").map(String.init), first: space, indent: indent)
  }

  /// Joins words to lines that fit the width.
  private static func filled(_ words: [String], first: String, indent: Int) -> String {
    var (lines, line) = ([String](), first)
    var isEmpty = true
    for word in words {
      if !isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = String(repeating: " ", count: indent) + word
      } else {
        line += (isEmpty ? "" : " ") + word
      }
      isEmpty = false
    }
    return (lines + [line]).joined(separator: "\n")
  }
}
