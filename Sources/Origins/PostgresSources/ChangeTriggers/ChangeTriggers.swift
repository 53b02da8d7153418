import SQLSources

/// The SQL of the change triggers, which record the keys that were written.
///
/// - Statement-level triggers on each table call one function for the table. It adds one row to the table
///   `swappable.record`: the transaction, the table, and the changed keys, or NULL for many keys.
/// - The tables are unlogged, so a writer pays little. A crash of the server empties them, also the row of
///   `swappable.epoch`. That row is therefore an identity of the records: as long as it stays the same, no record is
///   missing except those that were pruned. It names the database of the server in which it was made, because a dump or
///   a copy of a database contains it, too.
/// - A row with the relation 0 marks that records were pruned. Its transaction is the largest of a pruned record. A row
///   with the relation 1 stands for about 512 records, so that their number is known: a sequence would change what the
///   function `lastval` returns to the writer.
///
/// A trigger makes no write fail, except in the cases below. Three things ensure it:
///
/// - A key column that was renamed or dropped is no error: its name is then found in a row of constants beside the
///   transition table. The server resolves the names for each statement, so it does not matter which snapshot the
///   transaction has. Readers compare the arguments of the trigger with the primary key, and ignore such keys.
/// - The first statements of a transaction record in a block that catches errors, for example because the table of the
///   records was dropped. From one statement in eight on, a setting of the transaction tells that the table is locked by
///   this transaction, so it keeps its form, and no block is needed: more than 64 blocks would slow down the server.
/// - Pruning skips rows that others have locked. In transactions with one snapshot, deleting could fail, so they do not
///   prune.
///
/// Not excluded are:
///
/// - a foreign table that becomes a partition or a child later
/// - a limit of temporary files, and a few levels less of recursion through triggers
/// - a privilege to execute a function of the server's catalog that is revoked from everybody
/// - a transaction that changes the table of the records itself after it has written, and a function of the triggers that is
///   altered while a transaction writes
/// - a lock of the table of the records that excludes writers, for example of VACUUM FULL
///
/// Writers need no privileges on these objects, because the functions that write them run as their owner. No name in them
/// depends on the search path.
enum ChangeTriggers {
  static let schema = "swappable"
  /// The key of the advisory lock under which the objects are created and maintained: "swappabl" in ASCII.
  static let lockKey: Int64 = 0x7377_6170_7061_626C
  /// The number of keys above which a statement is recorded as a change of many rows.
  static let keyLimit = 100
  /// The number of records that are kept.
  static let recordLimit = 100_000
  /// The number of records after which a writer prunes, on average: a power of 2.
  static let pruneInterval = 512
  /// The largest number of bytes of a value in a recorded key.
  static let keyByteLimit = 2000

  /// The beginning of the names of all functions of tables. Older versions have other names.
  static let functionPrefix = "record_x"

  /// The first argument of each trigger. Another form of the records has another version.
  static let version = "2"

  static let triggerNames = [
    "swappable_insert", "swappable_update", "swappable_delete", "swappable_truncate",
  ]

  /// A table with its primary key and its change triggers.
  struct Table: Sendable {
    var oid: UInt32
    var schema: String
    var name: String
    /// The columns of the primary key, in order, or none if keys cannot be recorded.
    var keyColumns: [String]
    /// The columns of the primary key with their types, as the triggers' arguments contain them.
    var keyText: String
    /// A Boolean value that indicates whether a foreign table is among its partitions or children, or could become one
    /// because the database has foreign servers. The server cannot collect rows of foreign tables.
    var hasForeignChild = false
    /// The names of the triggers that exist, also those of older versions.
    var triggers: [String] = []
    /// The function of the triggers if this role may replace it: no trigger of another table calls it.
    var function: String?
    /// A Boolean value that indicates whether all triggers exist, are enabled, and may record.
    var isComplete = false
    /// The arguments of the triggers if they are equal.
    var arguments: [String] = []
    /// The body of `function`.
    var body: String?

    var quotedName: String {
      "\(SQLText.quoted(schema)).\(SQLText.quoted(name))"
    }

