import SQLiteSources
import Testing

/// Writes that the update hook does not report, or reports incompletely.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SQLiteFaultWriteTests {
  typealias Setting = ObservedQuery.Setting

  @Test(arguments: Setting.all) func `a REPLACE reports the rows that it replaced`(setting: Setting)
    async throws
  {
    let live = try await ObservedQuery(setting)
    try await live.expect("REPLACE INTO item VALUES (9, 'b', 1)", changes: "-1 2.b, +1 9.b")
    try await live.expect("REPLACE INTO item VALUES (1, 'x', 1)", changes: "0>3 1.x, ~0>3 1.a→1.x")
    // One row replaces two rows: the row with its rowid and the row with its name.
    try await live.expect(
      "INSERT OR REPLACE INTO item VALUES (1, 'b', 2)", changes: "-0 9.b, 3>0 1.b, ~3>0 1.x→1.b")
    try await live.expect(
      "UPDATE OR REPLACE item SET name = 'c' WHERE id = 1", changes: "-1 3.c, ~0>0 1.b→1.c")
    try await live.expect(
      "UPDATE OR REPLACE item SET id = 4 WHERE id = 1", changes: "-0 1.c, ~1>0 4.d→4.c")
  }

  @Test(arguments: Setting.all) func `a row with a changed rowid is another row`(setting: Setting)
    async throws
  {
    let live = try await ObservedQuery(setting)
    try await live.expect("UPDATE item SET id = 20 WHERE id = 2", changes: "-1 2.b, +1 20.b")
    try await live.expect(
      "UPDATE item SET rowid = -rowid WHERE id < 4", changes: "-0 1.a, -2 3.c, +0 -1.a, +2 -3.c")
    try await live.expect(
      "INSERT INTO item VALUES (50, 'c1', 1), (51, 'c2', 1)", changes: "+3 50.c1, +4 51.c2")
    try await live.expect(
      """
      BEGIN; UPDATE item SET id = 0 WHERE id = 4; UPDATE item SET id = 4 WHERE id = 20;
      UPDATE item SET id = 20 WHERE id = 0; COMMIT
      """, changes: "5>1 4.b, 1>5 20.d, ~5>1 4.d→4.b, ~1>5 20.b→20.d")
  }

  @Test(arguments: Setting.all) func `deleting all rows reports each row`(setting: Setting)
    async throws
  {
    let live = try await ObservedQuery(setting)
    try await live.expect("DELETE FROM item", changes: "-0 1.a, -1 2.b, -2 3.c, -3 4.d")
    try await live.expect("INSERT INTO item (name) VALUES ('z'), ('y')", changes: "+0 2.y, +1 1.z")
    try await live.expect(
      "BEGIN; DELETE FROM item; INSERT INTO item VALUES (2, 'y', 1); COMMIT", changes: "-1 1.z")
    try await live.expectSilence(
      "BEGIN; DELETE FROM item; INSERT INTO item VALUES (2, 'y', 1); COMMIT")
  }

  @Test(arguments: Setting.all) func `a cascade reports the rows that it deleted`(setting: Setting)
    async throws
  {
    let live = try await ObservedQuery(
      setting, "SELECT id, name FROM item WHERE list < ? ORDER BY id", arguments: [9])
    try await live.expect("DELETE FROM list WHERE id = 1", changes: "-0 1.a, -2 3.c")
    try await live.expectSilence("UPDATE list SET id = 3 WHERE id = 2")
    try await live.expect("UPDATE list SET id = 9 WHERE id = 3", changes: "-0 2.b!, -1 4.d")
    try await live.expect("UPDATE list SET id = 8 WHERE id = 9", changes: "+0 2.b!, +1 4.d")
    try await live.expect("REPLACE INTO list VALUES (8, 'new')", changes: "-0 2.b!, -1 4.d")
  }

  @Test(arguments: Setting.all) func `writes of a trigger are reported`(setting: Setting)
    async throws
  {
    let live = try await ObservedQuery(
      setting,
      setup: ObservedQuery.items + """
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
        """)
    try await live.expect(
      "UPDATE list SET title = 'x' WHERE id = 1",
      changes: "-1 2.b, +0 102.b-, 3>1 4.d, ~0>2 1.a→1.x1, ~2>3 3.c→3.x3")
    try await live.expect("DELETE FROM item WHERE id = 4", changes: "-1 4.d, +1 104.d-")
    try await live.expect("INSERT INTO titles VALUES ('y')", changes: "+4 105.y")
  }

  @Test(arguments: Setting.all) func `an UPSERT reports its writes`(setting: Setting) async throws {
    let live = try await ObservedQuery(setting)
    try await live.expect(
      """
      INSERT INTO item VALUES (7, 'c', 1), (8, 'e', 1)
      ON CONFLICT (name) DO UPDATE SET name = excluded.name || excluded.id
      """, changes: "+4 8.e, ~2>2 3.c→3.c7")
    try await live.expect(
      "INSERT INTO item VALUES (1, 'q', 1) ON CONFLICT (id) DO UPDATE SET id = 11",
      changes: "-0 1.a, +0 11.a")
    try await live.expect(
      "INSERT OR IGNORE INTO item VALUES (2, '0', 1), (5, '1', 1)", changes: "+0 5.1")
    try await live.expectSilence("INSERT INTO item VALUES (5, '2', 1) ON CONFLICT DO NOTHING")
    try await live.expectSilence(
      "INSERT INTO item VALUES (5, '2', 1) ON CONFLICT DO UPDATE SET list = 2")
  }

  @Test(arguments: Setting.all) func `a table without rowids reports the same`(setting: Setting)
    async throws
  {
    let live = try await ObservedQuery(
      setting, "SELECT word, number FROM bare ORDER BY word",
      setup: """
        CREATE TABLE bare (word TEXT PRIMARY KEY, number UNIQUE) WITHOUT ROWID;
        INSERT INTO bare VALUES ('a', 1), ('b', 2), ('c', 3);
        """, sentinel: "UPDATE bare SET number = number + 100 WHERE word = 'a'")
    try await live.expect("REPLACE INTO bare VALUES ('b', 3)", changes: "-2 c.3, ~1>1 b.2→b.3")
    try await live.expect("UPDATE bare SET word = 'd' WHERE word = 'b'", changes: "-1 b.3, +1 d.3")
    try await live.expectSilence("INSERT OR IGNORE INTO bare VALUES ('a', 9)")
    try await live.expect("DELETE FROM bare", changes: "-0 a.101, -1 d.3")
    try await live.expect("INSERT INTO bare VALUES ('z', 1), ('a', 0)", changes: "+0 a.0, +1 z.1")
  }

  @Test(arguments: Setting.all) func `rows without a key are identified by rowid`(setting: Setting)
    async throws
  {
    let live = try await ObservedQuery(
      setting, "SELECT rowid, word FROM loose",
      setup: "CREATE TABLE loose (word); INSERT INTO loose VALUES ('a'), ('b'), ('c')",
      sentinel: "UPDATE loose SET word = word || '!' WHERE rowid = 1")
    try await live.expect("DELETE FROM loose WHERE word = 'b'", changes: "-1 2.b")
    try await live.expect("INSERT INTO loose (rowid, word) VALUES (2, 'x')", changes: "+1 2.x")
    try await live.expect("UPDATE loose SET rowid = 10 WHERE rowid = 1", changes: "-0 1.a, +2 10.a")
    // VACUUM may change the rowids, which changes this result only.
    try live.write("VACUUM")
    await live.source.refresh()
    try live.check()
  }

  @Test(arguments: Setting.all)
  func `generated columns follow their sources`(setting: Setting) async throws {
    let live = try await ObservedQuery(
      setting, "SELECT id, twice, text FROM sum WHERE twice > 2 ORDER BY twice DESC",
      setup: """
        CREATE TABLE sum (id INTEGER PRIMARY KEY, a INTEGER, b TEXT,
          twice INTEGER AS (a * 2) VIRTUAL, text TEXT AS (b || a) STORED);
        INSERT INTO sum (id, a, b) VALUES (1, 1, 'x'), (2, 2, 'y'), (3, 3, 'z');
        """, sentinel: "UPDATE sum SET a = a + 10 WHERE id = 3")
    try await live.expect("UPDATE sum SET a = 4 WHERE id = 1", changes: "+0 1.8.x4")
    try await live.expect("UPDATE sum SET b = 'w' WHERE id = 3", changes: "~1>1 3.6.z3→3.6.w3")
    try await live.expect(
      "UPDATE sum SET a = 5 WHERE id = 2", changes: "2>0 2.10.y5, ~2>0 2.4.y2→2.10.y5")
    try await live.expect("UPDATE sum SET a = NULL WHERE id = 1", changes: "-1 1.8.x4")
    try await live.expectSilence("UPDATE sum SET b = 'v' WHERE id = 1")
  }

  @Test(arguments: Setting.all)
  func `a transaction of many writes is one event`(setting: Setting) async throws {
    let live = try await ObservedQuery(setting)
    try await live.expect(
      """
      BEGIN; INSERT INTO item VALUES (5, 'e', 1); UPDATE item SET name = '0' WHERE id = 3;
      DELETE FROM item WHERE id = 2; UPDATE item SET name = 'f' WHERE id = 5;
      INSERT INTO item VALUES (2, 'g', 2); DELETE FROM item WHERE id = 4; COMMIT
      """,
      changes: "-3 4.d, +2 5.f, 2>0 3.0, ~2>0 3.c→3.0, ~1>3 2.b→2.g")
    try await live.expect(
      "WITH gone AS (SELECT id FROM item WHERE id < 3) DELETE FROM item WHERE id IN gone",
      changes: "-1 1.a, -3 2.g")
    try await live.expect(
      "UPDATE item SET name = title FROM list WHERE list.id = item.list AND item.id = 5",
      changes: "~1>1 5.f→5.one")
  }
}
