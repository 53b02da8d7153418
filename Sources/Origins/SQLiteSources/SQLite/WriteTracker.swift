import SwappableSQLite3

/// Collects the rows that a connection writes. A hook of SQLite reports them.
///
/// The tracker is used only with access to the connection. The hook runs inside a call by the
/// thread that has access.
final class WriteTracker {
  private typealias PreupdateHook =
    @convention(c) (
      UnsafeMutableRawPointer?, OpaquePointer?, Int32, UnsafePointer<CChar>?,
      UnsafePointer<CChar>?, Int64, Int64
    ) -> Void
  private typealias SetPreupdateHook =
    @convention(c) (OpaquePointer?, PreupdateHook?, UnsafeMutableRawPointer?) ->
    UnsafeMutableRawPointer?

  let collector: ChangeTracking.Collector
  private var logs: [WriteLog] = []

  /// Begins to collect. Returns `nil` if SQLite was built without the hook that the collector
  /// needs.
  init?(handle: OpaquePointer, collector: ChangeTracking.Collector) {
    self.collector = collector
    // Unretained: the hook ends with the handle, whose owner keeps this object until then.
    let context = Unmanaged.passUnretained(self).toOpaque()
    switch collector {
    case .preupdateHook:
      guard sqlite3_compileoption_used("ENABLE_PREUPDATE_HOOK") != 0,
        let symbol = addressOfFunction("sqlite3_preupdate_hook")
      else { return nil }
      let set = unsafeBitCast(symbol, to: SetPreupdateHook.self)
      _ = set(
        handle,
        { context, _, operation, database, table, old, new in
          context.object(WriteTracker.self)?.note(
            database: database, table: table, old: operation == SQLITE_INSERT ? new : old,
            new: operation == SQLITE_DELETE ? old : new)
        }, context)
    case .updateHook:
      sqlite3_update_hook(
        handle,
        { context, _, database, table, rowid in
          context.object(WriteTracker.self)?.note(
            database: database, table: table, old: rowid, new: rowid)
        }, context)
    }
  }

  /// Returns the log of a table in the database "main". Begins a log if there is none.
  func log(of table: String) -> WriteLog {
    if let log = logs.first(where: { $0.isOf(table) }) { return log }
    let log = WriteLog(table: table)
    logs.append(log)
    return log
  }

  private func note(
    database: UnsafePointer<CChar>?, table: UnsafePointer<CChar>?, old: Int64, new: Int64
  ) {
    guard let table, let database, areEqual(database, "main") else { return }
    for log in logs where log.isOf(table) {
      log.append(old)
      if new != old { log.append(new) }
    }
  }
}

/// The rows of one table that a connection has written, as a sequence for several readers.
///
/// The log contains every changed row. It may also contain unchanged rows, for example of a
/// transaction that was rolled back. It is used only with access to the connection.
final class WriteLog {
  /// The maximal number of rows. A reader that is further behind reads the whole table.
  static let limit = 1 << 16

  private let table: [CChar]
  private var rowids: [Int64] = []
  /// The sequence number of the first row in the log.
  private var start = 0
  /// A Boolean value that indicates whether a reader has read the log to its end. The next write is
  /// then logged even if it repeats the last row.
  private var isRead = false

  /// Creates a log for a table, whose name is spelled as in the schema.
  init(table: String) {
    self.table = table.utf8CString.map(\.self)
  }

  /// Returns the sequence number of the next row, from which a reader begins or continues.
  func mark() -> Int {
    isRead = true
    return start + rowids.count
  }

  func isOf(_ name: UnsafePointer<CChar>) -> Bool { areEqual(table, name) }

  func append(_ rowid: Int64) {
    // A row is often written repeatedly, or reported as deleted and inserted.
    if rowids.last == rowid, !isRead { return }
    isRead = false
    if rowids.count == WriteLog.limit {
      start += rowids.count
      rowids.removeAll(keepingCapacity: true)
    }
    rowids.append(rowid)
  }

  /// Returns the rows since a sequence number, sorted and without duplicates, or `nil` if the log
  /// does not contain all of them.
  func rows(since sequence: Int) -> [Int64]? {
    guard sequence >= start else { return nil }
    let rows = rowids[(sequence - start)...]
    if rows.count < 2 { return Array(rows) }
    let sorted = rows.sorted()
    return sorted.indices.compactMap { index in
      index > 0 && sorted[index - 1] == sorted[index] ? nil : sorted[index]
    }
  }
}

/// The way in which written rows are collected.
///
/// Tests use weaker ways to prove that they would find the errors.
struct ChangeTracking: Sendable, Hashable {
  enum Collector: Sendable, Hashable {
    /// SQLite's pre-update hook, which reports every written row.
    case preupdateHook
    /// SQLite's update hook, which does not report rows that REPLACE deletes, and previous rowids
    /// of changed rows.
    case updateHook
  }

  /// The hook that collects rows.
  var collector = Collector.preupdateHook
  /// A Boolean value that indicates whether collected rows are used only after a check that no
  /// other connection has written.
  var checksDataVersion = true
}