    /// The name for messages.
    var shortName: String { schema == "public" ? name : "\(schema).\(name)" }

    /// The columns that the triggers record.
    var recordedColumns: [String] { hasForeignChild ? [] : keyColumns }
  }

  // MARK: Common objects

  /// An expression that names this database of this server. A dump or a copy has another name.
  static let clusterSQL = """
    (SELECT c.system_identifier || '/' || d.oid
     FROM pg_catalog.pg_control_system() c, pg_catalog.pg_database d
     WHERE d.datname = pg_catalog.current_database())
    """

  static let schemaSQL = """
    CREATE SCHEMA swappable;
    REVOKE ALL ON SCHEMA swappable FROM PUBLIC
    """

  static let tablesSQL = """
    CREATE UNLOGGED TABLE swappable.record (
      xid xid8 NOT NULL,
      relation oid NOT NULL,
      keys text[],
      at timestamptz NOT NULL
    );
    CREATE INDEX record_xid ON swappable.record (xid);
    CREATE INDEX record_pruned ON swappable.record (xid) WHERE relation = 0;
    CREATE INDEX record_count ON swappable.record (at) WHERE relation = 1;
    CREATE UNLOGGED TABLE swappable.epoch (epoch uuid NOT NULL, cluster text NOT NULL)
    """

  /// The functions that prune records. Both skip rows that other transactions have locked.
  ///
  /// `prune()` is for a writer: it looks at the oldest records only. If the server has not removed many of the dead
  /// rows yet, for example while an old transaction is open, it begins behind the last records that were pruned.
  /// `maintain()` is for readers and administrators: it looks at all records, and adds the epoch if there is none.
  /// `look(since)` is for readers. It writes nothing.
  static let functionsSQL = """
    DROP FUNCTION IF EXISTS swappable.prune(bigint);
    CREATE OR REPLACE FUNCTION swappable.prune() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
    DECLARE
      start xid8 := '0';
      oldest timestamptz := clock_timestamp() - interval '10 minutes';
    BEGIN
      INSERT INTO swappable.record (xid, relation, at)
        VALUES (pg_current_xact_id(), 1, clock_timestamp());
      IF current_setting('transaction_isolation') <> 'read committed' THEN RETURN; END IF;
      oldest := greatest(oldest, (
        SELECT r.at FROM swappable.record r WHERE r.relation = 1
        ORDER BY r.at DESC OFFSET \(recordLimit / pruneInterval) LIMIT 1));
      IF pg_stat_get_dead_tuples('swappable.record'::regclass) > \(pruneInterval * 20) THEN
        SELECT r.xid INTO start FROM swappable.record r WHERE r.relation = 0
          ORDER BY r.xid DESC LIMIT 1;
      END IF;
      WITH gone AS (
        DELETE FROM swappable.record r WHERE r.ctid = ANY (ARRAY(
          SELECT f.ctid FROM swappable.record f WHERE f.ctid = ANY (ARRAY(
            SELECT o.ctid FROM (
              SELECT r.ctid, r.at FROM swappable.record r WHERE r.xid >= COALESCE(start, '0')
              ORDER BY r.xid LIMIT \(pruneInterval * 4)
            ) o WHERE o.at < oldest
          )) FOR UPDATE SKIP LOCKED))
        RETURNING r.xid
      ) INSERT INTO swappable.record (xid, relation, at)
        SELECT g.xid, 0, clock_timestamp() FROM gone g ORDER BY g.xid DESC LIMIT 1;
    END
    $function$;
    CREATE OR REPLACE FUNCTION swappable.maintain(age interval DEFAULT '10 minutes') RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
    DECLARE
      oldest timestamptz := clock_timestamp() - age;
      here text := \(clusterSQL);
      isOther boolean;
    BEGIN
      IF NOT pg_try_advisory_xact_lock(\(lockKey)) THEN RETURN; END IF;
      isOther := NOT EXISTS (SELECT FROM swappable.epoch e WHERE e.cluster = here);
      IF isOther THEN
        DELETE FROM swappable.epoch;
        INSERT INTO swappable.epoch SELECT gen_random_uuid(), here;
      END IF;
      oldest := greatest(oldest, (
        SELECT r.at FROM swappable.record r WHERE r.relation = 1
        ORDER BY r.at DESC OFFSET \(recordLimit / pruneInterval) LIMIT 1));
      WITH gone AS (
        DELETE FROM swappable.record r WHERE r.ctid = ANY (ARRAY(
          SELECT o.ctid FROM swappable.record o WHERE isOther OR o.at <= oldest
          FOR UPDATE SKIP LOCKED))
        RETURNING r.xid
      ) INSERT INTO swappable.record (xid, relation, at)
        SELECT g.xid, 0, clock_timestamp() FROM gone g WHERE NOT isOther
        ORDER BY g.xid DESC LIMIT 1;
    END
    $function$;
    CREATE OR REPLACE FUNCTION swappable.look(
      since pg_catalog.pg_snapshot, OUT state text, OUT objects text, OUT number bigint,
      OUT tables text, OUT pruned text)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET jit = off AS $function$
    BEGIN
      SELECT \(ServerState.lookColumns)
      INTO state, objects, number, tables, pruned
      FROM \(ServerState.lookRows);
    END
    $function$;
    REVOKE ALL ON FUNCTION swappable.prune(), swappable.maintain(interval),
      swappable.look(pg_catalog.pg_snapshot) FROM PUBLIC;
    SELECT swappable.maintain()
    """

