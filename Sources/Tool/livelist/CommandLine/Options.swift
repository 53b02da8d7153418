import FileSources
import Foundation
import ObservableCollections
import PostgresSources
import SwappablePrimitives
import Synchronizers

/// The values of all options. An option that is not given has the value that is set here.
///
/// How sources are opened is in `sources`; which elements, members and columns are used is in `selection`.
struct Options: Sendable {
  var sources = SourceOptions()
  /// The keys of the lists that are served, each as `NAME:FIELD`, or as `FIELD` for all other lists.
  var listKeys: [String] = []
  var selection = Selection()
  var format: OutputFormat?
  var colors = ColorChoice.auto
  var printsSnapshots = false
  var printsChangesOnly = false
  /// The command to run for each change.
  var execution: ByteString?
  var executesInitial = false
  /// A Boolean value that indicates whether a view ends with chosen elements, which are printed.
  var choosesElements = false
  /// The keys of a view that run commands.
  var bindings: [ViewBinding] = []
  /// A Boolean value that indicates whether the exit status tells if the sources differ.
  var hasExitCode = false
  var isQuiet = false
  var printsCounts = false
  var printsSummary = false
  var preference = MergeConflict<JSONElement>.Preference.theirs
  /// A Boolean value that indicates whether edits of different members of one element are both kept.
  var mergesMembers = false
  /// The members that identify the items of arrays in elements, by the paths of the arrays.
  var nestedKeys: [String: String] = [:]
  var printsInstallation = false
  /// A Boolean value that indicates whether a conflict is an error.
  var isStrict = false
  /// The path of the socket of a server.
  var socketPath: ByteString = ""
  /// The number of bytes for the latest changes of all lists.
  var windowBytes = 64 << 20
  /// The guard that may refuse changes.
  var changeGuard: ChangeGuard<JSONElement>?
  /// A Boolean value that indicates whether the steps of the work are printed on standard error.
  var isTraced = false
  var endsWithInput = false
  var wakesReaders = false
  /// The roles that may read the records.
  var readers: [String] = []
  var lockTimeout = Duration.milliseconds(100)
  /// The time without a change after which changes are printed, and the longest wait.
  var settling: (quiet: Duration, longest: Duration)?
  var lockAttempts = 20
}

/// The options of all commands that open sources.
struct SourceOptions: Equatable, Sendable {
  /// The field that identifies elements, in every source.
  var key: String?
  var hasStrictLines = false
  /// A Boolean value that indicates whether the members of an object that is a list are those of its values.
  var spreadsMembers = false
  /// A Boolean value that indicates whether fields of CSV that are numbers become numbers.
  var hasNumbers = false
  /// The longest time that a query may take, or `nil` if there is no limit.
  var timeout: Duration?
  /// The headers of requests to web services.
  var headers: [String: String] = [:]
  /// The time for which a source that is not there is waited for, or `nil` if its absence is an error.
  var wait: Duration?
  /// The treatment of the lines of a log that rotates.
  var rotation = JSONLinesDataSource<JSONElement>.Rotation.replace
  /// A Boolean value that indicates whether the lines of a pipe are shown when they arrive.
  var followsPipes = false
}

/// Whether text has colors.
enum ColorChoice: String {
  /// On a terminal that has colors, unless `NO_COLOR` is set.
  case auto
  case always
  case never
}

enum OutputFormat: String {
  /// One event on a line, for programs.
  case json
  /// Lines for people.
  case text
}

