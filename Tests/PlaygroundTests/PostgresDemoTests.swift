import Foundation
import TestSupport
import TestTags
import Testing

/// Tests of the demo and the page of the tour that need a PostgreSQL server.
@Suite(
  .tags(.system),
  .enabled(if: PostgresServer.isAvailable, Comment(rawValue: PostgresServer.advice)),
  .timeLimit(.minutes(10)))
struct PostgresDemoTests {
  private func run(_ name: String, _ arguments: [String] = []) throws -> (
    text: String, status: Int32
  ) {
    let directory = try TemporaryDirectory()
    let output = Pipe()
    let program = try Program(
      name, arguments, input: .nullDevice, output: output.fileHandleForWriting,
      directory: directory.path)
    try output.fileHandleForWriting.close()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    return (String(decoding: text, as: UTF8.self), try program.waitForEnd())
  }

  @Test func `the page prints the expected text`() throws {
    let server = try PostgresServer.shared()
    let address = server.connectionString(database: try server.makeDatabase())
    let (text, status) = try run("Postgres", [address])
    #expect(
      text == """
        loaded: [Emma, Persuasion, Walden]
        a new title: 1 updated, 1 moved -> [Persuasion, Walden, Zadig]
        a transaction: 2 inserted, 1 deleted -> [Candide, Middlemarch, Persuasion, Zadig]
        shown: [Candide, Middlemarch, Persuasion, Zadig]

        """)
    #expect(status == 0)
  }

  @Test func `the page says what is wrong with a server that cannot be reached`() throws {
    let (text, status) = try run("Postgres", ["host=/nowhere dbname=x"])
    #expect(text.contains("/nowhere"))
    #expect(status == 1)
  }

  @Test func `the demo tells a fixed story`() throws {
    let (text, status) = try run("PostgresDemo")
    let step = { (line: String) in
      ["Ada", "Bob", "Cem"].map { "  \($0): \(line)\n" }.joined()
    }
    #expect(
      text == """
        A private PostgreSQL server starts in a temporary directory.

        Three processes observe the open tasks.
        \(step("3 inserted -> Write, Test, Ship"))
        Another process adds two tasks and finishes one, in one transaction.
        \(step("2 inserted, 1 deleted -> Test, Ship, Plan, Rest"))
        A transaction is rolled back, and a task changes its title.
        \(step("1 updated -> Test, Ship it, Plan, Rest"))
        The server stops.
        \(step("no connection, still shows Test, Ship it, Plan, Rest"))
        The server starts again.
        \(step("connected again, shows Test, Ship it, Plan, Rest"))
        A process writes again.
        \(step("1 deleted, 1 updated -> Ship it, Plan, Celebrate"))
        """)
    #expect(status == 0)
  }

  @Test func `an unknown argument of the demo is rejected`() throws {
    #expect(try run("PostgresDemo", ["--cours"]).status == 2)
  }
}