  /// The statements that let a role read the records.
  static func readerSQL(_ role: String) -> String {
    let role = SQLText.quoted(role)
    return """
      GRANT USAGE ON SCHEMA swappable TO \(role);
      GRANT SELECT ON swappable.record, swappable.epoch TO \(role);
      GRANT EXECUTE ON FUNCTION swappable.maintain(interval),
        swappable.look(pg_catalog.pg_snapshot) TO \(role)
      """
  }

  /// The statements that let the owner of other tables install triggers.
  static func ownerSQL(_ role: String) -> String {
    let role = SQLText.quoted(role)
    return """
      GRANT USAGE, CREATE ON SCHEMA swappable TO \(role);
      GRANT SELECT, INSERT ON swappable.record TO \(role);
      GRANT EXECUTE ON FUNCTION swappable.prune() TO \(role)
      """
  }

  // MARK: Tables

  /// The arguments of the triggers of a table.
  static func arguments(_ table: Table, wakesReaders: Bool) -> [String] {
    [version, wakesReaders ? "wake" : "look", table.hasForeignChild ? "" : table.keyText]
  }

  /// The statements that create the function of a table and its triggers, or replace them.
  ///
  /// - Parameter function: The name of the function, which no trigger of another table calls.
  static func installSQL(_ table: Table, function: String, wakesReaders: Bool) -> String {
    let name = "swappable.\(SQLText.quoted(function))"
    let body = body(table, wakesReaders: wakesReaders)
    // The name of a column may contain the mark that ends the body.
    var mark = "$function$"
    while body.contains(mark) { mark = "$f\(mark.dropFirst())" }
    let arguments = arguments(table, wakesReaders: wakesReaders)
      .map(PostgresText.literal).joined(separator: ", ")
    var lines = [
      """
      CREATE OR REPLACE FUNCTION \(name)() RETURNS trigger
      LANGUAGE plpgsql SECURITY DEFINER AS \(mark)\(body)\(mark);
      REVOKE ALL ON FUNCTION \(name)() FROM PUBLIC
      """
    ]
    lines += table.triggers.map {
      "DROP TRIGGER \(SQLText.quoted($0)) ON \(table.quotedName)"
    }
    let transitions =
      table.recordedColumns.isEmpty && table.hasForeignChild
      ? ["", "", "", ""]
      : [
        "REFERENCING NEW TABLE AS new_rows ",
        "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows ",
        "REFERENCING OLD TABLE AS old_rows ", "",
      ]
    for (trigger, transition) in zip(triggerNames, transitions) {
      let event = trigger.dropFirst("swappable_".count).uppercased()
      lines.append(
        """
        CREATE TRIGGER \(trigger) AFTER \(event) ON \(table.quotedName)
        \(transition)FOR EACH STATEMENT EXECUTE FUNCTION \(name)(\(arguments))
        """)
    }
    return lines.joined(separator: ";\n")
  }

