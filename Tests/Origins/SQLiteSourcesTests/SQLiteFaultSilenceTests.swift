import DataSourceTesting
import SQLiteSources
import TestSupport
import TestTags
import Testing

/// Writes that are no event: rollbacks, and writes that keep the result.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SQLiteFaultSilenceTests {
  typealias Setting = ObservedQuery.Setting

  @Test(arguments: Setting.all) func `a rollback is no event`(setting: Setting) async throws {
    let live = try await ObservedQuery(setting)
    for sql in [
      "BEGIN; INSERT INTO item VALUES (5, 'e', 1); DELETE FROM item WHERE id = 2; ROLLBACK",
      "BEGIN; DELETE FROM item; ROLLBACK", "BEGIN; DROP TABLE item; ROLLBACK",
      "SAVEPOINT s; DELETE FROM item; ROLLBACK TO s; RELEASE s",
      "BEGIN; SAVEPOINT s; UPDATE item SET id = id + 9; ROLLBACK TO s; RELEASE s; COMMIT",
      "SAVEPOINT s; SAVEPOINT t; DELETE FROM list; RELEASE t; ROLLBACK TO s; RELEASE s",
    ] {
      try await live.expectSilence(sql)
    }
  }

  @Test(arguments: Setting.all) func `a write that SQLite refuses is no event`(setting: Setting)
    async throws
  {
    let live = try await ObservedQuery(
      setting,
      setup: ObservedQuery.items + """
        CREATE TABLE late (id INTEGER PRIMARY KEY,
          list INTEGER REFERENCES list DEFERRABLE INITIALLY DEFERRED);
        CREATE TRIGGER refusing BEFORE INSERT ON item WHEN new.id = 66 BEGIN
          UPDATE item SET list = NULL;
          SELECT RAISE(ROLLBACK, 'refused');
        END;
        """)
    for sql in [
      "INSERT INTO item VALUES (5, 'e', 1), (6, 'b', 1)", "UPDATE item SET name = 'same'",
      "INSERT INTO item VALUES (5, 'e', 99)", "INSERT OR ROLLBACK INTO item VALUES (7, 'c', 1)",
      "BEGIN; DELETE FROM item WHERE id = 4; INSERT OR ROLLBACK INTO item VALUES (7, 'c', 1)",
      "BEGIN; DELETE FROM item WHERE id = 4; INSERT INTO item VALUES (66, 'c', 1)",
    ] {
      try await live.expectSilence(sql, fails: true)
    }
    // A refused commit leaves its transaction open.
    #expect(throws: (any Error).self) {
      try live.write(
        "BEGIN; DELETE FROM item WHERE id = 4; INSERT INTO late VALUES (1, 99); COMMIT")
    }
    try await live.expectSilence("ROLLBACK")
  }

  @Test(arguments: Setting.all)
  func `the kept part of a transaction is an exact change`(setting: Setting) async throws {
    let live = try await ObservedQuery(setting)
    try await live.expect(
      """
      BEGIN; INSERT INTO item VALUES (5, 'e', 1); SAVEPOINT s; DELETE FROM item; ROLLBACK TO s;
      UPDATE item SET name = 'bb' WHERE id = 2; RELEASE s; COMMIT
      """, changes: "+4 5.e, ~1>1 2.b→2.bb")
    // A statement that fails in a transaction undoes only itself. With OR FAIL, it does not even
    // undo itself.
    for (conflict, told) in [("ABORT", "-0 1.a"), ("FAIL", "-0 2.bb, +2 6.dd")] {
      let count = live.observer.eventCount
      try live.write("BEGIN; DELETE FROM item WHERE id = (SELECT min(id) FROM item)")
      #expect(throws: (any Error).self) {
        try live.write("INSERT OR \(conflict) INTO item VALUES (6, 'dd', 1), (7, 'e', 1)")
      }
      await live.source.refresh()
      #expect(live.observer.eventCount == count)
      try await live.expect("COMMIT", changes: told)
    }
  }

  @Test(arguments: Setting.all) func `housekeeping is no event`(setting: Setting) async throws {
    let live = try await ObservedQuery(setting)
    for sql in [
      "VACUUM", "PRAGMA wal_checkpoint(PASSIVE)", "PRAGMA wal_checkpoint(FULL)",
      "PRAGMA wal_checkpoint(RESTART)", "PRAGMA wal_checkpoint(TRUNCATE)", "REINDEX", "ANALYZE",
      "CREATE INDEX by_list ON item (list, name)", "DROP INDEX by_list", "PRAGMA user_version = 7",
      "CREATE TABLE aside (x); INSERT INTO aside VALUES (1)", "DELETE FROM aside; VACUUM",
      "PRAGMA page_size = 8192; VACUUM", "PRAGMA optimize", "PRAGMA incremental_vacuum",
    ] {
      try await live.expectSilence(sql)
    }
  }

  @Test(arguments: Setting.all)
  func `writes that keep the result are no event`(setting: Setting) async throws {
    let live = try await ObservedQuery(setting, "SELECT id, name FROM item WHERE id < 10 LIMIT 4")
    for sql in [
      "UPDATE item SET name = name", "UPDATE item SET list = 3 - list",
      "REPLACE INTO item SELECT * FROM item", "INSERT INTO item VALUES (20, 'far', 1)",
      "UPDATE item SET name = 'away' WHERE id = 20", "DELETE FROM item WHERE id > 9",
      "INSERT INTO item VALUES (5, 'e', 1)", "UPDATE item SET name = 'f' WHERE id = 5",
      "DELETE FROM item WHERE id = 5", "INSERT INTO list VALUES (3, 'three')",
      "DELETE FROM list WHERE id = 3", "DELETE FROM item WHERE id = 1000",
      "BEGIN; DELETE FROM item WHERE id = 2; INSERT INTO item VALUES (2, 'b', 2); COMMIT",
      "BEGIN; UPDATE item SET id = 100 WHERE id = 3; UPDATE item SET id = 3 WHERE id = 100; COMMIT",
      "BEGIN; COMMIT", "BEGIN IMMEDIATE; COMMIT", "BEGIN EXCLUSIVE; SELECT * FROM item; COMMIT",
    ] {
      try await live.expectSilence(sql)
    }
  }

  @Test(.tags(.system), arguments: ObservedQuery.Journal.allCases)
  func `a process that dies in its transaction leaves no trace`(journal: ObservedQuery.Journal)
    async throws
  {
    let live = try await ObservedQuery(Setting(journal: journal, writer: .own))
    for _ in 0..<3 {
      let helper = try HelperProcess("sql", live.database.path)
      try helper.run("BEGIN; DELETE FROM item WHERE id > 1; INSERT INTO item VALUES (9, 'i', 1)")
      helper.kill()
      // The process has released its lock, and its writes were never committed.
      try await live.expectSilence("UPDATE list SET title = title")
    }
  }
}
