import Foundation
import TestSupport
import TestTags
import Testing

/// The option `--choose` of a view.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct ViewChooseTests {
  private let place: Workplace
  private let terminal: PseudoTerminal
  private let source: String

  init() throws {
    place = try Workplace()
    terminal = try PseudoTerminal(rows: 12, columns: 60)
    source = try place.json("list.json", #"[{"id":3,"n":"c"},{"id":1,"n":"a"},{"id":2,"n":"b"}]"#)
  }

  /// Runs a line of the shell, in which `CHOOSE` is the view, and waits until the list is drawn.
  private func start(_ line: String, _ arguments: String? = nil) throws -> Program {
    let view =
      "'\(try Program.find("livelist"))' view --choose " + (arguments ?? "--key id '\(source)'")
    let script = "cd '\(place.path)'; " + line.replacing("CHOOSE", with: view)
    let program = try Program(
      "/bin/sh", ["-c", script], environment: ["NO_COLOR": nil], terminal: terminal)
    try expect("1/3")
    return program
  }

  private func expect(_ text: String) throws {
    try terminal.wait(until: "\"\(text)\" is shown") { $0.display.text.contains(text) }
  }

  private func expectEnd(_ program: Program, _ output: String) throws {
    #expect(try program.waitForEnd() == 0)
    #expect(try terminal.leftovers.isEmpty)
    #expect(try String(contentsOfFile: place("out"), encoding: .utf8) == output)
  }

  @Test func `Enter prints the selected row to a file`() throws {
    let program = try start("CHOOSE > out")
    #expect(terminal.display.isAlternate)
    try terminal.type("j\r")
    try expectEnd(program, "{\"id\":1,\"n\":\"a\"}\n")
  }

  @Test func `the marked rows go to the next program of a pipeline, in the order of the list`()
    throws
  {
    let program = try start("CHOOSE | cat > out")
    try terminal.type(" jj :sort id desc\r")
    try expect("2 marked")
    try expect("id ▼")
    try terminal.type("fa\r")
    try expect("2 filtered out")
    try terminal.type("\r")
    try expectEnd(program, "{\"id\":3,\"n\":\"c\"}\n{\"id\":2,\"n\":\"b\"}\n")
  }

  @Test func `the shell receives the chosen row as a word`() throws {
    let program = try start("x=$(CHOOSE); echo \"$? $x\" > out")
    try terminal.type("\r")
    try expectEnd(program, "0 {\"id\":3,\"n\":\"c\"}\n")
  }

  @Test func `a list from a pipe is chosen from with the keys of the terminal`() throws {
    let program = try start("echo '[4,5,6]' | CHOOSE > out", "-")
    try terminal.type("j\r")
    try expectEnd(program, "5\n")
  }

  @Test(arguments: ["q", "\u{1B}", "\u{03}", ":quit\r", "x\u{1B}", " q"])
  func `leaving without a choice ends with status 130`(keys: String) throws {
    let program = try start("CHOOSE > out; echo $? >> out")
    try terminal.type(keys)
    try expectEnd(program, "130\n")
  }

  @Test func `Escape ends prompts and details before it ends the view`() throws {
    let program = try start("CHOOSE > out; echo $? >> out")
    try terminal.type("/text")
    try terminal.wait(until: "the prompt is shown") { $0.display.lines[11] == "/text" }
    try terminal.type("\u{1B}")
    try expect("1/3")
    try terminal.type("o")
    try expect("q: back")
    try terminal.type("\u{1B}")
    try terminal.wait(until: "the list is back") { !$0.display.text.contains("q: back") }
    try terminal.type("\u{1B}")
    try expectEnd(program, "130\n")
  }

  @Test func `a header of a group is no choice`() throws {
    let program = try start("CHOOSE > out", "--group-by n -k id '\(source)'")
    try expect("a (1)")
    try terminal.type("g\r")
    try expect("header of a group")
    try terminal.type("j\r")
    try expectEnd(program, "{\"id\":1,\"n\":\"a\"}\n")
  }

  @Test func `without a terminal, there is nothing to choose from`() throws {
    let (input, output) = (Pipe(), Pipe())
    let program = try Program(
      "livelist", ["view", "--choose", source], input: input.fileHandleForReading,
      output: output.fileHandleForWriting)
    #expect(try program.waitForEnd() == 1)
    try output.fileHandleForWriting.close()
    #expect(try PipeReader(output.fileHandleForReading).rest() == "")
  }
}