  /// The body of the function of a table.
  ///
  /// Each operator is written with its schema, because the function runs with the search path of the writer. Setting a
  /// search path for the function would slow writers down.
  static func body(_ table: Table, wakesReaders: Bool) -> String {
    let record = """
      IF TG_OP OPERATOR(pg_catalog.=) 'INSERT' THEN
            \(recordSQL(table, ["new_rows"]))
          ELSIF TG_OP OPERATOR(pg_catalog.=) 'UPDATE' THEN
            \(recordSQL(table, ["old_rows", "new_rows"]))
          ELSIF TG_OP OPERATOR(pg_catalog.=) 'DELETE' THEN
            \(recordSQL(table, ["old_rows"]))
          ELSE
            \(recordManySQL)
          END IF;
      """
    let notification =
      wakesReaders
      ? """

        IF stamp IS NOT NULL THEN
          PERFORM pg_catalog.pg_notify('\(ServerMonitor.channel)', '');
        END IF;
      """ : ""
    return """

      #variable_conflict use_column
      DECLARE
        -- Names of types could be those of the writer, too.
        stamp pg_catalog.timestamptz;
        gate integer;
        mark pg_catalog.text;
        -- What this transaction knows: that records of all tables fit, or the tables of which much has changed.
        state pg_catalog.text := pg_catalog.current_setting('swappable.recorded', true);
      BEGIN
        -- If this transaction has recorded before, it holds a lock, and the table of the records has kept its form.
        IF state OPERATOR(pg_catalog.=) 'on'
          AND pg_catalog.has_schema_privilege(pg_catalog.to_regnamespace('swappable'), 'USAGE')
          AND pg_catalog.has_table_privilege(pg_catalog.to_regclass('swappable.record'), 'INSERT')
          AND pg_catalog.has_table_privilege(pg_catalog.to_regclass('swappable.record'), 'SELECT')
        THEN
          \(record)
          \(gateSQL)
        ELSIF pg_catalog.strpos(state, pg_catalog.concat(' ', TG_RELID, ' ')) OPERATOR(pg_catalog.>) 0 THEN
          RETURN NULL;
        ELSE
          BEGIN
            \(record)
            \(gateSQL)
            IF gate OPERATOR(pg_catalog.&) 7 OPERATOR(pg_catalog.=) 0 THEN
              IF pg_catalog.current_setting('transaction_isolation') OPERATOR(pg_catalog.~~) 'read%' THEN
                IF \(fitsSQL) THEN
                  mark := pg_catalog.set_config('swappable.recorded', 'on', true);
                END IF;
              ELSE
                -- The snapshot of the transaction may show catalogs that are older than the table of the records. Record
                -- that much has changed, once for the rest of the transaction.
                \(recordManySQL)
                mark := pg_catalog.set_config(
                  'swappable.recorded', pg_catalog.concat(state, ' ', TG_RELID, ' '), true);
              END IF;
            END IF;
          EXCEPTION
            WHEN serialization_failure OR deadlock_detected THEN RAISE;
            WHEN OTHERS THEN
              BEGIN
                \(recordManySQL)
              EXCEPTION
                WHEN serialization_failure OR deadlock_detected THEN RAISE;
                -- Readers see that the table of the records has changed, and read everything.
                WHEN OTHERS THEN stamp := NULL;
              END;
          END;
        END IF;
        IF gate OPERATOR(pg_catalog.&) \(pruneInterval - 1) OPERATOR(pg_catalog.=) 0 THEN
          BEGIN
            PERFORM swappable.prune();
          EXCEPTION
            WHEN serialization_failure OR deadlock_detected THEN RAISE;
            WHEN OTHERS THEN NULL;
          END;
        END IF;\(notification)
        RETURN NULL;
      END

      """
  }

