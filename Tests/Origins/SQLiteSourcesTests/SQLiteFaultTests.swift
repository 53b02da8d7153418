import DataSourceTesting
import SQLiteSources
import Testing

/// Commits of a special kind, and the event of each. They are tested in both journal modes and with all writers.
struct SQLiteFault: Sendable, CustomTestStringConvertible {
  /// What one write brings.
  enum Outcome: Sendable, ExpressibleByStringLiteral {
    /// One event, with its offsets and elements.
    case changes(String)
    /// No event.
    case nothing
    /// No event, because the transaction of the write is still open.
    case pending
    /// No event, because SQLite refuses the write. The transaction may still be open.
    case refused(isOpen: Bool = false)
    /// Any number of events, with the result of a fresh query.
    case anything

    init(stringLiteral changes: String) { self = .changes(changes) }
  }

  let name: String
  let observe: @Sendable (ObservedQuery.Setting) async throws -> ObservedQuery
  let steps: [(sql: String, outcome: Outcome)]

  var testDescription: String { name }

  init(
    _ name: String, _ sql: String = "SELECT id, name FROM item ORDER BY name, id",
    arguments: SQLiteArguments = [], setup: String = ObservedQuery.items,
    sentinel: String = ObservedQuery.sentinel, silent: [String] = [],
    steps: KeyValuePairs<String, Outcome> = [:]
  ) {
    self.name = name
    observe = {
      try await ObservedQuery($0, sql, arguments: arguments, setup: setup, sentinel: sentinel)
    }
    self.steps = silent.map { ($0, .nothing) } + steps.map { ($0, $1) }
  }

  /// Performs a step, and checks its outcome.
  func perform(_ sql: String, _ outcome: Outcome, on live: ObservedQuery) async throws {
    let count = live.observer.eventCount
    switch outcome {
    case .changes(let changes): return try await live.expect(sql, changes: changes)
    case .nothing: return try await live.expectSilence(sql)
    case .refused(isOpen: false): return try await live.expectSilence(sql, fails: true)
    case .refused(isOpen: true):
      #expect(throws: (any Error).self, "\(sql)") { try live.write(sql) }
    case .pending, .anything: try live.write(sql)
    }
    await live.source.refresh()
    if case .anything = outcome { return try live.check() }
    #expect(live.observer.eventCount == count, "\(sql)")
  }

  private static let plain = """
    CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT);
    INSERT INTO item VALUES (1, 'a'), (2, 'b')
    """

