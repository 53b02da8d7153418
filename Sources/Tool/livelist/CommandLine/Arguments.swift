import SwappablePrimitives

/// The arguments after the name of a command: options at any position, and operands.
struct Arguments {
  private let command: CommandName
  private(set) var operands: [ByteString] = []
  private(set) var options = Options()
  private var given: [Option.Given] = []
  /// The text that is requested instead, of the help or the version.
  private(set) var request: Printing?

  /// Separates options and operands. All arguments after `--` are operands.
  init(_ words: ArraySlice<ByteString>, of command: CommandName) throws(LivelistError) {
    self.command = command
    var rest = words
    while let word = rest.popFirst() {
      if word == "--" {
        operands += rest
        break
      }
      // A single dash is an operand.
      guard word.hasPrefix("-"), word != "-" else {
        operands.append(word)
        continue
      }
      switch word {
      case "--help", "-h":
        request = Printing(text: Help.text(of: command))
        return
      case "--version", "-V":
        request = .version
        return
      default: given.append(try value(of: word, &rest))
      }
    }
    for value in given { try value.option.store(&options, value) }
    for option in command.options where option.isRequired && !has(option) {
      throw .usage("\(command.rawValue) needs \(option.usage); use \(command.usage)")
    }
    for option in given.map(\.option) {
      for other in option.conflicts where given.contains(where: { $0.option.name == other }) {
        throw .usage("\(other) and \(option.name) contradict each other; omit one of them")
      }
    }
  }

  func has(_ option: Option) -> Bool { given.contains { $0.option.name == option.name } }

  private func value(
    of word: ByteString, _ rest: inout ArraySlice<ByteString>
  ) throws(LivelistError) -> Option.Given {
    let (word, attached) = Arguments.split(word)
    guard let option = Option.named(word.description), option.commands.contains(command) else {
      throw unknown(Arguments.shownName(of: word))
    }
    let name = option.name
    if has(option), !option.repeats.contains(command) {
      throw .usage("\(name) occurs twice; use it once")
    }
    guard option.takesValue else {
      if let attached {
        throw .usage("\(name) takes no value, but has \"\(attached)\"; use \(name) alone")
      }
      return Option.Given(option: option, bytes: "")
    }
    if option.isValueOptional, attached == nil { return Option.Given(option: option, bytes: "") }
    guard let text = attached ?? rest.popFirst() else {
      throw .usage("\(name) has no value; \(option.hint)")
    }
    if attached == nil, text.hasPrefix("--"),
      case let (other, value) = Arguments.split(text), let other = Option.named(other.description)
    {
      let shown = other.isSecret && value != nil ? "\(other.name)=…" : text.description
      throw .usage(
        "\(name) has no value; use \(option.usage), or, if the value is \"\(shown)\", "
          + "\(name)=\(shown)")
    }
    guard option.isBytes || text.string != nil else {
      let value = option.isSecret ? "a value" : "\"\(text)\","
      throw .usage("\(name) cannot be \(value) which is not UTF-8; \(option.hint)")
    }
    let words = option.choices
    if !words.isEmpty, !(words + option.synonyms).contains(text.description) {
      let hint = words.map { "\(name) \($0)" }.joined(separator: " or ")
      throw .usage(
        "\(name) cannot be \"\(SourceSpecification.redacted(text.description))\"\(NearestWord.advice(for: text, among: words)); use \(hint)"
      )
    }
    return Option.Given(option: option, bytes: text)
  }

  private func unknown(_ name: String) -> LivelistError {
    let start = "unknown option \"\(name)\""
    if let advice = Option.advice(forOther: name, of: command) {
      return .usage("\(start); \(advice)")
    }
    let names = command.options.map(\.name).sorted()
    if names.isEmpty { return .usage("\(start); this command takes no options") }
    let advice = NearestWord.advice(for: name, among: names + ["--help", "--version"])
    return .usage("\(start)\(advice); this command takes \(names.joined(separator: ", "))")
  }

  /// Returns the name of an option that is not known, without its value, which may be a secret.
  static func shownName(of word: ByteString) -> String {
    let name = SourceSpecification.redacted(split(word).name.description)
    return name.firstIndex(where: \.isWhitespace).map { name[..<$0] + " …" } ?? name
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
