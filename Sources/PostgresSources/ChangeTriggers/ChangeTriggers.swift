/// The SQL of the change triggers, which wake up data sources and record the keys that were written.
///
/// - Statement-level triggers on each table call one function for the table. It adds one row to the table
///   `swappable.change`: the transaction, the table, and the changed keys, or NULL for many keys. It also notifies
///   the channel `swappable`, without a payload.
/// - The tables are unlogged, so a writer pays little. A crash of the server empties them, also the row of
///   `swappable.state`. The epoch in that row is therefore an identity of the records: as long as it stays the same, no
///   record is missing except those that were removed because of their age.
/// - `swappable.maintain()` adds a new epoch if there is none, and removes old records. `state.pruned` is the largest
///   transaction of a removed record.
///
/// Writers need no privileges on these objects, because the functions that write them run as their owner, with a safe
/// search path.
enum ChangeTriggers {
  static let schema = "swappable"
  /// The key of the advisory lock under which the objects are created and maintained: "swappabl" in ASCII.
  static let lockKey: Int64 = 0x7377_6170_7061_626C
  /// The number of keys above which a statement is recorded as a change of many rows.
  static let keyLimit = 100

  /// A table with the columns of its primary key.
  struct Table: Sendable {
    var oid: UInt32
    var schema: String
    var name: String
    /// The columns of the primary key, in order, or none if keys cannot be recorded.
    var keyColumns: [String]
    /// The names of the triggers that exist.
    var triggers: Set<String> = []

    var quotedName: String {
      "\(PostgresText.quoted(schema)).\(PostgresText.quoted(name))"
    }
  }

  static let recordingTriggers = [
    "swappable_insert", "swappable_update", "swappable_delete", "swappable_truncate",
  ]
  static let notifyingTrigger = "swappable_notify"

  // MARK: Common objects

  static let commonSQL = """
    CREATE SCHEMA IF NOT EXISTS swappable;
    CREATE UNLOGGED TABLE IF NOT EXISTS swappable.change (
      xid xid8 NOT NULL DEFAULT pg_catalog.pg_current_xact_id(),
      relation oid NOT NULL,
      keys text[],
      at timestamptz NOT NULL DEFAULT pg_catalog.clock_timestamp()
    );
    CREATE INDEX IF NOT EXISTS change_xid ON swappable.change (xid);
    CREATE UNLOGGED TABLE IF NOT EXISTS swappable.state (
      epoch uuid NOT NULL, pruned xid8 NOT NULL, maintained timestamptz NOT NULL
    );
    CREATE OR REPLACE FUNCTION swappable.maintain(age interval DEFAULT '10 minutes') RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
    DECLARE
      horizon xid8;
      last xid8;
    BEGIN
      IF NOT pg_try_advisory_xact_lock(\(lockKey)) THEN RETURN; END IF;
      INSERT INTO swappable.state
        SELECT gen_random_uuid(), '0', clock_timestamp()
        WHERE NOT EXISTS (SELECT FROM swappable.state);
      IF NOT FOUND AND age >= '10 minutes' AND EXISTS (
        SELECT FROM swappable.state WHERE maintained > clock_timestamp() - interval '20 seconds'
      ) THEN RETURN; END IF;
      -- A record of a transaction that is not older than all running ones may be visible to nobody yet.
      horizon := pg_snapshot_xmin(pg_current_snapshot());
      WITH gone AS (
        DELETE FROM swappable.change c
        WHERE c.xid < horizon AND c.at <= clock_timestamp() - age RETURNING c.xid
      ) SELECT xid INTO last FROM gone ORDER BY xid DESC LIMIT 1;
      UPDATE swappable.state SET
        pruned = CASE WHEN last > pruned THEN last ELSE pruned END,
        maintained = clock_timestamp();
    END
    $function$;
    CREATE OR REPLACE FUNCTION swappable.notify() RETURNS trigger
    LANGUAGE plpgsql AS $function$
    BEGIN
      PERFORM pg_catalog.pg_notify('\(ServerMonitor.channel)', '');
      RETURN NULL;
    END
    $function$;
    REVOKE ALL ON SCHEMA swappable FROM PUBLIC;
    REVOKE ALL ON FUNCTION swappable.maintain(interval), swappable.notify() FROM PUBLIC;
    SELECT swappable.maintain();
    """

