import DataSourceTesting
import Diffing
import ObservableCollections
import PostgresSources
import TestSupport
import TestTags
import Testing

/// A row of any query, by its key.
struct AnyRow: Differentiable, Equatable, Sendable {
  var key: String
  var texts: [String?]
  var differenceIdentifier: String { key }

  init(_ row: PostgresRow, keyCount: Int) {
    texts = (0..<row.count).map { row.text(at: $0) }
    key = texts.prefix(keyCount).map { $0 ?? "NULL" }.joined(separator: "|")
  }
}

@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(TestRun.isLong ? 120 : 10)))
struct KeyedRandomTests {
  private static let schema = """
    CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
    CREATE TABLE parent (id integer PRIMARY KEY);
    INSERT INTO parent SELECT generate_series(1, 8);
    CREATE TABLE item (
      a integer REFERENCES parent ON DELETE CASCADE ON UPDATE CASCADE,
      k text COLLATE "C", n numeric, f float8, t timestamptz, d date, s text COLLATE "C",
      m mood, big text, PRIMARY KEY (a, k)
    );
    CREATE TABLE part (id bigint PRIMARY KEY, s text COLLATE "C") PARTITION BY RANGE (id);
    CREATE TABLE part_1 PARTITION OF part FOR VALUES FROM (MINVALUE) TO (50);
    CREATE TABLE part_2 PARTITION OF part FOR VALUES FROM (50) TO (MAXVALUE)
    """

  /// Queries with a total order, the number of key columns at their start, and whether they must be keyed.
  private static let queries: [(sql: String, keyCount: Int)] = [
    ("SELECT a, k, s FROM item ORDER BY s DESC, k, a DESC", 2),
    ("SELECT a, k, n FROM item ORDER BY n DESC NULLS LAST, a, k", 2),
    ("SELECT a, k, f, n FROM item WHERE f > 0 OR n IS NULL ORDER BY f, a DESC, k DESC", 2),
    ("SELECT a, k, t, d FROM item ORDER BY t NULLS FIRST, d DESC, a, k", 2),
    ("SELECT a, k, m, big FROM item WHERE m <> 'sad' ORDER BY a, k", 2),
    ("SELECT id, s FROM part ORDER BY s, id", 1),
    ("SELECT id, s FROM part WHERE s > 'm' ORDER BY id DESC", 1),
  ]

  private func randomWrite(_ random: inout SeededGenerator) -> String {
    func value(_ choices: [String]) -> String { choices[random.below(choices.count)] }
    let key = "\(1 + random.below(8)), 'k\(random.below(12))'"
    let numeric = value([
      "NULL", "0", "-0.5", "1.50", "1.5", "123456789012345678901234567890.5",
      "-99999999999999999999",
      "'NaN'", "0.0001", "\(random.below(40) - 20)",
    ])
    let float = value(["NULL", "'NaN'", "'-Infinity'", "'Infinity'", "-0.0", "0", "1e300", "-2.5"])
    let time = value([
      "NULL", "'infinity'", "'-infinity'", "'2024-03-31 01:59:59.999999+01'", "'0044-03-15 BC'",
      "'10000-01-01'", "'2024-02-29 12:00'", "'1969-12-31 23:59:59.5Z'",
    ])
    let date = value([
      "NULL", "'infinity'", "'5874897-12-31'", "'4713-01-01 BC'", "'2024-02-29'", "'1970-01-01'",
    ])
    let text = value(["NULL", "''", "'a'", "'A'", "'ä'", "'a b'", "'z\"'", "E'\\n'", "'{}'", "'🙂'"])
    let mood = value(["'sad'", "'ok'", "'happy'", "NULL"])
    let id = random.below(100)
    switch random.below(16) {
    case 0...4:
      return """
        INSERT INTO item VALUES (\(key), \(numeric), \(float), \(time), \(date), \(text), \(mood), \
        repeat('x', \(random.below(3) * 3000)))
        ON CONFLICT (a, k) DO UPDATE SET (n, f, t, d, s, m) =
        (excluded.n, excluded.f, excluded.t, excluded.d, excluded.s, excluded.m)
        """
    case 5: return "DELETE FROM item WHERE (a, k) = (\(key))"
    case 6: return "UPDATE item SET s = \(text) WHERE k = 'k\(random.below(12))'"
    case 7: return "UPDATE item SET k = k || '+' WHERE (a, k) = (\(key))"
    case 8: return "UPDATE item SET n = \(numeric), f = \(float) WHERE (a, k) = (\(key))"
    case 9:
      let new = 1 + random.below(8)
      return "DELETE FROM parent WHERE id = \(new); INSERT INTO parent VALUES (\(new))"
    case 10: return random.oneIn(8) ? "TRUNCATE part" : "DELETE FROM part WHERE id = \(id)"
    case 11...13:
      return """
        INSERT INTO part VALUES (\(id), \(text)) ON CONFLICT (id) DO UPDATE SET s = excluded.s
        """
    case 14:
      return """
        UPDATE part SET id = \(random.below(100))
        WHERE id = \(id) AND NOT EXISTS (SELECT FROM part WHERE id BETWEEN 0 AND 99)
        """
    default:
      return """
        INSERT INTO part SELECT n, 'bulk' || n FROM generate_series(\(id), \(id + random.below(200))) n
        ON CONFLICT DO NOTHING
        """
    }
  }

