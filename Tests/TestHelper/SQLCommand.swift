import SwappableSQLite3

/// `sql PATH`: runs each line of the input on the database at PATH, which is created where missing.
///
/// Each line is answered by one: `ok`, or `error: ` and SQLite's message. A line may hold several
/// statements. `burst COUNT SQL` runs `SQL` so often, with `?` as the number of the turn from 1,
/// each a commit of its own, and answers once.
func runSQLCommand(_ arguments: [String]) -> Int32 {
  guard let path = arguments.first else {
    answer("error: sql takes the path of a database")
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
  var statement: OpaquePointer?
  guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK else {
    return sqlite3_errcode(database)
  }
  defer { sqlite3_finalize(statement) }
  for turn in 1...count {
    sqlite3_bind_int64(statement, 1, Int64(turn))
    var result = sqlite3_step(statement)
    while result == SQLITE_ROW { result = sqlite3_step(statement) }
    sqlite3_reset(statement)
    guard result == SQLITE_DONE else { return result }
  }
  return SQLITE_OK
}
