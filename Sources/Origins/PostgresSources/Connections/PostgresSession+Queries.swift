import SQLSources
import SwappablePrimitives

/// The queries and transactions of this module itself.
extension PostgresSession {
  /// Runs a quick query, and returns the texts of all values.
  ///
  /// - Parameter columns: The number of values in each row.
  /// - Throws: A ``PostgresError``, also if the answer has another number of columns.
  func texts(
    _ sql: String, _ arguments: PostgresArguments = [], columns: Int
  ) async throws(PostgresError) -> [[String?]] {
    let receiver = RowReceiver(byteLimit: 64 << 20)
    try await run(sql, arguments.values, receiver: receiver, limit: answerLimit)
    let count = receiver.rows?.columns.names.count ?? 0
    guard count == columns else {
      // Answers may belong to other statements from here on.
      close()
      throw .unexpectedAnswer(
        "the server answered with \(count) columns instead of \(columns)", sql: sql)
    }
    do {
      return try receiver.map { row in (0..<row.count).map { row.text(at: $0) } }
    } catch {
      preconditionFailure("reading the texts of a row cannot fail")
    }
  }

  /// Runs a quick query, and returns the text of the first value, or `nil` if there is no row or if the value is NULL.
  func text(
    _ sql: String, _ arguments: PostgresArguments = []
  ) async throws(PostgresError) -> String? {
    try await texts(sql, arguments, columns: 1).first?[0]
  }

  /// Runs a quick query, and returns the text of the first value, which cannot be NULL.
  func requiredText(_ sql: String) async throws(PostgresError) -> String {
    guard let text = try await text(sql) else {
      throw .unexpectedAnswer("the server answered without a row", sql: sql)
    }
    return text
  }

  /// A Boolean value that indicates whether the records of the change triggers belong to this database.
  func hasEpoch() async throws(PostgresError) -> Bool {
    try await text(
      "SELECT e.epoch FROM swappable.epoch e WHERE e.cluster = \(ChangeTriggers.clusterSQL)") != nil
  }

  /// Lets the server remove old records. If that is not possible, others do it, or the whole result is read.
  func maintainRecords() async {
    _ = try? await text("SELECT swappable.maintain()")
  }

  /// Begins a transaction in which a statement waits for a lock for a limited time, so the status of its data source
  /// can name the problem.
  func begin(_ mode: String, locking lockSQL: String? = nil) async throws(PostgresError) {
    // SET and LOCK take no snapshot.
    let timeout = "SET LOCAL lock_timeout = "
    let begin = "BEGIN \(mode); \(localSettings); \(timeout)\(lockTimeout.milliseconds)"
    guard let lockSQL else {
      return try await run(begin, limit: answerLimit + lockTimeout)
    }
    // While it waits for one table, it holds others, and a writer may need these. The server ends one of the two after a
    // second (`deadlock_timeout`). Let go of them before, so it is never the writer.
    let shortTimeout = min(lockTimeout, .milliseconds(500))
    var rest = lockTimeout
    while true {
      do throws(PostgresError) {
        return try await run(
          "\(begin); \(timeout)\(shortTimeout.milliseconds); \(lockSQL); "
            + "\(timeout)\(lockTimeout.milliseconds)", limit: answerLimit + lockTimeout)
      } catch {
        rest -= shortTimeout
        guard error.code == .lockTimeout, rest > .zero else { throw error }
        try await run("ROLLBACK", limit: answerLimit)
      }
    }
  }

  /// Runs a closure in a transaction that is then rolled back.
  func withRollback<Result>(
    _ mode: String, _ body: () async throws(PostgresError) -> Result
  ) async throws(PostgresError) -> Result {
    do throws(PostgresError) {
      // The queries of catalogs that follow are not worth a compilation.
      try await begin("\(mode); SET LOCAL jit = off")
      let result = try await body()
      await rollBack()
      return result
    } catch {
      await rollBack()
      throw error
    }
  }
}
