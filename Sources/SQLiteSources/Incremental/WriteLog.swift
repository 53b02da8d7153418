/// The rows of one table that a connection has written, in a sequence that several readers follow.
///
/// It may hold more rows than were changed, such as those of a transaction that was rolled back, and
/// never fewer. It is used only with access to the connection.
final class WriteLog {
  /// How many rows it holds at most. Who is further behind has to read the whole table.
  static let limit = 1 << 16

  private let table: [CChar]
  private var rowids: [Int64] = []
  /// The sequence number of the first row that it holds.
  private var start = 0
  /// Whether a reader has gone on to the end: what was written before is told it again.
  private var isRead = false

  /// A log of writes to `table`, named as the schema has it.
  init(table: String) {
    self.table = table.utf8CString.map(\.self)
  }

  /// The sequence number of the row that comes next, for a reader who begins or goes on there.
  func mark() -> Int {
    isRead = true
    return start + rowids.count
  }

  /// Whether it is the log of `name`, a C string.
  func isOf(_ name: UnsafePointer<CChar>) -> Bool { System.isSame(table, name) }

  /// Adds a row.
  func append(_ rowid: Int64) {
    // One row is often written again and again, or told as deleted and inserted.
    if rowids.last == rowid, !isRead { return }
    isRead = false
    if rowids.count == WriteLog.limit {
      start += rowids.count
      rowids.removeAll(keepingCapacity: true)
    }
    rowids.append(rowid)
  }

  /// The rows since `sequence`, each once, ascending; `nil` where they are not all known any more.
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
