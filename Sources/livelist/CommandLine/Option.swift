/// An option of a command.
///
/// The parser, the help and the completions use this description.
enum Option: String, CaseIterable {
  case key
  case `where`
  case sort
  case limit
  case fields
  case format
  case snapshot
  case changesOnly = "changes-only"
  case exec
  case execInitial = "exec-initial"
  case groupBy = "group-by"
  case exitCode = "exit-code"
  case quiet
  case stat
  case prefer
  case strict
  case listen
  case window
  case `guard`
  case strictLines = "strict-lines"
  case timeout
  case trace
  case untilEOF = "until-eof"
  case wakeReaders = "wake-readers"
  case reader
  case lockTimeout = "lock-timeout"
  case attempts

  /// The value that follows an option.
  enum Value {
    /// A text, with its name in the help.
    case text(String)
    /// One of several words.
    case choice([String])

    /// The name of the value in the help.
    var name: String {
      switch self {
      case .text(let name): name
      case .choice(let words): words.joined(separator: "|")
      }
    }
  }

  /// Returns what to use in place of an option that other programs have, or `nil` if the command has nothing
  /// like it.
  static func advice(forOther word: String, of command: CommandName) -> String? {
    let (needed, advice): (Option?, String)
    switch word {
    case "--brief":
      (needed, advice) = (.quiet, "use --quiet, which prints nothing, and the exit status")
    case "--unified", "-u", "--color", "--colour":
      guard command != .view else { return nil }
      (needed, advice) = (.format, "use --format text, which has colors on a terminal")
    case "--reverse", "-r":
      (needed, advice) = (.sort, "for descending order, use --sort 'FIELD desc'")
    case "-f":
      (needed, advice) = (
        .where, "use --where to select elements, and --format in full for the format"
      )
    case "--select", "--filter":
      (needed, advice) = (.where, "use --where, for example --where 'stock < 10'")
    case "--tail": (needed, advice) = (.limit, "use --limit -N for the last N elements")
    case "--once", "-1":
      guard [.watch, .view].contains(command) else { return nil }
      (needed, advice) = (
        nil,
        "to print the contents once, use livelist view --format json SOURCE, or, as events, "
          + "livelist watch --until-eof SOURCE </dev/null"
      )
    case "--columns", "-c":
      (needed, advice) = (.fields, "use --fields, for example --fields id,title")
    case "--follow", "-F":
      guard [.watch, .view].contains(command) else { return nil }
      (needed, advice) = (
        nil,
        "watch and view always follow the source, also if it is rotated; in a view, F follows the end"
      )
    case "--ignore", "--ignore-fields", "--exclude", "-I":
      (needed, advice) = (.fields, "use --fields with the fields to compare or to print")
    case "--json" where command == .view:
      (needed, advice) = (
        nil,
        "to print the list once as JSON, use --format json; to print events, use livelist watch"
      )
    case "--json": (needed, advice) = (.format, "use --format json, which is the default")
    default: return nil
    }
    return needed.map(command.options.contains) ?? true ? advice : nil
  }

  /// The option as it is written, for example `--key`.
  var name: String { "--" + rawValue }

  /// The option in one letter, for example `-k`.
  var shortName: String? {
    switch self {
    case .key: "-k"
    case .quiet: "-q"
    case .limit: "-n"
    default: nil
    }
  }

  /// The value that the option takes, or `nil` if it takes none.
  var value: Value? {
    switch self {
    case .key, .groupBy: .text("FIELD")
    case .where: .text("CONDITION")
    case .sort: .text("FIELD,…")
    case .limit, .attempts: .text("N")
    case .fields: .text("FIELD,…")
    case .format: .choice(["json", "text"])
    case .exec: .text("COMMAND")
    case .prefer: .choice(["mine", "theirs"])
    case .listen: .text("unix:PATH")
    case .window: .text("SIZE")
    case .guard: .text("LIMITS")
    case .timeout: .text("SECONDS")
    case .reader: .text("ROLE")
    case .lockTimeout: .text("MILLISECONDS")
    case .snapshot, .changesOnly, .execInitial, .exitCode, .quiet, .stat, .strict, .strictLines,
      .trace, .untilEOF, .wakeReaders:
      nil
    }
  }

