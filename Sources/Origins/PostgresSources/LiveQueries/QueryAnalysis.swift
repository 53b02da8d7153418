import SQLSources

/// The knowledge about a query that decides how a data source follows its database.
struct QueryAnalysis: Sendable {
  /// A relation that the query reads, directly or through views, partitions and children.
  struct Relation: Sendable {
    var oid: UInt32
    var name: String
    /// The kind as in `pg_class.relkind`.
    var kind: String
    /// A Boolean value that indicates whether the query reads a partition or child of the relation, but not the
    /// relation. A write to the relation can change these, and calls only its own triggers.
    var isAncestor = false
    var triggers = Triggers.none

    /// A Boolean value that indicates whether the relation is a table, and can have change triggers.
    var isTable: Bool { kind == "r" || kind == "p" }
  }

  /// The change triggers of a table.
  enum Triggers: Sendable {
    case none
    /// They record writes, but not the present primary key.
    case many
    /// They record the keys of changed rows.
    case keys
  }

  var relations: [Relation] = []
  /// The reason why some changes are not recorded by triggers, so the source looks for new transactions, or `nil`.
  var polling: RefetchReason?
  /// The plan for reading only rows with changed keys, or the reason why there is none.
  var plan: Result<PostgresIncrementalPlan, RefetchReason>
  /// A reason why the result can change although nothing was written, or `nil`.
  var instability: String?
  /// The state of the catalog on which the analysis depends.
  var signature: String?
  /// The statement that locks the tables and views for reading, or `nil` if that is not possible.
  var lockSQL: String?

  /// The relations whose changes are recorded under their identifiers.
  var tableOIDs: [UInt32] { relations.filter(\.isTable).map(\.oid) }

  /// The relations that contain rows.
  var storedRelations: [Relation] { relations.filter { $0.kind != "v" && $0.kind != "S" } }
}

/// Asks the server which tables a query reads, and how.
///
/// The server tells it for a view. The analyzer therefore creates a temporary view in a transaction, looks at the
/// server's own tree of the query, and rolls back. Nothing remains. A role that may not create temporary objects gets
/// the tables from the plan of the query.
struct QueryAnalyzer {
  let query: PostgresQuery
  let session: PostgresSession

  /// Analyzes the query.
  ///
  /// - Throws: A ``PostgresError`` if the query is wrong.
  func analyze() async throws(PostgresError) -> QueryAnalysis {
    let description = DescriptionReceiver()
    try await session.withRollback("READ ONLY") { () throws(PostgresError) in
      try await session.describe(query.sql, receiver: description)
    }
    if let columns = description.columns, let error = query.error(of: columns) { throw error }
    if try await session.requiredText("SELECT pg_catalog.pg_is_in_recovery()") == "t" {
      let suggestion = "Connect to the primary server."
      return QueryAnalysis(
        polling: RefetchReason(
          "The server is a standby server, on which the records cannot be read.",
          suggestion: suggestion),
        plan: .failure(
          RefetchReason("The server is a standby server.", suggestion: suggestion)))
    }
    try await addEpoch()
    do throws(PostgresError) {
      return try await analyzeView(description)
    } catch {
      switch error.code {
      case .canceled, .timeout, .lockTimeout, .serialization, .deadlock: throw error
      default: if error.endsConnection { throw error }
      }
      // The view could not be created, for example without the privilege. The plan tells less.
      return try await analyzePlan()
    }
  }

  /// Lets the server add the epoch of the records if there is none for this database, and if this role may.
  ///
  /// After a crash, a restore or a copy of the database, there is none.
  private func addEpoch() async throws(PostgresError) {
    let mayAdd = try await session.text(
      """
      SELECT 1 FROM pg_catalog.pg_namespace n
      JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = 'epoch'
      JOIN pg_catalog.pg_proc p ON p.pronamespace = n.oid AND p.proname = 'maintain'
      WHERE n.nspname = 'swappable' AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
        AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
        AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')
      """)
    if mayAdd != nil, try await !session.hasEpoch() { await session.maintainRecords() }
  }

  // MARK: The view

  private func analyzeView(
    _ description: DescriptionReceiver
  ) async throws(PostgresError) -> QueryAnalysis {
    let types = try await typeNames(description.argumentTypes)
    let columns = (description.columns?.names ?? []).indices.map { "c\($0)" }
    return try await session.withRollback("READ WRITE") { () throws(PostgresError) in
      try await session.run(
        "CREATE TEMPORARY VIEW swappable_query (\(columns.joined(separator: ", "))) AS "
          + PostgresText.withoutArguments(query.sql, types: types))
      return try await readView(description)
    }
  }

