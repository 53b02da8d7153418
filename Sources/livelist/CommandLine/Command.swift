import FileSources
import ObservableCollections
import SwappablePrimitives
import Synchronizers

/// A parsed command line.
enum Command {
  /// The help of one command, or of the whole tool.
  case help(CommandName?)
  case version
  case watch(WatchOptions)
  case view(ViewOptions)
  case diff(DiffOptions)
  case apply(old: SourceSpecification?)
  case merge(MergeOptions)
  case serve(ServeOptions)
  case explain(ExplainOptions)
  case triggers(TriggersOptions)
  case completions(Completions.Shell)

  /// Parses the arguments after the name of the program.
  init(_ arguments: [ByteString]) throws(LivelistError) {
    guard let name = arguments.first?.description else {
      throw .usage("the command is missing; \(Command.commandsHint)")
    }
    switch name {
    case "--help", "-h", "help":
      self = .help(arguments.dropFirst().first.flatMap { CommandName(rawValue: $0.description) })
      return
    case "--version", "-V", "version":
      self = .version
      return
    default: break
    }
    guard let command = CommandName(rawValue: name) else {
      let kind = name.hasPrefix("-") ? "option" : "command"
      if name.contains(".") || name.contains("/") {
        throw .usage(
          "\"\(name)\" is no command; to show it as a list, use livelist view \(name); "
            + "to print its changes, use livelist watch \(name)")
      }
      let words =
        name.hasPrefix("-")
        ? ["--help", "--version"] : CommandName.allCases.map(\.rawValue) + ["help", "version"]
      throw .usage(
        "unknown \(kind) \"\(name)\"\(NearestWord.advice(for: name, among: words)); "
          + Command.commandsHint)
    }
    let words = try Arguments(arguments.dropFirst(), of: command)
    if words.wantsHelp {
      self = .help(command)
    } else if words.wantsVersion {
      self = .version
    } else {
      self = try Command(command, words)
    }
  }

  private init(_ name: CommandName, _ words: Arguments) throws(LivelistError) {
    switch name {
    case .watch: self = .watch(try WatchOptions(words))
    case .view: self = .view(try ViewOptions(words))
    case .diff: self = .diff(try DiffOptions(words))
    case .apply:
      try words.checkCount(...1, "takes at most one source")
      let old = words.operands.first
      self = .apply(
        old: try old.map { (old) throws(LivelistError) in try SourceSpecification(old) })
    case .merge: self = .merge(try MergeOptions(words))
    case .serve: self = .serve(try ServeOptions(words))
    case .explain: self = .explain(try ExplainOptions(words))
    case .triggers: self = .triggers(try TriggersOptions(words))
    case .completions:
      try words.checkCount(1...1, "needs one shell")
      let name = words.operands[0].description
      guard let shell = Completions.Shell(rawValue: name) else {
        let advice = NearestWord.advice(for: name, among: CommandName.completions.operandWords)
        throw .usage("unknown shell \"\(name)\"\(advice); use \(CommandName.completions.usage)")
      }
      self = .completions(shell)
    }
  }

  private static let commandsHint =
    "use livelist " + CommandName.allCases.dropLast().map(\.rawValue).joined(separator: ", ")
    + " or completions, or see livelist --help"
}

/// The format of an output.
enum OutputFormat {
  /// One event on a line, for programs.
  case json
  /// Lines for people.
  case text
}

/// The options of all commands that open sources.
struct SourceOptions: Equatable, Sendable {
  /// The field that identifies elements, in every source.
  var key: String?
  /// A Boolean value that indicates whether a line that is not valid is an error.
  var hasStrictLines = false
  /// The longest time that a query may take, or `nil` if there is no limit.
  var timeout: Duration?
  /// A Boolean value that indicates whether the lines of a pipe are shown when they arrive.
  var followsPipes = false

  init(key: String? = nil) {
    self.key = key
  }

