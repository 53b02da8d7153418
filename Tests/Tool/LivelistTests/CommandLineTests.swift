import TestTags
import Testing

@testable import livelist

@Suite(.tags(.system)) struct CommandLineTests {
  @Test(arguments: [["--help"], ["-h"], ["help"]])
  func `the first page of the help fits 60 lines, and names what there is`(
    arguments: [String]
  ) throws {
    let result = try Livelist.run(arguments)
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 60)
    #expect(lines.allSatisfy { $0.count <= 100 })
    for text in CommandName.allCases.map(\.rawValue) + Help.topics + [
      "every:TIME:COMMAND", "-k, --key FIELD", "--where",
    ] {
      #expect(result.output.contains(text))
    }
  }

  @Test func `each topic has its part of the help`() throws {
    for (topic, text) in [
      ("sources", "sqlite:PATH?SQL"), ("options", "-k, --key FIELD"),
      ("status", "2 if the command line"),
      ("watch", "livelist watch"),
    ] {
      let result = try Livelist.run("--help", topic)
      #expect(result.status == 0)
      #expect(result.output.contains(text))
      #expect(result.output.count < (try Livelist.run("help", "all").output.count))
    }
    let unknown = try Livelist.run("help", "sorces")
    #expect(unknown.status == 2)
    #expect(
      unknown.errors.contains(
        "there is no help on \"sorces\" (did you mean sources?); use a command"))
  }

  @Test(arguments: [["--help", "all"], ["help", "all"]])
  func `the help names all commands, options and sources`(arguments: [String]) throws {
    let result = try Livelist.run(arguments)
    #expect(result.status == 0)
    #expect(result.errors.isEmpty)
    for text in [
      "watch", "diff", "apply", "merge", "--key FIELD", "--prefer", "--strict",
      "--format json|text", "--until-eof", "json:PATH",
      "jsonl:PATH", "sqlite:PATH?SQL",
      "swap SOURCE", "quit", "--version", "--exec COMMAND", "-k, --key FIELD", "sqlite:PATH#TABLE",
      "[--reader ROLE] …", "install|uninstall|status|sql postgres:CONNINFO [TABLE …]",
    ] {
      #expect(result.output.contains(text))
    }
  }

  @Test(arguments: CommandName.allCases)
  func `the help of a command has its options and no others`(command: CommandName) throws {
    for arguments in [[command.rawValue, "--help"], ["help", command.rawValue]] {
      let result = try Livelist.run(arguments)
      #expect(result.status == 0)
      #expect(result.output.hasPrefix("livelist \(command.rawValue) "))
      let words = Set(
        result.output.split(separator: "\nOptions:\n").last?.split(whereSeparator: \.isWhitespace)
          .map { String($0.prefix { $0 != "[" }) } ?? [])
      for option in Option.all where option.name != "--strict" {
        #expect(words.contains(option.name) == option.commands.contains(command), "\(option.name)")
      }
      let longest = result.output.split(separator: "\n").map(\.count).max() ?? 0
      #expect(longest <= 100)
    }
  }

  @Test func `each name of an option means one option, which has a command`() {
    let names = Option.all.flatMap(\.names)
    #expect(Set(names).count == names.count)
    for option in Option.all {
      #expect(!option.commands.isEmpty && option.repeats.allSatisfy(option.commands.contains))
      #expect(option.commands.contains(.triggers) == !option.actions.isEmpty, "\(option.name)")
      for other in option.conflicts { #expect(Option.named(other) != nil, "\(option.name)") }
    }
  }

  @Test(arguments: ["--version", "-V", "version"])
  func `the version is printed`(word: String) throws {
    let result = try Livelist.run(word)
    #expect(result.status == 0)
    #expect(result.output.hasPrefix("livelist "))
    #expect(result.output.split(separator: "\n").count == 1)
  }

  @Test(arguments: [
    ([], "the command is missing"),
    (["frob"], "unknown command \"frob\""),
    (["--frob"], "unknown option \"--frob\""),
    (["wtach", "json:a"], "unknown command \"wtach\" (did you mean watch?); use"),
    (["comp"], "(did you mean completions?)"), (["--verison"], "did you mean --version?"),
    (["--header=A: Bearer s3cret", "watch"], "unknown option \"--header\"; use livelist"),
    (["--header A: s3cret", "watch"], "unknown option \"--header …\"; use livelist"),
    (["--key=a.b", "watch"], "unknown option \"--key\"; use livelist"),
    (["-Hs3cret", "watch"], "unknown option \"-H\"; use livelist"),
    (["watch", "--header A: s3cret", "json:a"], "\"--header …\" (did you mean --header?)"),
    (["--verison=1"], "did you mean --version?"), (["-"], "unknown option \"-\""),
    (["watch", "--sot", "a", "json:a"], "unknown option \"--sot\" (did you mean --sort?); this"),
    (["view", "--Group_By", "a", "json:a"], "did you mean --group-by?"),
    (["view", "--format", "jsno", "json:a"], "did you mean json?"),
    (["completions", "fihs"], "did you mean fish?"),
    (["list.json"], "use livelist view list.json"),
    (["diff", "--brief", "a.json", "b.json"], "use --quiet"),
    (["diff", "-u", "a.json", "b.json"], "use --format text"),
    (["watch", "--sort", "a", "--reverse", "b.json"], "use --sort 'FIELD desc'"),
    (["watch", "--once", "a.json"], "livelist view --format json SOURCE"),
    (["view", "--json", "a.json"], "to print the list once as JSON, use --format json"),
    (["view", "--follow", "a.json"], "F follows the end"),
    (["view", "--format", "json", "--group-by", "a", "b.json"], "use --sort 'a' instead"),
    (["diff", "--json", "a.json", "b.json"], "use --format json, which is the default"),
    (["view", "-f", "json", "a.json"], "use --where to select elements, and --format in full"),
    (["view", "--color", "red", "a.json"], "--color cannot be \"red\""),
    (["view", "--once", "a.json"], "to print the contents once"),
    (["explain", "--select", "a.json"], "this command takes --header, --key"),
    (["merge", "--once", "a.json"], "this command takes --by-field, --header"),
    (["watch"], "there is none"),
    (["watch", "a.txt"], "json:PATH"),
    (["serve", "--listen", "unix:s", "a=-"], "is standard input, which this command needs itself"),
    (["watch", "."], "\".\" is a directory; use a file in it, or a pattern such as './*.json'"),
    (["watch", "conf.d/*"], "use json:conf.d/*, jsonl:conf.d/* or csv:conf.d/*"),
    (["watch", "ftp://example.com/"], "json:PATH"),
    (["watch", "lines:-"], "json:PATH"),
    (["watch", "json:"], "no path"),
    (["watch", "jsonl:"], "no path; use jsonl:PATH"),
    (["watch", "jsonlines:a"], "jsonl:PATH"),
    (["watch", "sqlite:"], "no path"),
    (["watch", "sqlite:a.db"], "no query"),
    (["watch", "sqlite:a.db?"], "no query"),
    (["watch", "sqlite:a.db? "], "no query"),
    (["watch", "sqlite:?SELECT 1"], "no path"),
    (["watch", "json:a", "--key"], "--key FIELD"),
    (["watch", "--key", "--until-eof", "json:a"], "--key=--until-eof"),
    (
      ["watch", "--header", "--header=A: s3cret", "json:a"], "\"--header=…\", --header=--header=…\n"
    ),
    (["watch", "--key", "--header", "json:a"], "\"--header\", --key=--header\n"),
    (["watch", "--key", "a", "--key=b", "json:a"], "twice"),
    (["watch", "--until-eof=1", "json:a"], "takes no value"),
    (["watch", "--frob", "json:a"], "--guard, --header, --ignore, --keep, --key, --limit"),
    (
      ["watch", "json:a", "--guard"],
      "--guard has no value; use --guard LIMITS, for example --guard deletions=20%"
    ),
    (["watch", "--guard", "deletions", "json:a"], "--guard cannot be \"deletions\""),
    (["watch", "--guard", "deletions=-1%", "json:a"], "--guard cannot be \"deletions=-1%\""),
    (["watch", "--guard", "deletions=1,count=5%", "json:a"], "--guard cannot be \"count=5%\""),
    (["watch", "--guard", "count=1", "--guard=count=2", "json:a"], "--guard occurs twice"),
    (["watch", "--", "--until-eof"], "json:PATH"),
    (["diff", "json:a"], "there is 1"),
    (["diff", "--until-eof", "json:a", "json:b"], "takes --color, --exit-code, --fields"),
    (
      ["diff", "--format", "xml", "json:a", "json:b"],
      "--format cannot be \"xml\"; use --format json or"
    ),
    (["diff", "--format=", "json:a", "json:b"], "--format cannot be \"\""),
    (["diff", "json:a", "json:b", "--format"], "--format has no value"),
    (["diff", "--format=text", "--format=text", "json:a", "json:b"], "occurs twice"),
    (["watch", "--limit", "-x", "json:a"], "--limit cannot be \"-x\"; use a number"),
    (["watch", "--timeout", "0", "json:a"], "--timeout cannot be \"0\"; use a number of seconds"),
    (
      ["diff", "--timeout=nan", "json:a", "json:b"],
      "--timeout cannot be \"nan\"; use a number of seconds"
    ),
    (["watch", "--where", "stock", "json:a"], "\"stock\" is not a condition"),
    (["watch", "--where", "=5", "json:a"], "needs one field before ="),
    (["watch", "--where", "(a>5 or b=3", "json:a"], "a parenthesis is not closed; add )"),
    (["watch", "--where", "(a>5)) or b=3", "json:a"], "there is no ( for each )"),
    (["watch", "--where", "(a>5) b=3", "json:a"], "put and or or before \"b=3\""),
    (
      ["watch", "--where", "a=1 or b~/(x/", "json:a"], "the regular expression /(x/ is not valid: e"
    ),
    (["watch", "--where", "a = x || b~y", "json:a"], "has several comparisons"),
    (["watch", "--sort", "", "json:a"], "--sort has an empty field"),
    (["watch", "--fields", "a,,b", "json:a"], "--fields cannot be \"a,,b\""),
    (["watch", "--exec", " ", "json:a"], "--exec has an empty command"),
    (["watch", "--exec-initial", "json:a"], "add --exec COMMAND"),
    (["view", "--bind", "d", "a.json"], "--bind cannot be \"d\"; use a key and a command"),
    (
      ["view", "--bind", "d=", "a.json"], "--bind has no command for the key \"d\"; use --bind 'd=C"
    ),
    (["view", "--bind", "d=wait:confirm: ", "a.json"], "--bind has no command for the key \"d\""),
    (["view", "--bind", "=ls", "a.json"], "--bind cannot be \"\"; use a character, ctrl-LETTER"),
    (
      ["view", "--bind", "dd=ls", "a.json"], "--bind cannot be \"dd\"; use a character, ctrl-LETTER"
    ),
    (["view", "--bind", "f13=ls", "a.json"], "--bind cannot be \"f13\""),
    (
      ["view", "--bind", "Enter=ls", "a.json"], "cannot use the key \"Enter\", which the view needs"
    ),
    (["view", "--bind", "esc=ls", "a.json"], "cannot use the key \"esc\""),
    (["view", "--bind", "down=ls", "a.json"], "cannot use the key \"down\""),
    (["view", "--bind", "ctrl-c=ls", "a.json"], "cannot use the key \"ctrl-c\""),
    (["view", "--bind", "q=ls", "a.json"], "cannot use the key \"q\""),
    (["view", "--bind", " =ls", "a.json"], "cannot use the key \" \""),
    (["view", "--bind", "d=ls", "--bind=d=rm", "a.json"], "two commands for the key \"d\""),
    (["view", "--bind", "d=ls", "--format=text", "a.json"], "contradict"),
    (["watch", "--bind", "d=ls", "a.json"], "unknown option \"--bind\""),
    (["watch", "--changes-only", "--exec-initial", "--exec", "x", "json:a"], "contradict"),
    (["diff", "-", "json:-"], "can be read only once"),
    (["merge", "-", "-", "json:a"], "can be read only once"),
    (["apply", "-"], "is standard input, which this command needs itself"),
    (["view", "-q", "json:a"], "unknown option \"-q\""),
    (["completions"], "needs one shell, but there is none"),
    (["completions", "ksh"], "unknown shell \"ksh\""),
    (["apply", "json:a", "json:b"], "there are 2"),
    (["apply", "--key", "a"], "this command takes --header"),
    (["completions", "--key", "a"], "takes no options"),
    (["merge", "--key", "a", "json:a", "json:b"], "there are 2"),
    (
      ["merge", "--prefer", "json:a", "json:b", "json:c"],
      "--prefer cannot be \"json:a\"; use --prefer mine"
    ),
    (["merge", "--prefer=mine", "--prefer=mine", "json:a", "json:b", "json:c"], "occurs twice"),
    (["merge", "--prefer"], "--prefer has no value"),
    (["merge", "--strict=1", "json:a", "json:b", "json:c"], "--strict takes no value"),
    (["merge", "--format", "text", "json:a", "json:b", "json:c"], "unknown option \"--format\""),
  ])
  func `an invalid command line ends with status 2 and one line`(
    arguments: [String], hint: String
  ) throws {
    let result = try Livelist.parse(arguments)
    #expect(result.status == 2)
    #expect(result.output.isEmpty)
    #expect(result.errors.contains(hint), "\(result.errors)")
    #expect(result.errors.hasPrefix("livelist: ") && result.errors.hasSuffix("\n"))
    #expect(result.errors.split(separator: "\n").count == 1)
  }

  @Test func `options can precede and follow the source`() throws {
    let place = try Workplace()
    let source = try place.json("a.json", #"[{"id":1}]"#)
    let expected = #"{"event":"initial","revision":0,"elements":[{"id":1}]}"# + "\n"
    for arguments in [
      ["--key", "id", "--until-eof", source], [source, "--until-eof", "--key=id"],
      ["--key=id", source, "--until-eof"], ["--until-eof", "--", source],
    ] {
      let result = try Livelist.run(["watch"] + arguments)
      #expect(result.output == expected)
      #expect(result.status == 0)
    }
  }

  @Test func `a database path with a question mark is rejected with a reason`() throws {
    let place = try Workplace()
    try place.sql("what?.db", "CREATE TABLE t (a)")
    for source in [
      place.sqlite("what?.db", "SELECT a FROM t WHERE a = '?'"), "sqlite:\(place("what?.db"))",
    ] {
      let result = try Livelist.parse("watch", "--until-eof", source)
      #expect(result.status == 2)
      #expect(result.errors.contains("\"\(place("what?.db"))\" contains a \"?\""))
    }
  }

  @Test func `a question mark in SQL and in the path of a file is allowed`() throws {
    let place = try Workplace()
    try place.sql("a.db", "CREATE TABLE t (a)", "INSERT INTO t VALUES ('x?y')")
    let query = place.sqlite("a.db", "SELECT a FROM t WHERE a LIKE '%?%'")
    #expect(try Livelist.run("watch", "--until-eof", query).output.contains(#"[{"a":"x?y"}]"#))
    let file = try place.json("b?.json", "[1]")
    #expect(try Livelist.run("watch", "--until-eof", file).output.contains("[1]"))
  }
}
