import FileSources
import ObservableCollections
import SwappablePrimitives

/// The arguments after the name of a command: options at any position, and operands.
struct Arguments {
  private let command: CommandName
  private(set) var operands: [ByteString] = []
  private var values: [Option: [ByteString]] = [:]
  /// A Boolean value that indicates whether the help is requested instead.
  private(set) var wantsHelp = false
  /// A Boolean value that indicates whether the version is requested instead.
  private(set) var wantsVersion = false

  /// Separates options and operands. All arguments after `--` are operands.
  init(_ words: ArraySlice<ByteString>, of command: CommandName) throws(LivelistError) {
    self.command = command
    var rest = words
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
      switch word {
      case "--help", "-h":
        wantsHelp = true
        return
      case "--version", "-V":
        wantsVersion = true
        return
      default: try parseOption(word, &rest)
      }
    }
  }

  private mutating func parseOption(
    _ word: ByteString, _ rest: inout ArraySlice<ByteString>
  ) throws(LivelistError) {
    let (word, attached) = Arguments.split(word)
    let name = word.description
    guard let option = Option(word: name), command.options.contains(option) else {
      if let advice = Option.advice(forOther: name, of: command) {
        throw .usage("unknown option \"\(name)\"; \(advice)")
      }
      let names = command.options.map(\.name).sorted()
      throw .usage(
        "unknown option \"\(name)\""
          + (names.isEmpty
            ? "; this command takes no options"
            : NearestWord.advice(for: name, among: names + ["--help", "--version"])
              + "; this command takes \(names.joined(separator: ", "))"))
    }
    if values[option] != nil, !option.isRepeatable(in: command) {
      throw .usage("\(option.name) occurs twice; use it once")
    }
    guard let value = option.value else {
      if let attached {
        throw .usage(
          "\(option.name) takes no value, but has \"\(attached)\"; use \(option.name) alone")
      }
      values[option] = []
      return
    }
    guard let text = attached ?? rest.popFirst() else {
      throw .usage("\(option.name) has no value; \(option.hint)")
    }
    if attached == nil, text.hasPrefix("--"),
      Option(word: Arguments.split(text).name.description) != nil
    {
      throw .usage(
        "\(option.name) has no value; use \(option.usage), or, if the value is \"\(text)\", "
          + "\(option.name)=\(text)")
    }
    guard let string = text.string ?? (option.isBytes ? "" : nil) else {
      throw .usage("\(option.name) cannot be \"\(text)\", which is not UTF-8; \(option.hint)")
    }
    if case .choice(let words) = value, !(words + option.synonyms).contains(string) {
      let hint = words.map { "\(option.name) \($0)" }.joined(separator: " or ")
      throw .usage(
        "\(option.name) cannot be \"\(text)\""
          + NearestWord.advice(for: text, among: words) + "; use \(hint)")
    }
    values[option, default: []].append(text)
  }

  /// Separates the name and the value of `--name=value` and `-nvalue`.
  private static func split(_ word: ByteString) -> (name: ByteString, value: ByteString?) {
    if word.hasPrefix("--") {
      return word.split(at: "=").map { ($0.before, $0.after) } ?? (word, nil)
    }
    // A letter that is not ASCII is no option, and appears as a whole in the message.
    guard word.bytes.count > 2, word.bytes[1] < 0x80 else { return (word, nil) }
    return (ByteString(bytes: word.bytes[..<2]), word.dropFirst(2))
  }

  /// Returns a Boolean value that indicates whether an option is given.
  func has(_ option: Option) -> Bool { values[option] != nil }

  /// Returns the value of an option, or `nil` if the option is not given.
  func value(_ option: Option) -> String? { values(option).first }

  /// Returns the bytes of the value of an option, or `nil` if the option is not given.
  func bytes(_ option: Option) -> ByteString? { values[option]?.first }

  /// Returns the values of an option that may be repeated.
  func values(_ option: Option) -> [String] { (values[option] ?? []).map(\.description) }

  /// Throws an error if the number of operands is not in a range.
  func checkCount(
    _ counts: some RangeExpression<Int>, _ expectation: String
  ) throws(LivelistError) {
    if counts.contains(operands.count) { return }
    let found =
      switch operands.count {
      case 0: "there is none"
      case 1: "there is 1"
      default: "there are \(operands.count)"
      }
    throw .usage(
      "\(command.rawValue) \(expectation), but \(found); use \(command.usage)")
  }
}

extension Option {
  /// Other words for the values of a choice.
  fileprivate var synonyms: [String] { self == .format ? ["jsonl"] : [] }
}

// MARK: Values

extension Arguments {
  /// The format of the output.
  var format: OutputFormat { value(.format) == "text" ? .text : .json }

  /// The number of elements to show, or `nil` for all. A negative number counts from the end.
  func limit() throws(LivelistError) -> Int? {
    guard let text = value(.limit) else { return nil }
    guard let count = Int(text), count != .min else {
      throw .usage(
        "--limit cannot be \"\(text)\"; use a number such as --limit 10, or --limit -10 for the last "
          + "10 elements")
    }
    return count
  }

  /// The longest time of a query, or `nil` for no limit.
  func timeout() throws(LivelistError) -> Duration? {
    guard let text = value(.timeout) else { return nil }
    guard let seconds = Double(text), seconds >= 0.001, seconds <= 1_000_000 else {
      throw .usage("--timeout cannot be \"\(text)\"; use a number of seconds such as --timeout 10")
    }
    return .seconds(seconds)
  }

  /// The path of the socket of a server.
  func socketPath() throws(LivelistError) -> ByteString {
    let usage = Option.listen.usage
    guard let text = bytes(.listen) else {
      throw .usage("\(command.rawValue) needs \(usage); use \(command.usage)")
    }
    guard text.hasPrefix("unix:"), text.bytes.count > 5 else {
      throw .usage("--listen cannot be \"\(text)\"; use \(usage)")
    }
    return text.dropFirst(5)
  }

  /// The number of bytes for the latest changes of all lists.
  func windowBytes() throws(LivelistError) -> Int {
    guard let text = value(.window) else { return 64 << 20 }
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let units = ["": 0, "B": 0, "K": 10, "KB": 10, "M": 20, "MB": 20, "G": 30, "GB": 30]
    guard let shift = units[text.dropFirst(digits.count).uppercased()], let number = Int(digits),
      number <= Int.max >> shift
    else {
      throw .usage(
        "--window cannot be \"\(text)\"; use a size such as --window 512KB, --window 16MB or "
          + "--window 1GB")
    }
    return number << shift
  }

  /// The guard with the limits that are given, for example `deletions=20%,count=1`.
  func changeGuard() throws(LivelistError) -> ChangeGuard<JSONElement>? {
    guard let text = value(.guard) else { return nil }
    var guards: [ChangeGuard<JSONElement>] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      switch (words[0], words.count == 2 ? ChangeLimit(words[1]) : nil) {
      case ("deletions", let limit?): guards.append(.deletions(atMost: limit))
      case ("changes", let limit?): guards.append(.changes(atMost: limit))
      case ("count", .elements(let count)): guards.append(.count(atLeast: count))
      default:
        throw .usage(
          "--guard cannot be \"\(part)\"; use deletions=20%, changes=1000, count=1 or several of "
            + "these, separated by commas")
      }
    }
    return .all(guards)
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