  /// A value that shows the form of values that are not obvious.
  var example: String? {
    switch self {
    case .where: "'stock < 10'"
    case .sort: "'price desc'"
    case .fields: "id,title"
    case .exec: "'jq .revision'"
    case .guard: "deletions=20%,count=1"
    case .timeout: "10"
    case .window: "16MB"
    case .lockTimeout: "100"
    case .attempts: "20"
    default: nil
    }
  }

  /// The advice to use the option correctly.
  var hint: String {
    "use \(usage)" + (example.map { ", for example \(name) \($0)" } ?? "")
  }

  /// A Boolean value that indicates whether the value is given to the system, and need not be UTF-8.
  var isBytes: Bool { self == .listen || self == .exec }

  /// Returns a Boolean value that indicates whether the option may occur several times.
  func isRepeatable(in command: CommandName) -> Bool {
    self == .where || self == .reader || self == .key && command == .serve
  }

  /// The option and its value as the usage of a command shows them.
  var usage: String { ([name] + (value.map { [$0.name] } ?? [])).joined(separator: " ") }

  /// Returns the option and its value as the usage of one command shows them.
  func usage(in command: CommandName) -> String {
    self == .key && command == .serve ? "\(name) [NAME:]FIELD" : usage
  }

  /// What the option does, in a few words for completions.
  var summary: String {
    switch self {
    case .key: "the field that identifies elements"
    case .where: "only elements that meet a condition"
    case .sort: "sort by fields"
    case .limit: "only the first elements, or with -N the last"
    case .fields: "only these fields"
    case .format: "the output format"
    case .snapshot: "print the whole list for each change"
    case .changesOnly: "do not print the initial contents"
    case .exec: "run a command for each change"
    case .execInitial: "run the command for the initial contents, too"
    case .groupBy: "sections by the values of a field"
    case .exitCode: "exit with 1 if something differs, 2 for trouble"
    case .quiet: "print nothing, exit as with --exit-code"
    case .stat: "print only the numbers of changes"
    case .prefer: "the side that wins a conflict"
    case .strict: "fail if there is a conflict"
    case .listen: "the socket of the server"
    case .window: "the memory for the latest changes"
    case .guard: "refuse changes that exceed limits"
    case .strictLines: "fail at a line that is not valid"
    case .timeout: "the longest time of a query"
    case .trace: "print the steps of the work"
    case .untilEOF: "exit at the end of standard input"
    case .wakeReaders: "notify the readers at each commit"
    case .reader: "a role that may read the records"
    case .lockTimeout: "how long writers may wait for an attempt"
    case .attempts: "how often to try to lock a table"
    }
  }

