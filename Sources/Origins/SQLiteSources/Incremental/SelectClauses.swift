import SQLSources

/// The clauses of a plain SELECT from one table, as text.
///
/// It understands a small part of SQL. SQLite has checked the text before, and decides afterwards
/// what names mean.
struct SelectClauses {
  /// A term of ORDER BY.
  struct Term {
    /// The term, as it is written.
    var sql: String
    /// The name of a column or a result, without its table.
    var name: String
    var collation: String?
    var isDescending = false

    /// Returns a term that orders other values in the same way.
    func sql(orderingBy value: String) -> String {
      value + (collation.map { " COLLATE \(SQLText.quoted($0))" } ?? "")
        + (isDescending ? " DESC" : "")
    }
  }

  enum Limit: Equatable {
    case number(Int)
    case argument(String)
  }

  private(set) var results = ""
  private(set) var table = ""
  private(set) var alias: String?
  private(set) var condition: String?
  private(set) var order: [Term] = []
  private(set) var limit: Limit?
  /// The value of LIMIT, as it is written.
  private(set) var limitSQL: String?

  private let sql: [UInt8]

  /// Words that make a query not incremental, wherever they occur.
  private static let refused: [String: String] = [
    "WITH": "it has a WITH clause", "DISTINCT": "it selects DISTINCT rows",
    "GROUP": "it groups rows", "HAVING": "it groups rows", "WINDOW": "it has a window",
    "OVER": "it has a window", "FILTER": "it filters an aggregate", "JOIN": "it joins tables",
    "UNION": "it is a compound of several SELECTs",
    "INTERSECT": "it is a compound of several SELECTs",
    "EXCEPT": "it is a compound of several SELECTs", "VALUES": "it lists VALUES",
    "OFFSET": "it has an OFFSET", "EXISTS": "it has a subquery", "RAISE": "it raises errors",
    "INDEXED": "it names an index", "NULLS": "it specifies the place of NULLs",
    "CURRENT_TIME": "it depends on the time", "CURRENT_DATE": "it depends on the time",
    "CURRENT_TIMESTAMP": "it depends on the time", "MATCH": "it searches with MATCH",
    "REGEXP": "it searches with REGEXP",
  ]

  init(_ text: String) throws(RefetchReason) {
    sql = Array(text.utf8)
    guard var tokens = SQLScanner.tokens(of: text) else {
      throw RefetchReason("its SQL cannot be analyzed", help: "write a plain SELECT")
    }
    while tokens.last?.isMark(";") == true { tokens.removeLast() }
    guard tokens.first?.word == "SELECT" else {
      throw RefetchReason("it is not a plain SELECT", help: "write SELECT … FROM table")
    }
    for (index, token) in tokens.enumerated() {
      guard let word = token.word else { continue }
      if let reason = SelectClauses.refused[word] { throw SelectClauses.unplain(reason) }
      if word == "SELECT", index > 0 { throw SelectClauses.unplain("it has a subquery") }
      if word == "IN", !(index + 1 < tokens.count && tokens[index + 1].isMark("(")) {
        throw SelectClauses.unplain("it reads a second table")
      }
    }
    try split(tokens)
  }

  private static func unplain(_ reason: String) -> RefetchReason {
    RefetchReason(
      reason,
      help: "select from one table, with WHERE, ORDER BY plain columns and LIMIT only; "
        + "use operators of the data source to filter, sort or combine further")
  }