  init(_ words: Arguments, followsPipes: Bool = false) throws(LivelistError) {
    key = words.value(.key)
    self.followsPipes = followsPipes
    hasStrictLines = words.has(.strictLines)
    timeout = try words.timeout()
  }
}

struct ServeOptions {
  /// The path of the socket.
  let path: ByteString
  /// The number of bytes for the latest changes of each list.
  let windowBytes: Int
  let lists: [(name: String, source: SourceSpecification, options: SourceOptions)]

  init(_ words: Arguments) throws(LivelistError) {
    path = try words.socketPath()
    try words.checkCount(1..., "needs at least one NAME=SOURCE")
    var lists: [(name: String, source: SourceSpecification)] = []
    for word in words.operands {
      guard let parts = word.split(at: "="), !parts.before.isEmpty else {
        throw .usage("\"\(word)\" is not NAME=SOURCE; use \(CommandName.serve.usage)")
      }
      guard let name = parts.before.string else {
        throw .usage("the name \"\(parts.before)\" is not UTF-8; use another name")
      }
      guard !name.contains(where: { $0.isWhitespace || $0 == "#" }) else {
        throw .usage("the name \"\(name)\" contains white space or a \"#\"; use another name")
      }
      guard !lists.contains(where: { name.hasSameBytes(as: $0.name) }) else {
        throw .usage("the name \"\(name)\" occurs twice; give each list a name of its own")
      }
      lists.append((name, try SourceSpecification(parts.after)))
    }
    windowBytes = try words.windowBytes() / lists.count
    let keys = try ServeOptions.keys(words.values(.key), of: lists.map { ByteString($0.name) })
    let sources = try SourceOptions(words, followsPipes: true)
    self.lists = lists.map { name, source in
      var options = sources
      options.key = keys[ByteString(name)]
      return (name, source, options)
    }
  }

  /// Returns the key of each list, from texts of the form `NAME:FIELD`, or `FIELD` for all other lists.
  private static func keys(
    _ texts: [String], of names: [ByteString]
  ) throws(LivelistError) -> [ByteString: String] {
    var (own, common): ([ByteString: String], String?) = ([:], nil)
    for text in texts {
      // The name of a member may contain a colon, too.
      guard let parts = ByteString(text).split(at: ":"), names.contains(parts.before) else {
        guard common == nil else {
          throw .usage(
            "--key occurs twice without the name of a list; use --key NAME:FIELD, where NAME is "
              + names.map(\.description).joined(separator: " or "))
        }
        common = text
        continue
      }
      guard own.updateValue(parts.after.description, forKey: parts.before) == nil else {
        throw .usage("--key occurs twice for the list \(parts.before); use it once")
      }
    }
    var keys: [ByteString: String] = [:]
    for name in names { keys[name] = own[name] ?? common }
    return keys
  }
}

struct ExplainOptions {
  let source: SourceSpecification
  let sources: SourceOptions

  init(_ words: Arguments) throws(LivelistError) {
    source = try SourceSpecification(operands: words, allowing: .list)
    sources = try SourceOptions(words, followsPipes: true)
  }
}

struct WatchOptions {
  /// The command to run for each change, and whether to run it for the initial contents.
  struct Execution {
    let command: ByteString
    let includesInitial: Bool
  }

  let source: SourceSpecification
  let sources: SourceOptions
  let selection: Selection
  let format: OutputFormat
  /// A Boolean value that indicates whether each change is printed as the whole list.
  let printsSnapshots: Bool
  /// A Boolean value that indicates whether no initial event is printed.
  let printsChangesOnly: Bool
  let execution: Execution?
  /// The guard that may refuse changes.
  let changeGuard: ChangeGuard<JSONElement>?
  /// A Boolean value that indicates whether the steps of the work are printed on standard error.
  let isTraced: Bool
  let endsWithInput: Bool

