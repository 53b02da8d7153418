import TestSupport
import DataSourceTesting
import Dispatch
import Foundation
import ObservableCollections
import ReactiveSignals
import SwappableSources
import TestSupport
import TestTags
import Testing

@testable import SQLiteSources

/// Threads with their own connections, another process, and observers that come and go, at the same
/// time.
@Suite(.tags(.concurrency), .serialized, .timeLimit(.minutes(10)))
struct SQLiteFaultConcurrencyTests {
  typealias Journal = TemporaryDatabase.Journal

  private func turns(_ journal: Journal) -> Int {
    (journal == .wal ? 60 : 20) * (TestRun.isLong ? 20 : 1)
  }

  private func open(_ path: String) throws -> SQLiteConnection {
    let connection = try SQLiteConnection(path: path, busyTimeout: .seconds(60))
    try connection.executeScript("PRAGMA synchronous = OFF")
    return connection
  }

  private func source(_ path: String, _ sql: String) throws -> SQLiteDataSource<TestRow> {
    try SQLiteDataSource(path: path, sql: sql) { TestRow($0) }
  }

  @Test(.tags(.system), arguments: Journal.allCases)
  func `every snapshot of many writers is a committed state`(journal: Journal) async throws {
    let (writers, turns) = (4, turns(journal))
    let database = try TemporaryDatabase()
    let own = try open(database.path)
    _ = try own.query("PRAGMA journal_mode = \(journal.rawValue)")
    try own.executeScript(Bank.setup(writers: writers))
    let process = try HelperProcess("sql", database.path)
    try process.run("PRAGMA synchronous = OFF")
    let queries = ["balance, id", "id", "balance DESC"].map {
      "SELECT id, balance FROM account ORDER BY \($0)"
    }
    let sources = try queries.map { try source(database.path, $0) }
    for source in sources { try await source.loaded() }
    let container = SwappableContainer<TestRow>(sources[0])
    let recorders = sources.map { RecordingObserver($0) } + [RecordingObserver(container)]
    let done = Shared(false)

    try await onThreads(
      (1..<writers).map { writer in
        {
          let connection = writer == 1 ? own : try open(database.path)
          for turn in 1...turns {
            try connection.executeScript(Bank.transfer(writer, "\(turn)"))
          }
        }
      } + [
        {
          defer { done.value = true }
          try process.run("burst \(turns) \(Bank.transfer(0))")
        },
        {
          var turn = 0
          while !done.value {
            container.swap(to: sources[turn % 3])
            turn += 1
          }
        },
      ])

    let last = Bank.rows(turns: [Int](repeating: turns, count: writers))
    for recorder in recorders {
      try await recorder.wait { Bank.numbers($0.snapshot) == last }
      for event in recorder.events {
        let rows = Bank.numbers(event.snapshot)
        #expect(rows == Bank.rows(turns: Bank.turns(rows, writers: writers)))
      }
    }
    for (recorder, source) in zip(recorders, sources) {
      await source.refresh()
      try recorder.check(against: source)
    }
    await container.flush()
    try recorders[3].check(against: container)
  }