  /// A statement that computes a number from the time of a record, which is as good as random. The server's own random
  /// numbers belong to the writer.
  private static let gateSQL = """
    gate := pg_catalog.hashfloat8(pg_catalog.date_part('epoch', stamp));
    """

  /// An expression that tells that no insertion into the table of records can fail because of its values. It is NULL if
  /// there is no such table. Any role may use it.
  static let fitsSQL = """
    (SELECT c.relkind OPERATOR(pg_catalog.=) 'r' AND c.relnatts OPERATOR(pg_catalog.=) 4
              AND c.relchecks OPERATOR(pg_catalog.=) 0
              AND NOT c.relhasrules AND NOT c.relhastriggers AND NOT c.relrowsecurity
              AND NOT c.relispartition
              AND (SELECT pg_catalog.concat(pg_catalog.count(*), pg_catalog.count(DISTINCT
                    CASE WHEN i.text OPERATOR(pg_catalog.=) ANY (ARRAY[
                      '1 ff  ', '1 ff  (relation = (0)::oid)', '4 ff  (relation = (1)::oid)'])
                    THEN i.text END))
                FROM (SELECT pg_catalog.concat(i.indkey, ' ', i.indisunique, i.indisexclusion, ' ', i.indexprs,
                    ' ', pg_catalog.pg_get_expr(i.indpred, i.indrelid)) AS text
                  FROM pg_catalog.pg_index i WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid) i
                ) OPERATOR(pg_catalog.=) '33'
              AND (SELECT pg_catalog.count(*) FROM pg_catalog.pg_attribute a
                WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid
                  AND pg_catalog.concat(a.attname, a.atttypid, a.atttypmod, a.attnotnull,
                      a.attgenerated, a.attidentity)
                    OPERATOR(pg_catalog.=) ANY (ARRAY[
                      'xid5069-1t', 'relation26-1t', 'keys1009-1f', 'at1184-1t'])
                ) OPERATOR(pg_catalog.=) 4
              FROM pg_catalog.pg_class c
              WHERE c.relname OPERATOR(pg_catalog.=) 'record'
                AND c.relnamespace OPERATOR(pg_catalog.=) pg_catalog.to_regnamespace('swappable'))
    """

  private static let recordManySQL = """
    INSERT INTO swappable.record (xid, relation, at)
            VALUES (pg_catalog.pg_current_xact_id(), TG_RELID, pg_catalog.clock_timestamp())
            RETURNING at INTO stamp;
    """

  private static func recordSQL(_ table: Table, _ sources: [String]) -> String {
    if table.recordedColumns.isEmpty {
      if table.hasForeignChild { return recordManySQL }
      return """
        INSERT INTO swappable.record (xid, relation, at)
                SELECT pg_catalog.pg_current_xact_id(), TG_RELID, pg_catalog.clock_timestamp()
                WHERE EXISTS (SELECT FROM \(sources[sources.count - 1]))
                RETURNING at INTO stamp;
        """
    }
    let columns = table.recordedColumns.map(SQLText.quoted)
    let names = columns.indices.map { "k\($0)" }
    // If a column does not exist any more, its name refers to the constant.
    let constants = columns.map { "false AS \($0)" }.joined(separator: ", ")
    let keys = zip(columns, names).map { "\($0) AS \($1)" }.joined(separator: ", ")
    let rows = sources.map { "(SELECT \(keys) FROM \($0) LIMIT \(keyLimit + 1))" }
      .joined(separator: " UNION ALL ")
    let texts = names.map { name in
      """
      CASE WHEN pg_catalog.pg_column_size(s.\(name)) OPERATOR(pg_catalog.<=) \(keyByteLimit)
                  AND pg_catalog.octet_length(pg_catalog.concat(s.\(name)))
                    OPERATOR(pg_catalog.<=) \(keyByteLimit) THEN pg_catalog.concat(s.\(name)) END AS \(name)
      """
    }
    let counts = names.map {
      " AND pg_catalog.count(r.\($0)) OPERATOR(pg_catalog.=) pg_catalog.count(*)"
    }
    return """
      INSERT INTO swappable.record (xid, relation, keys, at)
              SELECT pg_catalog.pg_current_xact_id(), TG_RELID,
                CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.<=) \(keyLimit * sources.count)
                  \(counts.joined())
                THEN pg_catalog.array_agg(ARRAY[\(names.map { "r.\($0)" }.joined(separator: ", "))]) END,
                pg_catalog.clock_timestamp()
              FROM (
                SELECT \(texts.joined(separator: ", "))
                FROM (SELECT \(constants)) d CROSS JOIN LATERAL (\(rows)) s
              ) r
              HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 0
              RETURNING at INTO stamp;
      """
  }

