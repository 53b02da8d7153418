/// The man page, made from the descriptions of the commands and options, in the language of `man`.
enum ManPage {
  static var text: String {
    var lines = [
      #".TH LIVELIST 1 "" "livelist \#(Livelist.version)" "User Commands""#,
      // Words are not hyphenated, because names of options have hyphens.
      ".nh", ".ad l",
      ".SH NAME", #"livelist \- "# + escaped(Help.purpose),
      ".SH SYNOPSIS", ".nf",
    ]
    lines += CommandName.allCases.map { synopsis($0.usage) }
    lines += [synopsis("livelist --help"), synopsis("livelist --version"), ".fi", ".SH COMMANDS"]
    for command in CommandName.allCases {
      lines += [
        ".SS \(command.rawValue)",
        synopsis((["livelist", command.rawValue] + command.synopsis).joined(separator: " ")),
        ".PP", escaped(command.description.help),
      ]
      if let part = command.details { lines += [".PP"] + content(of: part) }
    }
    lines += [".SH SOURCES"] + content(of: .sources)
    lines += [".SH OPTIONS"] + Option.all.flatMap { entry($0.term, $0.help) }
    lines += [".SH EXIT STATUS", escaped(HelpPart.exitStatus)]
    return lines.joined(separator: "\n") + "\n"
  }

  private static func content(of part: HelpPart) -> [String] {
    [escaped(part.introduction)] + part.entries.flatMap(entry)
      + (part.remark.isEmpty ? [] : [".PP", escaped(part.remark)])
  }

  /// A term in bold, and its explanation below it.
  private static func entry(_ term: String, _ text: String) -> [String] {
    [".TP", bold(term), escaped(text)]
  }

  /// A command line whose first two words are bold.
  private static func synopsis(_ usage: String) -> String {
    let words = usage.split(separator: " ", maxSplits: 2).map(String.init)
    return ([bold(words.prefix(2).joined(separator: " "))] + words.dropFirst(2).map(escaped))
      .joined(separator: " ")
  }

  private static func bold(_ text: String) -> String { #"\fB\#(escaped(text))\fR"# }

  /// Returns a text without characters that mean something in the language, or are replaced with typographic ones.
  private static func escaped(_ text: String) -> String {
    let names: [Unicode.Scalar: String] = [
      "\\": "rs", "'": "aq", "\"": "dq", "`": "ga", "^": "ha", "~": "ti",
    ]
    let scalars = text.unicodeScalars.map { scalar in
      if scalar == "-" { return #"\-"# }
      if let name = names[scalar] { return #"\(\#(name)"# }
      return scalar.isASCII
        ? String(scalar) : #"\[u\#(String(scalar.value, radix: 16, uppercase: true))]"#
    }
    // A line that begins with a period would be a command.
    return (text.hasPrefix(".") ? #"\&"# : "") + scalars.joined()
  }
}
