import Foundation
import TestSupport
import TestTags
import Testing

@testable import TerminalViews

@Suite(.tags(.system)) struct TerminalTests {
  private let terminal: PseudoTerminal
  private let modes: String

  init() throws {
    terminal = try PseudoTerminal(rows: 10, columns: 40)
    modes = try terminal.modes
  }

  private func start(
    _ arguments: [String] = ["screen"], environment: [String: String?] = ["NO_COLOR": nil]
  ) throws -> Program {
    let program = try Program("TestHelper", arguments, environment: environment, terminal: terminal)
    try terminal.wait(until: "the screen is drawn") { $0.display.lines[9] == "filling" }
    return program
  }

  /// Starts a program, and waits without reading until it has sent more frames than the terminal accepts.
  private func startFull() throws -> Program {
    let directory = try TemporaryDirectory()
    let pipe = directory("pipe")
    guard mkfifo(pipe, 0o600) == 0 else { throw POSIXError(.EIO) }
    var request = pollfd(fd: open(pipe, O_RDONLY | O_NONBLOCK), events: Int16(POLLIN), revents: 0)
    defer { close(request.fd) }
    let program = try start(["screen", pipe])
    try terminal.type("f")
    #expect(poll(&request, 1, 60_000) == 1, "the program waits for the terminal")
    return program
  }

  private func expectEnd(_ program: Program, status: Int32 = 0) throws {
    #expect(try program.waitForEnd() == status)
    #expect(try terminal.leftovers.isEmpty)
  }

  private func expectShown(_ line: String) throws {
    try terminal.wait(until: "\(line) is shown") { $0.display.lines[1] == line }
  }

  @Test func `a terminal takes the screen and restores it`() throws {
    let program = try start()
    #expect(terminal.display.isAlternate)
    #expect(!terminal.display.isCursorShown)
    #expect(!terminal.display.wrapsLines)
    #expect(terminal.display.bracketsPastes)
    #expect(try terminal.modes != modes)
    #expect(terminal.display.lines[0] == "10 rows of 40")
    #expect(terminal.display.cells[0][0].style.foreground == 1)
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `pressed keys are reported`() throws {
    let program = try start()
    for (keys, name) in [
      ("a", "character(\"a\")"), ("\u{1B}[A", "up"), ("\u{1B}", "escape"),
      ("\u{3}", "control(\"c\")"),
      ("\u{1B}[200~pasted\u{1B}[201~", "pasted(\"pasted\")"),
    ] {
      try terminal.type(keys)
      try expectShown("key \(name)")
    }
    try terminal.type("q")
    try expectEnd(program)
  }

  /// The signals whose default action ends a process, without those of faults.
  private static let endingSignals: [Int32] = {
    var signals = [
      SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGPROF, SIGVTALRM, SIGXCPU,
      SIGXFSZ,
    ]
    #if os(Linux)
      signals += [SIGIO, SIGPWR, SIGSTKFLT, 34, 50, 64]
    #endif
    return signals
  }()

  @Test(arguments: endingSignals)
  func `a signal ends the program and restores the terminal`(signal: Int32) throws {
    let program = try start()
    program.send(signal)
    try expectEnd(program)
  }

  @Test(arguments: [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGSYS])
  func `a signal of a fault restores the terminal and then ends the program`(signal: Int32) throws {
    let program = try start(environment: ["SWIFT_BACKTRACE": "enable=no"])
    program.send(signal)
    let error = #expect(throws: Program.Failure.self) { try program.waitForEnd() }
    #expect(error?.description == "it was ended by signal \(signal)")
    #expect(try terminal.leftovers.isEmpty)
  }

  @Test func `a trap restores the terminal`() throws {
    let program = try start(environment: ["SWIFT_BACKTRACE": "enable=no"])
    try terminal.type("t")
    #expect(throws: Program.Failure.self) { try program.waitForEnd() }
    #expect(try terminal.leftovers.isEmpty)
  }

  @Test(arguments: ["q", "signal"])
  func `a program ends although its terminal does not read`(end: String) throws {
    let program = try startFull()
    if end == "q" { try terminal.type("q") } else { program.send(SIGTERM) }
    #expect(try program.waitForEnd() == 0)
    #expect(try terminal.leftovers.isEmpty)
  }

  @Test func `a terminal that reads again shows the latest frame`() throws {
    let program = try startFull()
    try terminal.type("x")
    try expectShown("key character(\"x\")")
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `an error restores the terminal`() throws {
    // The program may leave the screen before the test reads it.
    let program = try Program("TestHelper", ["screen", "fail"], terminal: terminal)
    try terminal.wait(for: "filling")
    try expectEnd(program, status: 1)
  }

  @Test func `a closed screen shows nothing`() throws {
    let program = try Program("TestHelper", ["closed"], terminal: terminal)
    try expectEnd(program)
    #expect(terminal.text.contains("open"))
    #expect(!terminal.text.contains("late"))
  }

  @Test func `pseudoterminals of several threads have different names`() throws {
    let mismatches = Shared(0)
    DispatchQueue.concurrentPerform(iterations: 64) { _ in
      guard let terminal = try? PseudoTerminal(rows: 2, columns: 2) else { return }
      var (named, open) = (stat(), stat())
      stat(terminal.path, &named)
      fstat(terminal.program.fileDescriptor, &open)
      if named.st_rdev != open.st_rdev { mismatches.modify { $0 += 1 } }
    }
    #expect(mismatches.value == 0)
  }

  @Test func `a new size is reported`() throws {
    let program = try start()
    for (rows, columns) in [(20, 60), (5, 30), (10, 40)] {
      try terminal.resize(rows: rows, columns: columns)
      try terminal.wait(until: "the size is shown") {
        $0.display.lines[0] == "\(rows) rows of \(columns)"
          && $0.display.lines[1] == "resized"
      }
    }
    terminal.forgive()
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `the controlling terminal is used if input and output are not terminals`() throws {
    let null = try #require(FileHandle(forUpdatingAtPath: "/dev/null"))
    let program = try Program(
      "TestHelper", ["screen"], terminal: terminal, input: null, output: null)
    try terminal.wait(until: "the screen is drawn") { $0.display.lines[9] == "filling" }
    try terminal.type("x")
    try expectShown("key character(\"x\")")
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `a process without a terminal ends with an error`() throws {
    let null = try #require(FileHandle(forUpdatingAtPath: "/dev/null"))
    let program = try Program("TestHelper", ["screen"], input: null, output: null)
    #expect(try program.waitForEnd() == 1)
  }

  @Test func `no colors are sent if NO_COLOR is set`() throws {
    let program = try start(environment: ["NO_COLOR": "1"])
    #expect(terminal.display.cells[0][0].style.foreground == nil)
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `a stopped program restores the screen and takes it again when it continues`() throws {
    let program = try start(["job", "screen"])
    for _ in 0..<3 {
      try terminal.type("\u{1A}")
      try terminal.wait(for: "stopped")
      #expect(!terminal.display.isAlternate)
      #expect(terminal.display.isCursorShown)
      #expect(try terminal.modes == modes)
      try terminal.type("\n")
      try expectShown("resized")
      #expect(terminal.display.isAlternate)
      #expect(terminal.display.lines[9] == "filling")
      try terminal.type("a")
      try expectShown("key character(\"a\")")
    }
    try terminal.type("q")
    try expectEnd(program)
  }

  // MARK: In the background

  @Test func `a program that starts in the background stops until it is in the foreground`() throws
  {
    let program = try Program("TestHelper", ["job", "--background", "screen"], terminal: terminal)
    for _ in 0..<2 {
      try terminal.wait(for: "stopped")
      #expect(!terminal.text.contains("\u{1B}"))
      #expect(try terminal.modes == modes)
      try terminal.type("bg\n")
    }
    try terminal.wait(for: "stopped")
    try terminal.type("fg\n")
    try terminal.wait(until: "the screen is drawn") { $0.display.lines[9] == "filling" }
    try terminal.type("a")
    try expectShown("key character(\"a\")")
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `a stopped program that continues in the background stops again`() throws {
    let program = try Program("TestHelper", ["job", "--background", "screen"], terminal: terminal)
    try terminal.wait(for: "stopped")
    try terminal.type("fg\n")
    try terminal.wait(until: "the screen is drawn") { $0.display.lines[9] == "filling" }
    try terminal.type("\u{1A}")
    for _ in 0..<2 {
      try terminal.wait(for: "stopped")
      #expect(!terminal.display.isAlternate && terminal.display.isCursorShown)
      #expect(try terminal.modes == modes)
      try terminal.type("bg\n")
    }
    try terminal.wait(for: "stopped")
    // The keys in the background were not for the program.
    try terminal.type("fg\n")
    try expectShown("resized")
    #expect(terminal.display.isAlternate)
    try terminal.type("q")
    try expectEnd(program)
  }

  @Test func `the capabilities follow the environment`() {
    func capabilities(_ isTerminal: Bool, _ environment: [String: String]) -> TerminalCapabilities {
      TerminalCapabilities(isTerminal: isTerminal) { environment[$0] }
    }
    #expect(capabilities(true, ["TERM": "xterm"]) == .colors)
    #expect(capabilities(true, ["TERM": "xterm", "NO_COLOR": ""]) == .colors)
    #expect(capabilities(true, ["TERM": "xterm", "NO_COLOR": "1"]) == .colorless)
    #expect(capabilities(true, ["TERM": "dumb"]) == .none)
    #expect(capabilities(true, [:]) == .none)
    #expect(capabilities(false, ["TERM": "xterm"]) == .none)
  }

  @Test func `an error describes the operation, the reason and the advice`() {
    let error = TerminalError(
      "open /dev/tty to read keys", code: ENXIO, advice: "run it in a terminal")
    #expect(
      "\(error)"
        == "cannot open /dev/tty to read keys: No such device or address; run it in a terminal")
    #expect(!error.isReaderGone)
    #expect(TerminalError("write", code: EIO).isReaderGone)
  }
}
