import SwappablePQ
import SwappablePrimitives

/// What was done with the change triggers of a table.
public struct ChangeTriggerResult: Sendable, Hashable, CustomStringConvertible {
  /// The kind of a result.
  public enum Action: String, Sendable, Hashable {
    /// The table had no change triggers.
    case installed
    /// The triggers did not fit the table or this version, and were replaced.
    case repaired
    /// Everything was as it should be.
    case unchanged
    /// The triggers were removed.
    case removed
  }

  /// The name of the table, with its schema unless that is `public`.
  public let table: String

  /// What was done.
  public let action: Action

  /// A sentence about the reason, or about what the triggers record.
  public let remark: String

  /// The table, the action and the remark, on one line.
  public var description: String { "\(table): \(action). \(remark)" }
}

extension PostgresConnection {
  /// Creates triggers that record which rows of some tables were written.
  ///
  /// Without them, a data source reads its whole result after each change of the database. With them, it looks for
  /// records 10 times a second while there are writes, and reads only the rows with these keys. A trigger makes a
  /// write fail only in the rare cases that the guide lists, not if the table, its key, or the objects in the schema
  /// `swappable` change. It costs a writer time, which the guide lists, too.
  ///
  /// The method also includes partitions and children. It changes one table at a time, each in a transaction of its own.
  /// Call it again after a primary key was changed, a partition was added, or a dump was restored: it replaces what does
  /// not fit, and changes nothing else.
  ///
  /// The role must own the tables, and may create schemas. The owner of the schema `swappable` can install triggers on
  /// tables of another role only if it may create triggers there. The error of a second owner contains the grants that
  /// this role needs. For other roles, ``changeTriggersSQL(on:wakesReaders:readers:)`` returns SQL for an administrator.
  ///
  /// - Parameters:
  ///   - tables: The names of the tables, as in SQL: `item`, `shop.item`, or `"Item"`.
  ///   - wakesReaders: A Boolean value that indicates whether each commit also notifies readers that listen. Then a
  ///     change is seen after about 2 milliseconds instead of 100. The server takes one lock for all commits that
  ///     notify, so many writers become many times slower, and `PREPARE TRANSACTION` fails.
  ///   - readers: The roles that may read the records. Data sources of other roles look for changes at an interval.
  ///   - lockTimeout: The longest time that writers of a table wait behind one attempt to lock it, at least 1
  ///     millisecond.
  ///   - lockAttempts: The largest number of attempts to lock each table, at least 1.
  /// - Returns: What was done with each table.
  /// - Throws: A ``PostgresError``. If a table is locked for too long, it names the table, the sessions that hold the
  ///   lock, and the tables that are done. These stay.
  @discardableResult
  public func installChangeTriggers(
    on tables: [String], wakesReaders: Bool = false, readers: [String] = [],
    lockTimeout: Duration = .milliseconds(100), lockAttempts: Int = 20
  ) async throws(PostgresError) -> [ChangeTriggerResult] {
    try await withInstaller(lockTimeout, lockAttempts) { installer throws(PostgresError) in
      try await installer.install(on: tables, wakesReaders: wakesReaders, readers: readers)
    }
  }

  /// Removes the change triggers of some tables, or of all tables.
  ///
  /// Writers continue: the triggers of all tables are removed before the objects that they use. Data sources look for
  /// changes at an interval afterwards.
  ///
  /// - Parameters:
  ///   - tables: The names of the tables, or `nil` for all tables and the schema `swappable`.
  ///   - lockTimeout: The longest time that users of a table wait behind one attempt to lock it, at least 1
  ///     millisecond.
  ///   - lockAttempts: The largest number of attempts to lock each table, at least 1.
  /// - Returns: What was done with each table.
  /// - Throws: A ``PostgresError``, as ``installChangeTriggers(on:wakesReaders:readers:lockTimeout:lockAttempts:)`` does.
  @discardableResult
  public func uninstallChangeTriggers(
    on tables: [String]? = nil, lockTimeout: Duration = .milliseconds(100), lockAttempts: Int = 20
  ) async throws(PostgresError) -> [ChangeTriggerResult] {
    try await withInstaller(lockTimeout, lockAttempts) { installer throws(PostgresError) in
      try await installer.uninstall(on: tables)
    }
  }