  /// A transaction with savepoints, which is sometimes rolled back.
  private func randomTransaction(_ random: inout SeededGenerator) -> String {
    var parts = ["BEGIN"]
    for _ in 0...random.below(3) {
      let write = randomWrite(&random)
      switch random.below(6) {
      case 0: parts += ["SAVEPOINT s", write, "ROLLBACK TO s"]
      case 1: parts += ["SAVEPOINT s", write, "RELEASE s"]
      default: parts.append(write)
      }
    }
    parts.append(random.oneIn(6) ? "ROLLBACK" : "COMMIT")
    return parts.joined(separator: "; ")
  }

  @Test(.reaches(.changes)) func `results that follow recorded keys equal fresh queries`()
    async throws
  {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let database = try await TestDatabase(Self.schema)
    try await database.connection.installChangeTriggers(on: ["item", "part", "parent"])
    let pool = try database.makePool(polling: .seconds(3600))
    var sources: [(PostgresDataSource<AnyRow>, SourceRecorder<AnyRow>)] = []
    for (sql, keyCount) in Self.queries {
      let source = try PostgresDataSource(pool: pool, sql: sql) { AnyRow($0, keyCount: keyCount) }
      sources.append((source, SourceRecorder(source)))
      let explanation = try await source.explainQuery()
      #expect(explanation.mode == .keyed, "\(explanation)")
    }
    let writers = try [
      database.connection, PostgresConnection(database.connectionString),
    ]
    for step in 0..<(TestRun.isLong ? 20_000 : 250) {
      let transactions = writers.map { _ in randomTransaction(&random) }
      if random.oneIn(4) {
        async let first: Void = write(transactions[0], with: writers[0])
        async let second: Void = write(transactions[1], with: writers[1])
        _ = await (first, second)
      } else {
        await write(transactions[0], with: writers[0])
      }
      if !random.oneIn(3) { continue }
      for ((sql, keyCount), (source, recorder)) in zip(Self.queries, sources) {
        let truth = try await writers[0].query(sql) { AnyRow($0, keyCount: keyCount) }
        guard try await isReached(truth, recorder) else {
          Issue.record(
            """
            seed \(seed), step \(step), \(sql), after \(transactions):
            \(Array(source.snapshot).map(\.texts))
            is not \(truth.map(\.texts)); \(source.status)
            """)
          return
        }
        #expect(recorder.record.violations.isEmpty)
      }
    }
    for (_, recorder) in sources { Coverage.note(recorder.operations) }
    let counts = sources.map(\.0.readCounts)
    print("reads: \(counts)")
    #expect(counts.allSatisfy { $0.keyed > $0.all })
  }

  /// Writes, and ends the transaction if a statement has failed.
  ///
  /// A transaction that has failed in a savepoint holds its locks until then, and another writer may wait for them.
  private func write(_ transaction: String, with writer: PostgresConnection) async {
    try? await writer.executeScript(transaction)
    try? await writer.executeScript("ROLLBACK")
  }

  private func isReached(
    _ truth: [AnyRow], _ recorder: SourceRecorder<AnyRow>
  ) async throws -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask { (try? await recorder.wait { $0.contents == truth }) != nil }
      group.addTask {
        try? await Task.sleep(for: .seconds(30))
        return false
      }
      defer { group.cancelAll() }
      return await group.next() ?? false
    }
  }
}
