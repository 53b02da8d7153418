import Foundation
@testable import PostgresSources
import TestSupport
import TestTags
import Testing

private let regressionFiles = ProcessInfo.processInfo.environment["SWAPPABLE_REGRESSION"]

/// Runs the regression files of PostgreSQL's own source in two databases. In one of them, each table gets change triggers
/// as soon as it exists. Rows written and SQLSTATEs must be the same.
///
/// Set `SWAPPABLE_REGRESSION` to the directory `src/test/regress` of the source of the installed server. Functions in C need
/// `regress.so`: set `PG_LIBDIR` to a directory that contains it, or the statements that use it fail in both databases.
///
/// With PostgreSQL 15.18, 217 files give 25,333 answers at each level of isolation: numbers of rows, and SQLSTATEs. No answer
/// to a write differs, and 207 files have the same output, apart from empty lines and from the triggers in the description
/// of a table. The exceptions are below, with reasons.
@Suite(
  .tags(.system), .requiresPostgres, .serialized, .timeLimit(.minutes(240)),
  .enabled(if: regressionFiles != nil, "set SWAPPABLE_REGRESSION"))
struct RegressionFilesTests {
  /// The files in which a statement that reads has another number of rows, and the reason.
  private static let otherRows = [
    "create_table": "It copies pg_class, which has the tables of the records.",
    "event_trigger": "It lists triggers and functions of events.",
    "merge": "EXPLAIN ANALYZE has a line for each trigger.",
    "opr_sanity": "It lists functions and operators.",
    "partition_prune": "EXPLAIN ANALYZE has a line for each trigger.",
    "tidscan": "EXPLAIN ANALYZE has a line for each trigger.",
    "triggers": "It lists triggers.",
  ]

  /// The files in which a statement of the schema fails, because a table with triggers cannot become a view (`CREATE RULE
  /// "_RETURN"`, SQLSTATE 55000). Later statements that read or drop the view fail or differ, too.
  private static let ruleFiles: Set = ["create_view", "rowsecurity", "rules"]

  @Test(arguments: ["read committed", "repeatable read", "serializable"])
  func `change triggers change no result`(isolation: String) async throws {
    let source = try #require(regressionFiles)
    let databases = [
      try await Self.makeServer(isolation, hasTriggers: false),
      try await Self.makeServer(isolation, hasTriggers: true),
    ]
    let schedule = try String(contentsOfFile: "\(source)/parallel_schedule", encoding: .utf8)
    let files = schedule.split(separator: "\n").filter { $0.hasPrefix("test:") }
      .flatMap { $0.dropFirst("test:".count).split(separator: " ").map(String.init) }
    var (statements, otherOutput) = (0, [String]())
    for file in files {
      let outputs = try databases.map { try Self.run(file, in: source, on: $0, isolation) }
      let answers = outputs.map { $0.filter(Self.isAnswer) }
      statements += answers[0].count
      if outputs[0] != outputs[1] { otherOutput.append(file) }
      let hasOtherErrors = Self.ruleFiles.contains(file)
      let hasOtherRows = hasOtherErrors || Self.otherRows[file] != nil
      for change in answers[1].difference(from: answers[0]) {
        let (line, text, side) =
          switch change {
          case .insert(let line, let text, _): (line, text, "with triggers")
          case .remove(let line, let text, _): (line, text, "without triggers")
          }
        let isAllowed =
          text.hasPrefix("ERROR: ")
          ? hasOtherErrors : hasOtherRows && (text.hasPrefix("(") || text.hasPrefix("SELECT "))
        #expect(isAllowed, "\(file), answer \(line) \(side): \(text)")
      }
    }
    let records = try databases[1].psql(
      """
      SELECT count(*) || ' records of ' || count(DISTINCT relation) || ' tables, '
        || (SELECT count(*) FROM regression.failure) || ' tables without triggers'
      FROM swappable.record
      """, database: "regression")
    print("\(isolation): \(files.count) files, \(statements) answers, \(records)")
    print("the output of \(otherOutput.sorted().joined(separator: ", ")) differs")
    #expect(files.count > 150 && statements > 20_000)
  }

  /// Returns a Boolean value that indicates whether a line of output is the number of rows, or the error of a statement.
  private static func isAnswer(_ line: String) -> Bool {
    if line.hasPrefix("ERROR: ") || line == "(1 row)" { return true }
    if line.hasPrefix("("), line.hasSuffix(" rows)") { return true }
    return ["INSERT 0 ", "UPDATE ", "DELETE ", "MERGE ", "COPY ", "SELECT "].contains {
      line.hasPrefix($0) && Int(line.dropFirst($0.count)) != nil
    }
  }

