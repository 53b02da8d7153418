import FileSources
import ObservableCollections
import Synchronizers

/// The arguments after the name of a command: options at any position, and operands.
struct Arguments {
  enum Option: String {
    case key = "--key"
    case groupBy = "--group-by"
    case untilEOF = "--until-eof"
    case guarding = "--guard"
    case trace = "--trace"
    case listen = "--listen"
    case format = "--format"
    case prefer = "--prefer"
    case strict = "--strict"
  }

  private var rest: ArraySlice<String>
  private(set) var operands: [String] = []
  private(set) var key: String?
  private(set) var groupField: String?
  private(set) var untilEOF = false
  private(set) var isTraced = false
  private(set) var changeGuard: ChangeGuard<JSONElement>?
  private(set) var socketPath: String?
  private(set) var format: DiffOptions.Format?
  private(set) var preference: MergeConflict<JSONElement>.Preference?
  private(set) var isStrict = false
  /// The command `help` or `version`, if an option requests it. It replaces the command itself.
  private(set) var text: Command?

  init(_ words: ArraySlice<String>) {
    rest = words
  }

  /// Separates options and operands. All arguments after `--` are operands.
  mutating func parse(options: Set<Option>) throws(LivelistError) {
    while let word = rest.popFirst() {
      if word == "--" {
        operands += rest
        return
      }
      // A single dash is an operand.
      guard word.hasPrefix("-"), word != "-" else {
        operands.append(word)
        continue
      }
      if word == "--help" || word == "-h" {
        text = .help
        return
      }
      if word == "--version" {
        text = .version
        return
      }
      try parseOption(word, allowed: options)
    }
  }

  private mutating func parseOption(
    _ word: String, allowed: Set<Option>
  ) throws(LivelistError) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let value = parts.count == 2 ? String(parts[1]) : nil
    guard let option = Option(rawValue: String(parts[0])), allowed.contains(option) else {
      let names = allowed.map(\.rawValue).sorted().joined(separator: " and ")
      throw .usage(
        "unknown option \"\(parts[0])\"; "
          + (names.isEmpty ? "this command takes no options" : "this command takes \(names)"))
    }
    switch option {
    case .key:
      guard key == nil else {
        throw .usage("--key occurs twice; use it once, because all sources share one key")
      }
      if let value { key = value } else { key = try fieldName(of: option) }
    case .groupBy:
      guard groupField == nil else {
        throw .usage("--group-by occurs twice; use it once, because a list has one field of groups")
      }
      if let value { groupField = value } else { groupField = try fieldName(of: option) }
    case .listen:
      guard socketPath == nil else {
        throw .usage("--listen occurs twice; use it once, because a server has one socket")
      }
      socketPath = try path(of: option, value)
    case .guarding:
      guard changeGuard == nil else {
        throw .usage("--guard occurs twice; separate its limits with commas")
      }
      changeGuard = try limits(value)
    case .untilEOF:
      untilEOF = try flag(option, value)
    case .trace:
      isTraced = try flag(option, value)
    case .strict:
      isStrict = try flag(option, value)
    case .format:
      format = try choice(of: option, value, current: format, "use --format json or --format text")
    case .prefer:
      preference = try choice(
        of: option, value, current: preference, "use --prefer mine or --prefer theirs")
    }
  }

  /// Parses the value `unix:PATH` of an option.
  private mutating func path(
    of option: Option, _ value: String?
  ) throws(LivelistError) -> String {
    guard let text = value ?? rest.popFirst() else {
      throw .usage("\(option.rawValue) has no value; use \(option.rawValue) unix:PATH")
    }
    guard text.hasPrefix("unix:"), text.utf8.count > 5 else {
      throw .usage(
        "\(option.rawValue) cannot be \"\(text)\"; use \(option.rawValue) unix:PATH")
    }
    return String(text.dropFirst(5))
  }

  /// Parses the limits of a guard, for example `deletions=20%,count=1`.
  private mutating func limits(_ value: String?) throws(LivelistError) -> ChangeGuard<JSONElement> {
    let hint = "use deletions=20%, changes=1000, count=1 or several of these, separated by commas"
    guard let text = value ?? rest.popFirst() else {
      throw .usage("--guard has no value; \(hint)")
    }
    var guards: [ChangeGuard<JSONElement>] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard words.count == 2, let limit = ChangeLimit(words[1]) else {
        throw .usage("--guard cannot be \"\(part)\"; \(hint)")
      }
      switch (words[0], limit) {
      case ("deletions", _): guards.append(.deletions(atMost: limit))
      case ("changes", _): guards.append(.changes(atMost: limit))
      case ("count", .elements(let count)): guards.append(.count(atLeast: count))
      default: throw .usage("--guard cannot be \"\(part)\"; \(hint)")
      }
    }
    return .all(guards)
  }

  private func flag(_ option: Option, _ value: String?) throws(LivelistError) -> Bool {
    if let value {
      throw .usage(
        "\(option.rawValue) takes no value, but has \"\(value)\"; use \(option.rawValue) alone")
    }
    return true
  }

  /// Parses the value of an option that has a fixed set of values.
  private mutating func choice<Value: RawRepresentable<String>>(
    of option: Option, _ value: String?, current: Value?, _ hint: String
  ) throws(LivelistError) -> Value {
    guard current == nil else { throw .usage("\(option.rawValue) occurs twice; \(hint)") }
    guard let name = value ?? rest.popFirst() else {
      throw .usage("\(option.rawValue) has no value; \(hint)")
    }
    guard let choice = Value(rawValue: name) else {
      throw .usage("\(option.rawValue) cannot be \"\(name)\"; \(hint)")
    }
    return choice
  }

  private mutating func fieldName(of option: Option) throws(LivelistError) -> String {
    let option = option.rawValue
    guard let name = rest.popFirst() else {
      throw .usage("\(option) has no field; use \(option) FIELD or \(option)=FIELD")
    }
    guard !name.hasPrefix("--") else {
      throw .usage(
        "\(option) has no field; if the field is named \"\(name)\", use \(option)=\(name)")
    }
    return name
  }

  /// Returns the error for a wrong number of operands.
  func countError(_ expectation: String, usage: String) -> LivelistError {
    let found =
      switch operands.count {
      case 0: "there is none"
      case 1: "there is 1"
      default: "there are \(operands.count)"
      }
    return .usage("\(expectation), but \(found); use \(usage)")
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