  /// The explanation in the help.
  var help: String {
    switch self {
    case .key:
      "The member or column that identifies elements, in every source. The default is the primary "
        + "key of a table, the first column of a query, the whole element of a file, and the key "
        + "that the server names for a list that is served. serve accepts --key NAME:FIELD for one of "
        + "its lists, beside or instead of --key FIELD for the others."
    case .where:
      "Only elements that meet a condition, FIELD OP VALUE, for example 'stock < 10'. OP is =, "
        + "!=, <, <=, >, >=, ~ (contains, without regard to case) or !~. VALUE is a JSON scalar or "
        + "a text. FIELD may be a path, such as request.status. With several --where, all must be "
        + "met. For other conditions, put a filter in front: jq -c --unbuffered 'select(…)' FILE | "
        + "livelist view -"
    case .sort:
      "Sorts by a field. Append \" desc\" for descending order: --sort 'price desc'. Several fields are "
        + "separated by commas: --sort 'kind,price desc' sorts elements of the same kind by price."
    case .limit:
      "Only the first N elements, after --where and --sort. With a minus sign, only the last: "
        + "--limit -5."
    case .fields:
      "Only these members, in this order. FIELD may be a path. The member that identifies elements is "
        + "always kept. Changes of other members are no changes."
    case .format:
      "The output format: json (the default, one event on a line; jsonl is the same), or text, for "
        + "people. On a terminal, text has short values, and colors unless the environment variable "
        + "NO_COLOR is set. view prints the list once: as a JSON array with one element a line, or as "
        + "text."
    case .snapshot:
      "Prints an initial event with the whole list for each change, instead of the change."
    case .changesOnly: "Prints no initial event."
    case .exec:
      "Runs COMMAND with the shell for each change, and prints nothing itself. Standard input is "
        + "the change, as one line. LIVELIST_INSERTED, LIVELIST_DELETED, LIVELIST_UPDATED and "
        + "LIVELIST_MOVED are the numbers of changes, LIVELIST_COUNT is the number of elements, "
        + "LIVELIST_REVISION is the revision, and LIVELIST_EVENT is initial or change. Only one "
        + "command runs at a time. Changes while it runs are combined into one. A failure is "
        + "reported, and watching goes on. When watch ends, a running command is terminated."
    case .execInitial: "Runs the command of --exec for the initial contents, too."
    case .groupBy:
      "The member or column whose values are the sections of a view, in ascending order. Elements "
        + "without a value are in a section of their own, (none)."
    case .exitCode: "Exits with 0 if the sources are equal, 1 if they differ, and 2 for trouble."
    case .quiet: "Prints nothing. The exit status is that of --exit-code."
    case .stat: "Prints only the numbers of changes."
    case .prefer:
      "The side that wins a conflict: theirs (the default) or mine. If one side deleted an element "
        + "that the other side edited, the edit wins, unless theirs is preferred and theirs deleted "
        + "the element."
    case .strict: "If there is a conflict, prints no elements and exits with status 3."
    case .listen:
      "The socket of serve. Only this user can connect to it. If a server that no longer runs has "
        + "left it behind, it is replaced."
    case .window:
      "The memory for the latest changes of all lists together, such as 512KB, 16MB or 1GB. Each list "
        + "has an equal part of it. A reader that comes back later than that receives the whole list. "
        + "The size is estimated. The default is 64MB. With 0, no changes are kept."
    case .guard:
      "Refuses changes that exceed a limit: deletions=20% or deletions=100, changes=50% or "
        + "changes=1000, and count=1 for the fewest elements. Several limits are separated by "
        + "commas. A refused change is not printed. A status line has the state held, the reason, "
        + "and the number of changes. If the source changes so that the limits are kept, the change "
        + "is printed by itself."
    case .strictLines:
      "Fails at a line of a JSON Lines file that is not valid, and shows no line after it. Without "
        + "this option, such lines are skipped and counted in the status. merge and apply always fail."
    case .timeout:
      "The longest time that a query may take, in seconds. A query that takes longer fails, and runs "
        + "again after the next change. Without this option, there is no limit."
    case .trace:
      "Prints the steps of the work on standard error, one a line: each read of a source, each "
        + "commit and its propagation, and each swap, with numbers of elements and times."
    case .untilEOF: "Exits at the end of standard input, after all pending output is printed."
    case .wakeReaders:
      "Each commit also notifies the readers. They see a change after about 2 milliseconds instead of 100. "
        + "Use it for few writers: the server takes one lock for all commits that notify, so many "
        + "writers become many times slower, and PREPARE TRANSACTION fails."
    case .reader:
      "A role that may read the records, besides the role that installs the triggers. Sources of other "
        + "roles look for changes at an interval. With several --reader, all roles may read."
    case .lockTimeout:
      "The longest time that writers of a table wait behind an attempt to lock it. The default is 100."
    case .attempts: "The largest number of attempts to lock each table. The default is 20."
    }
  }

  /// Returns the option that a word means.
  init?(word: some StringProtocol) {
    guard
      let option = Option.allCases.first(where: {
        $0.name == word || $0.shortName == word.description
      })
    else { return nil }
    self = option
  }
}