  /// Returns what an installation would do with some tables, without changing anything.
  ///
  /// - Parameter tables: The names of the tables, or `nil` for all tables with change triggers.
  /// - Returns: What ``installChangeTriggers(on:wakesReaders:readers:lockTimeout:lockAttempts:)`` would do with each table.
  public func changeTriggerStatus(
    on tables: [String]? = nil
  ) async throws(PostgresError) -> [ChangeTriggerResult] {
    try await withInstaller { installer throws(PostgresError) in
      try await installer.status(of: tables)
    }
  }

  /// Returns the SQL of ``installChangeTriggers(on:wakesReaders:readers:lockTimeout:lockAttempts:)``, without running it.
  ///
  /// - Parameters:
  ///   - tables: The names of the tables, as in SQL.
  ///   - wakesReaders: A Boolean value that indicates whether each commit also notifies readers that listen.
  ///   - readers: The roles that may read the records.
  /// - Returns: Statements for `psql` or another tool, with a transaction for each table. If everything fits, there are
  ///   none.
  public func changeTriggersSQL(
    on tables: [String], wakesReaders: Bool = false, readers: [String] = []
  ) async throws(PostgresError) -> String {
    try await withInstaller { installer throws(PostgresError) in
      try await installer.sql(on: tables, wakesReaders: wakesReaders, readers: readers)
    }
  }

  private func withInstaller<Result>(
    _ lockTimeout: Duration = .milliseconds(100), _ lockAttempts: Int = 20,
    _ body: (ChangeTriggerInstaller) async throws(PostgresError) -> Result
  ) async throws(PostgresError) -> Result {
    precondition(
      lockTimeout >= .milliseconds(1) && lockAttempts >= 1,
      "lockTimeout must be at least 1 millisecond, but is \(lockTimeout), and lockAttempts at least "
        + "1, but is \(lockAttempts)")
    return try await withSession { session throws(PostgresError) in
      try await body(
        ChangeTriggerInstaller(
          session: session, lockTimeout: lockTimeout, lockAttempts: lockAttempts))
    }
  }
}

/// Installs and removes change triggers, one table at a time.
struct ChangeTriggerInstaller {
  let session: PostgresSession
  /// The longest time of one attempt to lock a table.
  ///
  /// While it waits for a lock, all other writers of the table wait behind it. It therefore waits for a short time only,
  /// and tries again after a pause that grows from one lock timeout to 20.
  let lockTimeout: Duration
  let lockAttempts: Int

  /// Returns the tables of some names, or all tables with change triggers.
  private func tables(named names: [String]?) async throws(PostgresError) -> [ChangeTriggers.Table]
  {
    func find() async throws(PostgresError) -> [ChangeTriggers.Table] {
      if let names { return try await ChangeTriggers.tables(named: names, session) }
      return try await ChangeTriggers.installedTables(session)
    }
    // A standby server can be asked, too.
    let isInside = await session.transactionStatus() != PQTRANS_IDLE
    return isInside ? try await find() : try await session.withRollback("READ ONLY", find)
  }

  // MARK: Installation

  func install(
    on names: [String], wakesReaders: Bool, readers: [String]
  ) async throws(PostgresError) -> [ChangeTriggerResult] {
    let tables = try await tables(named: names)
    try await inAttempts { () throws(PostgresError) in
      guard let sql = try await commonSQL(readers: readers) else { return }
      try await session.run(sql)
    }
    var results: [ChangeTriggerResult] = []
    for table in tables {
      try await inAttempts(on: table, after: results) { () throws(PostgresError) in
        // The table may have changed since.
        guard let table = try await ChangeTriggers.tables([table.oid], session).first else {
          return
        }
        let result = Self.result(table, wakesReaders: wakesReaders)
        if result.action != .unchanged {
          let function = table.function ?? ChangeTriggers.makeFunctionName()
          try await session.run(
            ChangeTriggers.installSQL(table, function: function, wakesReaders: wakesReaders))
        }
        results.append(result)
      }
    }
    try await removeUnused()
    return results
  }