  /// The statements that let a role read the records.
  static func grantSQL(to role: String) -> String {
    let role = PostgresText.quoted(role)
    return """
      GRANT USAGE ON SCHEMA swappable TO \(role);
      GRANT SELECT ON swappable.change, swappable.state TO \(role);
      GRANT EXECUTE ON FUNCTION swappable.maintain(interval) TO \(role);
      """
  }

  // MARK: Tables

  /// The statements that create the function and the missing triggers of a table.
  static func installSQL(_ table: Table, recordsKeys: Bool) -> String {
    recordsKeys ? recordingSQL(table) : notifyingSQL(table)
  }

  private static func notifyingSQL(_ table: Table) -> String {
    var lines = recordingTriggers.filter(table.triggers.contains).map {
      "DROP TRIGGER \($0) ON \(table.quotedName);"
    }
    if !table.triggers.contains(notifyingTrigger) {
      lines.append(
        """
        CREATE TRIGGER \(notifyingTrigger)
        AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON \(table.quotedName)
        FOR EACH STATEMENT EXECUTE FUNCTION swappable.notify();
        """)
    }
    return lines.joined(separator: "\n")
  }

  private static func recordingSQL(_ table: Table) -> String {
    let function = "swappable.record_\(table.oid)"
    var lines = [recordingFunctionSQL(table, name: function)]
    if table.triggers.contains(notifyingTrigger) {
      lines.append("DROP TRIGGER \(notifyingTrigger) ON \(table.quotedName);")
    }
    let rows = [
      ("INSERT", "REFERENCING NEW TABLE AS new_rows "),
      ("UPDATE", "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows "),
      ("DELETE", "REFERENCING OLD TABLE AS old_rows "),
      ("TRUNCATE", ""),
    ]
    for (event, transition) in rows {
      let trigger = "swappable_\(event.lowercased())"
      if table.triggers.contains(trigger) { continue }
      lines.append(
        """
        CREATE TRIGGER \(trigger) AFTER \(event) ON \(table.quotedName)
        \(transition)FOR EACH STATEMENT EXECUTE FUNCTION \(function)();
        """)
    }
    return lines.joined(separator: "\n")
  }

  private static func recordingFunctionSQL(_ table: Table, name: String) -> String {
    let columns = table.keyColumns.map(PostgresText.quoted).joined(separator: ", ")
    let texts = table.keyColumns.map { "\(PostgresText.quoted($0))::text" }
      .joined(separator: ", ")
    func rows(_ source: String) -> String {
      "SELECT \(columns) FROM \(source) LIMIT \(keyLimit + 1)"
    }
    // Without a key, a row is counted, but the record is one of many rows.
    func record(_ source: String) -> String {
      table.keyColumns.isEmpty
        ? """
        INSERT INTO swappable.change (relation)
            SELECT TG_RELID WHERE EXISTS (SELECT FROM \(source));
        """
        : """
        INSERT INTO swappable.change (relation, keys)
            SELECT TG_RELID, CASE WHEN count(*) <= \(keyLimit) THEN array_agg(ARRAY[\(texts)]) END
            FROM (\(source)) r HAVING count(*) > 0;
        """
    }
    let (inserted, deleted, updated) =
      table.keyColumns.isEmpty
      ? ("new_rows", "old_rows", "new_rows")
      : (
        rows("new_rows"), rows("old_rows"),
        "SELECT * FROM (\(rows("old_rows"))) o UNION SELECT * FROM (\(rows("new_rows"))) n"
      )
    // The name of a column may contain the mark that ends the body.
    var mark = "$function$"
    while columns.contains(mark) { mark = "$f\(mark.dropFirst())" }
    return """
      CREATE OR REPLACE FUNCTION \(name)() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS \(mark)
      BEGIN
        IF TG_OP = 'INSERT' THEN
          \(record(inserted))
        ELSIF TG_OP = 'UPDATE' THEN
          \(record(updated))
        ELSIF TG_OP = 'DELETE' THEN
          \(record(deleted))
        ELSE
          INSERT INTO swappable.change (relation) VALUES (TG_RELID);
        END IF;
        IF FOUND THEN PERFORM pg_notify('\(ServerMonitor.channel)', ''); END IF;
        RETURN NULL;
      END
      \(mark);
      REVOKE ALL ON FUNCTION \(name)() FROM PUBLIC;
      """
  }

