/// The text of `--help`, made from the descriptions of the commands and options.
enum Help {
  private static let width = 100

  /// The purpose of the tool.
  static let purpose = "live lists for any program that reads and writes lines"

  /// The help of one command, or the first page of the help.
  static func text(of command: CommandName?) -> String {
    guard let command else { return overview }
    return
      ([usage(of: command)] + options(command.options)
      + (command == .triggers ? [] : lines(of: .sources)) + lines(of: command.details))
      .joined(separator: "\n") + "\n"
  }

  /// The topics besides the commands.
  static let topics = ["sources", "options", "status", "all"]

  /// Returns the help of a topic or a command, or `nil` if there is no such topic.
  static func text(ofTopic topic: String) -> String? {
    if let command = CommandName(rawValue: topic) { return text(of: command) }
    let lines: [String]
    switch topic {
    case "sources": lines = Array(self.lines(of: .sources).dropFirst())
    case "options": lines = Array(options(Option.all).dropFirst())
    case "status": lines = [filled(HelpPart.exitStatus, indent: 0)]
    case "all": return all
    default: return nil
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The first page, which fits on a screen: the commands, the sources, and the options that many commands take.
  private static var overview: String {
    let commands = CommandName.allCases.map { entry($0.rawValue, $0.description.summary) }
    let sources = HelpPart.sources.entries.map(\.term).joined(separator: ", ")
    let common = Option.all.filter { $0.commands.count > 2 }.map { entry($0.term, $0.summary) }
    return
      (["livelist: \(purpose).\n", "livelist COMMAND [OPTION …] SOURCE …\n", "Commands:"] + commands
      + ["", filled("SOURCE: \(sources)", indent: 0), "\nOptions of many commands:"] + common
      + [
        "\nMore: livelist --help TOPIC, with a command, \(topics.joined(separator: ", "));"
          + " livelist --version"
      ]).joined(separator: "\n") + "\n"
  }

  private static var all: String {
    let commands = CommandName.allCases.map(usage)
    return
      (["livelist: \(purpose).\n"] + commands
      + ["livelist --help [TOPIC]\nlivelist COMMAND --help\nlivelist --version"]
      + lines(of: .sources)
      + options(Option.all) + CommandName.allCases.flatMap { lines(of: $0.details) }
      + ["\n" + filled("Exit status: \(HelpPart.exitStatus)", indent: 0)]).joined(separator: "\n")
      + "\n"
  }

  /// The command line of a command, and its explanation.
  private static func usage(of command: CommandName) -> String {
    filled(command.synopsis, first: "livelist \(command.rawValue) ", indent: 8)
      + "\n" + filled(command.description.help, indent: 4)
  }

  private static func options(_ options: [Option]) -> [String] {
    let entries = options.map { entry($0.term, $0.help) }
    return entries.isEmpty ? [] : ["\nOptions:"] + entries
  }

  private static func lines(of part: HelpPart?) -> [String] {
    guard let part else { return [] }
    let entries = part.entries.map { entry($0.term, $0.text) }
    let remark = part.remark.isEmpty ? [] : ["", filled(part.remark, indent: 0)]
    return ["", filled(part.introduction, indent: 0)] + entries + remark
  }

  // MARK: Layout

  /// A term and its explanation.
  private static func entry(_ term: String, _ text: String) -> String {
    let column = 24
    let indented = filled(text, indent: column)
    // A long term has a line of its own.
    guard term.count + 6 <= column else { return "    \(term)\n\(indented)" }
    let space = String(repeating: " ", count: column - term.count - 4)
    return "    \(term)\(space)\(indented.dropFirst(column))"
  }

  private static func filled(_ text: String, indent: Int) -> String {
    let space = String(repeating: " ", count: indent)
    return filled(text.split(separator: " ").map(String.init), first: space, indent: indent)
  }

  /// Joins words to lines that fit the width.
  private static func filled(_ words: [String], first: String, indent: Int) -> String {
    var (lines, line) = ([String](), first)
    var isEmpty = true
    for word in words {
      if !isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = String(repeating: " ", count: indent) + word
      } else {
        line += (isEmpty ? "" : " ") + word
      }
      isEmpty = false
    }
    return (lines + [line]).joined(separator: "\n")
  }
}
