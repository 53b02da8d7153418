import PostgresSources
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import livelist

/// The command `triggers`, which installs the change triggers of tables.
@Suite(.tags(.system)) struct TriggersTests {
  private static let server = "postgres:host=/nonexistent"

  @Test(arguments: [
    ([], "triggers needs an action, but there is none; use livelist triggers [OPTION …] "),
    (["instal", server, "item"], "unknown action \"instal\" (did you mean install?); use "),
    (["remove"], "unknown action \"remove\"; use livelist triggers [OPTION …] install|"),
    ([server, "install", "item"], "the action is missing; use livelist triggers [OPTION …]"),
    (
      ["install"],
      "triggers install needs a server; use livelist triggers install [OPTION …] "
        + "postgres:CONNINFO TABLE …"
    ),
    (["status"], "needs a server; use livelist triggers status postgres:CONNINFO [TABLE"),
    (["install", server], "triggers install needs at least one table; use livelist triggers"),
    (["sql", server], "triggers sql needs at least one table"),
    (["status", "shop.db#item"], "\"shop.db#item\" is no PostgreSQL server; use livelist"),
    (["status", "\(server)?SELECT 1"], "contains a query; omit \"?\" and the query"),
    (["install", server, server], "write the connection string once, as one argument"),
    (
      ["status", "--reader", "app", server],
      "triggers status does not take --reader, which is for install and sql; use"
    ),
    (["uninstall", "--wake-readers", server], "does not take --wake-readers"),
    (["sql", "--attempts", "3", server, "item"], "which is for install and uninstall; use"),
    (["install", "--reader"], "--reader has no value; use --reader ROLE"),
    (["install", "--readers", "app"], "(did you mean --reader?)"),
    (
      ["install", "--attempts", "0", server, "item"],
      "--attempts cannot be \"0\"; use a number from 1 to 1000000, such as --attempts 20"
    ),
    (
      ["install", "--lock-timeout=1s", server, "item"],
      "--lock-timeout cannot be \"1s\"; use a number from 1 to 3600000, such as --lock-timeout 100"
    ),
    (["install", "--wake-readers=yes", server, "item"], "--wake-readers takes no value"),
  ])
  func `an invalid command line ends with status 2 and one line`(
    arguments: [String], hint: String
  ) throws {
    let result = try Livelist.parse(["triggers"] + arguments)
    #expect(result.status == 2)
    #expect(result.output.isEmpty)
    #expect(result.errors.contains(hint), "\(result.errors)")
    #expect(result.errors.hasPrefix("livelist: ") && result.errors.hasSuffix("\n"))
    #expect(result.errors.split(separator: "\n").count == 1)
  }

  @Test(arguments: [
    ["postgres:host=h password=secret-word"], ["install", "host=h password=secret-word", "item"],
    ["install", "postgres:host=h", "password=secret-word", "item"],
    ["install", "postgres:host=h password=secret-word"],
    ["status", "postgres:host=h password=secret-word?SELECT 1"],
    ["status", "postgres://app:secret-word@h/shop?SELECT 1"],
    ["status", "mysql://app:secret-word@h/shop"], ["status", "host=h password=secret-word"],
    ["host=h password=secret-word", "item"], ["status", "//app:secret-word@h/shop"],
    ["//app:secret-word@h/shop", "item"],
    ["install", "postgres:host=h", "//app:secret-word@h/shop?sslmode=require"],
    ["status", "--reader=a", "postgres:host=h password=secret-word"],
    ["status", "postgres:host=/nonexistent password=secret-word"],
  ])
  func `no message contains a password`(arguments: [String]) throws {
    let result = try Livelist.run(["triggers"] + arguments)
    #expect(result.status != 0)
    #expect(result.output.isEmpty)
    #expect(!result.errors.contains("secret-word"), "\(result.errors)")
    #expect(result.errors.split(separator: "\n").count == 1)
  }

  @Test(arguments: [
    ("postgres:host=h dbname=d", "host=h dbname=d"), ("postgresql:host=h", "host=h"),
    ("postgres:", ""), ("postgres://app@h/d?sslmode=require", "postgres://app@h/d?sslmode=require"),
    ("postgres:host=h options='-c a=?'", "host=h options='-c a=?'"),
  ])
  func `the connection string follows the scheme, and a URI includes it`(
    argument: String, connectionString: String
  ) throws {
    let words = ["status", argument].map { ByteString($0) }
    let triggers = try Triggers(Arguments(words[...], of: .triggers))
    #expect(triggers.connectionString == connectionString)
    #expect(triggers.action == .status && triggers.tables.isEmpty)
  }

  @Test func `the options reach the installation`() throws {
    let words = [
      "install", "--wake-readers", "--reader", "a", "--reader=B", "--lock-timeout", "7",
      "--attempts", "3", "postgres:", "item", "\"a=b\"",
    ].map { ByteString($0) }
    let triggers = try Triggers(Arguments(words[...], of: .triggers))
    #expect(triggers.options.wakesReaders)
    #expect(triggers.options.readers == ["a", "B"])
    #expect(triggers.options.lockTimeout == .milliseconds(7))
    #expect(triggers.options.lockAttempts == 3)
    #expect(triggers.tables == ["item", "\"a=b\""])
    let plain = ["install", "postgres:", "item"].map { ByteString($0) }
    let defaults = try Triggers(Arguments(plain[...], of: .triggers)).options
    #expect(!defaults.wakesReaders)
    #expect(defaults.readers.isEmpty)
    #expect(defaults.lockTimeout == .milliseconds(100) && defaults.lockAttempts == 20)
  }

  @Test func `a server that is not there is an error with status 1`() throws {
    let result = try Livelist.run("triggers", "status", Self.server)
    #expect(result.status == 1)
    #expect(
      result.errors.contains("/nonexistent") || result.errors.contains("libpq"), "\(result.errors)")
    #expect(result.errors.split(separator: "\n").count == 1)
  }

  @Suite(
    .tags(.system),
    .enabled(if: PostgresServer.isAvailable, Comment(rawValue: PostgresServer.advice)),
    .timeLimit(.minutes(10)))
  struct WithServer {
    private let server: PostgresServer
    private let database: String

    init() throws {
      server = try .shared()
      database = try server.makeDatabase()
      try server.psql(
        """
        CREATE TABLE item (id integer PRIMARY KEY, title text);
        CREATE TABLE note (title text);
        CREATE VIEW titles AS SELECT title FROM item
        """, database: database)
    }

    private var source: String { "postgres:\(server.connectionString(database: database))" }

    private func triggers(_ arguments: [String]) throws -> Livelist.Result {
      try Livelist.run(["triggers"] + arguments)
    }

    /// Runs an action that succeeds, and returns its output.
    private func output(_ action: String, _ arguments: String...) throws -> String {
      let result = try triggers([action, source] + arguments)
      #expect(result.status == 0, "\(result)")
      #expect(result.errors.isEmpty, "\(result)")
      return result.output
    }

    @Test func `triggers are installed, shown, and removed`() throws {
      let keys = "The keys of changed rows are recorded (id)."
      let noKeys =
        "Writes are recorded without keys, because no primary key has a supported type."
      #expect(try output("status", "item") == "item: none. After install: \(keys)\n")
      #expect(
        try output("install", "item", "note")
          == "item: installed. \(keys)\nnote: installed. \(noKeys)\n")
      #expect(try output("install", "item") == "item: unchanged. \(keys)\n")
      #expect(try output("status") == "item: installed. \(keys)\nnote: installed. \(noKeys)\n")
      try server.psql("INSERT INTO item VALUES (1, 'a'), (2, 'b')", database: database)
      #expect(
        try server.psql("SELECT keys FROM swappable.record", database: database) == "{{1},{2}}")
      #expect(
        try output("uninstall", "item") == "item: removed. Writes are no longer recorded.\n")
      #expect(try output("status") == "note: installed. \(noKeys)\n")
      #expect(try output("uninstall") == "note: removed. Writes are no longer recorded.\n")
      #expect(
        try server.psql("SELECT to_regnamespace('swappable') IS NULL", database: database) == "t")
    }

    @Test func `a status and a removal without triggers say so on standard error`() throws {
      for (arguments, message) in [
        (["status", source], "no table of the database has change triggers"),
        (["uninstall", source], "no table of the database has change triggers"),
        (["uninstall", source, "item"], "none of the tables has change triggers"),
      ] {
        let result = try triggers(arguments)
        #expect(result.status == 0)
        #expect(result.output.isEmpty)
        #expect(result.errors == "livelist: \(message)\n")
      }
    }

    @Test func `triggers that do not fit the table must be installed again`() throws {
      _ = try output("install", "item")
      try server.psql("ALTER TABLE item RENAME id TO number", database: database)
      let keys = "The primary key has changed. The keys of changed rows are recorded (number).\n"
      #expect(try output("status", "item") == "item: must be installed again. " + keys)
      #expect(try output("install", "item") == "item: repaired. " + keys)
      #expect(try output("status", "item").hasPrefix("item: installed. "))
    }

    @Test func `psql can run the SQL, which is empty afterwards`() throws {
      let role = "reader_\(database)"
      try server.psql("CREATE ROLE \(role)")
      let arguments = ["sql", "--wake-readers", "--reader", role, source, "item"]
      let first = try triggers(arguments)
      #expect(first.status == 0 && first.errors.isEmpty, "\(first)")
      try server.psql(first.output, database: database)
      #expect(try output("status").hasPrefix("item: installed. "))
      #expect(
        try server.psql(
          "SELECT has_table_privilege('\(role)', 'swappable.record', 'SELECT')", database: database)
          == "t")
      let second = try triggers(arguments)
      #expect(second.status == 0)
      #expect(second.output.isEmpty)
      #expect(
        second.errors
          == "livelist: there is no SQL to run, because the triggers of the tables are installed\n")
      // Without the option, commits no longer notify.
      #expect(try output("install", "item").contains("Commits no longer wake readers."))
    }

    @Test func `an error of the server is one line with status 1`() throws {
      for (table, message) in [
        ("none", "there is no table none; check the name"),
        ("titles", "titles is not a table; install change triggers on the tables"),
      ] {
        let result = try triggers(["install", source, table])
        #expect(result.status == 1)
        #expect(result.output.isEmpty)
        #expect(result.errors.contains(message), "\(result.errors)")
        #expect(result.errors.split(separator: "\n").count == 1)
      }
    }

    @Test func `a table that is locked is named with the session, after the last attempt`()
      async throws
    {
      let connection = try PostgresConnection(
        server.connectionString(database: database) + " application_name=importer")
      try await connection.transaction {
        try await connection.execute("LOCK TABLE note IN ROW EXCLUSIVE MODE")
        let result = try triggers([
          "install", "--attempts", "2", "--lock-timeout", "1", source, "item", "note",
        ])
        #expect(result.status == 1)
        #expect(result.output.isEmpty)
        for text in [
          "note could not be locked in 2 attempts", "(importer)", "done: item",
          "--attempts and --lock-timeout set",
        ] {
          #expect(result.errors.contains(text), "\(result.errors)")
        }
        #expect(result.errors.split(separator: "\n").count == 1)
        #expect(try output("status").hasPrefix("item: installed. "))
      }
      #expect(try output("install", "note").hasPrefix("note: installed. "))
    }
  }
}
