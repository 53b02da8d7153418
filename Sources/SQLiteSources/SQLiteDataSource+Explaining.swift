extension SQLiteDataSource {
  /// Tells how the source keeps up with its database, by the schema of this moment, and why.
  ///
  /// It reads the schema on a connection of its own, and waits for nobody; a database in memory it reads
  /// through the connection that holds it.
  ///
  /// - Throws: a `SQLiteError` where the database cannot be read, or no longer fits the query.
  public func explain() throws(SQLiteError) -> SQLiteQueryExplanation {
    try monitor.readers.read { database throws(SQLiteError) in try query.explain(on: database) }
  }
}