  private func typeNames(_ types: [PostgresType]) async throws(PostgresError) -> [String] {
    if types.isEmpty { return [] }
    return try await session.texts(
      """
      SELECT pg_catalog.format_type(t.oid, NULL)
      FROM pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY AS t(oid, position)
      ORDER BY t.position
      """, [types.map(\.rawValue)], columns: 1
    ).map { $0[0] ?? "text" }
  }

  /// The relations of the temporary view: their identifiers, the trees of the views among them, and the ancestors.
  private static let viewSQL = """
    WITH RECURSIVE used(oid) AS (
      SELECT 'pg_temp.swappable_query'::pg_catalog.regclass::pg_catalog.oid
      UNION
      SELECT x.oid FROM used u CROSS JOIN LATERAL (
        SELECT d.refobjid FROM pg_catalog.pg_rewrite r
        JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
          AND d.objid = r.oid AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
        WHERE r.ev_class = u.oid AND r.rulename = '_RETURN'
        UNION ALL SELECT i.inhrelid FROM pg_catalog.pg_inherits i WHERE i.inhparent = u.oid
      ) AS x(oid)
    ), ancestor(oid) AS (
      SELECT i.inhparent FROM used u JOIN pg_catalog.pg_inherits i ON i.inhrelid = u.oid
      UNION
      SELECT i.inhparent FROM ancestor a JOIN pg_catalog.pg_inherits i ON i.inhrelid = a.oid
    ), known(oid, is_ancestor) AS (
      SELECT oid, false FROM used
      UNION ALL (SELECT oid, true FROM ancestor EXCEPT SELECT oid, true FROM used)
    )
    SELECT c.oid, n.nspname, c.relname, c.relkind, c.relrowsecurity, r.ev_action,
      c.oid = 'pg_temp.swappable_query'::pg_catalog.regclass, u.is_ancestor
    FROM known u JOIN pg_catalog.pg_class c ON c.oid = u.oid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_catalog.pg_rewrite r ON r.ev_class = c.oid AND r.rulename = '_RETURN'
      AND c.relkind = 'v'
    ORDER BY c.oid
    """

  private func readView(
    _ description: DescriptionReceiver
  ) async throws(PostgresError) -> QueryAnalysis {
    var relations: [QueryAnalysis.Relation] = []
    var functions: Set<Int> = []
    var hasCatalogs = false
    var hasTimeFunctions = false
    var hasRowSecurity = false
    var tree: NodeTree?
    for row in try await session.texts(Self.viewSQL, columns: 8) {
      guard let oid = row[0].flatMap({ UInt32($0) }), let schema = row[1], let name = row[2],
        let kind = row[3]
      else { continue }
      if let action = row[5], let action = NodeTree(action) {
        action.forEachNode { node in
          for field in ["funcid", "opfuncid", "aggfnoid", "winfnoid"] {
            if let number = node.number(field), number > 0 { functions.insert(number) }
          }
          if node.name == "SQLVALUEFUNCTION" { hasTimeFunctions = true }
          if node.number("rtekind") == 0, let relation = node.number("relid"), relation < 16384 {
            hasCatalogs = true
          }
        }
        if row[6] == "t" { tree = action }
      }
      if row[6] == "t" { continue }
      let isAncestor = row[7] == "t"
      if row[4] == "t", !isAncestor { hasRowSecurity = true }
      relations.append(
        QueryAnalysis.Relation(
          oid: oid, name: schema == "public" ? name : "\(schema).\(name)", kind: kind,
          isAncestor: isAncestor))
    }
    let found = try await inspect(functions)
    var analysis = QueryAnalysis(
      relations: relations, plan: .failure(RefetchReason("", suggestion: "")))
    try await addTriggers(to: &analysis)
    if let function = found.opaque {
      analysis.polling = RefetchReason(
        "The function \(function) may read any table.",
        suggestion: "Declare it IMMUTABLE if it reads no table, or write its query here.")
    } else if hasRowSecurity {
      analysis.polling = RefetchReason(
        "A table has row security, whose policies may read any table.",
        suggestion: "Connect as a role with BYPASSRLS, and filter in the query.")
    } else if hasCatalogs {
      analysis.polling = RefetchReason(
        "The query reads a catalog of the server, which cannot have triggers.",
        suggestion: "Read tables only.")
    }
    if hasTimeFunctions || found.unstable != nil {
      let name = found.unstable.map { "The function \($0)" } ?? "A function of the time or session"
      analysis.instability = "\(name) may return another value although nothing was written."
    }
    if relations.contains(where: { $0.kind == "f" }) {
      analysis.instability = "A foreign table can change without a commit on this server."
    }
    analysis.plan = try await PostgresIncrementalPlan.make(
      tree: tree, columns: description.columns, analysis, query, session)
    if case .success = analysis.plan, analysis.polling == nil,
      let table = analysis.storedRelations.first(where: { $0.triggers != .keys })
    {
      analysis.plan = .failure(
        RefetchReason(
          "The triggers of \(table.name) do not record its present primary key.",
          suggestion: "Run installChangeTriggers(on: [\"\(table.name)\"]) again."))
    }
    try await addCatalog(to: &analysis)
    return analysis
  }

