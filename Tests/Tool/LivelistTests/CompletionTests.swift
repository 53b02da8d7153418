import Foundation
import TestTags
import Testing

@testable import livelist

/// The completions for shells.
@Suite(.tags(.system)) struct CompletionTests {
  /// Runs a script with a shell that is installed, or returns `nil`.
  private func run(_ shell: String, _ script: String) throws -> String? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [shell, "-c", script]
    let (output, errors) = (Pipe(), Pipe())
    process.standardOutput = output
    process.standardError = errors
    try process.run()
    let text = try PipeReader(output.fileHandleForReading).rest()
    let problems = try PipeReader(errors.fileHandleForReading).rest()
    process.waitUntilExit()
    // 127: there is no such shell.
    if process.terminationStatus == 127 { return nil }
    #expect(process.terminationStatus == 0, "\(problems)")
    return text
  }

  private func bash(_ words: String...) throws -> [String] {
    let script = try Livelist.run("completions", "bash").output
    let line = words.joined(separator: " ")
    let list = words.map { "'\($0)'" }.joined(separator: " ")
    let text = try run(
      "bash",
      script + "\ncompopt() { :; }\nCOMP_WORDS=(\(list)) COMP_CWORD=\(words.count - 1)\n"
        + "COMP_LINE='\(line)' COMP_POINT=\(line.count)\n_livelist\nprintf '%s\\n' \"${COMPREPLY[@]}\""
    )
    return try #require(text).split(separator: "\n").map(String.init)
  }

  @Test func `bash completes commands, options, values and files`() throws {
    let place = try Workplace()
    let file = try place.json("tasks.json", "[]").dropFirst("json:".count)
    #expect(try bash("livelist", "wa") == ["watch"])
    #expect(try bash("livelist", "diff", "--ex") == ["--exit-code"])
    #expect(try bash("livelist", "watch", "--format", "t") == ["text"])
    #expect(try bash("livelist", "watch", "--key", "t") == [])
    #expect(try bash("livelist", "watch", String(file.dropLast(3))) == [String(file)])
    #expect(try bash("livelist", "completions", "z") == ["zsh"])
    #expect(try bash("livelist", "watch", "sql") == ["sqlite:"])
  }

  @Test func `bash completes the action, the options and the server of triggers`() throws {
    #expect(try bash("livelist", "tr") == ["triggers"])
    #expect(
      try bash("livelist", "triggers", "") == ["install", "uninstall", "status", "sql"])
    #expect(try bash("livelist", "triggers", "--wa") == ["--wake-readers"])
    #expect(try bash("livelist", "triggers", "--reader", "i") == [])
    #expect(try bash("livelist", "triggers", "--wake-readers", "ins") == ["install"])
    #expect(try bash("livelist", "triggers", "status", "po") == ["postgres:"])
    #expect(try bash("livelist", "triggers", "status", "postgres", ":", "po") == [])
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func `the completions have all commands and options`(shell: String) throws {
    let script = try Livelist.run("completions", shell).output
    for command in CommandName.allCases { #expect(script.contains(command.rawValue)) }
    for option in Option.all { #expect(script.contains(option.name.dropFirst(2))) }
    // The shell accepts the script, if it is installed.
    let file = try Workplace()
    try file.json("script", script)
    _ = try run(shell, "\(shell) -n \(file("script"))")
  }
}
