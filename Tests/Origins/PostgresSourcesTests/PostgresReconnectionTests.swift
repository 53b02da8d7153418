import DataSourceTesting
import Foundation
import ObservableCollections
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

@testable import PostgresSources

/// How often a source connects to a server that ends its connections, and what it does when a server changes its role.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresReconnectionTests
{
  /// A clock on which each sleep ends at once, and moves the time to its end.
  private final class HastyClock: Clock {
    typealias Instant = ManualClock.Instant
    private let state = Locked(Instant(.zero))

    var now: Instant { state.withLock { $0 } }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
      try Task.checkCancellation()
      state.withLock { $0 = max($0, deadline) }
    }
  }

  private func makePool(
    _ server: HostileServer, _ clock: some Clock<Duration>
  ) throws -> PostgresPool {
    PostgresPool(
      try ConnectionString(server.connectionString), options: PostgresOptions(),
      intervals: PostgresIntervals(), clock: AnyClock(clock))
  }

  @Test func `a server that ends each connection soon is asked at growing intervals`()
    async throws
  {
    let server = try HostileServer()
    let clock = HastyClock()
    // The monitor reads the state of the database, and then loses its connection.
    let moments = server.begin(
      HostileServer.Fault(
        name: "end after the state",
        happens: {
          if case .ready(let sql) = $0 { sql.contains("pg_current_snapshot") } else { false }
        },
        misbehave: { _, client in
          client.send(HostileServer.ready)
          if !client.hasBegun { client.close() }
        }))
    let recorder = SourceRecorder(try makeSource(try makePool(server, clock)))
    var iterator = moments.makeAsyncIterator()
    for _ in 0..<60 { _ = await iterator.next() }
    // 50 of these intervals are at least 2.5 seconds.
    #expect(clock.now.offset > .seconds(100))
    server.behave(rows: HostileServer.rows(1...4))
    try await recorder.wait(for: makeItems(1...4))
  }

  @Test func `reads without a connection wait for their turn, whatever is written meanwhile`()
    async throws
  {
    let server = try HostileServer()
    let clock = ManualClock()
    let recorder = SourceRecorder(try makeSource(try makePool(server, clock)))
    try await recorder.wait(for: makeItems(1...3))
    let attempts = Locked(0)
    let looks = Locked(0)
    let start = clock.now
    server.begin(
      HostileServer.Fault(
        name: "no reads, and a write after each look",
        happens: { moment in
          guard case .execute(let sql) = moment else { return false }
          return sql.contains("BEGIN") || sql.contains("pg_current_snapshot")
        },
        misbehave: { moment, client in
          guard case .execute(let sql) = moment, !sql.contains("BEGIN") else {
            attempts.withLock { $0 += 1 }
            return client.close()
          }
          let number = looks.withLock { count in
            count += 1
            return count
          }
          client.send(HostileServer.row(["write \(number)"]) + HostileServer.complete("SELECT 1"))
        }))
    try await wait(for: "60 looks") {
      let before = (looks.withLock { $0 }, attempts.withLock { $0 })
      if before.0 >= 60 { return true }
      try await clock.waitForSleepers(1)
      clock.advance(by: .milliseconds(100))
      // Leave time for a look and for attempts. Without it, the test only sees less.
      for _ in 0..<2000 where before == (looks.withLock { $0 }, attempts.withLock { $0 }) {
        await Task.yield()
      }
      return false
    }
    // There are about 8 intervals that grow, and then intervals of at least 2.5 seconds. A read tries twice.
    let limit = 2 * (10 + Int(start.duration(to: clock.now) / .milliseconds(2500)))
    #expect(attempts.withLock { $0 } <= limit)
    server.behave(rows: HostileServer.rows(1...4))
    try await wait(for: "the contents after the reconnection") {
      clock.advance(by: .seconds(1))
      return recorder.record.contents == makeItems(1...4)
    }
  }

  @Test func `a promoted standby server wakes the source up`() async throws {
    let primary = try PostgresServer(configuration: ["synchronous_commit = on"])
    let database = try await TestDatabase(
      itemTable + "; INSERT INTO item VALUES (1, 'row 1')", on: primary)
    try await database.connection.installChangeTriggers(on: ["item"])
    let standby = try PostgresServer(standbyOf: primary)
    let pool = try PostgresSourcesTests.makePool(standby.connectionString(database: database.name))
    let recorder = SourceRecorder(try makeSource(pool))
    try await recorder.wait(for: makeItems(1...1))
    try primary.stop(.fast)
    try standby.promote()
    try standby.psql("INSERT INTO item VALUES (2, 'row 2')", database: database.name)
    let record = try await recorder.wait(for: makeItems(1...2))
    #expect(record.changes.count == 2 && record.violations.isEmpty && recorder.failures.isEmpty)
  }
}