  /// Finds the functions that are not immutable.
  private func inspect(
    _ functions: Set<Int>
  ) async throws(PostgresError) -> (opaque: String?, unstable: String?) {
    if functions.isEmpty { return (nil, nil) }
    let rows = try await session.texts(
      """
      SELECT p.oid, p.proname FROM pg_catalog.pg_proc p
      WHERE p.oid = ANY ($1::pg_catalog.oid[]) AND p.provolatile <> 'i' ORDER BY p.oid DESC
      """, [functions.sorted()], columns: 2)
    let names = rows.map { (oid: $0[0].flatMap { Int($0) } ?? 0, name: $0[1] ?? "") }
    return (names.first { $0.oid >= 16384 }?.name, names.first?.name)
  }

  // MARK: The plan

  private func analyzePlan() async throws(PostgresError) -> QueryAnalysis {
    let rows = try await session.withRollback("READ ONLY") { () throws(PostgresError) in
      try await session.texts(
        "EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) " + query.sql,
        PostgresArguments(query.arguments), columns: 1)
    }
    let plan = rows.compactMap { $0[0] }.joined(separator: "\n")
    let names = Self.relationNames(inPlan: plan)
    var analysis = QueryAnalysis(
      // The plan shows neither functions that read tables nor pruned partitions.
      polling: RefetchReason(
        "Only the plan tells which tables the query reads, and it does not show all of them.",
        suggestion: "Grant TEMPORARY on the database to the role."),
      plan: .failure(
        RefetchReason(
          "The role may not create the temporary view that shows the query's structure.",
          suggestion: "Grant TEMPORARY on the database.")))
    let found = try await session.texts(
      """
      SELECT c.oid, n.nspname, c.relname, c.relkind, c.relrowsecurity
      FROM ROWS FROM (
        pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[])
      ) AS u(schema, name)
      JOIN pg_catalog.pg_namespace n ON n.nspname = u.schema
      JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = u.name
      """, [names.map(\.schema), names.map(\.name)], columns: 5)
    for row in found {
      guard let oid = row[0].flatMap({ UInt32($0) }) else { continue }
      analysis.relations.append(
        .init(oid: oid, name: "\(row[1] ?? "").\(row[2] ?? "")", kind: row[3] ?? ""))
    }
    analysis.instability = "The plan does not show all functions."
    try await addCatalog(to: &analysis)
    return analysis
  }

  /// Returns the relations that a plan in JSON names.
  static func relationNames(inPlan plan: String) -> [(schema: String, name: String)] {
    func value(_ line: Substring, _ key: String) -> String? {
      guard let range = line.firstRange(of: "\"\(key)\": \"") else { return nil }
      var text = line[range.upperBound...]
      if text.hasSuffix(",") { text = text.dropLast() }
      return text.hasSuffix("\"") ? String(text.dropLast()) : nil
    }
    var names: [(schema: String, name: String)] = []
    var relation: String?
    for line in plan.split(separator: "\n") {
      if let name = value(line, "Relation Name") { relation = name }
      if let schema = value(line, "Schema"), let name = relation.take() {
        names.append((schema, name))
      }
    }
    return names
  }

  // MARK: Triggers and the catalog

