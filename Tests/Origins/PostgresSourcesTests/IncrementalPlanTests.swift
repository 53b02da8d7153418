import PostgresSources
import TestSupport
import TestTags
import Testing

@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct IncrementalPlanTests {
  @Test func `queries are kept in step in the expected way`() async throws {
    let database = try await TestDatabase(
      """
      CREATE TABLE a (id integer PRIMARY KEY, name text COLLATE "C", n numeric, at timestamptz);
      CREATE TABLE b (a_id integer, k text, v float8, PRIMARY KEY (a_id, k));
      CREATE TABLE bare (id integer);
      CREATE VIEW both_tables AS SELECT a.id, b.k FROM a JOIN b ON b.a_id = a.id;
      CREATE FUNCTION opaque() RETURNS bigint LANGUAGE plpgsql STABLE
        AS 'BEGIN RETURN (SELECT count(*) FROM bare); END';
      CREATE TABLE secret (id integer PRIMARY KEY);
      ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
      CREATE TABLE part (id integer PRIMARY KEY, v text) PARTITION BY RANGE (id);
      CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (0) TO (100);
      CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (100) TO (200)
      """)
    try await database.connection.installChangeTriggers(on: ["a", "b", "secret", "part"])
    let pool = try database.makePool()
    func explain(
      _ sql: String, _ arguments: PostgresArguments = []
    ) async throws -> PostgresQueryExplanation {
      let source = try PostgresDataSource(pool: pool, sql: sql, arguments: arguments) { row in
        Item(id: row.count, title: "")
      }
      return try await source.explainQuery()
    }
    for (sql, relations) in [
      ("SELECT * FROM a", ["a"]),
      ("SELECT id, n, upper(name) AS u FROM a WHERE n > 3 ORDER BY n DESC NULLS LAST", ["a"]),
      ("SELECT id, at FROM a ORDER BY at", ["a"]),
      ("SELECT k, a_id, v FROM b ORDER BY v", ["b"]),
      ("SELECT id FROM a WHERE name IN ('x', 'y') OR n BETWEEN 1 AND 2 OR name IS NULL", ["a"]),
      ("SELECT id, CASE WHEN n > 1 THEN 'x' ELSE coalesce(name, '') END AS c FROM a", ["a"]),
      ("SELECT id, v FROM part ORDER BY id", ["part", "part_1", "part_2"]),
      ("SELECT a_id, k FROM b ORDER BY k COLLATE \"C\" DESC", ["b"]),
      ("SELECT id, 'it''s $1' AS s FROM a -- a comment", ["a"]),
    ] {
      let found = try await explain(sql)
      #expect(found.mode == .keyed && found.detection == .records, "\(sql): \(found)")
      #expect(found.relations == relations, "\(sql)")
    }
    #expect(
      try await explain("SELECT id FROM a WHERE n > $1 AND name = $2", [1, "x"]).mode == .keyed)
    for (sql, reason) in [
      ("SELECT name FROM a", "The result does not contain the primary key (id)."),
      ("SELECT count(*) FROM a", "The query has an aggregate."),
      ("SELECT id FROM a LIMIT 3", "The query has LIMIT."),
      ("SELECT DISTINCT id FROM a", "The query has DISTINCT."),
      ("SELECT id FROM a UNION SELECT a_id FROM b", "The query has UNION."),
      ("SELECT a.id FROM a JOIN b ON b.a_id = a.id", "The query does not read exactly one table."),
      ("SELECT id FROM a WHERE id IN (SELECT a_id FROM b)", "The query has a subquery."),
      ("SELECT id, rank() OVER (ORDER BY id) FROM a", "The query has a window function."),
      ("WITH x AS (SELECT id FROM a) SELECT id FROM x", "The query has WITH."),
      (
        "SELECT id FROM a ORDER BY name || 'x'",
        "A value that orders the rows is not in the result."
      ),
      (
        "SELECT id, at < now() AS late FROM a",
        "may return another value although nothing was written."
      ),
      ("SELECT id, at + interval '1 day' FROM a", "may return another value"),
      ("SELECT id FROM a WHERE at < CURRENT_TIMESTAMP", "may return another value"),
      ("SELECT id, name FROM a ORDER BY name COLLATE \"en-x-icu\"", "depends on a collation"),
      ("SELECT id, k FROM both_tables", "The query reads a view."),
      ("SELECT 1 AS n", "The query reads no table, so no change of a table affects it."),
    ] {
      let found = try await explain(sql)
      #expect(found.mode == .refetch && found.detection == .records, "\(sql): \(found)")
      #expect(found.reason.contains(reason), "\(sql): \(found.reason)")
    }
    for (sql, reason) in [
      ("SELECT id FROM bare", "bare has no change triggers."),
      ("SELECT opaque() AS n, id FROM a", "The function opaque may read any table."),
      ("SELECT id FROM secret", "row security"),
      ("SELECT oid FROM pg_class", "catalog"),
    ] {
      let found = try await explain(sql)
      #expect(found.detection == .polling, "\(sql): \(found)")
      #expect(found.reason.contains(reason), "\(sql): \(found.reason)")
    }
    // Nothing of the analysis remains.
    let left = try await database.connection.query(
      "SELECT relname::text AS name FROM pg_class WHERE relname LIKE 'swappable_q%'"
    ) { try $0.value("name", as: String.self) }
    #expect(left.isEmpty)
  }
}
