import SQLSources
import SwappablePrimitives

/// A plan for reading only the rows of a result that have changed keys, and for placing them.
///
/// It exists if each row of the result is one row of one table, and contains its primary key. Two things must be
/// computed here as the server does: whether a key is in the result (the server itself runs the query for a few keys),
/// and the place of a row (from the values that order it).
struct PostgresIncrementalPlan: Sendable {
  /// A column of the result that orders its rows.
  struct Order: Sendable, Equatable {
    /// The values of a type, which this module orders as the server does.
    enum Kind: Sendable, Equatable {
      /// Integers, and `oid`.
      case integer
      /// `real` and `double precision`.
      case floatingPoint
      case numeric
      /// Values whose texts are ordered by their bytes: `uuid`, `boolean`, `bytea`, and texts of the collation "C".
      case bytes
      /// `date`, `timestamp` and `timestamp with time zone`.
      case time
    }

    var position: Int
    var kind: Kind
    var isDescending = false
    var hasNullsFirst = false
  }

  /// The columns of the result that contain the primary key, in its order.
  var keyPositions: [Int]
  /// The columns that order the rows. The primary key comes last, so no two rows are equal.
  var orders: [Order]
  /// The query for some keys. The arguments for the keys follow those of the query: an array for each column.
  var sql: String

  /// A Boolean value that indicates whether the server may return equal rows in any order.
  var hasTies: Bool
}

extension PostgresIncrementalPlan: Equatable {
  /// Returns a Boolean value that indicates whether two plans are the same, with the same bytes of the query.
  static func == (left: PostgresIncrementalPlan, right: PostgresIncrementalPlan) -> Bool {
    left.keyPositions == right.keyPositions && left.orders == right.orders
      && left.hasTies == right.hasTies && left.sql.hasSameBytes(as: right.sql)
  }
}

extension PostgresIncrementalPlan {
  /// The nodes of expressions whose value depends only on the row.
  private static let knownNodes: Set<String> = [
    "QUERY", "RTE", "RANGETBLENTRY", "RTEPERMISSIONINFO", "ALIAS", "TARGETENTRY", "VAR", "CONST",
    "OPEXPR", "BOOLEXPR", "NULLTEST", "BOOLEANTEST", "FUNCEXPR", "FROMEXPR", "RANGETBLREF",
    "SORTGROUPCLAUSE", "RELABELTYPE", "SCALARARRAYOPEXPR", "CASE", "CASEEXPR", "WHEN", "CASEWHEN",
    "CASETESTEXPR", "COALESCE", "COALESCEEXPR", "ARRAY", "ARRAYEXPR", "DISTINCTEXPR", "NULLIFEXPR",
    "MINMAX", "MINMAXEXPR", "COLLATE", "COLLATEEXPR",
  ]

  /// Makes the plan of a query, or finds the reason why there is none.
  static func make(
    tree: NodeTree?, columns: ResultColumns?, _ analysis: QueryAnalysis, _ query: PostgresQuery,
    _ session: PostgresSession
  ) async throws(PostgresError) -> Result<PostgresIncrementalPlan, RefetchReason> {
    do {
      return .success(
        try await plan(tree: tree, columns: columns, analysis, query, session))
    } catch let reason as RefetchReason {
      return .failure(reason)
    } catch let error as PostgresError {
      throw error
    } catch {
      preconditionFailure("planning throws only PostgresError and RefetchReason: \(error)")
    }
  }

