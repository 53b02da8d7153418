import FileSources
import ObservableCollections
import Synchronizers

/// A parsed command line.
enum Command {
  case help
  case version
  case watch(WatchOptions)
  case view(ViewOptions)
  case diff(DiffOptions)
  case apply(old: SourceSpecification?)
  case merge(MergeOptions)
  case serve(ServeOptions)
  case explain(ExplainOptions)

  /// Parses the arguments after the name of the program.
  init(_ arguments: [String]) throws(LivelistError) {
    guard let name = arguments.first else {
      throw .usage("the command is missing; \(Command.commandsHint)")
    }
    var words = Arguments(arguments.dropFirst())
    switch name {
    case "--help", "-h", "help": self = .help
    case "--version": self = .version
    case "watch": self = try Command.watch(&words)
    case "view": self = try Command.view(&words)
    case "diff": self = try Command.diff(&words)
    case "apply": self = try Command.apply(&words)
    case "merge": self = try Command.merge(&words)
    case "serve": self = try Command.serve(&words)
    case "explain": self = try Command.explain(&words)
    default:
      let kind = name.hasPrefix("-") ? "option" : "command"
      throw .usage("unknown \(kind) \"\(name)\"; \(Command.commandsHint)")
    }
  }

  private static let commandsHint =
    "use livelist watch, view, diff, apply, merge, serve or explain, or see livelist --help"

  private static func watch(_ words: inout Arguments) throws(LivelistError) -> Command {
    try words.parse(options: [.key, .untilEOF, .guarding, .trace])
    if let text = words.text { return text }
    guard let source = words.operands.first, words.operands.count == 1 else {
      throw words.countError(
        "watch needs one source",
        usage: "livelist watch [--key FIELD] [--guard LIMITS] [--trace] [--until-eof] SOURCE")
    }
    return .watch(
      WatchOptions(
        source: try SourceSpecification(source), key: words.key,
        changeGuard: words.changeGuard, isTraced: words.isTraced, endsWithInput: words.untilEOF))
  }

  private static func view(_ words: inout Arguments) throws(LivelistError) -> Command {
    try words.parse(options: [.key, .groupBy])
    if let text = words.text { return text }
    guard let source = words.operands.first, words.operands.count == 1 else {
      throw words.countError(
        "view needs one source", usage: "livelist view [--key FIELD] [--group-by FIELD] SOURCE")
    }
    return .view(
      ViewOptions(
        source: try SourceSpecification(source, allowsLines: true), key: words.key,
        groupField: words.groupField))
  }

  private static func diff(_ words: inout Arguments) throws(LivelistError) -> Command {
    try words.parse(options: [.key, .format])
    if let text = words.text { return text }
    guard words.operands.count == 2 else {
      throw words.countError(
        "diff needs two sources",
        usage: "livelist diff [--key FIELD] [--format json|text] OLD NEW")
    }
    return .diff(
      DiffOptions(
        old: try SourceSpecification(words.operands[0]),
        new: try SourceSpecification(words.operands[1]), key: words.key,
        format: words.format ?? .json))
  }

  private static func apply(_ words: inout Arguments) throws(LivelistError) -> Command {
    try words.parse(options: [])
    if let text = words.text { return text }
    guard words.operands.count <= 1 else {
      throw words.countError("apply takes at most one source", usage: "livelist apply [OLD]")
    }
    guard let old = words.operands.first else { return .apply(old: nil) }
    return .apply(old: try SourceSpecification(old))
  }

  private static func merge(_ words: inout Arguments) throws(LivelistError) -> Command {
    try words.parse(options: [.key, .prefer, .strict])
    if let text = words.text { return text }
    guard words.operands.count == 3 else {
      throw words.countError(
        "merge needs three sources",
        usage: "livelist merge --key FIELD [--prefer mine|theirs] [--strict] BASE MINE THEIRS")
    }
    return .merge(
      MergeOptions(
        base: try SourceSpecification(words.operands[0]),
        mine: try SourceSpecification(words.operands[1]),
        theirs: try SourceSpecification(words.operands[2]), key: words.key,
        preference: words.preference ?? .theirs, isStrict: words.isStrict))
  }
}

