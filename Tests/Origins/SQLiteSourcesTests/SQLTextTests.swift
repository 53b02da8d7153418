import SQLSources
import Testing

@testable import SQLiteSources

@Suite struct SQLTextTests {
  @Test(arguments: [
    ("select 1", "SELECT"), ("  \n;; -- c\n/* d */ With x", "WITH"), ("", ""), ("/* open", ""),
    ("-- only", ""), ("values(1)", "VALUES"), ("\u{c}PRAGMA x", "PRAGMA"),
  ])
  func `the first word is found after space and comments`(sql: String, word: String) {
    #expect(SQLText.firstWord(sql) == word)
  }

  @Test func `fingerprints of different stored values differ`() throws {
    let memory = try SQLiteConnection.makeInMemory()
    let values = [
      "NULL", "0", "1", "0.0", "-0.0", "''", "x''", "'0'", "x'00'", "x'0000'", "'a'", "x'61'",
      "'12345678'", "'123456789'", "x'3132333435363738'", "12345678",
    ]
    var seen: [RowFingerprint: String] = [:]
    for first in values {
      for second in values {
        let sql = "SELECT \(first), \(second)"
        let fingerprints = try memory.withDatabase { database throws(SQLiteError) in
          try database.withStatement(sql, []) { statement throws(SQLiteError) in
            _ = try statement.step()
            var pair = (RowHasher(), RowHasher())
            pair.0.combine(statement, 0..<2)
            pair.1.combine(statement, 0..<2)
            return (pair.0.fingerprint, pair.1.fingerprint)
          }
        }
        #expect(fingerprints.0 == fingerprints.1)
        #expect(seen.updateValue(sql, forKey: fingerprints.0) == nil, "\(sql)")
      }
    }
  }
}
