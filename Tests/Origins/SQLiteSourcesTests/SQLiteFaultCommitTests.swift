import DataSourceTesting
import Diffing
import Foundation
import ObservableCollections
import SQLiteSources
import TestSupport
import TestTags
import Testing

/// Commits of several writers at the same time. Each snapshot is a committed state, and the last
/// commit is always delivered.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SQLiteFaultCommitTests {
  typealias Journal = ObservedQuery.Journal

  @Test(.tags(.system), arguments: Journal.allCases, [1, 3])
  func `every snapshot is a committed state`(journal: Journal, writers: Int) async throws {
    let live = try await ObservedQuery(
      .init(journal: journal, writer: .own), "SELECT id, balance FROM account ORDER BY balance, id",
      setup: Bank.setup(writers: writers))
    let sum = try SQLiteDataSource(
      path: live.database.path, sql: "SELECT sum(balance) FROM account WHERE id < 100"
    ) { TestRow($0) }
    let first = try SQLiteDataSource(
      path: live.database.path,
      sql: "SELECT id, balance FROM account WHERE id < 100 ORDER BY balance DESC, id LIMIT 3"
    ) { TestRow($0) }
    let observers = [RecordingObserver(sum), RecordingObserver(first)]
    try await sum.loaded()
    await sum.flush()
    let sums = observers[0].eventCount
    let loaded = live.observer.changes.count
    let process = try HelperProcess("sql", live.database.path)
    try process.run("PRAGMA synchronous = OFF")
    let handle = try RawHandle(live.database.path)
    try handle.execute("PRAGMA synchronous = OFF")

    let count = journal == .wal ? 300 : 60
    try process.send("burst \(count) \(Bank.transfer(0))")
    for turn in 1...count where writers > 1 {
      try live.write(Bank.transfer(1, "\(turn)"))
      try handle.execute(Bank.transfer(2, "\(turn)"))
    }
    try process.waitForOK()

    let last = Bank.rows(turns: [Int](repeating: count, count: writers))
    try await live.observer.wait { Bank.numbers($0.snapshot) == last }
    var before = [Int](repeating: 0, count: writers)
    for event in live.observer.changes.dropFirst(loaded) {
      let rows = Bank.numbers(event.after)
      let after = Bank.turns(rows, writers: writers)
      #expect(rows == Bank.rows(turns: after))
      #expect(zip(before, after).allSatisfy { $0 <= $1 } && before != after)
      before = after
    }
    try live.check()
    await sum.refresh()
    await first.refresh()
    try observers[0].check(against: sum)
    try observers[1].check(against: first)
    #expect(observers[0].eventCount == sums, "the sum is always the same")
    #expect(Array(observers[1].snapshot) == (try live.freshRows(first.sql)))
  }

  @Test(arguments: Journal.allCases)
  func `the last commit of each burst is delivered between own commits`(journal: Journal)
    async throws
  {
    let live = try await ObservedQuery(.init(journal: journal, writer: .process))
    for turn in 1...20 {
      try live.write("burst \(turn) UPDATE item SET name = 'p' || ?1 || '-\(turn)' WHERE id = 1")
      if turn.isMultiple(of: 2) {
        try live.own.execute("UPDATE item SET name = 'o\(turn)' WHERE id = 2")
      }
      if turn.isMultiple(of: 3) {
        try live.own.execute("UPDATE item SET name = 'last\(turn)' WHERE id = 1")
      }
      let rows = try live.freshRows()
      try await live.observer.wait(forContents: rows)
    }
    await live.source.refresh()
    try live.check()
  }

  @Test(arguments: ObservedQuery.Setting.all)
  func `alternating commits of two writers are exact changes`(setting: ObservedQuery.Setting)
    async throws
  {
    let live = try await ObservedQuery(setting)
    for turn in 0..<5 {
      let id = 10 + turn
      try await live.expect(
        "INSERT INTO item VALUES (\(id), 'b\(turn)', 1)", changes: "+\(2 + turn) \(id).b\(turn)")
      let count = live.observer.eventCount
      try live.own.execute("UPDATE item SET name = 'd\(turn)' WHERE id = 4")
      await live.source.refresh()
      #expect(live.observer.eventCount == count + 1)
      let (place, old) = (4 + turn, turn == 0 ? "4.d" : "4.d\(turn - 1)")
      #expect(live.observer.changes.last?.brief == "~\(place)>\(place) \(old)→4.d\(turn)")
      // Write both together, the foreign one first: the own commit follows a commit that is not
      // delivered yet.
      try live.write("UPDATE item SET list = NULL, name = 'c\(turn)' WHERE id = 3")
      try live.own.execute("UPDATE item SET name = 'a\(turn)' WHERE id = 1")
      await live.source.refresh()
      try live.check()
    }
  }
}