  init(_ words: Arguments) throws(LivelistError) {
    source = try SourceSpecification(operands: words, allowing: .list)
    sources = try SourceOptions(words, followsPipes: true)
    selection = try Selection(words)
    format = words.format
    printsSnapshots = words.has(.snapshot)
    printsChangesOnly = words.has(.changesOnly)
    changeGuard = try words.changeGuard()
    isTraced = words.has(.trace)
    endsWithInput = words.has(.untilEOF)
    let includesInitial = words.has(.execInitial)
    guard let command = words.bytes(.exec) else {
      if includesInitial { throw .usage("--exec-initial has no command; add --exec COMMAND") }
      execution = nil
      return
    }
    guard !command.description.allSatisfy(\.isWhitespace) else {
      throw .usage("--exec has an empty command; use --exec COMMAND")
    }
    if printsChangesOnly, includesInitial {
      throw .usage("--changes-only and --exec-initial contradict each other; omit one of them")
    }
    execution = Execution(command: command, includesInitial: includesInitial)
  }
}

struct ViewOptions {
  let source: SourceSpecification
  let sources: SourceOptions
  let selection: Selection
  /// The field whose values divide the list into sections, if there are sections.
  let groupField: String?
  /// The format in which the list is printed once, or `nil` to show it in the terminal.
  let format: OutputFormat?

  init(_ words: Arguments) throws(LivelistError) {
    source = try SourceSpecification(operands: words, allowing: .events)
    sources = try SourceOptions(words, followsPipes: true)
    selection = try Selection(words)
    groupField = words.value(.groupBy)
    format = words.has(.format) ? words.format : nil
    if let groupField, format == .json {
      throw .usage(
        "a JSON array has no sections; omit --group-by, or use --sort '\(groupField)' instead")
    }
  }
}

struct DiffOptions {
  /// What is printed.
  enum Output {
    case change(OutputFormat)
    /// The numbers of changes.
    case counts
    case nothing
  }

  let old: SourceSpecification
  let new: SourceSpecification
  let sources: SourceOptions
  let selection: Selection
  let output: Output
  /// A Boolean value that indicates whether the exit status tells if the sources differ.
  let hasExitCode: Bool

  init(_ words: Arguments) throws(LivelistError) {
    try words.checkCount(2...2, "needs two sources")
    old = try SourceSpecification(words.operands[0], allowing: .list)
    new = try SourceSpecification(words.operands[1], allowing: .list)
    sources = try SourceOptions(words)
    selection = try Selection(words)
    let isQuiet = words.has(.quiet)
    output = isQuiet ? .nothing : words.has(.stat) ? .counts : .change(words.format)
    hasExitCode = isQuiet || words.has(.exitCode)
    if old.readsInput, new.readsInput {
      throw .usage("both sources are standard input, which can be read only once; name a file")
    }
  }
}

struct MergeOptions {
  /// The common ancestor of both sides.
  let base: SourceSpecification
  let mine: SourceSpecification
  let theirs: SourceSpecification
  let sources: SourceOptions
  let preference: MergeConflict<JSONElement>.Preference
  /// A Boolean value that indicates whether a conflict is an error.
  let isStrict: Bool

  init(_ words: Arguments) throws(LivelistError) {
    try words.checkCount(3...3, "needs three sources")
    base = try SourceSpecification(words.operands[0], allowing: .list)
    mine = try SourceSpecification(words.operands[1], allowing: .list)
    theirs = try SourceSpecification(words.operands[2], allowing: .list)
    var sources = try SourceOptions(words)
    // Otherwise, the element of a line that cannot be read would count as deleted.
    sources.hasStrictLines = true
    self.sources = sources
    preference = words.value(.prefer).flatMap { .init(rawValue: $0) } ?? .theirs
    isStrict = words.has(.strict)
    if [base, mine, theirs].count(where: \.readsInput) > 1 {
      throw .usage("two sources are standard input, which can be read only once; name a file")
    }
  }
}