  /// Finds the enabled change triggers of the tables, whether they can record, and whether this role may read the
  /// records.
  private func addTriggers(to analysis: inout QueryAnalysis) async throws(PostgresError) {
    let rows = try await session.texts(
      """
      SELECT t.tgrelid, pg_catalog.count(*),
        pg_catalog.bool_and(t.tgargs = pg_catalog.decode('\(Self.versionBytes)', 'hex')
          || pg_catalog.substring(t.tgargs, 3, 5) || pg_catalog.convert_to(
            COALESCE(\(ChangeTriggers.keyTextSQL(of: "t.tgrelid")), '-'),
            pg_catalog.getdatabaseencoding())
          || pg_catalog.decode('00', 'hex')),
        pg_catalog.bool_and(COALESCE(\(ChangeTriggers.canRecordSQL("p.proowner")), false))
      FROM pg_catalog.pg_trigger t
      JOIN pg_catalog.pg_proc p ON p.oid = t.tgfoid AND p.prosecdef
      JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace AND n.nspname = 'swappable'
      WHERE t.tgrelid = ANY ($1::pg_catalog.oid[]) AND t.tgenabled IN ('O', 'A')
        AND t.tgname = ANY ($2::pg_catalog.name[])
        AND pg_catalog.substring(t.tgargs, 1, 2) = pg_catalog.decode('\(Self.versionBytes)', 'hex')
      GROUP BY t.tgrelid
      """, [analysis.relations.map(\.oid), ChangeTriggers.triggerNames], columns: 4)
    var canRecord = true
    for row in rows where row[1] == "\(ChangeTriggers.triggerNames.count)" {
      guard let oid = row[0].flatMap({ UInt32($0) }),
        let index = analysis.relations.firstIndex(where: { $0.oid == oid })
      else { continue }
      analysis.relations[index].triggers = row[2] == "t" ? .keys : .many
      if row[3] != "t" { canRecord = false }
    }
    let stored = analysis.storedRelations
    if let bare = stored.first(where: { $0.triggers == .none }) {
      analysis.polling = RefetchReason(
        "\(bare.name) has no change triggers.",
        suggestion: bare.isTable
          ? "Run installChangeTriggers(on: [\"\(bare.name)\"])."
          : "Only tables can have them.")
    } else if !stored.isEmpty {
      analysis.polling = try await reasonForPolling(stored, canRecord: canRecord)
    }
  }

  /// The version of the triggers and the zero behind it, in hexadecimal form.
  private static let versionBytes =
    ChangeTriggers.version.utf8.map { String($0, radix: 16) }.joined() + "00"

  /// Returns the reason why the records of tables with triggers cannot be read or are not complete, or `nil`.
  private func reasonForPolling(
    _ tables: [QueryAnalysis.Relation], canRecord: Bool
  ) async throws(PostgresError) -> RefetchReason? {
    let repair = "Run installChangeTriggers(on: [\"\(tables[0].name)\"]) again."
    let found = try await session.texts(
      """
      SELECT \(ChangeTriggers.fitsSQL),
        COALESCE(pg_catalog.has_schema_privilege(n.oid, 'USAGE'), false),
        (SELECT pg_catalog.count(*) FROM pg_catalog.pg_class c WHERE c.relnamespace = n.oid
          AND c.relname IN ('record', 'epoch')
          AND pg_catalog.has_table_privilege(c.oid, 'SELECT'))
          + (SELECT pg_catalog.count(*) FROM pg_catalog.pg_proc p WHERE p.pronamespace = n.oid
            AND p.proname = 'look' AND pg_catalog.has_function_privilege(p.oid, 'EXECUTE')),
        (SELECT pg_catalog.min(r.srrelid::pg_catalog.regclass::pg_catalog.text)
          FROM pg_catalog.pg_subscription_rel r WHERE r.srrelid = ANY ($1::pg_catalog.oid[]))
      FROM pg_catalog.pg_namespace n WHERE n.nspname = 'swappable'
      """, [tables.map(\.oid)], columns: 4)
    guard let row = found.first, row[0] == "t", canRecord else {
      return RefetchReason(
        "The table swappable.record is missing or was changed, or the owner of the triggers "
          + "may not write to it, so nothing is recorded.",
        suggestion: repair)
    }
    guard row[1] == "t", row[2] == "3" else {
      return RefetchReason(
        "This role may not read the recorded changes.",
        suggestion: "Run installChangeTriggers with this role as a reader.")
    }
    if let name = row[3] {
      return RefetchReason(
        "\(name) receives rows by replication, which calls no change triggers.",
        suggestion: "Connect to the server that publishes them.")
    }
    if try await session.hasEpoch() { return nil }
    return RefetchReason(
      "The records belong to another server or to a copied database.", suggestion: repair)
  }

