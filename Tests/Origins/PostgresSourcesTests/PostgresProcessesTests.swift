import DataSourceTesting
import Foundation
import PostgresSources
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Many processes that observe one query while others write, and while the server restarts.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(20))) struct PostgresProcessesTests {
  /// The size of a run. The long run has the numbers of a large installation.
  private struct Plan {
    var readers = TestRun.isLong ? 50 : 6
    var writers = TestRun.isLong ? 8 : 4
    var transactionsPerWriter = TestRun.isLong ? 1_500 : 60
    /// The interval between two transactions of a writer: 8 writers make 200 transactions a second.
    var interval: Duration? = TestRun.isLong ? .milliseconds(40) : nil
    var restarts: [PostgresServer.StopMode] = TestRun.isLong ? [.fast, .immediate] : [.fast]
  }

  private struct WrongAnswer: Error, CustomStringConvertible {
    let description: String
  }

  private static let sql = "SELECT id, value, title FROM item ORDER BY title, id"

  private static let setup = """
    CREATE TABLE item (id integer PRIMARY KEY, value bigint NOT NULL, title text COLLATE "C" NOT NULL);
    INSERT INTO item SELECT n, 0, 'title ' || n % 100 FROM generate_series(1, 1000) n
    """

  @Test(arguments: [false, true])
  func `readers in many processes show the last write after restarts of the server`(
    hasTriggers: Bool
  ) async throws {
    let plan = Plan()
    let seed = TestRun.seed ?? .random(in: 0 ... .max)
    print("seed \(seed)")
    let server = try PostgresServer()
    let database = try await TestDatabase(Self.setup, on: server)
    if hasTriggers { try await database.connection.installChangeTriggers(on: ["item"]) }
    let readers = try (0..<plan.readers).map { _ in
      try HelperProcess("postgres", database.connectionString, Self.sql)
    }
    // All readers have loaded before the first write.
    _ = try await Self.check(readers)
    let count = Shared(0)
    let clock = ContinuousClock()
    let start = clock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<plan.writers {
        let connectionString = database.connectionString
        group.addTask {
          var random = SeededGenerator(seed: seed &+ UInt64(writer))
          try await Self.write(plan, writer, connectionString, &random) {
            count.modify { $0 += 1 }
          }
        }
      }
      let total = plan.writers * plan.transactionsPerWriter
      group.addTask {
        for (number, mode) in plan.restarts.enumerated() {
          let next = total * (number + 1) / (plan.restarts.count + 1)
          while count.value < next { try await Task.sleep(for: .milliseconds(10)) }
          try server.stop(mode)
          try server.start()
        }
      }
      try await group.waitForAll()
    }
    let lastWrite = clock.now
    let eventCounts = try await Self.check(readers)
    let end = clock.now
    print(
      """
      \(plan.readers) readers, \(count.value) transactions of \(plan.writers) writers in \
      \(start.duration(to: lastWrite)), \(plan.restarts.count) restarts: \
      \(eventCounts.min() ?? 0) to \(eventCounts.max() ?? 0) events, \
      all equal \(lastWrite.duration(to: end)) after the last write
      """)
    #expect(count.value == plan.writers * plan.transactionsPerWriter, "seed \(seed)")
    #expect(eventCounts.allSatisfy { $0 > 1 }, "seed \(seed)")
    // The length of the long run is required.
    if TestRun.isLong { #expect(lastWrite.duration(to: end) < .seconds(10)) }
  }

  /// Waits until each reader shows a fresh result. A reader that has ended does not answer.
  private static func check(_ readers: [HelperProcess]) async throws -> [Int] {
    try await Task.detached {
      for reader in readers { try reader.send("check") }
      return try readers.map { reader in
        let answer = try reader.nextAnswer()
        let words = answer.split(separator: " ")
        guard words.count == 2, words[0] == "ok", let count = Int(words[1]) else {
          throw WrongAnswer(description: answer)
        }
        return count
      }
    }.value
  }

  /// Makes transactions of two writes each, again after errors.
  private static func write(
    _ plan: Plan, _ writer: Int, _ connectionString: String, _ random: inout SeededGenerator,
    onCommit: @Sendable () -> Void
  ) async throws {
    let connection = try PostgresConnection(connectionString)
    let clock = ContinuousClock()
    var next = clock.now
    for number in 0..<plan.transactionsPerWriter {
      let ids = [
        Int.random(in: 1...1000, using: &random), Int.random(in: 1...1000, using: &random),
      ]
      let title = "title \(number % 100)"
      while true {
        do {
          try await connection.transaction(maximumAttempts: 100) {
            try await connection.execute(
              "UPDATE item SET value = value + 1 WHERE id = $1", [ids[0]])
            if number % 4 == 0 {
              let writtenCount = try await connection.execute(
                "DELETE FROM item WHERE id = $1", [ids[1]])
              if writtenCount == 1 {
                try await connection.execute(
                  "INSERT INTO item VALUES ($1, $2, $3)", [ids[1], writer, title])
              }
            } else {
              try await connection.execute(
                "UPDATE item SET value = value - 1, title = $2 WHERE id = $1", [ids[1], title])
            }
          }
          break
        } catch let error as PostgresError where Self.isTemporary(error) {
          try await Task.sleep(for: .milliseconds(50))
        }
      }
      onCommit()
      if let interval = plan.interval {
        next = max(next.advanced(by: interval), clock.now.advanced(by: .seconds(-2)))
        try await Task.sleep(until: next, clock: clock)
      }
    }
  }

  /// Returns whether an error is one of a server that restarts.
  private static func isTemporary(_ error: PostgresError) -> Bool {
    error.code == .connectionLost || error.code == .cannotConnect
      || error.sqlState?.hasPrefix("57P0") == true
  }
}