  /// The statements that remove the triggers of a table, and its function.
  static func uninstallSQL(_ table: Table) -> String {
    let triggers = table.triggers.map {
      "DROP TRIGGER \(SQLText.quoted($0)) ON \(table.quotedName)"
    }
    let function = table.function.map { ["DROP FUNCTION swappable.\(SQLText.quoted($0))()"] }
    return (triggers + (function ?? [])).joined(separator: ";\n")
  }

  /// A query for the functions and tables that no trigger uses: those of removed tables and of older versions.
  static let unusedSQL = """
    WITH used AS (
      SELECT p.proname FROM pg_catalog.pg_trigger t
      JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
      WHERE p.pronamespace = pg_catalog.to_regnamespace('swappable')
    ), old AS (
      -- Functions of older versions record in another table.
      SELECT EXISTS (SELECT FROM used WHERE proname NOT LIKE '\(functionPrefix)%') AS isused
    )
    SELECT pg_catalog.format('DROP FUNCTION swappable.%I()', p.proname)
    FROM pg_catalog.pg_proc p
    WHERE p.pronamespace = pg_catalog.to_regnamespace('swappable')
      AND p.prorettype = 'pg_catalog.trigger'::pg_catalog.regtype
      AND (p.proname LIKE 'record\\_%' OR p.proname = 'notify')
      AND p.proname NOT IN (SELECT proname FROM used)
    UNION ALL
    SELECT pg_catalog.format('DROP TABLE swappable.%I', c.relname)
    FROM pg_catalog.pg_class c, old
    WHERE c.relnamespace = pg_catalog.to_regnamespace('swappable')
      AND c.relname IN ('change', 'state') AND NOT old.isused
    """

  // MARK: The catalog

  /// The types of key columns whose text does not depend on the settings of a session: integers, `oid`, `uuid`,
  /// `numeric`, `text`, `varchar`, and enumerations.
  static let keyTypes = "{20,21,23,25,26,1043,1700,2950}"

  /// A query for the primary key of a relation: its columns with their types, or NULL if keys cannot be recorded.
  static func keySQL(of relation: String, _ result: String) -> String {
    """
    (SELECT \(result)
     FROM pg_catalog.pg_index ki
     CROSS JOIN LATERAL pg_catalog.unnest(ki.indkey::pg_catalog.int2[])
       WITH ORDINALITY AS k(number, position)
     JOIN pg_catalog.pg_attribute ka ON ka.attrelid = ki.indrelid AND ka.attnum = k.number
     JOIN pg_catalog.pg_type kt ON kt.oid = ka.atttypid
     JOIN pg_catalog.pg_namespace kn ON kn.oid = kt.typnamespace
     WHERE ki.indrelid = \(relation) AND ki.indisprimary AND k.position <= ki.indnkeyatts
     HAVING pg_catalog.bool_and(kt.oid = ANY ('\(keyTypes)'::pg_catalog.oid[]) OR kt.typtype = 'e'))
    """
  }

  /// The key columns with their types, as one text.
  static func keyTextSQL(of relation: String) -> String {
    keySQL(
      of: relation,
      """
      pg_catalog.string_agg(
        pg_catalog.format('%I %I.%I', ka.attname, kn.nspname, kt.typname), ', ' ORDER BY k.position)
      """)
  }

