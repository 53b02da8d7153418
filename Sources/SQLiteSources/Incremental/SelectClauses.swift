/// The clauses of a plain SELECT from one table, as text.
///
/// It understands a small part of SQL. SQLite has checked the text before.
struct SelectClauses {
  struct Term: Equatable {
    var table: String?
    var column: String
    var collation: String?
    var isDescending = false
  }

  enum Limit: Equatable {
    case number(Int)
    case argument(String)
  }

  private(set) var results = ""
  /// The selected columns with `nil` for each expression, or `nil` if the query selects `*`.
  private(set) var resultColumns: [String?]? = []
  /// The aliases of results, with their expressions.
  private(set) var aliases: [(name: String, tokens: [SQLToken])] = []
  /// The number of aliases before the first star, if there is one.
  private(set) var aliasesBeforeStar: Int?
  private(set) var table = ""
  private(set) var alias: String?
  private(set) var condition: String?
  private(set) var order: [Term] = []
  private(set) var limit: Limit?

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

    let results = clauses["SELECT"] ?? []
    self.results = text(of: results)
    for item in SelectClauses.items(results) {
      if item.last?.isMark("*") == true { aliasesBeforeStar = aliasesBeforeStar ?? aliases.count }
      noteAlias(Array(item))
    }
    resultColumns = SelectClauses.columns(SelectClauses.items(results))
    try readTable(Array(clauses["FROM"] ?? []))
    if let condition = clauses["WHERE"] { self.condition = text(of: condition) }
    if let terms = clauses["ORDER"] {
      guard terms.first?.word == "BY" else {
        throw SelectClauses.unplain("its SQL cannot be analyzed")
      }
      for item in SelectClauses.items(terms.dropFirst()) { order.append(try term(Array(item))) }
    }
    if let limit = clauses["LIMIT"] { self.limit = try SelectClauses.limit(Array(limit)) }
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

  /// Returns the selected columns, with `nil` for each expression.
  private static func columns(_ items: [ArraySlice<SQLToken>]) -> [String?]? {
    if items.count == 1, items[0].count == 1, items[0].first?.isMark("*") == true { return nil }
    var columns: [String?] = []
    for item in items {
      // The columns of a star cannot be counted here.
      if item.last?.isMark("*") == true { break }
      columns.append(column(Array(item)))
    }
    return columns
  }

  /// Returns the column of a result, with or without table and alias.
  private static func column(_ item: [SQLToken]) -> String? {
    var item = item[...]
    if item.count > 2, item[item.endIndex - 2].word == "AS" { item = item.dropLast(2) }
    if item.count == 3, item[0].isName, item[1].isMark(".") { item = item.dropFirst(2) }
    guard item.count == 1, let name = item.first, name.isName,
      !["NULL", "TRUE", "FALSE"].contains(name.word)
    else { return nil }
    return name.text
  }

  private mutating func noteAlias(_ item: [SQLToken]) {
    guard item.count >= 2, let last = item.last, last.isName || last.kind == .string else { return }
    let rest = item.dropLast()
    if rest.last?.word == "AS" {
      aliases.append((SelectClauses.name(last), Array(rest.dropLast())))
    } else if case .mark(let mark)? = rest.last?.kind, mark != UInt8(ascii: ")") {
      // This is the last operand of an expression, or a column with its table.
      return
    } else {
      // At worst, a keyword such as NULL in "x IS NULL" is noted as an alias.
      aliases.append((SelectClauses.name(last), Array(rest)))
    }
  }

  private static func name(_ token: SQLToken) -> String {
    token.kind == .string ? String(token.text.dropFirst().dropLast()) : token.text
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

  private func term(_ tokens: [SQLToken]) throws(RefetchReason) -> Term {
    var tokens = tokens[...]
    let unknown = SelectClauses.unplain("it is not ordered by plain columns")
    guard let first = tokens.popFirst(), first.isName else { throw unknown }
    var term = Term(column: first.text)
    if tokens.first?.isMark(".") == true {
      guard let name = tokens.dropFirst().first, name.isName else { throw unknown }
      term = Term(table: first.text, column: name.text)
      tokens = tokens.dropFirst(2)
    }
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
