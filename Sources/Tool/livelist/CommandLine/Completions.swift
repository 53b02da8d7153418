import SwappablePrimitives

/// The completions of commands and options for shells, made from their descriptions.
enum Completions {
  static let shells = ["bash", "zsh", "fish"]

  /// Returns the script for the shell that the arguments name.
  static func script(_ words: Arguments) throws(LivelistError) -> String {
    try words.checkCount(1...1, "needs one shell")
    let name = words.operands[0].description
    switch name {
    case "bash": return bash
    case "zsh": return zsh
    case "fish": return fish
    default:
      let advice = NearestWord.advice(for: name, among: shells)
      throw .usage("unknown shell \"\(name)\"\(advice); use \(CommandName.completions.usage)")
    }
  }

  private static let commands = CommandName.allCases

  private static func words(of command: CommandName) -> String {
    command.description.operandWords.joined(separator: " ")
  }

  private static let schemes = SourceSpecification.schemes

  /// The options of a command with their short names, and `--help`.
  private static func names(of command: CommandName) -> [String] {
    command.options.flatMap(\.names) + ["--help"]
  }

  private static var bash: String {
    let options = commands.map { command in
      "    \(command.rawValue)) words=\"\(names(of: command).joined(separator: " "))\" ;;"
    }
    let values = Option.all.filter { !$0.choices.isEmpty }.map { option in
      let words = option.choices.joined(separator: " ")
      return
        "    \(option.name)) COMPREPLY=($(compgen -W \"\(words)\" -- \"$word\")); return ;;"
    }
    let takesText = Option.all.filter { $0.value != nil }.flatMap(\.names)
    let hasAction = Triggers.Action.words.map { "*\" \($0) \"*" }
    return """
      # Completions of livelist for bash.
      _livelist() {
        local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words prefix
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W "\(commands.map(\.rawValue).joined(separator: " ")) --help --version" -- "$word"))
          return
        fi
        # The shell splits words at "=" and ":". Put them together again.
        local line=${COMP_LINE:0:COMP_POINT}
        local whole=${line##*[[:space:]]}
        case $before in
      \(values.joined(separator: "\n"))
          \(takesText.joined(separator: "|"))) return ;;
        esac
        case ${COMP_WORDS[1]} in
      \(options.joined(separator: "\n"))
          *) return ;;
        esac
        case $whole in
          -*) COMPREPLY=($(compgen -W "$words" -- "$word")); return ;;
        esac
        if [ "${COMP_WORDS[1]}" = completions ]; then
          COMPREPLY=($(compgen -W "\(words(of: .completions))" -- "$word"))
          return
        fi
        if [ "${COMP_WORDS[1]}" = triggers ]; then
          case " ${COMP_WORDS[*]:2:COMP_CWORD-2} " in
            *" postgres "*) ;;
            \(hasAction.joined(separator: "|")))
              COMPREPLY=($(compgen -W "postgres:" -- "$word"))
              compopt -o nospace 2>/dev/null ;;
            *) COMPREPLY=($(compgen -W "\(words(of: .triggers))" -- "$word")) ;;
          esac
          return
        fi
        # A path after a scheme or a name is completed alone.
        prefix=
        case $whole in *[:=]*) prefix=${whole##*[:=]} ;; *) prefix=$whole ;; esac
        [ "$word" != ":" ] && [ "$word" != "=" ] || word=
        COMPREPLY=($(compgen -f -- "$prefix"))
        [ "$prefix" != "$whole" ] || COMPREPLY+=($(compgen -W "\(schemes.joined(separator: " "))" -- "$whole"))
        compopt -o filenames -o nospace 2>/dev/null
      }
      complete -F _livelist livelist

      """
  }

  private static var zsh: String {
    let list = commands.map { "    '\($0.rawValue):\($0.description.summary)'" }
    let cases = commands.map { command in
      let options =
        command.options.map { zshOption($0, of: command) } + ["'--help[print the help]'"]
      let operands =
        switch command {
        case .completions: "'1:shell:(\(words(of: command)))'"
        case .triggers:
          "'1:action:(\(words(of: command)))' '2:server:_livelist_server' '*:table: '"
        default: "'*:source:_livelist_source'"
        }
      return "    \(command.rawValue))\n      _arguments -s \\\n        "
        + (options + [operands]).joined(separator: " \\\n        ") + " ;;"
    }
    return """
      #compdef livelist
      # Completions of livelist for zsh.
      _livelist_source() {
        if compset -P '*[:=]'; then
          _files
        else
          _alternative 'files:file:_files' \
            'schemes:scheme:compadd -S "" \(schemes.joined(separator: " "))'
        fi
      }
      _livelist_server() {
        compadd -S "" postgres:
      }
      _livelist() {
        local -a commands
        commands=(
      \(list.joined(separator: "\n"))
        )
        if (( CURRENT == 2 )); then
          _describe 'command' commands
          return
        fi
        local command=${words[2]}
        shift words
        (( CURRENT-- ))
        case $command in
      \(cases.joined(separator: "\n"))
        esac
      }
      if [ "$funcstack[1]" = "_livelist" ]; then
        _livelist "$@"
      else
        compdef _livelist livelist
      fi

      """
  }

  private static func zshOption(_ option: Option, of command: CommandName) -> String {
    let names = option.names
    let value =
      option.choices.isEmpty
      ? option.value.map { ":\($0.replacing(":", with: "\\:")): " } ?? ""
      : ":value:(\(option.choices.joined(separator: " ")))"
    let text = "[\(option.summary)]\(value)'"
    // Only one of several names may be given, unless the option is repeatable.
    if option.repeats.contains(command) {
      return names.map { "'*\($0)\(text)" }.joined(separator: " \\\n        ")
    }
    if names.count == 1 { return "'\(option.name)\(text)" }
    return "'(\(names.joined(separator: " ")))'{\(names.joined(separator: ","))}'\(text)"
  }

  private static var fish: String {
    var lines = [
      "# Completions of livelist for fish.", "complete -c livelist -f",
      "complete -c livelist -n __fish_use_subcommand -l help -d 'print the help'",
      "complete -c livelist -n __fish_use_subcommand -l version -d 'print the version'",
    ]
    for command in commands {
      let name = command.rawValue
      lines.append(
        "complete -c livelist -n __fish_use_subcommand -a \(name) -d '\(command.description.summary)'"
      )
      let condition = "-n '__fish_seen_subcommand_from \(name)'"
      for option in command.options {
        var words = ["complete -c livelist \(condition) -l \(option.name.dropFirst(2))"]
        if let short = option.shortName { words.append("-s \(short.dropFirst())") }
        if option.takesValue { words.append("-x") }
        if !option.choices.isEmpty {
          words.append("-a '\(option.choices.joined(separator: " "))'")
        }
        lines.append((words + ["-d '\(option.summary)'"]).joined(separator: " "))
      }
      switch command {
      case .completions:
        lines.append("complete -c livelist \(condition) -a '\(words(of: command))'")
      case .triggers:
        let seen = "__fish_seen_subcommand_from"
        let action = "\(seen) \(words(of: command))"
        lines += [
          "complete -c livelist -n '\(seen) \(name); and not \(action)' -a '\(words(of: command))'",
          "complete -c livelist -n '\(seen) \(name); and \(action)' -a postgres:",
        ]
      default:
        lines.append("complete -c livelist \(condition) -F -a '\(schemes.joined(separator: " "))'")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