  func sql(
    on names: [String], wakesReaders: Bool, readers: [String]
  ) async throws(PostgresError) -> String {
    let tables = try await tables(named: names)
    var parts: [String] = []
    var common: String?
    try await inAttempts { () throws(PostgresError) in
      common = try await commonSQL(readers: readers)
    }
    if let common { parts.append(Self.transaction(common)) }
    for table in tables
    where Self.result(table, wakesReaders: wakesReaders).action != .unchanged {
      let function = table.function ?? ChangeTriggers.makeFunctionName()
      parts.append(
        Self.transaction(
          "SET LOCAL lock_timeout = \(lockTimeout.milliseconds);\n"
            + ChangeTriggers.installSQL(table, function: function, wakesReaders: wakesReaders)))
    }
    return parts.joined(separator: "\n")
  }

  private static func transaction(_ sql: String) -> String { "BEGIN;\n\(sql);\nCOMMIT;\n" }

  func status(of names: [String]?) async throws(PostgresError) -> [ChangeTriggerResult] {
    let tables = try await tables(named: names)
    return tables.map { Self.result($0, wakesReaders: $0.arguments.dropFirst().first == "wake") }
  }

  /// Returns what must be done with a table.
  private static func result(
    _ table: ChangeTriggers.Table, wakesReaders: Bool
  ) -> ChangeTriggerResult {
    func result(_ action: ChangeTriggerResult.Action, _ remark: String) -> ChangeTriggerResult {
      ChangeTriggerResult(table: table.shortName, action: action, remark: remark)
    }
    let records =
      if table.hasForeignChild {
        "Writes are recorded without keys, because a partition or child is a foreign table, or can be."
      } else if table.keyColumns.isEmpty {
        "Writes are recorded without keys, because no primary key has a supported type."
      } else {
        "The keys of changed rows are recorded (\(table.keyColumns.joined(separator: ", ")))."
      }
    if table.triggers.isEmpty { return result(.installed, records) }
    let arguments = ChangeTriggers.arguments(table, wakesReaders: wakesReaders)
    if table.arguments.first != ChangeTriggers.version {
      return result(.repaired, "The triggers came from another version. \(records)")
    }
    guard table.isComplete else {
      return result(
        .repaired,
        "A trigger was missing, was disabled, or could not write to swappable.record. \(records)")
    }
    if table.hasForeignChild, table.arguments.last != "" {
      return result(.repaired, "A foreign table is among its partitions or children. \(records)")
    }
    guard table.arguments.last.map({ $0.hasSameBytes(as: arguments[2]) }) == true else {
      return result(.repaired, "The primary key has changed. \(records)")
    }
    guard table.arguments.elementsEqual(arguments, by: { $0.hasSameBytes(as: $1) }) else {
      return result(
        .repaired, "Commits \(wakesReaders ? "now" : "no longer") wake readers. \(records)")
    }
    let body = ChangeTriggers.body(table, wakesReaders: wakesReaders)
    guard table.body?.hasSameBytes(as: body) == true else {
      return result(.repaired, "The function of the triggers was changed. \(records)")
    }
    return result(.unchanged, records)
  }

  // MARK: Common objects