  /// A condition for the triggers `t` with the functions `p` that this module has made, also if their schema was renamed.
  private static let isOursSQL = """
    (p.pronamespace = pg_catalog.to_regnamespace('swappable')
      OR t.tgname = ANY ('{\(triggerNames.joined(separator: ","))}'::pg_catalog.name[])
        AND pg_catalog.starts_with(p.proname::pg_catalog.text, '\(functionPrefix)'))
    """

  /// A condition for a role that may record.
  static func canRecordSQL(_ role: String) -> String {
    // The name of a relation can be looked up only in schemas that the present role may use.
    let record = """
      (SELECT r.oid FROM pg_catalog.pg_class r
       WHERE r.relnamespace = pg_catalog.to_regnamespace('swappable') AND r.relname = 'record')
      """
    let schema = "pg_catalog.to_regnamespace('swappable')::pg_catalog.oid"
    return """
      pg_catalog.has_schema_privilege(\(role), \(schema), 'USAGE')
        AND pg_catalog.has_table_privilege(\(role), \(record), 'INSERT')
        AND pg_catalog.has_table_privilege(\(role), \(record), 'SELECT')
      """
  }

  /// Finds tables, their partitions and their children, their primary keys and triggers.
  private static let familySQL = """
    WITH RECURSIVE family(oid) AS (
      SELECT pg_catalog.unnest($1::pg_catalog.oid[])
      UNION SELECT i.inhrelid FROM family f JOIN pg_catalog.pg_inherits i ON i.inhparent = f.oid
    ), descendant(ancestor, oid) AS (
      SELECT oid, oid FROM family
      UNION
      SELECT d.ancestor, i.inhrelid FROM descendant d
      JOIN pg_catalog.pg_inherits i ON i.inhparent = d.oid
    )
    SELECT c.oid, n.nspname, c.relname, c.relkind, c.relpersistence,
      \(keySQL(of: "c.oid", "pg_catalog.array_agg(ka.attname::pg_catalog.text ORDER BY k.position)")),
      \(keyTextSQL(of: "c.oid")),
      EXISTS (SELECT FROM descendant d JOIN pg_catalog.pg_class f ON f.oid = d.oid
        WHERE d.ancestor = c.oid AND f.relkind = 'f')
        OR c.relkind = 'p' AND EXISTS (SELECT FROM pg_catalog.pg_foreign_server),
      g.names, g.function, g.iscomplete, g.arguments, g.body
    FROM family f
    JOIN pg_catalog.pg_class c ON c.oid = f.oid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN LATERAL (
      SELECT pg_catalog.array_agg(t.tgname::pg_catalog.text) AS names,
        pg_catalog.min(t.proname::pg_catalog.text) FILTER (WHERE t.isexclusive
          AND pg_catalog.pg_has_role(t.proowner, 'USAGE')) AS function,
        pg_catalog.count(*) FILTER (WHERE t.tgenabled IN ('O', 'A') AND t.isexclusive
          AND t.prosecdef) = 4
          AND pg_catalog.count(*) = 4 AND pg_catalog.count(DISTINCT t.tgfoid) = 1 AS iscomplete,
        CASE WHEN pg_catalog.count(DISTINCT t.tgargs) = 1
          THEN pg_catalog.min(pg_catalog.encode(t.tgargs, 'hex')) END AS arguments,
        pg_catalog.min(t.prosrc) AS body
      FROM (
        SELECT t.*, p.proname, p.proowner, p.prosecdef, p.prosrc,
          -- Whether only this table calls the function, and its owner may record.
          p.pronamespace = pg_catalog.to_regnamespace('swappable')
            AND pg_catalog.starts_with(p.proname::pg_catalog.text, '\(functionPrefix)')
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_trigger o
              WHERE o.tgfoid = t.tgfoid AND o.tgrelid <> t.tgrelid)
            AND COALESCE(\(canRecordSQL("p.proowner")), false) AS isexclusive
        FROM pg_catalog.pg_trigger t JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
        WHERE t.tgrelid = c.oid AND \(isOursSQL)
      ) t
    ) g ON true
    ORDER BY pg_catalog.array_position($1::pg_catalog.oid[], c.oid), c.oid
    """