extension Command {
  private static func explain(_ words: inout Arguments) throws(LivelistError) -> Command {
    try words.parse(options: [.key])
    if let text = words.text { return text }
    guard let source = words.operands.first, words.operands.count == 1 else {
      throw words.countError(
        "explain needs one source", usage: "livelist explain [--key FIELD] SOURCE")
    }
    return .explain(ExplainOptions(source: try SourceSpecification(source), key: words.key))
  }

  private static func serve(_ words: inout Arguments) throws(LivelistError) -> Command {
    let usage = "livelist serve [--key FIELD] --listen unix:PATH NAME=SOURCE …"
    try words.parse(options: [.key, .listen])
    if let text = words.text { return text }
    guard let path = words.socketPath else {
      throw .usage("serve needs --listen unix:PATH; use \(usage)")
    }
    guard !words.operands.isEmpty else {
      throw words.countError("serve needs at least one NAME=SOURCE", usage: usage)
    }
    var lists: [(name: String, source: SourceSpecification)] = []
    for word in words.operands {
      let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else {
        throw .usage("\"\(word)\" is not NAME=SOURCE; use \(usage)")
      }
      let name = String(parts[0])
      guard !name.contains(where: { $0.isWhitespace || $0 == "#" }) else {
        throw .usage("the name \"\(name)\" contains white space or a \"#\"; use another name")
      }
      guard !lists.contains(where: { $0.name == name }) else {
        throw .usage("the name \"\(name)\" occurs twice; give each list a name of its own")
      }
      lists.append((name, try SourceSpecification(String(parts[1]))))
    }
    return .serve(ServeOptions(path: path, lists: lists, key: words.key))
  }
}

struct ServeOptions {
  /// The path of the socket.
  let path: String
  let lists: [(name: String, source: SourceSpecification)]
  /// The field that identifies elements, in every source.
  let key: String?
}

struct ExplainOptions {
  let source: SourceSpecification
  /// The field that identifies elements.
  let key: String?
}

struct WatchOptions {
  let source: SourceSpecification
  /// The field that identifies elements, in every source.
  let key: String?
  /// The guard that may refuse changes.
  let changeGuard: ChangeGuard<JSONElement>?
  /// A Boolean value that indicates whether the steps of the work are printed on standard error.
  let isTraced: Bool
  let endsWithInput: Bool
}

struct ViewOptions {
  let source: SourceSpecification
  /// The field that identifies elements, in every source.
  let key: String?
  /// The field whose values divide the list into sections, if there are sections.
  let groupField: String?
}

struct DiffOptions {
  enum Format: String {
    /// One event, for programs.
    case json
    /// Lines for people.
    case text
  }

  let old: SourceSpecification
  let new: SourceSpecification
  let key: String?
  let format: Format
}

struct MergeOptions {
  /// The common ancestor of both sides.
  let base: SourceSpecification
  let mine: SourceSpecification
  let theirs: SourceSpecification
  /// The field that identifies elements, in all three sources.
  let key: String?
  let preference: MergeConflict<JSONElement>.Preference
  /// A Boolean value that indicates whether a conflict is an error.
  let isStrict: Bool
}

