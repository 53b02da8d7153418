import FileSources
import Synchronizers

/// The arguments that follow a command: options, wherever they stand, and what is left.
struct Arguments {
  enum Option: String {
    case key = "--key"
    case untilEOF = "--until-eof"
    case format = "--format"
    case prefer = "--prefer"
    case strict = "--strict"
  }

  private var rest: ArraySlice<String>
  private(set) var operands: [String] = []
  private(set) var key: String?
  private(set) var untilEOF = false
  private(set) var format: DiffOptions.Format?
  private(set) var preference: MergeConflict<JSONElement>.Preference?
  private(set) var isStrict = false
  /// Help or the version, which are printed whatever else is there.
  private(set) var text: Command?

  init(_ words: ArraySlice<String>) {
    rest = words
  }

  /// Sorts the arguments; all behind `--` are operands.
  mutating func parse(options: Set<Option>) throws(Failure) {
    while let word = rest.popFirst() {
      if word == "--" {
        operands += rest
        return
      }
      // A single dash is no option.
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

  private mutating func parseOption(_ word: String, allowed: Set<Option>) throws(Failure) {
    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let value = parts.count == 2 ? String(parts[1]) : nil
    guard let option = Option(rawValue: String(parts[0])), allowed.contains(option) else {
      let names = allowed.map(\.rawValue).sorted().joined(separator: " and ")
      throw .usage(
        "there is no option \"\(parts[0])\" here; "
          + (names.isEmpty ? "this command takes none" : "this command takes \(names)"))
    }
    switch option {
    case .key:
      guard key == nil else {
        throw .usage("--key is given twice; one field is the key of all sources")
      }
      if let value { key = value } else { key = try keyName() }
    case .untilEOF:
      guard value == nil else {
        throw .usage("--until-eof takes no value; write it alone")
      }
      untilEOF = true
    case .strict:
      guard value == nil else { throw .usage("--strict takes no value; write it alone") }
      isStrict = true
    case .format:
      format = try choice(
        of: option, value, unless: format, "format", "write --format json or --format text")
    case .prefer:
      preference = try choice(
        of: option, value, unless: preference, "side", "write --prefer mine or --prefer theirs")
    }
  }

  /// The value of an option that is one of a few words.
  private mutating func choice<Value: RawRepresentable<String>>(
    of option: Option, _ value: String?, unless given: Value?, _ what: String, _ hint: String
  ) throws(Failure) -> Value {
    guard given == nil else { throw .usage("\(option.rawValue) is given twice; \(hint)") }
    guard let name = value ?? rest.popFirst() else {
      throw .usage("\(option.rawValue) lacks its value; \(hint)")
    }
    guard let choice = Value(rawValue: name) else {
      throw .usage("there is no \(what) \"\(name)\"; \(hint)")
    }
    return choice
  }

  private mutating func keyName() throws(Failure) -> String {
    guard let name = rest.popFirst() else {
      throw .usage("--key lacks its field; write --key FIELD or --key=FIELD")
    }
    guard !name.hasPrefix("--") else {
      throw .usage("--key lacks its field; if it is \"\(name)\", write --key=\(name)")
    }
    return name
  }

  func wrongCount(_ wanted: String, usage: String) -> Failure {
    let given =
      switch operands.count {
      case 0: "none is given"
      case 1: "1 is given"
      default: "\(operands.count) are given"
      }
    return .usage("\(wanted), and \(given); write \(usage)")
  }
}