  /// Runs a file with `psql`, and returns the lines of its output without the triggers of tables.
  private static func run(
    _ file: String, in source: String, on server: PostgresServer, _ isolation: String
  ) throws -> [String] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    let program = try #require(PostgresServer.programs)
    process.arguments = [
      "-c", #"exec "$0" -X -a -v VERBOSITY=sqlstate -v HIDE_TABLEAM=on -d "$1" <"$2" 2>&1"#,
      "\(program)/psql", server.connectionString(database: "regression"),
      "\(source)/sql/\(file).sql",
    ]
    var environment = ProcessInfo.processInfo.environment
    environment.merge([
      "PGTZ": "PST8PDT", "PGDATESTYLE": "Postgres, MDY", "LC_MESSAGES": "C",
      "PGAPPNAME": "pg_regress/\(file)", "PG_ABS_SRCDIR": source, "PG_DLSUFFIX": ".so",
      "PG_ABS_BUILDDIR": FileManager.default.temporaryDirectory.path,
      "PG_LIBDIR": environment["PG_LIBDIR"] ?? source,
      "PGOPTIONS": "-c intervalstyle=postgres_verbose "
        + "-c default_transaction_isolation=\(isolation.replacing(" ", with: "\\ "))",
    ]) { $1 }
    process.environment = environment
    let output = Pipe()
    process.standardOutput = output
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
      .filter { $0 != "Triggers:" && !$0.hasPrefix("    swappable_") }
  }

  private static func makeServer(
    _ isolation: String, hasTriggers: Bool
  ) async throws -> PostgresServer {
    let server = try PostgresServer()
    try server.psql(
      "CREATE DATABASE regression TEMPLATE template0 LOCALE 'C' ENCODING 'UTF8'")
    for setting in [
      "lc_messages = 'C'", "lc_monetary = 'C'", "lc_numeric = 'C'", "lc_time = 'C'",
      "bytea_output = 'hex'", "timezone_abbreviations = 'Default'",
    ] { try server.psql("ALTER DATABASE regression SET \(setting)") }
    let connection = try PostgresConnection(server.connectionString(database: "regression"))
    // It brings the common objects.
    try await connection.execute("CREATE TABLE swappable_first (id integer PRIMARY KEY)")
    if hasTriggers {
      try await connection.installChangeTriggers(on: ["swappable_first"])
      try server.psql(eventTriggerSQL, database: "regression")
    }
    try await connection.execute("DROP TABLE swappable_first")
    connection.close()
    return server
  }

  /// Statements that install change triggers on each table when it is created: those of the installation, for a table with
  /// names that are replaced.
  private static var eventTriggerSQL: String {
    let templates = (0...6).map { count in
      let columns = (0..<count).map { "@\($0 + 1)@" }
      let table = ChangeTriggers.Table(
        oid: 0, schema: "@schema@", name: "@table@", keyColumns: columns, keyText: "@keys@")
      let sql = ChangeTriggers.installSQL(table, function: "record_x@oid@", wakesReaders: false)
      return "(\(count), \(PostgresText.literal(sql)))"
    }
    return """
      CREATE SCHEMA regression;
      CREATE TABLE regression.template (count integer, sql text);
      CREATE TABLE regression.failure (name text, error text);
      INSERT INTO regression.template VALUES \(templates.joined(separator: ", "));
      CREATE FUNCTION regression.quoted(text) RETURNS text LANGUAGE sql IMMUTABLE
      AS $$SELECT '"' || replace($1, '"', '""') || '"'$$;
      CREATE FUNCTION regression.install() RETURNS event_trigger
      LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
      DECLARE new record; columns text[]; sql text;
      BEGIN
        FOR new IN
          SELECT DISTINCT c.oid, n.nspname, c.relname FROM pg_event_trigger_ddl_commands() d
          JOIN pg_class c ON c.oid = d.objid AND d.classid = 'pg_class'::regclass
          JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't'
            AND n.nspname NOT IN ('swappable', 'regression')
            AND NOT EXISTS (SELECT FROM pg_trigger t
              WHERE t.tgrelid = c.oid AND t.tgname = 'swappable_insert')
        LOOP
          columns := COALESCE(\(ChangeTriggers.keySQL(
            of: "new.oid", "array_agg(ka.attname::text ORDER BY k.position)")), '{}');
          SELECT t.sql INTO sql FROM regression.template t WHERE count = cardinality(columns);
          sql := replace(replace(replace(replace(sql,
            '"@schema@"', regression.quoted(new.nspname)), '"@table@"', regression.quoted(new.relname)),
            '@oid@', new.oid::text), '''@keys@''', quote_literal(columns::text));
          FOR number IN 1 .. cardinality(columns) LOOP
            sql := replace(sql, '"@' || number || '@"', regression.quoted(columns[number]));
          END LOOP;
          BEGIN
            EXECUTE sql;
          EXCEPTION WHEN OTHERS THEN
            INSERT INTO regression.failure VALUES (new.relname, SQLERRM);
          END;
        END LOOP;
      END
      $$;
      CREATE EVENT TRIGGER regression ON ddl_command_end
      WHEN TAG IN ('CREATE TABLE', 'CREATE TABLE AS', 'SELECT INTO', 'CREATE SCHEMA')
      EXECUTE FUNCTION regression.install()
      """
  }
}
