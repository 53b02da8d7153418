import DataSourceTesting
import Diffing
import ObservableCollections
import TestSupport
import TestTags
import Testing

@testable import PostgresSources

/// Transactions that each write two rows. No observer may see one of them without the other.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(20))) struct PostgresTornPairTests {
  /// Where a data source takes the changed keys from.
  enum Keys: String, Sendable, CaseIterable {
    /// Everything is read after each look at the server.
    case none
    /// The change table.
    case records
    /// The payloads of notifications.
    case payloads
  }

  private struct Account: Differentiable, Equatable, Sendable {
    var id: Int
    var balance: Int
    var differenceIdentifier: Int { id }
  }

  private static let count = TestRun.isLong ? 2_000 : 80

  @Test(arguments: [Keys.none, .records]) func `no observer sees half of a transaction`(
    keys: Keys
  ) async throws {
    let result = try await observe(keys)
    print("keys from \(keys): \(result.eventCount) events, \(result.keyedCount) keyed refetches")
    #expect(result.tornSums.isEmpty)
    #expect(result.eventCount > 2)
    #expect((result.keyedCount > 0) == (keys == .records))
  }

  @Test
  func `with keys from the payloads of notifications, an observer sees half of a transaction`()
    async throws
  {
    var tornCount = 0
    for _ in 0..<50 where tornCount == 0 {
      tornCount = try await observe(.payloads).tornSums.count
    }
    #expect(tornCount > 0)
  }

  /// Runs transactions whose balances add up to 0, and returns the other sums that an observer sees.
  private func observe(
    _ keys: Keys
  ) async throws -> (tornSums: [Int], eventCount: Int, keyedCount: Int) {
    let database = try await TestDatabase(
      """
      CREATE TABLE account (id integer PRIMARY KEY, balance integer NOT NULL);
      INSERT INTO account SELECT n, 0 FROM generate_series(1, 6) n
      """)
    if keys != .none { try await database.connection.installChangeTriggers(on: ["account"]) }
    let source = try PostgresDataSource(
      pool: try database.makePool(polling: .milliseconds(1)),
      sql: "SELECT id, balance FROM account ORDER BY id"
    ) { Account(id: try $0.value("id"), balance: try $0.value("balance")) }
    let notified = Log<[PostgresValue]>()
    let listener = try PostgresConnection(database.connectionString)
    let notifications = try await listener.listen(to: "account")
    let listening = Task {
      for try await notification in notifications {
        for key in notification.payload.split(separator: " ") {
          notified.append([.text(String(key))])
        }
      }
    }
    defer { listening.cancel() }
    if keys == .payloads {
      source.liveQuery.keysInsteadOfRecords = { notified.exchange([]) }
    }
    let observer = RecordingObserver(source, keeps: .max)
    try await observer.wait { $0.snapshot.count == 6 }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        let connection = try PostgresConnection(database.connectionString)
        group.addTask { try await Self.write(connection, writer) }
      }
      try await group.waitForAll()
    }
    if keys != .payloads {
      let expected = try await database.connection.query(source.sql) {
        Account(id: try $0.value("id"), balance: try $0.value("balance"))
      }
      try await observer.wait(forContents: expected)
      try observer.check(against: source)
    }
    let sums = observer.events.map { $0.snapshot.reduce(0) { $0 + $1.balance } }
    return (sums.filter { $0 != 0 }, observer.eventCount, source.readCounts.keyed)
  }

  private static func write(_ connection: PostgresConnection, _ writer: Int) async throws {
    for number in 0..<count {
      // Accounts of several writers, which are locked in one order, or new accounts of this writer.
      let (left, right) =
        number % 4 == 3
        ? (1000 * (writer + 1) + number, 1000 * (writer + 1) + number + 100_000)
        : (1 + (number + writer) % 3, 4 + number % 3)
      let amount = 1 + number
      try await connection.transaction {
        if number % 4 == 3 {
          try await connection.execute("INSERT INTO account VALUES ($1, $2)", [left, amount])
          try await connection.execute("INSERT INTO account VALUES ($1, $2)", [right, -amount])
          try await connection.execute(
            "DELETE FROM account WHERE id IN ($1, $2)", [left - 8, right - 8])
        } else {
          let sql = "UPDATE account SET balance = balance + $2 WHERE id = $1"
          try await connection.execute(sql, [left, amount])
          try await connection.execute(sql, [right, -amount])
        }
        try await connection.execute("SELECT pg_notify('account', $1)", ["\(left) \(right)"])
      }
    }
  }
}
