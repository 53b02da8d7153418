import Foundation
import TestSupport
import TestTags
import Testing

/// Tests of commands in the background of a terminal.
@Suite(.tags(.system), .timeLimit(.minutes(10))) struct BackgroundTests {
  private let place: Workplace
  private let terminal: PseudoTerminal

  init() throws {
    place = try Workplace()
    terminal = try PseudoTerminal(rows: 12, columns: 100)
  }

  /// Starts the program as a job in the background.
  private func start(_ arguments: [String]) throws -> Program {
    try Program(
      "TestHelper", ["job", "--background", Program.find("livelist")] + arguments,
      environment: ["NO_COLOR": nil], terminal: terminal)
  }

  @Test func `lines that are typed before the foreground are commands in the foreground`() throws {
    let program = try start(["watch", place.json("a.json", "[1]")])
    try terminal.wait(for: #""elements":[1]}"#)
    // The program does not read it in the background, and does not stop.
    try terminal.type("swap \(place.json("b.json", "[1,2]"))\n")
    try terminal.wait(for: "swap ")
    try place.json("a.json", "[3]")
    try terminal.wait(for: #""element":3}"#)
    program.send(SIGUSR1)
    try terminal.wait(for: #""element":2}"#)
    try terminal.type("quit\n")
    #expect(try program.waitForEnd() == 0)
  }

  #if os(Linux)
    @Test(arguments: ["view", "watch"], ["DELETE", "WAL"])
    func `a program that is stopped during a query holds no lock`(
      command: String, journal: String
    ) throws {
      try place.sql(
        "a.db", "PRAGMA journal_mode = \(journal)", "CREATE TABLE t (id INTEGER PRIMARY KEY)",
        "INSERT INTO t VALUES (1)")
      let endless =
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"
      let program = try Program(
        "TestHelper",
        [
          "job", Program.find("livelist"), command,
          place.sqlite("a.db", "SELECT id, (\(endless)) FROM t"),
        ],
        environment: ["NO_COLOR": nil], terminal: terminal)
      try terminal.wait(until: "the query runs") { _ in isRead("a.db", journal) }
      try terminal.type("\u{1A}")
      try terminal.wait(for: "stopped")
      #expect(!isRead("a.db", journal))
      try place.sql("a.db", "INSERT INTO t VALUES (2)", "PRAGMA wal_checkpoint(TRUNCATE)")
      try terminal.type("fg\n")
      try terminal.wait(until: "the query runs again") { _ in isRead("a.db", journal) }
      try terminal.type("\u{03}")
      _ = try program.waitForEnd()
    }

    /// Returns a Boolean value that indicates whether a transaction of another process reads a database.
    private func isRead(_ name: String, _ journal: String) -> Bool {
      let locks = (try? String(contentsOfFile: "/proc/locks", encoding: .utf8)) ?? ""
      var status = stat()
      // In WAL mode, a transaction locks a byte of the index. Byte 128 is locked while it is open.
      guard stat(place(journal == "WAL" ? name + "-shm" : name), &status) == 0 else { return false }
      return locks.split(separator: "\n").contains {
        $0.contains(":\(status.st_ino) ") && !$0.hasSuffix(" 128 128")
      }
    }
  #endif

  @Test func `a view in the background stops until it is in the foreground`() throws {
    let program = try start(["view", place.json("a.json", "[1,2,3]")])
    try terminal.wait(for: "stopped")
    #expect(!terminal.text.contains("\u{1B}"))
    try terminal.type("fg\n")
    try terminal.wait(until: "the list is drawn") { $0.display.lines[11].contains("1/3") }
    try terminal.type("\u{1A}")
    try terminal.wait(for: "stopped")
    try terminal.type("bg\n")
    try terminal.wait(for: "stopped")
    #expect(!terminal.display.isAlternate)
    try terminal.type("fg\n")
    try terminal.wait(until: "the list is drawn") { $0.display.lines[11].contains("1/3") }
    try terminal.type("q")
    #expect(try program.waitForEnd() == 0)
    #expect(try terminal.leftovers.isEmpty)
  }
}
