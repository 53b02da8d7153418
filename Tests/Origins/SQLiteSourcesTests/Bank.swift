import SQLiteSources

/// Transfers between accounts. The number of turns of each writer determines the balances, in any
/// order.
enum Bank {
  static let accounts = 6
  /// The row that counts the turns of a writer.
  static func counter(_ writer: Int) -> Int { 100 + writer }

  static func setup(writers: Int) -> String {
    let rows =
      (0..<accounts).map { "(\($0), 1000)" } + (0..<writers).map { "(\(counter($0)), 0)" }
    return """
      CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER);
      INSERT INTO account VALUES \(rows.joined(separator: ", "))
      """
  }

  /// A transfer with the turn as `?1`. It has several statements, so there are states in between.
  static func transfer(_ writer: Int, _ turn: String = "?1") -> String {
    let from = "(\(turn) * 5 + \(writer)) % \(accounts)"
    return """
      BEGIN IMMEDIATE; \
      UPDATE account SET balance = balance - (\(turn) % 7 + 1) WHERE id = \(from); \
      UPDATE account SET balance = balance + (\(turn) % 7 + 1) \
      WHERE id = (\(from) + 1 + \(turn) % 5) % \(accounts); \
      UPDATE account SET balance = \(turn) WHERE id = \(counter(writer)); COMMIT
      """
  }

  /// Returns the rows after some turns of each writer.
  static func rows(turns: [Int]) -> [Int: Int] {
    var rows = Dictionary(uniqueKeysWithValues: (0..<accounts).map { ($0, 1000) })
    for (writer, turns) in turns.enumerated() {
      for turn in 0..<turns {
        let (turn, from) = (turn + 1, ((turn + 1) * 5 + writer) % accounts)
        rows[from, default: 0] -= turn % 7 + 1
        rows[(from + 1 + turn % 5) % accounts, default: 0] += turn % 7 + 1
      }
      rows[counter(writer)] = turns
    }
    return rows
  }

  /// Returns the balance of each account and the turn of each counter.
  static func numbers(_ rows: some Sequence<TestRow>) -> [Int: Int] {
    var numbers: [Int: Int] = [:]
    for row in rows {
      if case .integer(let id) = row.values[0], case .integer(let balance) = row.values[1] {
        numbers[Int(id)] = Int(balance)
      }
    }
    return numbers
  }

  /// Returns the number of turns of each writer that lead to some rows.
  static func turns(_ rows: [Int: Int], writers: Int) -> [Int] {
    (0..<writers).map { rows[counter($0)] ?? -1 }
  }
}