extension Command {
  static let helpText = """
    livelist: live lists for any program that reads and writes lines.

    livelist watch [--key FIELD] [--guard LIMITS] [--trace] [--until-eof] SOURCE
        Prints the events of SOURCE as JSON Lines: first the initial contents, then each change,
        and the status whenever it changes.
    livelist view [--key FIELD] [--group-by FIELD] SOURCE
        Shows SOURCE as a live list in the terminal. The selected row stays on its line while the
        list changes. Press ? to see the keys. Without a terminal, the list is printed once.
        With --group-by, the list has a section for each value of the field.
    livelist diff [--key FIELD] [--format json|text] OLD NEW
        Prints the difference between two sources as one change event, or nothing if they are equal.
        The text format has one line for each element that was inserted (+), deleted (-),
        updated (~) or moved (>), with its offset, its key, and the fields that differ.
    livelist apply [OLD]
        Applies the events on standard input and prints the resulting elements as a JSON array,
        one element a line. OLD holds the elements before the first event. It is required unless
        the first event is an initial event.
    livelist merge --key FIELD [--prefer mine|theirs] [--strict] BASE MINE THEIRS
        Merges two lists, MINE and THEIRS, that were edited independently. BASE is their common
        ancestor. Prints the elements as a JSON array, one element a line. Edits of one side only
        are kept. Different edits of the same element are a conflict: the preferred side wins, and
        a line on standard error reports the conflict.
    livelist serve [--key FIELD] --listen unix:PATH NAME=SOURCE …
        Serves lists to other processes of this user, on the socket at PATH. Each list has a name, and
        is read as the source live:unix:PATH#NAME. A reader that was away receives one change.
    livelist explain [--key FIELD] SOURCE
        Loads SOURCE once, and prints how it is kept in step, why, and how long it took to load. For a
        query that runs again as a whole after each change, it says what would help.
    livelist --help
    livelist --version

    SOURCE, OLD, NEW, BASE, MINE, THEIRS:
        json:PATH          a file that contains a JSON array of objects or scalars
        jsonl:PATH         a JSON Lines file with one element a line; appending a line to the file
                           inserts an element at the end
        sqlite:PATH?SQL    the rows of a query, each as an object with a member for each column;
                           the database is opened read-only, and PATH must not contain "?"
        live:unix:PATH#NAME
                           a list that livelist serve, or another program, serves on a socket
        lines:-            the events on standard input, in the format of livelist watch
                           (view only)

    --key FIELD   The member or column that identifies elements, in every source. The default is
                  the first column of a query, the whole element of a file, and the key that the
                  server names for a list that is served.
    --group-by FIELD
                  The member or column whose values are the sections of a view, in ascending order.
                  Elements without a value are in a section of their own, (none).
    --format      The output format: json (the default), one event for programs, or text, for
                  people. Text has colors on a terminal unless the environment variable NO_COLOR
                  is set.
    --prefer      The side that wins a conflict: theirs (the default) or mine. If one side deleted
                  an element that the other side edited, the edit wins, unless theirs is preferred
                  and theirs deleted the element.
    --strict      If there is a conflict, prints no elements and exits with status 3.
    --listen      The socket of serve. Only this user can connect to it. If a server that no longer
                  runs has left it behind, it is replaced.
    --guard LIMITS
                  Refuses changes that exceed a limit: deletions=20% or deletions=100, changes=50%
                  or changes=1000, and count=1 for the fewest elements. Several limits are separated
                  by commas. A refused change is not printed. A status line has the state held, the
                  reason, and the number of changes. If the source changes so that the limits are
                  kept, the change is printed by itself.
    --trace       Prints the steps of the work on standard error, one a line: each read of a source,
                  each commit and its propagation, and each swap, with numbers of elements and times.
    --until-eof   Exits at the end of standard input, after all pending output is printed.
    --            Ends the options. All following arguments are operands.

    watch reads commands from standard input, one a line. It does not read them if standard input
    is a terminal and standard output is not, because then another program, to which the output is
    piped, reads the keys.
        swap SOURCE        switches to another source and prints the difference as one change
        accept             prints the change that the guard has refused
        reject             forgets it until the source changes again
        quit               exits after all pending output is printed

    serve reads commands from standard input, one a line:
        swap NAME SOURCE   switches a list to another source
        quit               closes all connections and exits

    Exit status: 0 on success; 1 if a source cannot be loaded at the start or events cannot be
    applied; 2 if the command line is not valid; 3 if merge --strict found a conflict.

    """
}
