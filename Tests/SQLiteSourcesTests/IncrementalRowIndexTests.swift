import DataSourceTesting
import SwappablePrimitives
import SwappableSources
import Testing

@testable import SQLiteSources

@Suite struct IncrementalRowIndexTests {
  @Test func `chunks behave like a sorted array`() {
    let seed = UInt64.random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    for start in [0, 1, 511, 3000] {
      var model = (0..<start).map { $0 * 2 }
      var chunks = SortedChunks(ContiguousArray(model))
      for _ in 0..<4000 {
        let number = Int.random(in: -2...(2 * start + 200), using: &generator)
        let place = model.firstIndex { $0 >= number } ?? model.count
        let position = chunks.position { $0 < number }
        #expect(chunks.offset(of: position) == place)
        #expect(chunks[position] == (place < model.count ? model[place] : nil))
        // The sequence grows at first, and sometimes shrinks to nothing.
        if Int.random(in: 0..<10, using: &generator) < 5 {
          model.insert(number, at: place)
          chunks.insert(number, at: position)
        } else if place < model.count {
          model.remove(at: place)
          chunks.remove(at: position)
        }
        #expect(chunks.count == model.count && chunks.last == model.last)
      }
      #expect(Array(chunks) == model)
      while let last = chunks.last {
        chunks.remove(at: chunks.position { $0 < last })
        model.removeLast()
      }
      #expect(chunks.count == 0 && Array(chunks).isEmpty && model.isEmpty)
    }
  }

  @Test func `keys of abandoned reads are released`() throws {
    let memory = try SQLiteConnection.makeInMemory()
    try memory.executeScript(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT);
      WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
      INSERT INTO t SELECT i, hex(zeroblob(50)) || i FROM n;
      """)
    for sql in ["SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a LIMIT 900"] {
      let query = SQLiteQuery(sql: sql, arguments: [], needsUniqueColumnNames: false)
      try memory.withDatabase { database throws(SQLiteError) in
        guard case .success(let plan) = try IncrementalPlan.make(for: query, on: database) else {
          return
        }
        var index = RowIndex(isByRowid: false)
        let scan = RowScan(query, plan)
        var count = 0
        for turn in 1...10 {
          // The rows of this read are not applied, as after a mapping error.
          if let window = plan.windowSQL {
            _ = try scan.delta(toWindow: &index, window, on: database)
          } else {
            _ = try scan.delta(to: &index, on: database)
          }
          _ = try scan.delta(of: Array(1...1000), to: &index, on: database)
          if turn == 1 { count = index.arena.bytes.count }
        }
        #expect(count > 0 && index.arena.bytes.count <= 2 * count)
      }
    }
  }

  @Test func `keys of removed rows are released`() throws {
    var index = RowIndex(isByRowid: false)
    var writer = SortKeyWriter()
    var largest = 0
    for turn in 0..<5000 {
      writer.removeAll()
      let text = Array("\(turn % 100) and some more that does not fit into the prefix".utf8)
      text.withUnsafeBytes { writer.add(text: $0, ignoresCase: false) }
      if let old = index.row(Int64(turn % 50)) { index.remove(old) }
      let made = index.makeKey(writer)
      let key = try #require(made)
      index.insert(.init(rowid: Int64(turn % 50), fingerprint: RowFingerprint(), key: key))
      index.compact()
      largest = max(largest, index.arena.bytes.count)
      let last = try #require(index.last)
      #expect(index.offset(of: last) == index.count - 1)
    }
    #expect(largest < 200_000)
  }

  @Test func `a window is filled from known rows only`() throws {
    func row(_ rowid: Int64) -> RowIndex.Row {
      .init(rowid: rowid, fingerprint: RowFingerprint(), key: SortKey())
    }
    func added(_ rowid: Int64) -> RowDelta.Added {
      .init(row: row(rowid), number: 0)
    }
    func delta(removed: [Int64] = [], added rowids: [Int64] = []) -> RowDelta {
      var delta = RowDelta(values: RowBatches(columns: SQLiteColumns([])))
      delta.removed = removed.map(row)
      delta.added = rowids.map(added)
      return delta
    }
    var index = RowIndex(isByRowid: true)
    for rowid: Int64 in [10, 20, 30] { index.insert(row(rowid)) }
    // A row behind the last row is not in the result. A row before it pushes it out.
    let behind = delta(added: [40]).windowed(index, limit: 3)
    #expect(behind?.isEmpty == true)
    let before = try #require(delta(added: [15]).windowed(index, limit: 3))
    #expect(before.added.map(\.row.rowid) == [15] && before.removed.map(\.rowid) == [30])
    // After a deletion, the row that follows the last row is unknown.
    #expect(delta(removed: [20]).windowed(index, limit: 3) == nil)
    #expect(delta(removed: [20], added: [40]).windowed(index, limit: 3) == nil)
    let exchanged = delta(removed: [20], added: [5]).windowed(index, limit: 3)
    #expect(exchanged?.count == 2)
    // If there are fewer rows than the limit, all rows are known.
    let shrunk = delta(removed: [20]).windowed(index, limit: 4)
    #expect(shrunk?.removed.count == 1)
    let grown = delta(added: [40, 50]).windowed(index, limit: 4)
    #expect(grown?.added.map(\.row.rowid) == [40])
  }
}
