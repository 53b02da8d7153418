import SwappableSQLite3

/// Collects which rows a connection writes, told by a hook of SQLite.
///
/// It is used only with access to the connection: the hook runs inside of a call by the thread that
/// has it.
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

  /// Begins to collect; `nil` where SQLite was built without what that needs.
  init?(handle: OpaquePointer, collector: ChangeTracking.Collector) {
    self.collector = collector
    // Unretained: the hook ends with the handle, whose owner keeps this object until then.
    let context = Unmanaged.passUnretained(self).toOpaque()
    switch collector {
    case .preupdateHook:
      guard sqlite3_compileoption_used("ENABLE_PREUPDATE_HOOK") != 0,
        let symbol = System.function("sqlite3_preupdate_hook")
      else { return nil }
      let set = unsafeBitCast(symbol, to: SetPreupdateHook.self)
      _ = set(
        handle,
        { context, _, operation, database, table, old, new in
          guard let context else { return }
          Unmanaged<WriteTracker>.fromOpaque(context).takeUnretainedValue()
            .note(
              database: database, table: table, old: operation == SQLITE_INSERT ? new : old,
              new: operation == SQLITE_DELETE ? old : new)
        }, context)
    case .updateHook:
      sqlite3_update_hook(
        handle,
        { context, _, database, table, rowid in
          guard let context else { return }
          Unmanaged<WriteTracker>.fromOpaque(context).takeUnretainedValue()
            .note(database: database, table: table, old: rowid, new: rowid)
        }, context)
    }
  }

  /// The log of what is written to `table` of the database "main", begun where there is none.
  func log(of table: String) -> WriteLog {
    if let log = logs.first(where: { $0.isOf(table) }) { return log }
    let log = WriteLog(table: table)
    logs.append(log)
    return log
  }

  private func note(
    database: UnsafePointer<CChar>?, table: UnsafePointer<CChar>?, old: Int64, new: Int64
  ) {
    guard let table, let database, System.isSame(database, "main") else { return }
    for log in logs where log.isOf(table) {
      log.append(old)
      if new != old { log.append(new) }
    }
  }
}
