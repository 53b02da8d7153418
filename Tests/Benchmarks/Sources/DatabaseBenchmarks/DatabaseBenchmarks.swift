import Foundation
import GRDB
import Measuring
import SQLiteSources
import Swappable

// Compares the data source of SQLite with the `ValueObservation` of GRDB:
//
//     swift run -c release --package-path Tests/Benchmarks DatabaseBenchmarks [WORD IN THE TITLE…]

@main
struct DatabaseBenchmarks {
  static func main() async throws {
    let session = Session(
      words: Array(CommandLine.arguments.dropFirst()), workplace: try Workplace())
    defer { session.workplace.remove() }
    try await session.ownWrites()
    try await session.foreignWrites()
    try await session.firstLoads()
    try await session.manyWrites()
    print("\n" + table(session.lines))
  }
}

/// One run of the program.
final class Session {
  /// Words in the titles of the requested contests, or an empty array for all contests.
  let words: [String]
  let workplace: Workplace
  private(set) var lines = [["", "median", "lowest", "×", "× of the lowest", "entry"]]
  private var nextScore = 0

  init(words: [String], workplace: Workplace) {
    self.words = words
    self.workplace = workplace
  }

  /// Runs a contest if it is requested.
  private func measure(
    _ title: String, rounds: Int, repetitions: Int = 1,
    _ entries: () async throws -> [Contest.Entry]
  ) async throws {
    guard words.isEmpty || words.contains(where: { title.contains($0) }) else { return }
    let contest = Contest(
      title: title, rounds: rounds, repetitions: repetitions, entries: try await entries())
    let results = try await contest.results()
    lines += results
    for line in results { print(line.joined(separator: "\t")) }
    fflush(nil)
  }

  /// Measures from a write to the call of the observer.
  private func arrival(
    _ contestant: any Contestant, rows: Int, by write: @escaping (Int, Int64) throws -> Void
  ) -> Contest.Entry {
    Contest.Entry(name: contestant.name) { [self] in
      self.nextScore += 1
      contestant.arrival.expect(self.nextScore)
      try write(self.nextScore, Int64(rows / 2))
      contestant.arrival.wait(for: contestant.name)
    }
  }

  /// Measures writes of this process.
  func ownWrites() async throws {
    for (rows, rounds, writes) in [(1_000, 101, 10), (100_000, 11, 10), (1_000_000, 5, 5)] {
      try await measure(
        "own write of one row, \(rows) rows", rounds: rounds, repetitions: writes
      ) {
        let path = try workplace.database("own", rows: rows)
        let ours = try await SwappableContestant(path: path)
        // Each entry has its own database, so it does not notice the writes of another entry.
        let positional = try GRDBContestant<PositionalItem>(
          "GRDB, by position", path: try workplace.database("own-positional", rows: rows))
        let codable = try GRDBContestant<CodableItem>(
          "GRDB, Codable", path: try workplace.database("own-codable", rows: rows))
        let contestants: [any Contestant] = [ours, positional, codable]
        return contestants.map { contestant in
          arrival(contestant, rows: rows) { try contestant.write($0, to: $1) }
        }
      }
    }
  }

  /// Measures commits of another process.
  func foreignWrites() async throws {
    try await measure("commit of another process, 100000 rows", rounds: 11, repetitions: 5) {
      let rows = 100_000
      let path = try workplace.database("foreign", rows: rows)
      let ours = try await SwappableContestant(path: path)
      let stranger = try Stranger(path: path)
      let otherPath = try workplace.database("foreign-positional", rows: rows)
      let positional = try GRDBContestant<PositionalItem>(
        "GRDB, by position, notified by hand", path: otherPath)
      let otherStranger = try Stranger(path: otherPath)
      return [
        arrival(ours, rows: rows) { try stranger.write($0, to: $1) },
        arrival(positional, rows: rows) {
          positional.watch($1)
          try otherStranger.write($0, to: $1)
          try positional.notifyChanges()
        },
      ]
    }
  }

  /// Measures the first load of all rows.
  func firstLoads() async throws {
    try await firstLoad("first load with ORDER BY, 100000 rows", hasIndex: false)
    try await firstLoad("first load with ORDER BY an index, 100000 rows", hasIndex: true)
  }

  private func firstLoad(_ title: String, hasIndex: Bool) async throws {
    try await measure(title, rounds: 11) {
      let path = try workplace.database(
        hasIndex ? "load-indexed" : "load", rows: 100_000, hasIndex: hasIndex)
      let pool = try DatabasePool(path: path)
      func load<Record: FetchableRecord & Sendable>(_ type: Record.Type) {
        let done = DispatchSemaphore(value: 0)
        let observation = ValueObservation.tracking { try Record.fetchAll($0, sql: Item.sql) }
          .start(
            in: pool, scheduling: .async(onQueue: DispatchQueue(label: "observer")),
            onError: { fatalError("\($0)") }, onChange: { _ in done.signal() })
        done.wait()
        observation.cancel()
      }
      return [
        Contest.Entry(name: "Swappable") {
          let source = try SQLiteDataSource(path: path, sql: Item.sql) { try Item($0) }
          try await source.loaded()
        },
        Contest.Entry(name: "GRDB, by position") { load(PositionalItem.self) },
        Contest.Entry(name: "GRDB, Codable") { load(CodableItem.self) },
      ]
    }
  }

  /// Measures many writes of one connection, with and without an observer of the table.
  private func bulk(_ title: String, rows: Int, _ write: @escaping (Connection) throws -> Void)
    async throws
  {
    try await measure("\(title), \(rows) rows", rounds: 11) {
      let alone = try Connection(writingTo: try workplace.database("bulk-alone", rows: rows))
      let path = try workplace.database("bulk-observed", rows: rows)
      let observed = try Connection(writingTo: path)
      let source = try SQLiteDataSource(path: path, sql: Item.sql) { try Item($0) }
      let observation = source.observe { _ in }
      try await source.loaded()
      func prepare(_ connection: Connection) throws {
        try connection.execute("DELETE FROM item WHERE id > ?", [rows])
        _ = try connection.query("PRAGMA wal_checkpoint(TRUNCATE)")
      }
      return [
        Contest.Entry(name: "alone", run: { try write(alone) }) { try prepare(alone) },
        Contest.Entry(name: "with an observer") {
          try write(observed)
          withExtendedLifetime(observation) {}
        } prepare: {
          try prepare(observed)
          await source.refresh()
        },
      ]
    }
  }

  /// Measures the cost of an observer for many writes.
  func manyWrites() async throws {
    let insertion = "INSERT INTO item (name, category, score) VALUES (?, 'Category', ?)"
    try await bulk("20000 transactions of one update", rows: 100_000) { connection in
      for number in 1...20_000 {
        try connection.execute(
          "UPDATE item SET score = score + 1 WHERE id = ?", [(number * 7919) % 100_000 + 1])
      }
    }
    try await bulk("one transaction of 50000 inserts", rows: 100_000) { connection in
      try connection.transaction {
        for number in 0..<50_000 {
          try connection.execute(insertion, ["New \(number)", Double(number)])
        }
      }
    }
  }
}