  /// Returns a name for the function of a table, which no other table uses.
  static func makeFunctionName() -> String {
    functionPrefix + String(UInt64.random(in: 0 ... .max), radix: 36)
  }

  /// Returns the tables of some names: the tables, their partitions and their children, each once.
  static func tables(
    named names: [String], _ session: PostgresSession
  ) async throws(PostgresError) -> [Table] {
    var oids: [UInt32] = []
    for name in names {
      let found: String?
      do throws(PostgresError) {
        found = try await session.text("SELECT pg_catalog.to_regclass($1)::pg_catalog.oid", [name])
      } catch {
        if error.sqlState == nil || error.endsConnection || error.code == .canceled { throw error }
        throw PostgresError(
          .undefined, "\"\(name)\" is not the name of a table: \(error.message)",
          help: "write table, schema.table or \"Table\"")
      }
      guard let oid = found.flatMap({ UInt32($0) }) else {
        throw PostgresError(
          .undefined, "there is no table \(name)",
          help: "check the name and the search_path, or write schema.table; quote names with \"…\"")
      }
      oids.append(oid)
    }
    return try await tables(oids, session)
  }

  /// Returns all tables of the database that have change triggers.
  static func installedTables(
    _ session: PostgresSession
  ) async throws(PostgresError) -> [Table] {
    let oids = try await session.texts(
      """
      SELECT DISTINCT t.tgrelid FROM pg_catalog.pg_trigger t
      JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid
      WHERE \(isOursSQL)
      """, columns: 1)
    return try await tables(oids.compactMap { $0[0].flatMap { UInt32($0) } }, session)
      .filter { !$0.triggers.isEmpty }
  }

  /// Returns the tables of some identifiers, their partitions and their children, the first of them first.
  static func tables(
    _ oids: [UInt32], _ session: PostgresSession
  ) async throws(PostgresError) -> [Table] {
    var tables: [Table] = []
    for row in try await session.texts(familySQL, [oids], columns: 13) {
      guard let oid = row[0].flatMap({ UInt32($0) }), let schema = row[1], let name = row[2] else {
        continue
      }
      let isNamed = oids.contains(oid)
      // A foreign table among the children cannot have these triggers, and the temporary one of another session is none
      // of the caller's.
      if row[3] == "f" || row[4] == "t", !isNamed { continue }
      guard let kind = row[3], kind == "r" || kind == "p" else {
        throw PostgresError(
          .notAQuery, "\(name) is not a table",
          help: "install change triggers on the tables that a view reads")
      }
      guard row[4] != "t" else {
        throw PostgresError(
          .notAQuery, "\(name) is a temporary table, which no other session can read",
          help: "install change triggers on permanent tables")
      }
      guard schema != Self.schema else {
        throw PostgresError(
          .notAQuery, "\(schema).\(name) is a table of the change triggers",
          help: "install change triggers on the tables of your application")
      }
      tables.append(
        Table(
          oid: oid, schema: schema, name: name, keyColumns: texts(inArray: row[5]),
          keyText: row[6] ?? "", hasForeignChild: row[7] == "t",
          triggers: texts(inArray: row[8]), function: row[9], isComplete: row[10] == "t",
          arguments: arguments(inHex: row[11]), body: row[12]))
    }
    return tables
  }

  /// Reads an array of texts.
  private static func texts(inArray text: String?) -> [String] {
    (text.flatMap { PostgresValue.array(in: $0) } ?? []).compactMap { String(postgresValue: $0) }
  }

  /// Reads the arguments of a trigger, each of which ends with a zero.
  static func arguments(inHex text: String?) -> [String] {
    let digits = Array((text ?? "").utf8)
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
      UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
    }
    return bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast()
      .map { String(decoding: $0, as: UTF8.self) }
  }
}
