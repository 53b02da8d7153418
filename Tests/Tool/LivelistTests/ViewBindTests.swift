import Foundation
import TestSupport
import TestTags
import Testing

/// The option `--bind` of a view.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct ViewBindTests {
  private let place: Workplace
  private let source: String

  init() throws {
    place = try Workplace()
    source = try place.json(
      "list.json",
      #"[{"id":"b","n":1},{"id":"a","n":2},{"id":"c","n":3},{"id":"$(touch x); 'q\" x","n":4}]"#)
  }

  /// A command that writes its variables and its input to the file `out`.
  private var report: String {
    #"cd '\#(place.path)'; (printf '<%s>' "$LIVELIST_KEY" "$LIVELIST_KEYS" "$LIVELIST_COUNT"; "#
      + #"echo; cat) > out"#
  }

  private func start(_ bindings: String..., columns: Int = 60) throws -> LiveView {
    try LiveView(
      ["--key", "id", source] + bindings.flatMap { ["--bind", $0] }, columns: columns)
  }

  /// Makes the pipe `pipe` in the file system, which a command opens for writing.
  private func makePipe() throws -> PipeReader {
    #expect(mkfifo(place("pipe"), 0o600) == 0)
    let descriptor = open(place("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    return PipeReader(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true))
  }

  private func output() throws -> String {
    try String(contentsOfFile: place("out"), encoding: .utf8)
  }

  @Test func `a key runs a command for the selected row`() throws {
    let view = try start("d=" + report)
    try view.type("jd", until: "done")
    #expect(try output() == "<a><a><1>\n{\"id\":\"a\",\"n\":2}\n")
    try view.quit()
  }

  @Test func `no text of a key gets into the command line`() throws {
    let view = try start("ctrl-x=" + report)
    try view.type("G\u{18}", until: "done")
    #expect(
      try output()
        == "<$(touch x); 'q\" x><$(touch x); 'q\" x><1>\n"
        + #"{"id":"$(touch x); 'q\" x","n":4}"# + "\n")
    #expect(!FileManager.default.fileExists(atPath: place("x")))
    try view.quit()
  }

  @Test func `a command receives all marked rows in the order of the list`() throws {
    let view = try start("d=" + report)
    try view.type(" jj :sort id\r", until: "id ▲")
    try view.type("fa\r", until: "2 filtered out")
    try view.type("d", until: "done")
    #expect(try output() == "<b><b\nc><2>\n{\"id\":\"b\",\"n\":1}\n{\"id\":\"c\",\"n\":3}\n")
    try view.quit()
  }

  @Test func `if all marked rows are gone, the selected one is not meant`() throws {
    let view = try start("d=" + report)
    try view.type(" ", until: "1 marked")
    try place.json("list.json", #"[{"id":"a","n":2}]"#)
    try view.expect("1 gone")
    try view.type("d", until: "the marked rows are gone")
    #expect(!FileManager.default.fileExists(atPath: place("out")))
    try view.quit()
  }

  @Test func `keys with line breaks are no list of keys`() throws {
    try place.json("list.json", #"[{"id":"a\nb","n":1},{"id":"c","n":2}]"#)
    let view = try start("d=" + report)
    try view.type("v", until: "2 marked")
    try view.type("d", until: "done")
    #expect(
      try output() == "<a\nb><><2>\n{\"id\":\"a\\nb\",\"n\":1}\n{\"id\":\"c\",\"n\":2}\n")
    try view.quit()
  }

  @Test func `confirm asks first, for the rows at that time`() throws {
    let view = try start("d=confirm:" + report, columns: 100)
    try view.type("d", until: "for \"b\"? y/n")
    try place.json("list.json", #"[{"id":"a","n":2}]"#)
    try view.expectLines("  id                 n", "> a                  2", "")
    // Other keys are no answer.
    try view.type("xjq\r ")
    try view.type("y", until: "done")
    #expect(try output() == "<b><b><1>\n{\"id\":\"b\",\"n\":1}\n")
    try FileManager.default.removeItem(atPath: place("out"))
    try view.type("d", until: "for \"a\"? y/n")
    try view.type("n")
    try view.terminal.wait(until: "the question has gone") { !$0.display.text.contains("y/n") }
    try view.type("d", until: "y/n")
    try view.type("\u{1B}")
    try view.terminal.wait(until: "the question has gone") { !$0.display.text.contains("y/n") }
    try view.quit()
    #expect(!FileManager.default.fileExists(atPath: place("out")))
  }

  @Test func `a failure is shown with its status and the last line of standard error`() throws {
    let view = try start("d=echo out; echo first >&2; echo last >&2; exit 3", columns: 100)
    try view.type("d", until: "exited with status 3: last")
    #expect(view.bottom.contains("echo out"))
    try view.quit()
  }

  @Test func `the output of a command does not reach the screen`() throws {
    let view = try start("d=echo garbage; echo garbage >&2")
    try view.type("d", until: "done")
    try view.type("j", until: "2/4")
    try view.expectLines("  id                 n", "  b                  1")
    #expect(!view.lines.joined().contains("garbage"))
    try view.quit()
  }

  @Test func `wait shows the output of the command`() throws {
    let view = try start(#"d=wait:printf 'a\tb\nred \033[31m\n'; echo bad >&2; exit 4"#)
    try view.type("d", until: "exited with status 4  q: back")
    try view.expectLines("a       b", "red ␛[31m", "bad", "")
    try view.type("q")
    try view.expectLines("  id                 n", "> b                  1")
    try view.quit()
  }

  @Test func `the output is shown while the command runs, and q ends the command`() throws {
    let pipe = try makePipe()
    let view = try start(
      "d=wait:exec 3> '\(place("pipe"))'; echo run >&3; echo begun; exec sleep 1000")
    try view.type("d", until: "running  q: end it and go back")
    try view.expect("begun")
    #expect(try pipe.line() == "run")
    try view.type("q", until: "1/4")
    // The pipe ends when no process is left that could write to it.
    #expect(try pipe.rest() == "")
    try view.quit()
  }

  @Test func `the end of a long output is kept`() throws {
    let view = try start(
      "d=wait:head -c 20000000 /dev/zero | tr '\\0' 'x' | fold -w 50; echo the end")
    try view.type("d", until: "done  q: back")
    try view.expect("… the output before is left out")
    try view.type("G", until: "the end")
    try view.type("q", until: "1/4")
    try view.quit()
  }

  @Test func `a command ends when its shell ends, and all its processes end with the view`() throws
  {
    let pipe = try makePipe()
    let view = try start("d=exec > '\(place("pipe"))'; sleep 1000 & echo run")
    try view.type("d", until: "done")
    #expect(try pipe.line() == "run")
    try view.quit()
    #expect(try pipe.rest() == "")
  }

  @Test func `the view stays in use while a command runs, and the command ends with it`() throws {
    let pipe = try makePipe()
    let view = try start("d=exec > '\(place("pipe"))'; echo run; exec sleep 1000", "e=cat")
    try view.type("d", until: "running")
    #expect(try pipe.line() == "run")
    try view.type("e", until: "cat: done")
    try view.type("j", until: "running")
    try view.expect("2/4")
    try view.quit()
    #expect(try pipe.rest() == "")
  }

  @Test func `the help has the keys with their commands`() throws {
    let view = try start("x=confirm:tidy up", "f2=other")
    try view.type("?", until: "tidy up")
    #expect(view.lines.joined().contains("run for the marked rows"))
    try view.type("x")
    try view.quit()
  }
}