  /// Returns the statements that create or repair the common objects, or `nil` if everything fits.
  private func commonSQL(readers: [String]) async throws(PostgresError) -> String? {
    let found = try await session.texts(
      """
      SELECT pg_catalog.pg_get_userbyid(n.nspowner), pg_catalog.pg_has_role(n.nspowner, 'USAGE'),
        \(ChangeTriggers.fitsSQL), pg_catalog.has_schema_privilege(n.oid, 'CREATE'),
        pg_catalog.bool_and(pg_catalog.has_table_privilege(r.oid, 'INSERT')
          AND pg_catalog.has_table_privilege(r.oid, 'SELECT')), current_user,
        pg_catalog.count(r.oid) > 0 AND NOT pg_catalog.bool_or(EXISTS (
          SELECT FROM pg_catalog.pg_attribute a WHERE a.attrelid = r.oid AND a.attname = 'xid'))
      FROM pg_catalog.pg_namespace n
      LEFT JOIN pg_catalog.pg_class r ON r.relnamespace = n.oid AND r.relname = 'record'
      WHERE n.nspname = 'swappable'
      GROUP BY n.oid
      """, columns: 7)
    guard let row = found.first, let owner = row[0] else {
      _ = try await readersWithoutRights(readers, all: false)
      let sql = [ChangeTriggers.schemaSQL, ChangeTriggers.tablesSQL, ChangeTriggers.functionsSQL]
      return (sql + readers.map(ChangeTriggers.readerSQL)).joined(separator: ";\n")
    }
    guard row[6] != "t" else {
      throw PostgresError(
        .notAQuery, "swappable.record is a table of another program: it has no column xid",
        help: "rename that table or its schema; the change triggers need the schema swappable")
    }
    let fits = row[2] == "t"
    if row[1] != "t" {
      // Another role owns the schema. Say what it must do.
      let role = row[5] ?? ""
      let mayInstall = fits && row[3] == "t" && row[4] == "t"
      let missing = try await readersWithoutRights(readers, all: !fits)
      if mayInstall, missing.isEmpty { return nil }
      let sql =
        (mayInstall ? [] : [ChangeTriggers.ownerSQL(role)]) + missing.map(ChangeTriggers.readerSQL)
      throw PostgresError(
        .privilege, "the schema swappable belongs to the role \(owner), not to \(role)",
        help: "let \(owner) run: \(sql.joined(separator: ";\n"))")
    }
    let objects = try await session.texts(
      """
      SELECT p.proname FROM pg_catalog.pg_proc p
      WHERE p.pronamespace = pg_catalog.to_regnamespace('swappable')
        AND pg_catalog.strpos($1, p.prosrc) > 0 AND p.proname IN ('prune', 'maintain', 'look')
      UNION ALL SELECT c.relname FROM pg_catalog.pg_class c
      WHERE c.relnamespace = pg_catalog.to_regnamespace('swappable') AND c.relname = 'epoch'
      """, [ChangeTriggers.functionsSQL], columns: 1
    ).map { $0[0] }
    var sql: [String] = []
    // Also try it, because a table can refuse rows for many reasons.
    var isUsable = fits && objects.contains("epoch")
    if isUsable { isUsable = try await canInsert() }
    if !isUsable {
      sql = ["DROP TABLE IF EXISTS swappable.record, swappable.epoch", ChangeTriggers.tablesSQL]
    }
    let isComplete = sql.isEmpty && objects.count == 4
    var isHere = false
    if isComplete { isHere = try await session.hasEpoch() }
    if !isHere { sql.append(ChangeTriggers.functionsSQL) }
    let missing = try await readersWithoutRights(
      readers, all: sql.contains(ChangeTriggers.tablesSQL))
    sql += missing.map(ChangeTriggers.readerSQL)
    return sql.isEmpty ? nil : sql.joined(separator: ";\n")
  }

  /// Returns the readers that may not read the records: those of a call, and those of tables that are made again.
  private func readersWithoutRights(
    _ readers: [String], all: Bool
  ) async throws(PostgresError) -> [String] {
    let rows = try await session.texts(
      """
      SELECT r.rolname FROM pg_catalog.pg_roles r
      LEFT JOIN pg_catalog.pg_class c
        ON c.relnamespace = pg_catalog.to_regnamespace('swappable') AND c.relname = 'record'
      WHERE (r.rolname = ANY ($1::pg_catalog.text[])
          OR $2 AND EXISTS (SELECT FROM pg_catalog.pg_class o, pg_catalog.aclexplode(o.relacl) a
            WHERE o.relnamespace = pg_catalog.to_regnamespace('swappable')
              AND o.relname IN ('change', 'record') AND a.grantee = r.oid
              AND a.privilege_type = 'SELECT' AND a.grantee <> o.relowner))
        AND ($2 OR NOT (
          COALESCE(pg_catalog.has_schema_privilege(r.oid,
            pg_catalog.to_regnamespace('swappable')::pg_catalog.oid, 'USAGE'), false)
          AND COALESCE(pg_catalog.has_table_privilege(r.oid, c.oid, 'SELECT'), false)
          AND COALESCE((SELECT pg_catalog.has_function_privilege(r.oid, p.oid, 'EXECUTE')
            FROM pg_catalog.pg_proc p WHERE p.proname = 'look'
              AND p.pronamespace = pg_catalog.to_regnamespace('swappable')), false)))
      """, [readers, all], columns: 1)
    let unknown = try await session.text(
      """
      SELECT u.name FROM pg_catalog.unnest($1::pg_catalog.text[]) AS u(name)
      WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles k WHERE k.rolname = u.name)
      """, [readers])
    if let unknown {
      throw PostgresError(
        .undefined, "there is no role \"\(unknown)\", which is to read the records",
        help: "correct the name of the reader, or create the role")
    }
    return rows.compactMap { $0[0] }
  }