extension Option {
  /// All options, in the order of the help.
  static let all: [Option] = [
    Option(
      name: "--key", shortName: "-k", value: "FIELD",
      commands: [.watch, .view, .diff, .merge, .mergeDriver, .serve, .explain], repeats: [.serve],
      synopsis: [.serve: "[--key [NAME:]FIELD] …"],
      summary: "the field that identifies elements",
      help: """
        The member or column that identifies elements, in every source: a name, a path such as metadata.uid, or \
        several, such as namespace,name. A name with a dot or a comma is quoted, '"a.b".c', unless it is the whole \
        key. The default is the primary \
        key of a table, the first column of a query, the whole element of a file, and the key \
        that the server names for a list that is served. serve accepts --key NAME:FIELD for one of \
        its lists, beside or instead of --key FIELD for the others.
        """
    ) { options, given in
      options.sources.key = given.text
      options.listKeys.append(given.text)
    },
    Option(
      name: "--where", value: "CONDITION", example: "'stock < 10'", commands: lists,
      repeats: lists, summary: "only elements that meet a condition",
      help: """
        Only elements that meet a condition, FIELD OP VALUE, for example 'stock < 10'. OP is =, \
        !=, <, <=, >, >=, ~ (contains, without regard to case) or !~. VALUE is a JSON scalar or \
        a text, or after ~ a regular expression, /…/. Several are joined by and, or, not and parentheses: \
        'stock < 10 and not (name ~ lamp or name ~ /^desk/)'. FIELD may be a path, such as request.status. A FIELD that is no column of a query, or \
        that no element has although one has a field with a similar name, is an error, here and in \
        --sort, --fields and --group-by. FIELD? may be missing. With several --where, all must be met. For other conditions, put a filter in front: jq -c --unbuffered 'select(…)' FILE | \
        livelist view -
        """
    ) { (options, given) throws(LivelistError) in
      options.selection.conditions.append(try ElementPredicate(given.text))
    },
    Option(
      name: "--sort", value: "FIELD,…", example: "'price desc'", commands: lists,
      summary: "sort by fields",
      help: """
        Sorts by a field. Append " desc" for descending order: --sort 'price desc'. Several fields \
        are separated by commas: --sort 'kind,price desc' sorts elements of the same kind by price. With \
        " natural", file2 is before file10, without regard to case, and missing values are last, also \
        with desc: --sort 'name natural, due desc'.
        """
    ) { (options, given) throws(LivelistError) in
      options.selection.orders = try Selection.orders(given.text)
    },
    Option(
      name: "--limit", shortName: "-n", value: "N", commands: lists,
      summary: "only the first elements, or with -N the last",
      help: """
        Only the first N elements, after --where and --sort. With a minus sign, only the last: \
        --limit -5.
        """
    ) { (options, given) throws(LivelistError) in
      guard let count = Int(given.text), count != .min else {
        throw given.mistake(
          "a number such as --limit 10, or --limit -10 for the last 10 elements")
      }
      options.selection.limit = count
    },
    Option(
      name: "--fields", value: "FIELD,…", example: "id,title", commands: lists,
      summary: "only these fields",
      help: """
        Only these members, in this order. FIELD may be a path. The member that identifies elements \
        is always kept, but not those of a path or of several fields. Changes of other members are no changes.
        """
    ) { (options, given) throws(LivelistError) in
      let names = given.text.split(separator: ",", omittingEmptySubsequences: false)
        .map { String($0.drop(while: \.isWhitespace)) }
      if names.contains(where: \.isEmpty) { throw given.mistake("names separated by commas") }
      options.selection.fields = names
    },
    Option(
      name: "--ignore", value: "FIELD,…", example: "age,updated", commands: lists,
      summary: "leave fields out",
      help: """
        Leaves these members out. Their changes are no changes. FIELD may be a path. The member that \
        identifies elements is kept.
        """
    ) { (options, given) throws(LivelistError) in
      let names = given.text.split(separator: ",", omittingEmptySubsequences: false)
        .map { String($0.drop(while: \.isWhitespace)) }
      if names.contains(where: \.isEmpty) { throw given.mistake("names separated by commas") }
      options.selection.ignoredFields = names
    },
    Option(
      name: "--format", choices: ["json", "text"], synonyms: ["jsonl"], commands: lists,
      summary: "the output format",
      help: """
        The output format: json (the default, one event on a line; jsonl is the same), or text, for \
        people. On a terminal, text has short values, and colors unless the environment variable \
        NO_COLOR is set. view prints the list once: as a JSON array with one element a line, or as \
        text.
        """
    ) { $0.format = OutputFormat(rawValue: $1.text) ?? .json },
    Option(
      name: "--color", choices: ["auto", "always", "never"], commands: lists,
      summary: "colors in text",
      help: """
        Whether text has colors: auto (the default) if it is written to a terminal that has some, and NO_COLOR is not \
        set.
        """
    ) { options, given in
      options.colors = ColorChoice(rawValue: given.text) ?? .auto
    },
    Option(
      name: "--snapshot", commands: [.watch], summary: "print the whole list for each change",
      help: "Prints an initial event with the whole list for each change, instead of the change."
    ) { options, _ in options.printsSnapshots = true },
    Option(
      name: "--changes-only", commands: [.watch], summary: "do not print the initial contents",
      help: "Prints no initial event."
    ) { options, _ in options.printsChangesOnly = true },
    Option(
      name: "--exec", value: "COMMAND", example: "'jq .revision'", isBytes: true,
      commands: [.watch], summary: "run a command for each change",
      help: """
        Runs COMMAND with the shell for each change, and prints nothing itself. Standard input is \
        the change, as one line. LIVELIST_INSERTED, LIVELIST_DELETED, LIVELIST_UPDATED and \
        LIVELIST_MOVED are the numbers of changes, LIVELIST_COUNT is the number of elements, \
        LIVELIST_REVISION is the revision, and LIVELIST_EVENT is initial or change. Only one \
        command runs at a time. Changes while it runs are combined into one. A failure is \
        reported, and watching goes on. When watch ends, a running command is terminated.
        """
    ) { (options, given) throws(LivelistError) in
      guard !given.text.allSatisfy(\.isWhitespace) else {
        throw .usage("--exec has an empty command; use --exec COMMAND")
      }
      options.execution = given.bytes
    },
    Option(
      name: "--exec-initial", commands: [.watch], conflicts: ["--changes-only"],
      summary: "run the command for the initial contents, too",
      help: "Runs the command of --exec for the initial contents, too."
    ) { options, _ in options.executesInitial = true },
    Option(
      name: "--settle", value: "TIME", example: "200ms", commands: [.watch],
      summary: "wait until the list is quiet",
      help: """
        Prints a change, or runs the command of --exec, when the list has not changed for TIME, such \
        as 200ms or 2s. Changes until then are one. A list that changes without a pause is printed \
        after ten times TIME, or after the second time of --settle 200ms,5s.
        """
    ) { (options, given) throws(LivelistError) in
      let times = given.text.split(separator: ",", omittingEmptySubsequences: false)
        .map { Duration(text: $0) }
      guard times.count <= 2, let quiet = times[0], let longest = times.last ?? quiet,
        longest >= quiet
      else { throw given.mistake("a time such as --settle 200ms, or --settle 200ms,5s") }
      options.settling = (quiet, times.count == 2 ? longest : quiet * 10)
    },
    Option(
      name: "--group-by", value: "FIELD", commands: [.view],
      summary: "sections by the values of a field",
      help: """
        The member or column whose values are the sections of a view, in ascending order. Elements \
        without a value are in a section of their own, (none). Equal numbers, such as 1 and 1.0, are \
        one value.
        """
    ) { $0.selection.groupField = $1.text },
    Option(
      name: "--bind", value: "KEY=COMMAND", example: "'d=rm \"$LIVELIST_KEY\"'", isBytes: true,
      commands: [.view], repeats: [.view], conflicts: ["--format"],
      summary: "a key that runs a command for rows",
      help: """
        A key of the view that runs COMMAND with the shell for the marked rows, or else for the selected \
        one. Standard input has the elements, one JSON value a line. LIVELIST_KEY is the key of the \
        first one, LIVELIST_KEYS has the keys, one a line, and LIVELIST_COUNT is their number. With \
        confirm: in front of COMMAND, the view asks first. With wait:, it shows the output. Otherwise, \
        the command runs behind the list, and a line tells its end. LIVELIST_KEYS is empty if a key has a \
        line break, or if the keys have more than 100 KB. KEY is a character, ctrl-LETTER, alt-LETTER, or f1 to f12.
        """
    ) { (options, given) throws(LivelistError) in
      let binding = try ViewBinding(given)
      if options.bindings.contains(where: { $0.key == binding.key }) {
        throw .usage("--bind has two commands for the key \"\(binding.name)\"; use one")
      }
      options.bindings.append(binding)
    },
    Option(
      name: "--choose", commands: [.view], conflicts: ["--format"],
      summary: "print the rows that the user chooses",
      help: """
        Enter ends the view and prints the marked elements, or else the selected one, one JSON value a \
        line. q and Esc end it with status 130 and print nothing. The view is shown on the terminal, also if \
        standard output is a pipe or a file: livelist view --choose tasks.json | jq .title
        """
    ) { options, _ in options.choosesElements = true },
    Option(
      name: "--exit-code", commands: [.diff],
      summary: "exit with 1 if something differs, 2 for trouble",
      help: "Exits with 0 if the sources are equal, 1 if they differ, and 2 for trouble."
    ) { options, _ in options.hasExitCode = true },
    Option(
      name: "--quiet", shortName: "-q", commands: [.diff],
      summary: "print nothing, exit as with --exit-code",
      help: "Prints nothing. The exit status is that of --exit-code."
    ) { options, _ in (options.isQuiet, options.hasExitCode) = (true, true) },
    Option(
      name: "--stat", commands: [.diff], summary: "print only the numbers of changes",
      help: "Prints only the numbers of changes."
    ) { options, _ in options.printsCounts = true },
    Option(
      name: "--summary", commands: [.diff], conflicts: ["--stat", "--format"],
      summary: "print the difference in words",
      help: """
        Prints the difference in words: how many elements were inserted, deleted, updated and moved, which ones, and \
        in which fields.
        """
    ) { options, _ in options.printsSummary = true },
    Option(
      name: "--prefer", choices: ["mine", "theirs"], commands: [.merge],
      summary: "the side that wins a conflict",
      help: """
        The side that wins a conflict: theirs (the default) or mine. If one side deleted an element \
        that the other side edited, the edit wins, unless theirs is preferred and theirs deleted \
        the element.
        """
    ) { $0.preference = .init(rawValue: $1.text) ?? .theirs },
    Option(
      name: "--by-field", commands: [.merge],
      summary: "merge the members of each element",
      help: """
        Merges the elements member by member: edits of different members of one element are both kept, \
        also in nested objects. If both sides edited one member differently, that is a conflict, which \
        names the member by its path.
        """
    ) { options, _ in options.mergesMembers = true },
    Option(
      name: "--nested-key", value: "PATH=FIELD", example: "items=id",
      commands: [.merge, .mergeDriver], repeats: [.merge, .mergeDriver],
      summary: "the key of the items of an array in elements",
      help: """
        Merges the array at PATH in each element item by item, as with --by-field. FIELD identifies an \
        item. Without it, an array is one value.
        """
    ) { (options, given) throws(LivelistError) in
      let parts = given.text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty, !parts[1].isEmpty else {
        throw given.mistake("a path and a field, such as --nested-key items=id")
      }
      options.nestedKeys[String(parts[0])] = String(parts[1])
      options.mergesMembers = true
    },
    Option(
      name: "--install", commands: [.mergeDriver], summary: "print what sets git up",
      help: """
        Prints the two lines that set git up, for the files that a pattern names instead of BASE, or for '*.json'.
        """
    ) { options, _ in options.printsInstallation = true },
    Option(
      name: "--strict", commands: [.merge], summary: "fail if there is a conflict",
      help: "If there is a conflict, prints no elements and exits with status 3."
    ) { options, _ in options.isStrict = true },
    Option(
      name: "--listen", value: "unix:PATH", isBytes: true, commands: [.serve], isRequired: true,
      summary: "the socket of the server",
      help: """
        The socket of serve. Only this user can connect to it. If a server that no longer runs has \
        left it behind, it is replaced.
        """
    ) { (options, given) throws(LivelistError) in
      guard given.bytes.hasPrefix("unix:"), given.bytes.bytes.count > 5 else {
        throw given.mistake(given.option.usage)
      }
      options.socketPath = given.bytes.dropFirst(5)
    },
    Option(
      name: "--window", value: "SIZE", example: "16MB", commands: [.serve],
      summary: "the memory for the latest changes",
      help: """
        The memory for the latest changes of all lists together, such as 512KB, 16MB or 1GB. Each \
        list has an equal part of it. A reader that comes back later than that receives the whole \
        list. The size is estimated. The default is 64MB. With 0, no changes are kept.
        """
    ) { (options, given) throws(LivelistError) in
      let digits = given.text.prefix { $0.isASCII && $0.isNumber }
      let unit = given.text.dropFirst(digits.count).uppercased()
      let units = ["": 0, "B": 0, "K": 10, "KB": 10, "M": 20, "MB": 20, "G": 30, "GB": 30]
      guard let shift = units[unit], let number = Int(digits), number <= Int.max >> shift else {
        throw given.mistake("a size such as --window 512KB, --window 16MB or --window 1GB")
      }
      options.windowBytes = number << shift
    },
    Option(
      name: "--guard", value: "LIMITS", example: "deletions=20%,count=1", commands: [.watch],
      summary: "refuse changes that exceed limits",
      help: """
        Refuses changes that exceed a limit: deletions=20% or deletions=100, changes=50% or \
        changes=1000, and count=1 for the fewest elements. Several limits are separated by \
        commas. A refused change is not printed. A status line has the state held, the reason, \
        and the number of changes. If the source changes so that the limits are kept, the change \
        is printed by itself.
        """
    ) { (options, given) throws(LivelistError) in
      let parts = given.text.split(separator: ",", omittingEmptySubsequences: false)
      options.changeGuard = .all(
        try parts.map { (part) throws(LivelistError) in
          guard let limit = ChangeGuard(limit: part) else {
            throw given.mistake(
              "deletions=20%, changes=1000, count=1 or several of these, separated by commas",
              part: String(part))
          }
          return limit
        })
    },
    Option(
      name: "--strict-lines", commands: lists + [.serve, .explain],
      summary: "fail at a line that is not valid",
      help: """
        Fails at a line of a JSON Lines file, or a row of CSV, that is not valid, and shows no line after it. Without \
        this option, such lines are skipped and counted in the status. merge and apply always fail.
        """
    ) { options, _ in options.sources.hasStrictLines = true },
    Option(
      name: "--spread", commands: webReaders, summary: "the members of values beside their keys",
      help: """
        If the value at #/POINTER is an object, its elements have the members of its values beside "key", instead of \
        "key" and "value".
        """
    ) { options, _ in options.sources.spreadsMembers = true },
    Option(
      name: "--numbers", commands: lists + [.merge, .apply, .serve, .explain],
      summary: "make numbers of fields of CSV",
      help: """
        Makes numbers of the fields of CSV and TSV files that are JSON numbers, exactly as they are \
        written. Fields in quotes stay strings. Without this option, each field is a string.
        """
    ) { options, _ in options.sources.hasNumbers = true },
    Option(
      name: "--wait", value: "TIME", isValueOptional: true, example: "30s",
      commands: lists + [.serve, .explain], summary: "wait for what is not there yet",
      help: """
        Waits for a file, a database, a socket or a server that is not there yet: for TIME, such as 30s \
        or 5m, or without a limit. Without this option, that is an error.
        """
    ) { (options, given) throws(LivelistError) in
      let time = given.text.isEmpty ? .seconds(1 << 32) : Duration(text: given.text[...])
      guard let time else { throw given.mistake("a time such as --wait=30s, or --wait alone") }
      options.sources.wait = time
    },
    Option(
      name: "--keep", value: "N", example: "1000", commands: [.watch, .view, .serve],
      summary: "the newest lines of a log that rotates",
      help: """
        Shows the newest N lines of a JSON Lines file, or rows of CSV, and keeps those of the old file when another \
        one takes its path, or when it is truncated, as tail -F does. Without this option, the list \
        is what the file contains now.
        """
    ) { (options, given) throws(LivelistError) in
      options.sources.rotation = .keep(last: try given.number(in: 1...1_000_000_000))
    },
    Option(
      name: "--timeout", value: "SECONDS", example: "10",
      commands: lists + [.merge, .serve, .explain],
      summary: "the longest time of a query or a command",
      help: """
        The longest time that a query or a command may take, in seconds. What takes longer fails: a query runs again \
        after the next change, and a command after its interval. Without this option, a command has ten intervals, and \
        a query has no limit.
        """
    ) { (options, given) throws(LivelistError) in
      guard let seconds = Double(given.text), seconds >= 0.001, seconds <= 1_000_000 else {
        throw given.mistake("a number of seconds such as --timeout 10")
      }
      options.sources.timeout = .seconds(seconds)
    },
    Option(
      name: "--header", value: "NAME:VALUE", example: "'Authorization: Bearer KEY'",
      isSecret: true, commands: webReaders, repeats: webReaders,
      summary: "a header of requests to web services",
      help: """
        A header of each request to a web service, such as 'Authorization: Bearer KEY'. With @FILE, \
        each line of a file is a header, because other users can read command lines. With several \
        --header, all are sent, but a header replaces an earlier one of the same name. One set of \
        headers goes to every web address of the command, so use several commands for services that \
        must not see the secrets of each other.
        """
    ) { (options, given) throws(LivelistError) in
      try HeaderOption.add(given, to: &options.sources.headers)
    },
    Option(
      name: "--trace", commands: [.watch], summary: "print the steps of the work",
      help: """
        Prints the steps of the work on standard error, one a line: each read of a source, each \
        commit and its propagation, and each swap, with numbers of elements and times.
        """
    ) { options, _ in options.isTraced = true },
    Option(
      name: "--until-eof", commands: [.watch], summary: "exit at the end of standard input",
      help: "Exits at the end of standard input, after all pending output is printed."
    ) { options, _ in options.endsWithInput = true },
    Option(
      name: "--wake-readers", commands: [.triggers], actions: [.install, .sql],
      summary: "notify the readers at each commit",
      help: """
        Each commit also notifies the readers. They see a change after about 2 milliseconds instead \
        of 100. Use it for few writers: the server takes one lock for all commits that notify, so \
        many writers become many times slower, and PREPARE TRANSACTION fails.
        """
    ) { options, _ in options.wakesReaders = true },
    Option(
      name: "--reader", value: "ROLE", commands: [.triggers], actions: [.install, .sql],
      repeats: [.triggers], summary: "a role that may read the records",
      help: """
        A role that may read the records, besides the role that installs the triggers. Sources of \
        other roles look for changes at an interval. With several --reader, all roles may read.
        """
    ) { $0.readers.append($1.text) },
    Option(
      name: "--lock-timeout", value: "MILLISECONDS", example: "100", commands: [.triggers],
      actions: [.install, .uninstall], summary: "how long writers may wait for an attempt",
      help: """
        The longest time that writers of a table wait behind an attempt to lock it. The default is \
        100.
        """
    ) { (options, given) throws(LivelistError) in
      options.lockTimeout = .milliseconds(try given.number(in: 1...3_600_000))
    },
    Option(
      name: "--attempts", value: "N", example: "20", commands: [.triggers],
      actions: [.install, .uninstall], summary: "how often to try to lock a table",
      help: "The largest number of attempts to lock each table. The default is 20."
    ) { (options, given) throws(LivelistError) in
      options.lockAttempts = try given.number(in: 1...1_000_000)
    },
  ]
}