  /// Splits the tokens at the keywords outside parentheses.
  private mutating func split(_ tokens: [SQLToken]) throws(RefetchReason) {
    var clauses: [String: ArraySlice<SQLToken>] = [:]
    var clause = "SELECT"
    var start = 1
    let keywords = ["SELECT", "FROM", "WHERE", "ORDER", "LIMIT"]
    func add(upTo end: Int) throws(RefetchReason) {
      guard start <= end, clauses.updateValue(tokens[start..<end], forKey: clause) == nil else {
        throw SelectClauses.unplain("its SQL cannot be analyzed")
      }
    }
    var depth = 0
    for (index, token) in tokens.enumerated().dropFirst() {
      if token.isMark("(") { depth += 1 }
      if token.isMark(")") { depth -= 1 }
      guard depth == 0, let word = token.word, let rank = keywords.firstIndex(of: word),
        let now = keywords.firstIndex(of: clause)
      else { continue }
      guard rank > now else { throw SelectClauses.unplain("its SQL cannot be analyzed") }
      try add(upTo: index)
      clause = word
      start = index + 1
    }
    try add(upTo: tokens.count)

    results = text(of: clauses["SELECT"] ?? [])
    try readTable(Array(clauses["FROM"] ?? []))
    if let condition = clauses["WHERE"] { self.condition = text(of: condition) }
    if let terms = clauses["ORDER"] {
      guard terms.first?.word == "BY" else {
        throw SelectClauses.unplain("its SQL cannot be analyzed")
      }
      for item in SelectClauses.items(terms.dropFirst()) { order.append(try term(item)) }
    }
    if let limit = clauses["LIMIT"] {
      limitSQL = text(of: limit)
      self.limit = try SelectClauses.limit(Array(limit))
    }
  }

  private func text(of tokens: ArraySlice<SQLToken>) -> String {
    guard let first = tokens.first, let last = tokens.last else { return "" }
    return String(decoding: sql[first.range.lowerBound..<last.range.upperBound], as: UTF8.self)
  }

  /// Splits tokens at the commas outside parentheses.
  private static func items(_ tokens: ArraySlice<SQLToken>) -> [ArraySlice<SQLToken>] {
    var depth = 0
    return tokens.split(omittingEmptySubsequences: false) { token in
      if token.isMark("(") { depth += 1 }
      if token.isMark(")") { depth -= 1 }
      return depth == 0 && token.isMark(",")
    }
  }

  private mutating func readTable(_ tokens: [SQLToken]) throws(RefetchReason) {
    var tokens = tokens[...]
    guard let first = tokens.popFirst(), first.isName else {
      throw SelectClauses.unplain("it reads no table, or more than one table")
    }
    table = first.text
    if tokens.first?.isMark(".") == true, let name = tokens.dropFirst().first, name.isName {
      guard SQLText.isSameName(first.text, "main") else {
        throw SelectClauses.unplain("it reads a database other than main")
      }
      table = name.text
      tokens = tokens.dropFirst(2)
    }
    if tokens.first?.word == "AS" { tokens = tokens.dropFirst() }
    if let name = tokens.first, name.isName, name.word != "NOT" {
      alias = name.text
      tokens = tokens.dropFirst()
    }
    guard tokens.isEmpty else {
      throw SelectClauses.unplain("it reads no table, or more than one table")
    }
  }

  private func term(_ item: ArraySlice<SQLToken>) throws(RefetchReason) -> Term {
    var tokens = item
    let unknown = SelectClauses.unplain("it is not ordered by plain columns")
    guard var name = tokens.popFirst(), name.isName else { throw unknown }
    if tokens.first?.isMark(".") == true {
      guard let column = tokens.dropFirst().first, column.isName else { throw unknown }
      name = column
      tokens = tokens.dropFirst(2)
    }
    var term = Term(sql: text(of: item), name: name.text)
    if tokens.first?.word == "COLLATE" {
      guard let name = tokens.dropFirst().first, name.isName else { throw unknown }
      term.collation = name.text
      tokens = tokens.dropFirst(2)
    }
    if let word = tokens.first?.word, word == "ASC" || word == "DESC" {
      term.isDescending = word == "DESC"
      tokens = tokens.dropFirst()
    }
    guard tokens.isEmpty else { throw unknown }
    return term
  }

  private static func limit(_ tokens: [SQLToken]) throws(RefetchReason) -> Limit {
    let digits = tokens.first?.isMark("-") == true ? tokens.dropFirst() : tokens[...]
    if digits.count == 1, let token = digits.first {
      if token.kind == .parameter, digits.count == tokens.count { return .argument(token.text) }
      if token.kind == .number, let number = Int(token.text) {
        return .number(digits.count == tokens.count ? number : -number)
      }
    }
    throw unplain("its LIMIT is neither a number nor an argument")
  }
}