  private func addCatalog(to analysis: inout QueryAnalysis) async throws(PostgresError) {
    let oids = analysis.relations.map(\.oid)
    analysis.signature = try await signature(of: oids)
    let names = try await session.text(
      """
      SELECT pg_catalog.string_agg(
        pg_catalog.format('%I.%I', n.nspname, c.relname), ', ' ORDER BY c.oid)
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE c.oid = ANY ($1::pg_catalog.oid[]) AND c.oid >= 16384
        AND c.relkind IN ('r', 'p', 'v') AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
        AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
      """, [analysis.relations.filter { !$0.isAncestor }.map(\.oid)])
    analysis.lockSQL = names.map { "LOCK TABLE \($0) IN ACCESS SHARE MODE" }
  }

  /// Returns the state of the catalog for some relations: their definitions, columns, keys, triggers, rules and
  /// partitions, and the objects of the change triggers. Any change of them changes the text.
  func signature(of oids: [UInt32]) async throws(PostgresError) -> String {
    try await session.text("SELECT \(Self.signatureSQL("$1"))", [oids]) ?? ""
  }

  /// An expression for the state of the catalog for an array of relations.
  static func signatureSQL(_ oids: String) -> String {
    """
    (SELECT pg_catalog.md5(pg_catalog.string_agg(x.part, ',' ORDER BY x.part)) FROM (
      SELECT 'c' || oid || ' ' || xmin FROM pg_catalog.pg_class
        WHERE oid = ANY (\(oids)::pg_catalog.oid[])
      UNION ALL SELECT 'a' || attrelid || ' ' || attnum || ' ' || xmin
        FROM pg_catalog.pg_attribute WHERE attrelid = ANY (\(oids)::pg_catalog.oid[])
          AND attnum > 0
      UNION ALL SELECT 'i' || indexrelid || ' ' || xmin FROM pg_catalog.pg_index
        WHERE indrelid = ANY (\(oids)::pg_catalog.oid[]) AND indisprimary
      UNION ALL SELECT 't' || oid || ' ' || xmin FROM pg_catalog.pg_trigger
        WHERE tgrelid = ANY (\(oids)::pg_catalog.oid[]) AND NOT tgisinternal
      UNION ALL SELECT 'r' || oid || ' ' || xmin FROM pg_catalog.pg_rewrite
        WHERE ev_class = ANY (\(oids)::pg_catalog.oid[])
      UNION ALL SELECT 'h' || inhrelid || ' ' || inhparent FROM pg_catalog.pg_inherits
        WHERE inhparent = ANY (\(oids)::pg_catalog.oid[])
      UNION ALL SELECT 's' || \(objectsSQL)
    ) AS x(part))
    """
  }

  /// An expression for the state of the objects of the change triggers, on which it depends whether writes are recorded.
  ///
  /// Vacuum and the number of rows do not change it.
  static let objectsSQL = """
    (SELECT COALESCE(pg_catalog.string_agg(o.part, ',' ORDER BY o.part), '')
      FROM pg_catalog.pg_namespace n CROSS JOIN LATERAL (
        SELECT 'n' || n.xmin AS part
        UNION ALL SELECT 'c' || c.oid || ' ' || c.xmin FROM pg_catalog.pg_class c
          WHERE c.relnamespace = n.oid AND c.relname IN ('record', 'epoch')
        UNION ALL SELECT 'a' || a.attnum || ' ' || a.xmin
          FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
          WHERE c.relnamespace = n.oid AND c.relname = 'record' AND a.attnum > 0
        UNION ALL SELECT 'i' || i.indexrelid || ' ' || i.xmin
          FROM pg_catalog.pg_class c JOIN pg_catalog.pg_index i ON i.indrelid = c.oid
          WHERE c.relnamespace = n.oid AND c.relname = 'record'
        -- The index of functions has the name first.
        UNION ALL SELECT 'f' || p.oid || ' ' || p.xmin FROM pg_catalog.pg_proc p
          WHERE p.pronamespace = n.oid AND p.proname >= '\(ChangeTriggers.functionPrefix)'
            AND p.proname < '\(ChangeTriggers.functionPrefix)~'
      ) o
      WHERE n.nspname = 'swappable')
    """
}