  static func uninstallSQL(_ table: Table) -> String {
    (recordingTriggers + [notifyingTrigger]).filter(table.triggers.contains)
      .map { "DROP TRIGGER \($0) ON \(table.quotedName);" }
      .joined(separator: "\n")
      + "\nDROP FUNCTION IF EXISTS swappable.record_\(table.oid)();"
  }

  // MARK: The catalog

  /// The types of key columns whose text does not depend on the settings of a session: integers, `oid`, `uuid`,
  /// `numeric`, `text`, `varchar`, and enumerations.
  static let keyTypes = "{20,21,23,25,26,1043,1700,2950}"

  /// Finds a table, its partitions and its children, their primary keys and triggers.
  private static let tablesSQL = """
    WITH RECURSIVE family(oid) AS (
      SELECT $1::pg_catalog.oid
      UNION SELECT i.inhrelid FROM family f JOIN pg_catalog.pg_inherits i ON i.inhparent = f.oid
    )
    SELECT c.oid, n.nspname, c.relname, c.relkind,
      (SELECT pg_catalog.array_agg(a.attname::pg_catalog.text ORDER BY k.position)
       FROM pg_catalog.pg_index i
       CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::pg_catalog.int2[])
         WITH ORDINALITY AS k(number, position)
       JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
       JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
       WHERE i.indrelid = c.oid AND i.indisprimary AND k.position <= i.indnkeyatts
       HAVING pg_catalog.bool_and(
         t.oid = ANY ('\(keyTypes)'::pg_catalog.oid[]) OR t.typtype = 'e')),
      (SELECT pg_catalog.array_agg(t.tgname::pg_catalog.text)
       FROM pg_catalog.pg_trigger t
       WHERE t.tgrelid = c.oid AND NOT t.tgisinternal AND t.tgname LIKE 'swappable\\_%')
    FROM family f
    JOIN pg_catalog.pg_class c ON c.oid = f.oid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    ORDER BY c.oid
    """

  /// Returns the tables of a name: the table, its partitions and its children.
  static func tables(
    named name: String, _ session: PostgresSession
  ) async throws(PostgresError) -> [Table] {
    let found = try await session.texts(
      "SELECT pg_catalog.to_regclass($1)::pg_catalog.oid", [.text(name)], columns: 1)
    guard let oid = found.first?.first?.flatMap({ UInt32($0) }) else {
      throw PostgresError(
        .undefined, "there is no table \(name)",
        help: "check the name and the search_path, or write schema.table; quote names with \"…\"")
    }
    var tables: [Table] = []
    for row in try await session.texts(tablesSQL, [.integer(Int64(oid))], columns: 6) {
      guard let oid = row[0].flatMap({ UInt32($0) }), let schema = row[1], let name = row[2] else {
        continue
      }
      guard let kind = row[3], kind == "r" || kind == "p" else {
        throw PostgresError(
          .notAQuery, "\(name) is not a table",
          help: "install change triggers on the tables that a view reads")
      }
      tables.append(
        Table(
          oid: oid, schema: schema, name: name, keyColumns: texts(inArray: row[4]),
          triggers: Set(texts(inArray: row[5]))))
    }
    return tables
  }

  /// Reads an array of texts.
  static func texts(inArray text: String?) -> [String] {
    guard let text else { return [] }
    var bytes = text
    return bytes.withUTF8 { bytes in
      var parser = ArrayParser(text: UnsafeRawBufferPointer(bytes), element: .text)
      return parser.parse()?.compactMap { if case .text(let text) = $0 { text } else { nil } } ?? []
    }
  }
}

// MARK: - Connections