  private static func plan(
    tree: NodeTree?, columns: ResultColumns?, _ analysis: QueryAnalysis, _ query: PostgresQuery,
    _ session: PostgresSession
  ) async throws -> PostgresIncrementalPlan {
    guard let tree = tree?.elements.first, tree.name == "QUERY", let columns else {
      throw RefetchReason(
        "The server's tree of the query is not known here.",
        suggestion: "Report the server's version.")
    }
    for (field, name) in [
      ("hasAggs", "an aggregate"), ("hasWindowFuncs", "a window function"),
      ("hasTargetSRFs", "a function that returns several rows"), ("hasSubLinks", "a subquery"),
      ("hasDistinctOn", "DISTINCT"), ("hasModifyingCTE", "WITH"),
    ] where tree.word(field) != "false" {
      throw RefetchReason(
        "The query has \(name).", suggestion: "Select rows of one table without it.")
    }
    for (field, name) in [
      ("cteList", "WITH"), ("groupClause", "GROUP BY"), ("groupingSets", "GROUP BY"),
      ("havingQual", "HAVING"), ("windowClause", "a window"), ("distinctClause", "DISTINCT"),
      ("limitCount", "LIMIT"), ("limitOffset", "OFFSET"), ("setOperations", "UNION"),
    ] where tree[field] != nil {
      throw RefetchReason(
        "The query has \(name).", suggestion: "Select rows of one table without it.")
    }
    guard let from = tree["jointree"]?["fromlist"]?.elements, from.count == 1,
      from[0].name == "RANGETBLREF", let index = from[0].number("rtindex"),
      let entries = tree["rtable"]?.elements, index > 0, index <= entries.count,
      entries[index - 1].number("rtekind") == 0, let table = entries[index - 1].number("relid")
    else {
      throw RefetchReason(
        "The query does not read exactly one table.",
        suggestion: "Combine the rows of several sources here.")
    }
    guard let relation = analysis.relations.first(where: { Int($0.oid) == table }),
      relation.isTable
    else {
      throw RefetchReason(
        "The query reads a view.", suggestion: "Select from the table of the view.")
    }
    // Partitions have the primary key of their table. Children and parents may have other keys.
    let family = analysis.relations.filter { $0.oid != relation.oid }
    if relation.kind == "r", !family.allSatisfy({ $0.isAncestor && $0.kind == "p" }) {
      throw RefetchReason(
        "The table has children or a parent.", suggestion: "Use a partitioned table.")
    }
    if entries[index - 1]["tablesample"] != nil {
      throw RefetchReason("The query reads a sample.", suggestion: "Read all rows.")
    }
    if let instability = analysis.instability {
      throw RefetchReason(instability, suggestion: "Pass the value as an argument.")
    }
    var unknown: String?
    tree.forEachNode { node in
      if let name = node.name, !knownNodes.contains(name) { unknown = name }
    }
    if let unknown {
      throw RefetchReason(
        "The query has an expression that may depend on more than the row (\(unknown)).",
        suggestion: "Select plain columns, and compute the rest here.")
    }
    return try await plan(tree, table: table, index, columns, query, session)
  }

  private static func plan(
    _ tree: NodeTree, table: Int, _ index: Int, _ columns: ResultColumns,
    _ query: PostgresQuery, _ session: PostgresSession
  ) async throws -> PostgresIncrementalPlan {
    let key = try await session.texts(
      """
      SELECT a.attnum, a.attname, pg_catalog.format_type(a.atttypid, NULL), a.atttypid,
        t.oid = ANY ('\(ChangeTriggers.keyTypes)'::pg_catalog.oid[]) OR t.typtype = 'e'
      FROM pg_catalog.pg_index i
      CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::pg_catalog.int2[])
        WITH ORDINALITY AS k(number, position)
      JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number
      JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
      WHERE i.indrelid = $1::pg_catalog.oid AND i.indisprimary AND k.position <= i.indnkeyatts
      ORDER BY k.position
      """, [table], columns: 5)
    if key.isEmpty {
      throw RefetchReason("The table has no primary key.", suggestion: "Add a primary key.")
    }
    let allTargets = tree["targetList"]?.elements ?? []
    let targets = allTargets.filter { $0.word("resjunk") == "false" }
    guard targets.count == columns.names.count else {
      throw RefetchReason("The columns of the result are not known.", suggestion: "Name them.")
    }
    /// The position of a plain column of the table in the result.
    func position(of number: Int) -> Int? {
      targets.firstIndex { target in
        guard let variable = target["expr"], variable.name == "VAR" else { return false }
        return variable.number("varno") == index && variable.number("varattno") == number
          && variable.number("varlevelsup") == 0
      }
    }
    var keyPositions: [Int] = []
    var conditions: [String] = []
    for (offset, row) in key.enumerated() {
      guard let number = row[0].flatMap({ Int($0) }), let name = row[1], let type = row[2],
        row[4] == "t"
      else {
        throw RefetchReason(
          "The type of the primary key is not supported.",
          suggestion: "Use integers, uuid, numeric, text or an enumeration.")
      }
      guard let position = position(of: number) else {
        throw RefetchReason(
          "The result does not contain the primary key (\(name)).",
          suggestion: "Select it.")
      }
      let column = columns.names[position]
      guard columns.names.count(where: column.hasSameBytes) == 1 else {
        throw RefetchReason(
          "Two columns have the name \(column).", suggestion: "Rename one with AS.")
      }
      keyPositions.append(position)
      let argument = query.arguments.count + offset + 1
      // Rows of other combinations may be read, too. They are what they are.
      conditions.append(
        "swappable_q.\(SQLText.quoted(column)) = ANY ($\(argument)::\(type)[])")
    }
    let orders = try await sortOrders(tree, allTargets, position(of:), columns, session)
    let missing = keyPositions.filter { position in !orders.contains { $0.position == position } }
    let rest = missing.map { position in
      Order(
        position: position, kind: kind(of: columns.type(at: position), isBytewise: true) ?? .bytes)
    }
    return PostgresIncrementalPlan(
      keyPositions: keyPositions, orders: orders + rest,
      sql: "SELECT * FROM (\(query.sql)\n) AS swappable_q WHERE "
        + conditions.joined(separator: " AND "),
      hasTies: !missing.isEmpty)
  }