  @Test(.reaches("deletion", "insertion", "update"), .tags(.system), arguments: Journal.allCases)
  func `an observer that comes and goes during writes misses nothing`(journal: Journal) async throws
  {
    let turns = turns(journal)
    let database = try TemporaryDatabase()
    let own = try open(database.path)
    _ = try own.query("PRAGMA journal_mode = \(journal.rawValue)")
    try own.executeScript(
      """
      CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, list INTEGER);
      INSERT INTO item VALUES (1, 'a', 1), (2, 'b', 2)
      """)
    let process = try HelperProcess("sql", database.path)
    try process.run("PRAGMA synchronous = OFF")
    // Each query, with the order of rows with equal keys.
    let queries: [(sql: String, tail: String)] = [
      ("SELECT id, name FROM item ORDER BY name", ", id"),
      ("SELECT id, list FROM item WHERE list > 1", " ORDER BY id"),
      ("SELECT id, name FROM item ORDER BY list DESC, name, id LIMIT 5", ""),
      ("SELECT * FROM item", " ORDER BY id"),
      ("SELECT list, count(*), max(name) FROM item GROUP BY list ORDER BY list", ""),
      ("SELECT a.id, b.id FROM item a JOIN item b ON a.list = b.id ORDER BY 1, 2", ""),
    ]
    let sources = try queries.map { try source(database.path, $0.sql) }
    let container = SwappableContainer<TestRow>(sources[0])
    let recorders = sources.map { RecordingObserver($0) }
    let shown = RecordingObserver(container)
    let queue = DispatchQueue(label: "SQLiteFaultConcurrencyTests", attributes: .concurrent)
    let elsewhere = RecordingObserver(container, on: .queue(queue))

    @Sendable func write(_ random: inout SeededGenerator) -> String {
      let (id, list) = (random.below(30), random.below(4))
      return switch random.below(8) {
      case 0: "DELETE FROM item WHERE id % 9 = \(id % 9)"
      case 1: "UPDATE OR REPLACE item SET id = \(random.below(30)) WHERE id = \(id)"
      case 2: "BEGIN IMMEDIATE; DELETE FROM item; INSERT INTO item (id) VALUES (\(id)); ROLLBACK"
      case 3:
        "BEGIN IMMEDIATE; UPDATE item SET list = \(list) WHERE id > \(id); "
          + "REPLACE INTO item (id, name, list) VALUES (\(id), 'n\(list)', 3); COMMIT"
      default: "REPLACE INTO item (id, name, list) VALUES (\(id), 'N\(id % 7)', \(list))"
      }
    }

    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    let writers: [@Sendable () throws -> Void] = (0..<2).map { writer in
      {
        var random = SeededGenerator(seed: seed &+ UInt64(writer))
        let connection = writer == 0 ? own : try open(database.path)
        for _ in 0..<turns { try connection.executeScript(write(&random)) }
      }
    }
    try await onThreads(
      writers + [
        {
          var random = SeededGenerator(seed: seed &+ 2)
          for turn in 0..<turns {
            try process.run(write(&random))
            if turn % 20 == 5 {
              try process.run("ALTER TABLE item ADD COLUMN c\(turn) DEFAULT \(turn)")
              try process.run("CREATE INDEX IF NOT EXISTS by_name ON item (list, name DESC)")
            }
          }
        },
        {
          var random = SeededGenerator(seed: seed &+ 3)
          for _ in 0..<turns {
            let source = try source(database.path, random.pick(queries).sql)
            let recorder = RecordingObserver(source, seed: seed)
            if random.oneIn(2) { container.swap(to: source) }
            if random.oneIn(2) { recorder.dispose() }
            try recorder.check()
          }
        },
        {
          var random = SeededGenerator(seed: seed &+ 4)
          for _ in 0..<turns {
            container.swap(to: random.pick(sources))
            try RecordingObserver(random.pick(sources), seed: seed).check()
          }
        },
      ])

    for ((source, recorder), query) in zip(zip(sources, recorders), queries) {
      await source.refresh()
      let fresh = try own.query(query.sql + query.tail).map { TestRow($0) }
      #expect(Array(recorder.snapshot) == fresh, "seed \(seed): \(source.sql)")
      #expect(source.status.state == .loaded, "seed \(seed)")
      try recorder.check(against: source)
      let outcome = await container.swap(to: source).outcome
      #expect(outcome == .swapped || outcome == .unchanged, "seed \(seed)")
      try await shown.wait(forContents: fresh)
      try await elsewhere.wait(forContents: fresh)
      Coverage.note(recorder)
    }
    await container.flush()
    try shown.check(against: container)
    try elsewhere.check(against: container)
  }

  @Test func `the last of many sources releases everything`() async throws {
    let database = try TemporaryDatabase()
    let own = try database.writer()
    try own.executeScript("PRAGMA synchronous = OFF")
    let turns = turns(.wal)
    try await onThreads(
      (0..<3).map { thread in
        {
          for turn in 0..<turns {
            let source = try source(
              database.path, "SELECT id, name FROM item WHERE id > \(turn % 3) ORDER BY name")
            let observation = source.observe { event in
              // This may be the last reference to the source.
              _ = event.snapshot.first
            }
            try own.execute("REPLACE INTO item VALUES (?, 'n')", [turn * 3 + thread])
            observation.dispose()
          }
        }
      })
    try await wait(for: "the monitor to be released") {
      ChangeMonitor.existing(for: own) == nil
    }
    // SQLite keeps the file's descriptors while a connection of the process has a lock.
    own.close()
    try await wait(for: "all files of the database to be closed") {
      try openDescriptors(below: database.directory).isEmpty
    }
  }
}

/// Runs each closure on its own thread, waits for all, and throws the first error.
private func onThreads(_ bodies: [@Sendable () throws -> Void]) async throws {
  try await withThrowingTaskGroup(of: Void.self) { group in
    for body in bodies {
      group.addTask {
        try await withCheckedThrowingContinuation { continuation in
          Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
        }
      }
    }
    try await group.waitForAll()
  }
}