  /// Returns a Boolean value that indicates whether the table of records takes each row.
  private func canInsert() async throws(PostgresError) -> Bool {
    try await session.run("SAVEPOINT swappable_try")
    var isInserted = false
    do throws(PostgresError) {
      try await session.run(
        """
        INSERT INTO swappable.record (xid, relation, keys, at)
        VALUES (pg_catalog.pg_current_xact_id(), 1, '{}', pg_catalog.now()),
          (pg_catalog.pg_current_xact_id(), 1, NULL, pg_catalog.now())
        """)
      isInserted = true
    } catch {
      if error.endsConnection || error.code == .canceled { throw error }
    }
    try await session.run("ROLLBACK TO swappable_try")
    return isInserted
  }

  // MARK: Removal

  func uninstall(on names: [String]?) async throws(PostgresError) -> [ChangeTriggerResult] {
    let tables = try await tables(named: names)
    var results: [ChangeTriggerResult] = []
    var refusal: PostgresError?
    for table in tables where !table.triggers.isEmpty {
      do throws(PostgresError) {
        try await inAttempts(on: table, after: results) { () throws(PostgresError) in
          guard let table = try await ChangeTriggers.tables([table.oid], session).first,
            !table.triggers.isEmpty
          else { return }
          try await session.run(ChangeTriggers.uninstallSQL(table))
          results.append(
            ChangeTriggerResult(
              table: table.shortName, action: .removed, remark: "Writes are no longer recorded."))
        }
      } catch {
        // The triggers of other owners do not keep the ones of this role.
        guard error.code == .privilege else { throw error }
        refusal = refusal ?? error
      }
    }
    if var refusal {
      if !results.isEmpty {
        refusal.help += "; done: \(results.map(\.table).joined(separator: ", "))"
      }
      throw refusal
    }
    try await removeUnused()
    // No trigger uses the objects any more.
    if names == nil { try await removeCommonObjects(after: results) }
    return results
  }

  /// Removes the common objects, and their schema unless it contains something else.
  private func removeCommonObjects(
    after results: [ChangeTriggerResult]
  ) async throws(PostgresError) {
    try await inAttempts(after: results) { () throws(PostgresError) in
      // A table of this name without that column belongs to another program.
      let other = try await session.text(
        """
        SELECT c.oid FROM pg_catalog.pg_class c
        WHERE c.relnamespace = pg_catalog.to_regnamespace('swappable') AND c.relname = 'record'
          AND NOT EXISTS (SELECT FROM pg_catalog.pg_attribute a
            WHERE a.attrelid = c.oid AND a.attname = 'xid')
        """)
      guard other == nil else { return }
      try await session.run(
        """
        DROP FUNCTION IF EXISTS swappable.prune(), swappable.maintain(interval),
          swappable.look(pg_catalog.pg_snapshot);
        DROP TABLE IF EXISTS swappable.record, swappable.epoch
        """)
    }
    do throws(PostgresError) {
      try await inAttempts(after: results) { () throws(PostgresError) in
        try await session.run("DROP SCHEMA IF EXISTS swappable")
      }
    } catch {
      // The schema has objects of others.
      guard error.sqlState == "2BP01" else { throw error }
    }
  }

  /// Removes the objects that no trigger uses, if this role may.
  private func removeUnused() async throws(PostgresError) {
    for row in try await session.texts(ChangeTriggers.unusedSQL, columns: 1) {
      guard let sql = row[0] else { continue }
      do throws(PostgresError) {
        try await inAttempts { () throws(PostgresError) in
          try await session.run(sql)
        }
      } catch {
        // Readers of an older version may use them. The next installation removes them.
        if error.endsConnection || error.code == .canceled { throw error }
      }
    }
  }

