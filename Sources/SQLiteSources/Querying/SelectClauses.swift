/// The clauses of a plain SELECT on one table, as they stand in its text.
///
/// It understands a small part of SQL. SQLite itself has checked the text before.
struct SelectClauses {
  /// A term of ORDER BY.
  struct Term: Equatable {
    var table: String?
    var column: String
    var collation: String?
    var isDescending = false
  }

  enum Limit: Equatable {
    case number(Int)
    /// An argument, as it is written.
    case argument(String)
  }

  /// What is selected, as text.
  private(set) var results = ""
  /// The columns that are selected, `nil` in place of each expression; `nil` for all, by `*`.
  private(set) var resultColumns: [String?]? = []
  /// Names that are given to results, each with what it stands for.
  private(set) var aliases: [(name: String, tokens: [SQLToken])] = []
  /// How many of the aliases stand before the first star, if there is one.
  private(set) var aliasesBeforeStar: Int?
  private(set) var table = ""
  private(set) var alias: String?
  /// The condition, as text.
  private(set) var condition: String?
  private(set) var order: [Term] = []
  private(set) var limit: Limit?

  private let sql: [UInt8]

  /// Words of what is not maintained, wherever they stand.
  private static let refused: [String: String] = [
    "WITH": "it has a WITH clause", "DISTINCT": "it selects DISTINCT rows",
    "GROUP": "it groups rows", "HAVING": "it groups rows", "WINDOW": "it has a window",
    "OVER": "it has a window", "FILTER": "it has a filtered aggregate", "JOIN": "it joins tables",
    "UNION": "it is a compound of several SELECTs",
    "INTERSECT": "it is a compound of several SELECTs",
    "EXCEPT": "it is a compound of several SELECTs", "VALUES": "it lists VALUES",
    "OFFSET": "it has an OFFSET", "EXISTS": "it has a subquery", "RAISE": "it raises errors",
    "INDEXED": "it names an index", "NULLS": "it places NULLs by itself",
    "CURRENT_TIME": "it depends on the time", "CURRENT_DATE": "it depends on the time",
    "CURRENT_TIMESTAMP": "it depends on the time", "MATCH": "it searches by MATCH",
    "REGEXP": "it searches by REGEXP",
  ]

  init(_ text: String) throws(Disqualification) {
    sql = Array(text.utf8)
    guard var tokens = SQLTokenizer.tokens(of: text) else {
      throw Disqualification("its text is not understood", help: "write a plain SELECT")
    }
    while tokens.last?.isMark(";") == true { tokens.removeLast() }
    guard tokens.first?.word == "SELECT" else {
      throw Disqualification("it is no plain SELECT", help: "write SELECT … FROM table")
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

  private static func unplain(_ reason: String) -> Disqualification {
    Disqualification(
      reason,
      help: "select from one table, with WHERE, ORDER BY plain columns and LIMIT only; "
        + "filter, sort or combine further by operators on the data source")
  }

  /// Splits where a keyword stands outside of brackets.
  private mutating func split(_ tokens: [SQLToken]) throws(Disqualification) {
    var clauses: [String: ArraySlice<SQLToken>] = [:]
    var clause = "SELECT"
    var start = 1
    let keywords = ["SELECT", "FROM", "WHERE", "ORDER", "LIMIT"]
    func add(upTo end: Int) throws(Disqualification) {
      guard start <= end, clauses.updateValue(tokens[start..<end], forKey: clause) == nil else {
        throw SelectClauses.unplain("its text is not understood")
      }
    }
    var depth = 0
    for (index, token) in tokens.enumerated().dropFirst() {
      if token.isMark("(") { depth += 1 }
      if token.isMark(")") { depth -= 1 }
      guard depth == 0, let word = token.word, let rank = keywords.firstIndex(of: word),
        let now = keywords.firstIndex(of: clause)
      else { continue }
      guard rank > now else { throw SelectClauses.unplain("its text is not understood") }
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
        throw SelectClauses.unplain("its text is not understood")
      }
      for item in SelectClauses.items(terms.dropFirst()) { order.append(try term(Array(item))) }
    }
    if let limit = clauses["LIMIT"] { self.limit = try SelectClauses.limit(Array(limit)) }
  }

  private func text(of tokens: ArraySlice<SQLToken>) -> String {
    guard let first = tokens.first, let last = tokens.last else { return "" }
    return String(decoding: sql[first.range.lowerBound..<last.range.upperBound], as: UTF8.self)
  }

  /// What stands between the commas outside of brackets.
  private static func items(_ tokens: ArraySlice<SQLToken>) -> [ArraySlice<SQLToken>] {
    var depth = 0
    return tokens.split(omittingEmptySubsequences: false) { token in
      if token.isMark("(") { depth += 1 }
      if token.isMark(")") { depth -= 1 }
      return depth == 0 && token.isMark(",")
    }
  }

  /// The columns among the results, `nil` where there are others than one would count.
  private static func columns(_ items: [ArraySlice<SQLToken>]) -> [String?]? {
    if items.count == 1, items[0].count == 1, items[0].first?.isMark("*") == true { return nil }
    var columns: [String?] = []
    for item in items {
      // Columns that follow cannot be counted.
      if item.last?.isMark("*") == true { break }
      columns.append(column(Array(item)))
    }
    return columns
  }

  /// The column that a result is, with its table or without, under whatever name.
  private static func column(_ item: [SQLToken]) -> String? {
    var item = item[...]
    if item.count > 2, item[item.endIndex - 2].word == "AS" { item = item.dropLast(2) }
    if item.count == 3, item[0].isName, item[1].isMark(".") { item = item.dropFirst(2) }
    guard item.count == 1, let name = item.first, name.isName,
      !["NULL", "TRUE", "FALSE"].contains(name.word)
    else { return nil }
    return name.text
  }

  /// Takes a result's alias, with AS or without.
  private mutating func noteAlias(_ item: [SQLToken]) {
    guard item.count >= 2, let last = item.last, last.isName || last.kind == .string else { return }
    let rest = item.dropLast()
    if rest.last?.word == "AS" {
      aliases.append((SelectClauses.name(last), Array(rest.dropLast())))
    } else if case .mark(let mark)? = rest.last?.kind, mark != UInt8(ascii: ")") {
      // The last operand of an expression, or a column with its table.
      return
    } else {
      // At worst a keyword such as in "x IS NULL" is taken for an alias.
      aliases.append((SelectClauses.name(last), Array(rest)))
    }
  }

  private static func name(_ token: SQLToken) -> String {
    token.kind == .string ? String(token.text.dropFirst().dropLast()) : token.text
  }

  private mutating func readTable(_ tokens: [SQLToken]) throws(Disqualification) {
    var tokens = tokens[...]
    guard let first = tokens.popFirst(), first.isName else {
      throw SelectClauses.unplain("it reads no table, or more than a table")
    }
    table = first.text
    if tokens.first?.isMark(".") == true, let name = tokens.dropFirst().first, name.isName {
      guard SQLText.isSameName(first.text, "main") else {
        throw SelectClauses.unplain("it reads another database than main")
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
      throw SelectClauses.unplain("it reads no table, or more than a table")
    }
  }

  private func term(_ tokens: [SQLToken]) throws(Disqualification) -> Term {
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

  private static func limit(_ tokens: [SQLToken]) throws(Disqualification) -> Limit {
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
