extension SQLiteConnection {
  /// When a transaction takes its locks.
  public enum TransactionKind: String, Sendable, Hashable {
    /// With its first read or write. One that reads first may fail to write later.
    case deferred = "DEFERRED"
    /// The write lock at once.
    case immediate = "IMMEDIATE"
    /// All locks at once.
    case exclusive = "EXCLUSIVE"
  }

  /// Runs `body` as one transaction: committed where it returns, rolled back where it throws.
  ///
  /// Other threads wait for its end. Inside another transaction it is a savepoint: only its own
  /// part is rolled back, and nothing is committed before the outermost ends.
  ///
  /// - Parameters:
  ///   - kind: when it takes its locks; a read-only connection's is always `deferred`.
  ///   - body: what to do. It must not leave the transaction by SQL of its own.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws, or a `SQLiteError`.
  @discardableResult
  public func transaction<Result>(
    _ kind: TransactionKind = .immediate, _ body: () throws -> Result
  ) throws -> Result {
    try withAccess {
      let isNested = try withDatabase { $0.isInTransaction }
      if isNested { return try savepoint(body) }
      if access != .readOnly {
        try withDatabase { database throws(SQLiteError) in try database.refuseIfMoved() }
      }
      try execute("BEGIN \((access == .readOnly ? .deferred : kind).rawValue)")
      do {
        let result = try body()
        try checkTransaction()
        try execute("COMMIT")
        return result
      } catch {
        // SQLite may have rolled back by itself; where it has not and cannot, the first error
        // tells more than the second.
        if try withDatabase({ $0.isInTransaction }) { _ = try? execute("ROLLBACK") }
        throw error
      }
    }
  }

  private func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
    // Savepoints of one name nest: the last one is meant.
    try execute("SAVEPOINT swappable")
    do {
      let result = try body()
      try checkTransaction()
      try execute("RELEASE swappable")
      return result
    } catch {
      if try withDatabase({ $0.isInTransaction }) {
        _ = try? execute("ROLLBACK TO swappable")
        _ = try? execute("RELEASE swappable")
      }
      throw error
    }
  }

  private func checkTransaction() throws(SQLiteError) {
    try withDatabase { database throws(SQLiteError) in
      guard !database.isInTransaction else { return }
      throw SQLiteError(
        .transaction, "the transaction ended before its body did", path: path,
        help: "let the body throw where a statement failed, and run no COMMIT or ROLLBACK in it")
    }
  }
}