  /// Returns the columns of ORDER BY.
  private static func sortOrders(
    _ tree: NodeTree, _ targets: [NodeTree], _ columnPosition: (Int) -> Int?,
    _ columns: ResultColumns, _ session: PostgresSession
  ) async throws -> [Order] {
    /// The position of an ordering value in the result. `x COLLATE "C"` has the value of `x`.
    func position(of index: Int) -> Int? {
      // Hidden values follow the columns of the result.
      if index < columns.names.count { return index }
      guard let hidden = targets[index]["expr"], hidden.name?.hasPrefix("COLLATE") == true else {
        return nil
      }
      return hidden["arg"]?.number("varattno").flatMap(columnPosition)
    }
    var orders: [Order] = []
    for clause in tree["sortClause"]?.elements ?? [] {
      guard let reference = clause.number("tleSortGroupRef"),
        let operation = clause.number("sortop"),
        let index = targets.firstIndex(where: { $0.number("ressortgroupref") == reference }),
        let position = position(of: index)
      else {
        throw RefetchReason(
          "A value that orders the rows is not in the result.",
          suggestion: "Select it, too.")
      }
      // The operator is the first or the last strategy of a B-tree, for ascending or descending order.
      let strategy = try await session.text(
        """
        SELECT a.amopstrategy FROM pg_catalog.pg_amop a
        JOIN pg_catalog.pg_am m ON m.oid = a.amopmethod AND m.amname = 'btree'
        JOIN pg_catalog.pg_opclass c ON c.opcfamily = a.amopfamily AND c.opcdefault
        WHERE a.amopopr = $1::pg_catalog.oid AND a.amopstrategy IN (1, 5)
        LIMIT 1
        """, [operation])
      let collation = collation(of: targets[index]["expr"])
      let isBytewise = try await isBytewise(collation, session)
      guard let strategy, let kind = kind(of: columns.type(at: position), isBytewise: isBytewise)
      else {
        throw RefetchReason(
          "The order of column \(columns.names[position]) depends on a collation or an "
            + "operator of the server.",
          suggestion:
            "Order by \(SQLText.quoted(columns.names[position])) COLLATE \"C\", or by "
            + "numbers or times.")
      }
      orders.append(
        Order(
          position: position, kind: kind, isDescending: strategy == "5",
          hasNullsFirst: clause.word("nulls_first") == "true"))
    }
    return orders
  }

  private static func kind(of type: PostgresType, isBytewise: Bool) -> Order.Kind? {
    switch type {
    case .smallint, .integer, .bigint, .oid: .integer
    case .real, .double: .floatingPoint
    case .numeric: .numeric
    case .uuid, .boolean, .bytes: .bytes
    case .date, .timestamp, .timestampWithTimeZone: .time
    // The texts of char(n) are compared without the spaces at their end.
    case .text, PostgresType(rawValue: 1043): isBytewise ? .bytes : nil
    default: nil
    }
  }

  private static func collation(of expression: NodeTree?) -> Int {
    guard let expression else { return 0 }
    for field in [
      "varcollid", "constcollid", "resultcollid", "funccollid", "opcollid", "casecollid",
      "coalescecollid", "collOid", "minmaxcollid",
    ] {
      if let number = expression.number(field) { return number }
    }
    return 0
  }

  /// The encodings of the server in which the order of bytes is the order in UTF-8, with the names of PostgreSQL.
  ///
  /// A database without an encoding (`SQL_ASCII`) sends its bytes as they are.
  private static let orderedEncodings: Set<String> = ["UTF8", "SQL_ASCII", "LATIN1"]

  /// Returns a Boolean value that indicates whether a collation orders texts by their bytes in UTF-8.
  private static func isBytewise(
    _ collation: Int, _ session: PostgresSession
  ) async throws(PostgresError) -> Bool {
    if collation == 0 { return false }
    let encoding = try await session.text("SELECT pg_catalog.getdatabaseencoding()")
    guard let encoding, orderedEncodings.contains(encoding) else { return false }
    if collation == 950 || collation == 951 { return true }
    // For UTF-8, the order of code points is the order of bytes.
    let rows = try await session.texts(
      """
      SELECT CASE WHEN c.collprovider = 'd' THEN d.datcollate ELSE c.collcollate END,
        CASE WHEN c.collprovider = 'd'
        THEN pg_catalog.to_jsonb(d) ->> 'datlocprovider' ELSE c.collprovider::pg_catalog.text END
      FROM pg_catalog.pg_collation c
      JOIN pg_catalog.pg_database d ON d.datname = pg_catalog.current_database()
      WHERE c.oid = $1::pg_catalog.oid
      """, [collation], columns: 2)
    guard let row = rows.first, let name = row[0] else { return false }
    guard row[1] == nil || row[1] == "c" || row[1] == "b" else { return false }
    return ["C", "POSIX", "C.UTF-8", "C.utf8", "C.UTF8"].contains(name)
  }
}
