import Foundation
import TestSupport
import TestTags
import Testing

/// Sources of the form `postgres:CONNINFO?SQL`.
@Suite(.tags(.system)) struct PostgresSourceTests {
  @Test func `a source without a query is refused, without its password`() throws {
    for source in [
      "postgres:host=h password=secret-word", "postgres://user:secret-word@host/db?sslmode=require",
      "postgresql://user:secret-word@host/db",
    ] {
      let result = try Livelist.parse("watch", source)
      #expect(result.status == 2)
      #expect(result.errors.contains("has no query; use postgres:CONNINFO?SQL"))
      #expect(!result.errors.contains("secret-word"))
    }
  }

  @Test func `a server that is not there is named, or the package to install`() throws {
    let result = try Livelist.run(
      "watch", "postgres:host=/nonexistent password=secret-word?SELECT 1 AS a")
    #expect(result.status == 1)
    #expect(
      result.errors.contains("/nonexistent") || result.errors.contains("libpq"), "\(result.errors)")
    #expect(!result.errors.contains("secret-word"))
    #expect(result.errors.split(separator: "\n").count == 1)
    let wrong = try Livelist.run("watch", "postgres:host=/nonexistent?SELECT 1; SELECT 2")
    #expect(wrong.errors.contains("several statements"))
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
        INSERT INTO item VALUES (1, 'a'), (2, 'b "c"')
        """, database: database)
    }

    private func source(_ sql: String) -> String {
      "postgres:\(server.connectionString(database: database))?\(sql)"
    }

    @Test func `changes of the server are printed as events`() throws {
      let watching = try Livelist("watch", source("SELECT id, title FROM item ORDER BY id"))
      #expect(
        try watching.line().hasSuffix(
          #""elements":[{"id":1,"title":"a"},{"id":2,"title":"b \"c\""}]}"#))
      try server.psql("UPDATE item SET title = 'x' WHERE id = 1", database: database)
      let line = try watching.line()
      #expect(line.contains(#""updates":[{"from":0,"at":0,"#), "\(line)")
      watching.send("quit\n")
      #expect(try watching.waitForExit() == 0)
    }

    @Test func `values become JSON, and the first column is the key`() throws {
      let query = """
        SELECT 7 AS id, true AS b, 1.50::numeric AS n, 'NaN'::float8 AS f, '{"x": [1]}'::jsonb AS j,
        ARRAY['a', NULL] AS a, '\\x00ff'::bytea AS y, NULL::text AS z, E'\\t' AS t, '2024-01-02'::date AS d,
        0.1::real AS r
        """
      let place = try Workplace()
      let result = try Livelist.run("diff", try place.json("empty.json", "[]"), source(query))
      #expect(
        result.output.contains(
          #"{"id":7,"b":true,"n":1.50,"f":"NaN","j":{"x":[1]},"a":["a",null],"y":"AP8=","z":null,"t":"\t","d":"2024-01-02","r":0.1}"#
        ), "\(result)")
      let found = try Livelist.run(
        "view", "--format", "json", "--where", "r = 0.1", source("SELECT 1 AS id, 0.1::real AS r"))
      #expect(found.output == "[\n{\"id\":1,\"r\":0.1}\n]\n")
    }

    @Test func `a column that a query does not have is an error, also without rows`() throws {
      for end in ["", " WHERE id > 9;", " WHERE false -- none"] {
        let source = source("SELECT id, title FROM item\(end)")
        let result = try Livelist.run("view", "--sort", "titel", source)
        #expect(result.status == 1 && result.output == "")
        #expect(
          result.errors
            == "livelist: there is no column \"titel\" (did you mean title?); the columns are id, title; "
            + "if it may be missing, write titel?\n")
        #expect(try Livelist.run("diff", "--fields", "x", source, source).status == 2)
        #expect(try Livelist.run("diff", "-q", "--where", "x?=1", source, source).status == 0)
      }
    }

    @Test func `numbers are sorted exactly`() throws {
      let numbers = "(1, 12345678901234567890.12), (2, 12345678901234567890.11), (3, 1e20)"
      let result = try Livelist.run(
        "view", "--fields", "id", "--sort", "n desc",
        source("SELECT * FROM (VALUES \(numbers)) AS t (id, n)"))
      #expect(result.output.split(whereSeparator: \.isWhitespace) == ["id", "3", "1", "2"])
    }

    @Test func `a query is explained, and errors name their place`() throws {
      let explained = try Livelist.run("explain", source("SELECT id, title FROM item"))
      #expect(explained.output.contains("PostgresDataSource, 2 elements, loaded"), "\(explained)")
      #expect(explained.output.contains("item has no change triggers"), "\(explained)")
      let wrong = try Livelist.run("watch", source("SELECT nope FROM item"))
      #expect(wrong.status == 1)
      #expect(wrong.errors.contains("nope") && wrong.errors.contains("42703"), "\(wrong.errors)")
      let key = try Livelist.run("watch", "--key", "k", source("SELECT id FROM item"))
      #expect(key.errors.contains("the key column \"k\" is missing; the columns are id"))
    }
  }
}