extension PostgresConnection {
  /// Creates triggers that tell data sources at once which rows of some tables were written.
  ///
  /// Without them, data sources look for changes at an interval and read the whole result after each. The triggers are
  /// created in one transaction with the schema `swappable`, which holds their functions and a small table of changes.
  /// The method also includes partitions and children. If everything exists, it changes nothing but the functions. Run
  /// it again after a partition is added or a primary key is changed.
  ///
  /// The role must own the tables and may create schemas. For other roles, ``changeTriggersSQL(on:recordsKeys:readers:)``
  /// returns the SQL that an administrator can run.
  ///
  /// - Parameters:
  ///   - tables: The names of the tables, as in SQL: `item`, `shop.item`, or `"Item"`.
  ///   - recordsKeys: A Boolean value that indicates whether changed keys are recorded. Without them, a write costs less,
  ///     and data sources read the whole result after each.
  ///   - readers: The roles that may read the recorded keys. Data sources of other roles look for changes at an interval.
  public func installChangeTriggers(
    on tables: [String], recordsKeys: Bool = true, readers: [String] = []
  ) async throws(PostgresError) {
    try await inTransaction { session throws(PostgresError) in
      let sql = try await Self.installSQL(tables, recordsKeys, readers, session)
      try await session.run(sql, receiver: ResultReceiver())
    }
  }

  /// Removes the change triggers of some tables, or of all tables.
  ///
  /// - Parameter tables: The names of the tables, or `nil` for all tables and the schema `swappable`.
  public func uninstallChangeTriggers(on tables: [String]? = nil) async throws(PostgresError) {
    try await inTransaction { session throws(PostgresError) in
      guard let tables else {
        return try await session.run(
          "DROP SCHEMA IF EXISTS swappable CASCADE", receiver: ResultReceiver())
      }
      for name in tables {
        for table in try await ChangeTriggers.tables(named: name, session) {
          try await session.run(ChangeTriggers.uninstallSQL(table), receiver: ResultReceiver())
        }
      }
    }
  }

  /// Returns the SQL of ``installChangeTriggers(on:recordsKeys:readers:)``, without running it.
  ///
  /// - Parameters:
  ///   - tables: The names of the tables, as in SQL.
  ///   - recordsKeys: A Boolean value that indicates whether changed keys are recorded.
  ///   - readers: The roles that may read the recorded keys.
  /// - Returns: Statements for `psql` or another tool, which include `BEGIN` and `COMMIT`.
  public func changeTriggersSQL(
    on tables: [String], recordsKeys: Bool = true, readers: [String] = []
  ) async throws(PostgresError) -> String {
    try await withSession { session throws(PostgresError) in
      "BEGIN;\n" + (try await Self.installSQL(tables, recordsKeys, readers, session))
        + "\nCOMMIT;\n"
    }
  }

  private static func installSQL(
    _ names: [String], _ recordsKeys: Bool, _ readers: [String], _ session: PostgresSession
  ) async throws(PostgresError) -> String {
    var parts = [
      // Only one program at a time creates the objects.
      "SELECT pg_catalog.pg_advisory_xact_lock(\(ChangeTriggers.lockKey));",
      ChangeTriggers.commonSQL,
    ]
    for name in names {
      for table in try await ChangeTriggers.tables(named: name, session) {
        parts.append(ChangeTriggers.installSQL(table, recordsKeys: recordsKeys))
      }
    }
    parts += readers.map(ChangeTriggers.grantSQL(to:))
    return parts.joined(separator: "\n")
  }

  private func inTransaction(
    _ body: (PostgresSession) async throws(PostgresError) -> Void
  ) async throws(PostgresError) {
    try await withSession { session throws(PostgresError) in
      // Inside a transaction of the caller, this one belongs to it.
      let isInside = await session.transactionStatus() != LibPQ.isIdle
      if !isInside { try await session.run("BEGIN READ WRITE", receiver: ResultReceiver()) }
      do throws(PostgresError) {
        // The state of the triggers must not change between the look and the statements.
        if !isInside {
          try await session.run(
            "SELECT pg_catalog.pg_advisory_xact_lock(\(ChangeTriggers.lockKey))",
            receiver: ResultReceiver())
        }
        try await body(session)
        if !isInside { try await session.run("COMMIT", receiver: ResultReceiver()) }
      } catch {
        if !isInside {
          await Task { _ = try? await session.run("ROLLBACK", receiver: ResultReceiver()) }.value
        }
        throw error
      }
    }
  }
}