  // MARK: Attempts

  /// Runs a closure in a transaction that waits for locks for a short time, and again if that was too short.
  ///
  /// Meanwhile, no other program installs or removes triggers.
  private func inAttempts(
    on table: ChangeTriggers.Table? = nil, after done: [ChangeTriggerResult] = [],
    _ body: () async throws(PostgresError) -> Void
  ) async throws(PostgresError) {
    // Inside a transaction of the caller, a savepoint belongs to it.
    let isInside = await session.transactionStatus() != PQTRANS_IDLE
    let (begin, end, undo) =
      isInside
      ? (
        "SAVEPOINT swappable", "RELEASE swappable", "ROLLBACK TO swappable; RELEASE swappable"
      )
      : ("BEGIN READ WRITE", "COMMIT", "ROLLBACK")
    var attempt = 1
    while true {
      do throws(PostgresError) {
        try await session.run(
          """
          \(begin); SET LOCAL lock_timeout = \(lockTimeout.milliseconds); SET LOCAL jit = off;
          SELECT pg_catalog.pg_advisory_xact_lock(\(ChangeTriggers.lockKey))
          """)
        try await body()
        return try await session.run(
          isInside
            ? "SET LOCAL lock_timeout TO DEFAULT; SET LOCAL jit TO DEFAULT; \(end)" : end)
      } catch {
        await session.rollBack(undo)
        if error.sqlState == "25006" {
          var error = error
          error.help =
            "connect to the primary server; this one is a standby, or its transactions only read"
          throw error
        }
        guard error.code == .lockTimeout || error.code == .deadlock else { throw error }
        if attempt == lockAttempts { throw await explained(error, table, done) }
        do {
          try await Task.sleep(for: lockTimeout * min(attempt, 20))
        } catch {
          throw .canceledBeforeStart
        }
        attempt += 1
      }
    }
  }

  /// Adds the sessions that hold a lock, and the tables that are done, to an error.
  private func explained(
    _ error: PostgresError, _ table: ChangeTriggers.Table?, _ done: [ChangeTriggerResult]
  ) async -> PostgresError {
    let name = table?.shortName ?? "swappable.record"
    // To create a trigger, only writers are waited for. To drop one, readers, too.
    let readersCount = table.map { !$0.triggers.isEmpty } ?? true
    let holders =
      (try? await session.texts(
        """
        SELECT DISTINCT COALESCE(
          'the prepared transaction ' || pg_catalog.quote_literal(x.gid),
          'the session ' || l.pid || COALESCE(' of ' || a.usename, '')
            || COALESCE(' (' || NULLIF(a.application_name, '') || ')', '')
            || COALESCE(', ' || a.state, '')
            || COALESCE(' since ' || pg_catalog.to_char(a.state_change, 'HH24:MI:SS'), ''))
        FROM pg_catalog.pg_locks l
        LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
        LEFT JOIN pg_catalog.pg_locks t ON l.pid IS NULL AND t.pid IS NULL
          AND t.locktype = 'transactionid' AND t.virtualtransaction = l.virtualtransaction
        LEFT JOIN pg_catalog.pg_prepared_xacts x ON x.transaction = t.transactionid
        WHERE l.granted AND l.locktype = 'relation'
          AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d
            WHERE d.datname = pg_catalog.current_database())
          AND l.relation = pg_catalog.to_regclass($1) AND (l.mode <> 'AccessShareLock' OR $2)
          AND l.pid IS DISTINCT FROM pg_catalog.pg_backend_pid()
        LIMIT 5
        """, [table?.quotedName ?? "swappable.record", readersCount], columns: 1))
      ?? []
    let names = holders.compactMap { $0[0] }
    var error = PostgresError(
      .lockTimeout,
      "\(name) could not be locked in \(lockAttempts) attempts of \(lockTimeout)"
        + (names.isEmpty ? "" : ", because it is used by \(names.joined(separator: " and "))"),
      help: "end the transaction, or try again with more attempts or a longer timeout"
        + (done.isEmpty ? "" : "; done: \(done.map(\.table).joined(separator: ", "))"))
    error.sqlState = "55P03"
    return error
  }
}