extension Duration {
  /// Parses a time such as `200ms`, `2s` or `1m`, of a millisecond to a day. A number without a unit has seconds.
  init?(text: Substring) {
    let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    let units = ["ms": 0.001, "s": 1, "": 1, "m": 60, "h": 3_600]
    guard let unit = units[String(text.dropFirst(digits.count))], let number = Double(digits),
      (0.001...86_400).contains(number * unit)
    else { return nil }
    self = .seconds(number * unit)
  }
}

extension ChangeGuard<JSONElement> {
  /// Parses a limit, for example `deletions=20%` or `count=1`.
  fileprivate init?(limit text: Substring) {
    let words = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    switch (words[0], words.count == 2 ? Limit(words[1]) : nil) {
    case ("deletions", let limit?): self = .deletions(atMost: limit)
    case ("changes", let limit?): self = .changes(atMost: limit)
    case ("count", .elements(let count)): self = .count(atLeast: count)
    default: return nil
    }
  }
}

private typealias ChangeLimit = ChangeGuard<JSONElement>.Limit

extension ChangeLimit {
  /// Parses a number of elements, or a number of percent.
  fileprivate init?(_ text: Substring) {
    if text.last == "%" {
      guard let percent = Double(text.dropLast()), percent >= 0, percent.isFinite else {
        return nil
      }
      self = .percent(percent)
    } else {
      guard let count = Int(text), count >= 0 else { return nil }
      self = .elements(count)
    }
  }
}
