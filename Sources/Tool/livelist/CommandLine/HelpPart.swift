/// A part of the help, which the text of `--help` and the man page lay out in their own ways.
struct HelpPart: Sendable {
  let introduction: String
  /// Terms with their explanations.
  let entries: [(term: String, text: String)]
  /// The text after the entries.
  var remark = ""

  /// The forms of a source.
  static let sources = HelpPart(
    introduction: "SOURCE, OLD, NEW, BASE, MINE, THEIRS:",
    entries: [
      (
        "PATH",
        """
        a file; its kind is known by its ending (.json, .jsonl, .ndjson, .log, .csv, .tsv, .db, \
        .sqlite, .sqlite3), or else by its contents
        """
      ),
      (
        "json:PATH",
        """
        a file that contains a JSON array of objects or scalars; PATH may be a pattern such as \
        'conf.d/*.json': all these files in the order of their names, also files that appear later; \
        each may contain one object instead of an array
        """
      ),
      (
        "jsonl:PATH",
        """
        a JSON Lines file with one element a line; appending a line to the file inserts an element \
        at the end; PATH may be a pattern; no member names the file of an element, but jq can add \
        one: jq -c --unbuffered '. + {file: input_filename}' *.jsonl | livelist view -
        """
      ),
      (
        "PATH#/POINTER",
        """
        an array in a JSON document, such as pods.json#/items; an object there is a list of its members, each \
        {"key": …, "value": …}; write %23 for a # in the path
        """
      ),
      (
        "every:TIME:COMMAND",
        """
        the output of a command of the shell, which runs again after TIME, such as 5s: a JSON array, one element a \
        line, or with #/POINTER at the end a document; a run that takes longer than --timeout, or ten times TIME, is \
        ended
        """
      ),
      (
        "cmd:COMMAND",
        "the output of a command that runs once, and again for the line reload of watch, or Ctrl-R in a view"
      ),
      (
        "csv:PATH, tsv:PATH",
        """
        a file of comma-separated or tab-separated values, with a header that names the columns; each \
        row is an object of strings, or of numbers with --numbers; PATH may be a pattern
        """
      ),
      (
        "sqlite:PATH#TABLE", "a table of a database; without a table, the error lists the tables"
      ),
      (
        "sqlite:PATH?SQL",
        """
        the rows of a query, each as an object with a member for each column; the database is opened \
        read-only, and PATH must not contain "?"
        """
      ),
      (
        "postgres:CONNINFO?SQL",
        """
        the rows of a query of a PostgreSQL server; CONNINFO is a connection string of libpq, such as \
        'host=db.example dbname=shop user=app', or //app@db.example/shop; put passwords into ~/.pgpass or \
        a service file, because other users can read command lines
        """
      ),
      (
        "live:unix:PATH#NAME", "a list that livelist serve, or another program, serves on a socket"
      ),
      (
        "https://HOST/PATH",
        """
        a list that a web service sends as Server-Sent Events; also http://; on Linux, the environment \
        variables https_proxy and http_proxy name the proxy for these schemes, and no_proxy the hosts \
        that are reached without it
        """
      ),
      (
        "-",
        """
        standard input: a JSON array, or one element a line (not with apply and serve); also json:-, \
        jsonl:-, csv:- and tsv:-, and pipes such as <(command); watch, view and serve show each line when it arrives
        """
      ),
      ("lines:-", "the events on standard input, in the format of livelist watch (view only)"),
    ])

  /// The exit statuses.
  static let exitStatus = """
    0 on success; 1 if a source cannot be loaded at the start, events cannot be \
    applied, or a server refuses the triggers; 2 if the command line is not valid; 3 if merge --strict found a conflict; 130 if \
    the user has left view --choose without a choice. If \
    the last status of a source is failed or missing, its last contents are used, and the exit status is 1. A field that is \
    probably misspelled is an error with status 1, or 2 with diff. With \
    --exit-code or --quiet, diff exits with 1 if something differs and with 2 for trouble.
    """
}

extension CommandName {
  /// The commands on standard input, or the actions, of the command.
  var details: HelpPart? {
    switch self {
    case .watch:
      HelpPart(
        introduction: """
          watch reads commands from standard input, one a line. It does not read them if standard \
          input is a terminal and standard output is not, because then another program, to which \
          the output is piped, reads the keys.
          """,
        entries: [
          ("swap SOURCE", "switches to another source and prints the difference as one change"),
          (
            "cancel",
            """
            cancels a swap that is still loading; at the start, cancels the load and exits, or loads \
            the source of a waiting swap
            """
          ),
          ("accept", "prints the change that the guard has refused"),
          ("reject", "forgets it until the source changes again"),
          ("reload", "runs the commands of sources again"),
          ("quit", "exits after all pending output is printed; a second quit exits at once"),
        ])
    case .serve:
      HelpPart(
        introduction: "serve reads commands from standard input, one a line:",
        entries: [
          ("swap NAME SOURCE", "switches a list to another source"),
          ("cancel NAME", "cancels a swap that is still loading"),
          ("quit", "closes all connections and exits"),
        ])
    case .triggers:
      HelpPart(
        introduction: "The actions of triggers:",
        entries: Triggers.Action.allCases.map { ($0.rawValue, $0.help) },
        remark: """
          CONNINFO is a connection string of libpq, such as 'host=db.example dbname=shop user=app', or \
          //app@db.example/shop; put passwords into ~/.pgpass or a service file. TABLE is a name as in \
          SQL: item, shop.item or '"Item"'. Only install and sql take --wake-readers and --reader. Only \
          install and uninstall take --lock-timeout and --attempts.
          """)
    case .view, .diff, .apply, .merge, .mergeDriver, .explain, .completions: nil
    }
  }
}
