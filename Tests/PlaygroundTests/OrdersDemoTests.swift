import Foundation
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system), .timeLimit(.minutes(10))) struct OrdersDemoTests {
  private static let expected = """
    at first: 120 orders
      Brazil, 10 orders, 1290
      Chile, 10 orders, 980
      Egypt, 10 orders, 670
      France, 10 orders, 740
      Ghana, 10 orders, 1190
      India, 10 orders, 1560
      Japan, 10 orders, 1250
      Kenya, 10 orders, 940
      Mexico, 10 orders, 630
      Nepal, 10 orders, 700
      Peru, 10 orders, 1150
      Spain, 10 orders, 1600
    top ten: Spain 1600, India 1560, Brazil 1290, Japan 1250, Ghana 1190, \
    Peru 1150, Chile 980, Kenya 940, France 740, Nepal 700
    after 30 writes of another process: 125 orders
      Brazil, 5 orders, 625
      Chile, 11 orders, 1047
      Egypt, 11 orders, 918
      France, 9 orders, 668
      Ghana, 12 orders, 1038
      India, 10 orders, 1560
      Japan, 10 orders, 1275
      Kenya, 10 orders, 1088
      Mexico, 10 orders, 655
      Nepal, 10 orders, 685
      Peru, 12 orders, 1258
      Spain, 15 orders, 2348
    top ten: Spain 2348, India 1560, Japan 1275, \
    Peru 1258, Kenya 1088, Chile 1047, Ghana 1038, Egypt 918, Nepal 685, France 668

    """

  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test func `the demo prints the same countries on every run without a terminal`() throws {
    for _ in 0..<3 {
      let output = Pipe()
      let program = try Program(
        "OrdersDemo", input: .nullDevice, output: output.fileHandleForWriting,
        directory: directory.path)
      try output.fileHandleForWriting.close()
      let text = try output.fileHandleForReading.readToEnd() ?? Data()
      #expect(String(decoding: text, as: UTF8.self) == OrdersDemoTests.expected)
      #expect(try program.waitForEnd() == 0)
      #expect(try directory.names.isEmpty)
    }
  }

  @Test func `unknown arguments are an error`() throws {
    for arguments in [["--orders"], ["--write"], ["--write", "shop.db", "many"]] {
      let output = Pipe()
      let program = try Program(
        "OrdersDemo", arguments, input: .nullDevice, output: output.fileHandleForWriting,
        directory: directory.path)
      #expect(try program.waitForEnd() == 2)
    }
  }

  // MARK: In a terminal

  /// Starts the demo and waits until it shows the list.
  private func start(_ terminal: PseudoTerminal) throws -> Program {
    let program = try Program(
      "OrdersDemo", environment: ["NO_COLOR": nil], terminal: terminal, directory: directory.path)
    try terminal.wait(until: "the list is shown") { $0.display.text.contains("10. Nepal") }
    return program
  }

  private func expectEnd(_ program: Program, _ terminal: PseudoTerminal) throws {
    #expect(try program.waitForEnd() == 0)
    #expect(try terminal.leftovers.isEmpty)
    #expect(try directory.names.isEmpty)
  }

  @Test func `the list has sections, and the top ten countries beside it`() throws {
    let terminal = try PseudoTerminal(rows: 20, columns: 100)
    let program = try start(terminal)
    let lines = terminal.display.lines
    #expect(lines[0].hasPrefix("  Order  Customer") && lines[0].contains("Top ten"))
    #expect(lines[1].hasPrefix("> Brazil, 10 orders, 1290") && lines[1].contains("1.  Spain"))
    #expect(lines[12].hasPrefix("  Chile, 10 orders, 980"))
    #expect(terminal.display.cells[12][2].style.isBold)
    try terminal.type("\u{1B}[B")
    try terminal.wait(until: "the next row is selected") { $0.display.lines[2].hasPrefix(">") }
    try terminal.type("q")
    try expectEnd(program, terminal)
  }

  @Test func `another process writes`() throws {
    let terminal = try PseudoTerminal(rows: 20, columns: 100)
    let program = try start(terminal)
    let name = try #require(try directory.names.first)
    let writer = try Program(
      "OrdersDemo", ["--write", directory(name + "/shop.db"), "30"], input: .nullDevice,
      output: .nullDevice, directory: directory.path)
    #expect(try writer.waitForEnd() == 0)
    try terminal.wait(until: "the new totals are shown") { terminal in
      terminal.display.lines[1].hasSuffix("2348") && terminal.display.lines[10].hasSuffix("668")
    }
    try terminal.type("q")
    try expectEnd(program, terminal)
  }

  @Test func `a key starts and stops a writer`() throws {
    let terminal = try PseudoTerminal(rows: 20, columns: 100)
    let program = try start(terminal)
    try terminal.type("w")
    try terminal.wait(until: "a total has changed") { terminal in
      terminal.display.text.contains("w stop") && !terminal.display.lines[1].hasSuffix("1600")
        || terminal.display.text.contains(" ~")
    }
    try terminal.type("w")
    try terminal.wait(until: "the writer has stopped") { $0.display.text.contains("w start") }
    try terminal.type("wq")
    try expectEnd(program, terminal)
  }

  @Test func `every new size is filled`() throws {
    let terminal = try PseudoTerminal(rows: 20, columns: 100)
    let program = try start(terminal)
    for (rows, columns) in [(40, 132), (10, 40), (3, 20), (1, 1), (20, 100)] {
      try terminal.resize(rows: rows, columns: columns)
      try terminal.wait(until: "the keys are in the last line at \(rows) x \(columns)") {
        $0.display.lines.count == rows && $0.display.lines.last?.hasPrefix("↑") == true
      }
    }
    terminal.forgive()
    try terminal.type("q")
    try expectEnd(program, terminal)
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `a signal ends the demo and restores the terminal`(signal: Int32) throws {
    let terminal = try PseudoTerminal(rows: 20, columns: 100)
    let program = try start(terminal)
    program.send(signal)
    try expectEnd(program, terminal)
  }
}
