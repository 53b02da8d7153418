import SwappableSQLite3

/// `sql PATH`: runs each line of the input as SQL on the database at PATH, which is created if
/// necessary.
///
/// It answers each line with `ok`, or with `error: ` and the message of SQLite. A line can contain
/// several statements. The line `burst COUNT SQL` runs the statements COUNT times and has one
/// answer. In these statements, `?1` is the number of the repetition, starting with 1.
func runSQLCommand(_ arguments: [String]) -> Int32 {
  guard let path = arguments.first else {
    answer("error: sql needs the path of a database")
    return 2
  }
  var database: OpaquePointer?
  guard sqlite3_open(path, &database) == SQLITE_OK else {
    answer("error: \(String(cString: sqlite3_errmsg(database)))")
    return 1
  }
  defer { sqlite3_close_v2(database) }
  sqlite3_busy_timeout(database, 60_000)
  answer("ok")
  while let line = readLine() {
    let words = line.split(separator: " ", maxSplits: 2)
    let result: Int32
    if words.count == 3, words[0] == "burst", let count = Int(words[1]) {
      result = runBurst(count, String(words[2]), database)
    } else {
      result = sqlite3_exec(database, line, nil, nil, nil)
    }
    answer(result == SQLITE_OK ? "ok" : "error: \(String(cString: sqlite3_errmsg(database)))")
  }
  return 0
}

private func runBurst(_ count: Int, _ sql: String, _ database: OpaquePointer?) -> Int32 {
  var statements: [OpaquePointer] = []
  defer { for statement in statements { sqlite3_finalize(statement) } }
  var rest = sql
  while true {
    var statement: OpaquePointer?
    var read = 0
    let result = rest.withCString { text in
      var tail: UnsafePointer<CChar>?
      let result = sqlite3_prepare_v2(database, text, -1, &statement, &tail)
      read = tail.map { $0 - text } ?? 0
      return result
    }
    guard result == SQLITE_OK else { return result }
    guard let statement else { break }
    statements.append(statement)
    rest = String(decoding: rest.utf8.dropFirst(read), as: UTF8.self)
  }
  for turn in 1...count {
    for statement in statements {
      if sqlite3_bind_parameter_count(statement) > 0 {
        sqlite3_bind_int64(statement, 1, Int64(turn))
      }
      var result = sqlite3_step(statement)
      while result == SQLITE_ROW { result = sqlite3_step(statement) }
      sqlite3_reset(statement)
      guard result == SQLITE_DONE else { return result }
    }
  }
  return SQLITE_OK
}
