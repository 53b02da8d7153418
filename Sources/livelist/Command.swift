import FileSources
import Synchronizers

/// What the command line asks for.
enum Command {
  case help
  case version
  case watch(WatchOptions)
  case view(ViewOptions)
  case diff(DiffOptions)
  case apply(old: SourceSpecification?)
  case merge(MergeOptions)

  /// Understands the arguments that follow the program's name.
  init(_ arguments: [String]) throws(Failure) {
    guard let name = arguments.first else {
      throw .usage("a command is missing; \(Command.commandsHint)")
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
    default:
      let kind = name.hasPrefix("-") ? "option" : "command"
      throw .usage("there is no \(kind) \"\(name)\"; \(Command.commandsHint)")
    }
  }

  private static let commandsHint =
    "write livelist watch, view, diff, apply or merge, or livelist --help"

  private static func watch(_ words: inout Arguments) throws(Failure) -> Command {
    try words.parse(options: [.key, .untilEOF])
    if let text = words.text { return text }
    guard let source = words.operands.first, words.operands.count == 1 else {
      throw words.wrongCount("one source is needed", usage: "livelist watch [--key FIELD] SOURCE")
    }
    return .watch(
      WatchOptions(
        source: try SourceSpecification(source), key: words.key, endsWithInput: words.untilEOF))
  }

  private static func view(_ words: inout Arguments) throws(Failure) -> Command {
    try words.parse(options: [.key])
    if let text = words.text { return text }
    guard let source = words.operands.first, words.operands.count == 1 else {
      throw words.wrongCount("one source is needed", usage: "livelist view [--key FIELD] SOURCE")
    }
    return .view(
      ViewOptions(source: try SourceSpecification(source, canBeLines: true), key: words.key))
  }

  private static func diff(_ words: inout Arguments) throws(Failure) -> Command {
    try words.parse(options: [.key, .format])
    if let text = words.text { return text }
    guard words.operands.count == 2 else {
      throw words.wrongCount(
        "two sources are needed",
        usage: "livelist diff [--key FIELD] [--format json|text] OLD NEW")
    }
    return .diff(
      DiffOptions(
        old: try SourceSpecification(words.operands[0]),
        new: try SourceSpecification(words.operands[1]), key: words.key,
        format: words.format ?? .json))
  }

  private static func apply(_ words: inout Arguments) throws(Failure) -> Command {
    try words.parse(options: [])
    if let text = words.text { return text }
    guard words.operands.count <= 1 else {
      throw words.wrongCount("at most one source is taken", usage: "livelist apply [OLD]")
    }
    guard let old = words.operands.first else { return .apply(old: nil) }
    return .apply(old: try SourceSpecification(old))
  }

  private static func merge(_ words: inout Arguments) throws(Failure) -> Command {
    try words.parse(options: [.key, .prefer, .strict])
    if let text = words.text { return text }
    guard words.operands.count == 3 else {
      throw words.wrongCount(
        "three sources are needed",
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

struct WatchOptions {
  let source: SourceSpecification
  /// The field by which elements are known, of every source.
  let key: String?
  let endsWithInput: Bool
}

struct ViewOptions {
  let source: SourceSpecification
  /// The field by which elements are known, of every source.
  let key: String?
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
  /// What both sides had in common.
  let base: SourceSpecification
  let mine: SourceSpecification
  let theirs: SourceSpecification
  /// The field by which elements are known, of all three.
  let key: String?
  let preference: MergeConflict<JSONElement>.Preference
  /// Whether a conflict is a failure.
  let isStrict: Bool
}
