import DataSourceTesting
import SQLSources
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import SQLiteSources

@Suite struct ResultIndexTests {
  @Test(.reaches("insertion", "removal")) func `chunks behave like a sorted array`() {
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    for start in [0, 1, 511, 3000] {
      var model = (0..<start).map { $0 * 2 }
      var chunks = SortedChunks(ContiguousArray(model))
      for _ in 0..<4000 {
        let number = Int.random(in: -2...(2 * start + 200), using: &generator)
        let place = model.firstIndex { $0 >= number } ?? model.count
        let position = chunks.position { $0 < number }
        #expect(chunks.offset(of: position) == place, "seed \(seed)")
        #expect(
          chunks[position] == (place < model.count ? model[place] : nil), "seed \(seed)")
        // The sequence grows at first, and sometimes shrinks to nothing.
        if Int.random(in: 0..<10, using: &generator) < 5 {
          model.insert(number, at: place)
          chunks.insert(number, at: position)
          Coverage.note("insertion")
        } else if place < model.count {
          model.remove(at: place)
          chunks.remove(at: position)
          Coverage.note("removal")
        }
        #expect(chunks.count == model.count && chunks.last == model.last, "seed \(seed)")
      }
      #expect(Array(chunks) == model, "seed \(seed)")
      while let last = chunks.last {
        chunks.remove(at: chunks.position { $0 < last })
        model.removeLast()
      }
      #expect(chunks.count == 0 && Array(chunks).isEmpty && model.isEmpty, "seed \(seed)")
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
        var index = ResultIndex(isByIdentity: false)
        let scan = RowScan(plan: plan, query: query)
        var count = 0
        for turn in 1...10 {
          // The rows of this read are not applied, as after a mapping error.
          _ = try scan.change(of: &index, on: database)
          _ = try scan.change(of: &index, rowids: Array(1...1000), on: database)
          if turn == 1 { count = index.arena.bytes.count }
        }
        #expect(count > 0 && index.arena.bytes.count <= 2 * count)
      }
    }
  }

  @Test func `keys of removed rows are released`() throws {
    var index = ResultIndex(isByIdentity: false)
    var writer = SortKeyWriter()
    var largest = 0
    for turn in 0..<5000 {
      writer.removeAll()
      let text = Array("\(turn % 100) and some more that does not fit into the prefix".utf8)
      text.withUnsafeBytes { writer.add(text: $0, ignoresCase: false) }
      let identity = SortKey(Int64(turn % 50))
      if let old = index.row(identity) { index.remove(old) }
      let made = index.makeKey(writer)
      let key = try #require(made)
      index.insert(.init(identity: identity, order: key, fingerprint: RowFingerprint()))
      index.compact()
      largest = max(largest, index.arena.bytes.count)
      let last = try #require(index.last)
      #expect(index.offset(of: last) == index.count - 1)
    }
    #expect(largest < 200_000)
  }

  @Test func `a window is filled from known rows only`() throws {
    func row(_ rowid: Int64) -> ResultIndex.Row {
      .init(identity: SortKey(rowid), order: SortKey(), fingerprint: RowFingerprint())
    }
    func change(removed: [Int64] = [], added: [Int64] = []) -> RowChange {
      var change = RowChange(columns: ResultColumns([]))
      change.removed = removed.map(row)
      change.added = added.map { .init(row: row($0), number: 0) }
      return change
    }
    var index = ResultIndex(isByIdentity: true)
    for rowid: Int64 in [10, 20, 30] { index.insert(row(rowid)) }
    // A row behind the last row is not in the result. A row before it pushes it out.
    let behind = change(added: [40]).windowed(index, limit: 3)
    #expect(behind?.count == 0)
    let before = try #require(change(added: [15]).windowed(index, limit: 3))
    #expect(
      before.added.map(\.row.identity.integer) == [15]
        && before.removed.map(\.identity.integer) == [30])
    // After a deletion, the row that follows the last row is unknown.
    #expect(change(removed: [20]).windowed(index, limit: 3) == nil)
    #expect(change(removed: [20], added: [40]).windowed(index, limit: 3) == nil)
    let exchanged = change(removed: [20], added: [5]).windowed(index, limit: 3)
    #expect(exchanged?.count == 2)
    // If there are fewer rows than the limit, all rows are known.
    let shrunk = change(removed: [20]).windowed(index, limit: 4)
    #expect(shrunk?.removed.count == 1)
    let grown = change(added: [40, 50]).windowed(index, limit: 4)
    #expect(grown?.added.map(\.row.identity.integer) == [40])
  }
}