  static let all: [SQLiteFault] = [
    SQLiteFault(
      "a REPLACE reports the rows that it replaced",
      steps: [
        "REPLACE INTO item VALUES (9, 'b', 1)": "-1 2.b, +1 9.b",
        "REPLACE INTO item VALUES (1, 'x', 1)": "0>3 1.x, ~0>3 1.a→1.x",
        // One row replaces two rows: the row with its rowid and the row with its name.
        "INSERT OR REPLACE INTO item VALUES (1, 'b', 2)": "-0 9.b, 3>0 1.b, ~3>0 1.x→1.b",
        "UPDATE OR REPLACE item SET name = 'c' WHERE id = 1": "-1 3.c, ~0>0 1.b→1.c",
        "UPDATE OR REPLACE item SET id = 4 WHERE id = 1": "-0 1.c, ~1>0 4.d→4.c",
      ]),
    SQLiteFault(
      "a row with a changed rowid is another row",
      steps: [
        "UPDATE item SET id = 20 WHERE id = 2": "-1 2.b, +1 20.b",
        "UPDATE item SET rowid = -rowid WHERE id < 4": "-0 1.a, -2 3.c, +0 -1.a, +2 -3.c",
        "INSERT INTO item VALUES (50, 'c1', 1), (51, 'c2', 1)": "+3 50.c1, +4 51.c2",
        """
        BEGIN; UPDATE item SET id = 0 WHERE id = 4; UPDATE item SET id = 4 WHERE id = 20;
        UPDATE item SET id = 20 WHERE id = 0; COMMIT
        """: "5>1 4.b, 1>5 20.d, ~5>1 4.d→4.b, ~1>5 20.b→20.d",
      ]),
    SQLiteFault(
      "deleting all rows reports each row",
      steps: [
        "DELETE FROM item": "-0 1.a, -1 2.b, -2 3.c, -3 4.d",
        "INSERT INTO item (name) VALUES ('z'), ('y')": "+0 2.y, +1 1.z",
        "BEGIN; DELETE FROM item; INSERT INTO item VALUES (2, 'y', 1); COMMIT": "-1 1.z",
        "BEGIN; DELETE FROM item; INSERT INTO item VALUES (2, 'y', 1); COMMIT": .nothing,
      ]),
    SQLiteFault(
      "a cascade reports the rows that it deleted",
      "SELECT id, name FROM item WHERE list < ? ORDER BY id", arguments: [9],
      steps: [
        "DELETE FROM list WHERE id = 1": "-0 1.a, -2 3.c",
        "UPDATE list SET id = 3 WHERE id = 2": .nothing,
        "UPDATE list SET id = 9 WHERE id = 3": "-0 2.b!, -1 4.d",
        "UPDATE list SET id = 8 WHERE id = 9": "+0 2.b!, +1 4.d",
        "REPLACE INTO list VALUES (8, 'new')": "-0 2.b!, -1 4.d",
      ]),
    SQLiteFault(
      "writes of a trigger are reported",
      setup: ObservedQuery.items
        + """
        CREATE TRIGGER titled AFTER UPDATE OF title ON list BEGIN
          UPDATE item SET name = new.title || id WHERE list = new.id;
          DELETE FROM item WHERE list <> new.id AND id < 3;
        END;
        CREATE TRIGGER moved AFTER DELETE ON item WHEN old.id < 100 BEGIN
          INSERT INTO item VALUES (old.id + 100, old.name || '-', NULL);
        END;
        CREATE VIEW titles AS SELECT title FROM list;
        CREATE TRIGGER titles INSTEAD OF INSERT ON titles BEGIN
          INSERT INTO item (name) VALUES (new.title);
        END;
        """,
      steps: [
        "UPDATE list SET title = 'x' WHERE id = 1":
          "-1 2.b, +0 102.b-, 3>1 4.d, ~0>2 1.a→1.x1, ~2>3 3.c→3.x3",
        "DELETE FROM item WHERE id = 4": "-1 4.d, +1 104.d-",
        "INSERT INTO titles VALUES ('y')": "+4 105.y",
      ]),
    SQLiteFault(
      "an UPSERT reports its writes",
      steps: [
        """
        INSERT INTO item VALUES (7, 'c', 1), (8, 'e', 1)
        ON CONFLICT (name) DO UPDATE SET name = excluded.name || excluded.id
        """: "+4 8.e, ~2>2 3.c→3.c7",
        "INSERT INTO item VALUES (1, 'q', 1) ON CONFLICT (id) DO UPDATE SET id = 11":
          "-0 1.a, +0 11.a",
        "INSERT OR IGNORE INTO item VALUES (2, '0', 1), (5, '1', 1)": "+0 5.1",
        "INSERT INTO item VALUES (5, '2', 1) ON CONFLICT DO NOTHING": .nothing,
        "INSERT INTO item VALUES (5, '2', 1) ON CONFLICT DO UPDATE SET list = 2": .nothing,
      ]),
    SQLiteFault(
      "a table without rowids reports the same", "SELECT word, number FROM bare ORDER BY word",
      setup: """
        CREATE TABLE bare (word TEXT PRIMARY KEY, number UNIQUE) WITHOUT ROWID;
        INSERT INTO bare VALUES ('a', 1), ('b', 2), ('c', 3);
        """, sentinel: "UPDATE bare SET number = number + 100 WHERE word = 'a'",
      steps: [
        "REPLACE INTO bare VALUES ('b', 3)": "-2 c.3, ~1>1 b.2→b.3",
        "UPDATE bare SET word = 'd' WHERE word = 'b'": "-1 b.3, +1 d.3",
        "INSERT OR IGNORE INTO bare VALUES ('a', 9)": .nothing,
        "DELETE FROM bare": "-0 a.101, -1 d.3",
        "INSERT INTO bare VALUES ('z', 1), ('a', 0)": "+0 a.0, +1 z.1",
      ]),
    SQLiteFault(
      "rows without a key are identified by rowid", "SELECT rowid, word FROM loose",
      setup: "CREATE TABLE loose (word); INSERT INTO loose VALUES ('a'), ('b'), ('c')",
      sentinel: "UPDATE loose SET word = word || '!' WHERE rowid = 1",
      steps: [
        "DELETE FROM loose WHERE word = 'b'": "-1 2.b",
        "INSERT INTO loose (rowid, word) VALUES (2, 'x')": "+1 2.x",
        "UPDATE loose SET rowid = 10 WHERE rowid = 1": "-0 1.a, +2 10.a",
        // VACUUM may change the rowids, which changes this result only.
        "VACUUM": .anything,
      ]),
    SQLiteFault(
      "generated columns follow their sources",
      "SELECT id, twice, text FROM sum WHERE twice > 2 ORDER BY twice DESC",
      setup: """
        CREATE TABLE sum (id INTEGER PRIMARY KEY, a INTEGER, b TEXT,
          twice INTEGER AS (a * 2) VIRTUAL, text TEXT AS (b || a) STORED);
        INSERT INTO sum (id, a, b) VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
        """, sentinel: "UPDATE sum SET a = a + 10 WHERE id = 3",
      steps: [
        "UPDATE sum SET a = 4 WHERE id = 1": "+0 1.8.x4",
        "UPDATE sum SET b = 'w' WHERE id = 3": "~1>1 3.6.z3→3.6.w3",
        "UPDATE sum SET a = 5 WHERE id = 2": "2>0 2.10.y5, ~2>0 2.4.y2→2.10.y5",
        "UPDATE sum SET a = NULL WHERE id = 1": "-1 1.8.x4",
        "UPDATE sum SET b = 'v' WHERE id = 1": .nothing,
      ]),
    SQLiteFault(
      "a transaction of many writes is one event",
      steps: [
        """
        BEGIN; INSERT INTO item VALUES (5, 'e', 1); UPDATE item SET name = '0' WHERE id = 3;
        DELETE FROM item WHERE id = 2; UPDATE item SET name = 'f' WHERE id = 5;
        INSERT INTO item VALUES (2, 'g', 2); DELETE FROM item WHERE id = 4; COMMIT
        """: "-3 4.d, +2 5.f, 2>0 3.0, ~2>0 3.c→3.0, ~1>3 2.b→2.g",
        "WITH gone AS (SELECT id FROM item WHERE id < 3) DELETE FROM item WHERE id IN gone":
          "-1 1.a, -3 2.g",
        "UPDATE item SET name = title FROM list WHERE list.id = item.list AND item.id = 5":
          "~1>1 5.f→5.one",
      ]),
    SQLiteFault(
      "a rollback is no event",
      silent: [
        "BEGIN; INSERT INTO item VALUES (5, 'e', 1); DELETE FROM item WHERE id = 2; ROLLBACK",
        "BEGIN; DELETE FROM item; ROLLBACK",
        "BEGIN; DROP TABLE item; ROLLBACK",
        "SAVEPOINT s; DELETE FROM item; ROLLBACK TO s; RELEASE s",
        "BEGIN; SAVEPOINT s; UPDATE item SET id = id + 9; ROLLBACK TO s; RELEASE s; COMMIT",
        "SAVEPOINT s; SAVEPOINT t; DELETE FROM list; RELEASE t; ROLLBACK TO s; RELEASE s",
      ]),
    SQLiteFault(
      "a write that SQLite refuses is no event",
      setup: ObservedQuery.items
        + """
        CREATE TABLE late (id INTEGER PRIMARY KEY,
          list INTEGER REFERENCES list DEFERRABLE INITIALLY DEFERRED);
        CREATE TRIGGER refusing BEFORE INSERT ON item WHEN new.id = 66 BEGIN
          UPDATE item SET list = NULL;
          SELECT RAISE(ROLLBACK, 'refused');
        END;
        """,
      steps: [
        "INSERT INTO item VALUES (5, 'e', 1), (6, 'b', 1)": .refused(),
        "UPDATE item SET name = 'same'": .refused(),
        "INSERT INTO item VALUES (5, 'e', 99)": .refused(),
        "INSERT OR ROLLBACK INTO item VALUES (7, 'c', 1)": .refused(),
        "BEGIN; DELETE FROM item WHERE id = 4; INSERT OR ROLLBACK INTO item VALUES (7, 'c', 1)":
          .refused(),
        "BEGIN; DELETE FROM item WHERE id = 4; INSERT INTO item VALUES (66, 'c', 1)": .refused(),
        // A refused commit leaves its transaction open.
        "BEGIN; DELETE FROM item WHERE id = 4; INSERT INTO late VALUES (1, 99); COMMIT": .refused(
          isOpen: true),
        "ROLLBACK": .nothing,
      ]),
    SQLiteFault(
      "the kept part of a transaction is an exact change",
      steps: [
        """
        BEGIN; INSERT INTO item VALUES (5, 'e', 1); SAVEPOINT s; DELETE FROM item; ROLLBACK TO s;
        UPDATE item SET name = 'bb' WHERE id = 2; RELEASE s; COMMIT
        """: "+4 5.e, ~1>1 2.b→2.bb",
        // A statement that fails in a transaction undoes only itself.
        "BEGIN; DELETE FROM item WHERE id = (SELECT min(id) FROM item)": .pending,
        "INSERT OR ABORT INTO item VALUES (6, 'dd', 1), (7, 'e', 1)": .refused(isOpen: true),
        "COMMIT": "-0 1.a",
        // With OR FAIL, it does not even undo itself.
        "BEGIN; DELETE FROM item WHERE id = (SELECT min(id) FROM item)": .pending,
        "INSERT OR FAIL INTO item VALUES (6, 'dd', 1), (7, 'e', 1)": .refused(isOpen: true),
        "COMMIT": "-0 2.bb, +2 6.dd",
      ]),
    SQLiteFault(
      "housekeeping is no event",
      silent: [
        "VACUUM",
        "PRAGMA wal_checkpoint(PASSIVE)",
        "PRAGMA wal_checkpoint(FULL)",
        "PRAGMA wal_checkpoint(RESTART)",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "REINDEX",
        "ANALYZE",
        "CREATE INDEX by_list ON item (list, name)",
        "DROP INDEX by_list",
        "PRAGMA user_version = 7",
        "CREATE TABLE aside (x); INSERT INTO aside VALUES (1)",
        "DELETE FROM aside; VACUUM",
        "PRAGMA page_size = 8192; VACUUM",
        "PRAGMA optimize",
        "PRAGMA incremental_vacuum",
      ]),
    SQLiteFault(
      "writes that keep the result are no event", "SELECT id, name FROM item WHERE id < 10 LIMIT 4",
      silent: [
        "UPDATE item SET name = name",
        "UPDATE item SET list = 3 - list",
        "REPLACE INTO item SELECT * FROM item",
        "INSERT INTO item VALUES (20, 'far', 1)",
        "UPDATE item SET name = 'away' WHERE id = 20",
        "DELETE FROM item WHERE id > 9",
        "INSERT INTO item VALUES (5, 'e', 1)",
        "UPDATE item SET name = 'f' WHERE id = 5",
        "DELETE FROM item WHERE id = 5",
        "INSERT INTO list VALUES (3, 'three')",
        "DELETE FROM list WHERE id = 3",
        "DELETE FROM item WHERE id = 1000",
        "BEGIN; DELETE FROM item WHERE id = 2; INSERT INTO item VALUES (2, 'b', 2); COMMIT",
        "BEGIN; UPDATE item SET id = 100 WHERE id = 3; UPDATE item SET id = 3 WHERE id = 100; COMMIT",
        "BEGIN; COMMIT",
        "BEGIN IMMEDIATE; COMMIT",
        "BEGIN EXCLUSIVE; SELECT * FROM item; COMMIT",
      ]),
    SQLiteFault(
      "a star follows the columns", "SELECT * FROM item", setup: plain,
      steps: [
        "ALTER TABLE item ADD COLUMN more DEFAULT 7": "~0>0 1.a→1.a.7, ~1>1 2.b→2.b.7",
        "UPDATE item SET more = 8 WHERE id = 2": "~1>1 2.b.7→2.b.8",
        "ALTER TABLE item RENAME COLUMN more TO less": .nothing,
        "INSERT INTO item VALUES (3, 'c', 9)": "+2 3.c.9",
        "ALTER TABLE item DROP COLUMN less": "~0>0 1.a!.7→1.a!, ~1>1 2.b.8→2.b, ~2>2 3.c.9→3.c",
        "DELETE FROM item WHERE id = 2": "-1 2.b",
      ]),
    SQLiteFault(
      "additions to the schema take effect at once", setup: plain,
      steps: [
        "CREATE UNIQUE INDEX by_name ON item (name)": .nothing,
        "REPLACE INTO item VALUES (3, 'b')": "-1 2.b, +1 3.b",
        """
        CREATE TRIGGER echo AFTER INSERT ON item WHEN new.id < 100 BEGIN
          INSERT INTO item VALUES (new.id + 100, new.name || '+');
        END
        """: .nothing,
        "INSERT INTO item VALUES (4, 'd')": "+2 4.d, +3 104.d+",
        "DROP TRIGGER echo": .nothing,
        "INSERT INTO item VALUES (5, 'e')": "+4 5.e",
        "CREATE VIEW some AS SELECT * FROM item; DROP INDEX by_name": .nothing,
        "INSERT INTO item VALUES (6, 'e')": "+5 6.e",
      ]),
    SQLiteFault(
      "the rowid breaks ties", "SELECT id, k FROM item ORDER BY k COLLATE NOCASE",
      setup: """
        CREATE TABLE item (id INTEGER PRIMARY KEY, k);
        INSERT INTO item VALUES (10, 'a'), (20, 'B'), (30, 'a'), (40, NULL)
        """, sentinel: "UPDATE item SET k = k || '!' WHERE id = 20",
      steps: [
        "INSERT INTO item VALUES (15, 'A')": "+2 15.A",
        "INSERT INTO item VALUES (50, NULL)": "+1 50.NULL",
        "UPDATE item SET k = 'A' WHERE id = 30": "~4>4 30.a→30.A",
        "UPDATE item SET k = 'b' WHERE id = 10": "2>4 10.b, ~2>4 10.a→10.b",
        "UPDATE item SET id = 25 WHERE id = 10": "-4 10.b, +5 25.b",
        "INSERT INTO item VALUES (5, 3), (6, 2.5), (7, x'00')": "+2 6.2.5, +3 5.3, +8 7.x'00'",
        "UPDATE item SET k = 3 WHERE id = 5": .nothing,
      ]),
  ]
}

@Suite(.serialized, .timeLimit(.minutes(10))) struct SQLiteFaultTests {
  @Test(arguments: SQLiteFault.all, ObservedQuery.Setting.all)
  func `each commit is one exact event, or none`(
    fault: SQLiteFault, setting: ObservedQuery.Setting
  ) async throws {
    let live = try await fault.observe(setting)
    for (sql, outcome) in fault.steps { try await fault.perform(sql, outcome, on: live) }
  }
}
