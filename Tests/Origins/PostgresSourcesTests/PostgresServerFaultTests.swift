import Diffing
import Foundation
import ObservableCollections
import PostgresSources
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Servers that stop, start, fail over, refuse or do not answer.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(10))) struct PostgresServerFaultTests
{
  private static let rows =
    itemTable + "; INSERT INTO item SELECT n, 'row ' || n FROM generate_series(1, 3) n"

  @Test(arguments: [PostgresServer.StopMode.fast, .immediate])
  func `a restart of the server is a status, and the recovery is one change`(
    mode: PostgresServer.StopMode
  ) async throws {
    // The test server would lose its last commits in a crash.
    let server = try PostgresServer(configuration: ["synchronous_commit = on"])
    let database = try await TestDatabase(Self.rows, on: server)
    let recorder = SourceRecorder(try makeSource(makePool(database.connectionString)))
    try await recorder.wait(for: makeItems(1...3))
    try server.stop(mode)
    let error = try await recorder.waitForFailure(.cannotConnect)
    #expect(error.help.contains("check that the server runs"))
    #expect(recorder.record.contents == makeItems(1...3))
    // The loss of the connection is the first failure, unless the failure to connect has replaced it before its delivery.
    #expect(recorder.failures.allSatisfy { [.connectionLost, .cannotConnect].contains($0.code) })
    try server.start()
    try await recorder.wait(for: makeItems(1...3))
    #expect(recorder.record.changes.count == 1)
    try await database.connection.execute("INSERT INTO item VALUES (4, 'row 4')")
    let record = try await recorder.wait(for: makeItems(1...4))
    #expect(record.changes.count == 2 && record.violations.isEmpty)
  }

  @Test func `commits during an outage are one net change`() async throws {
    let database = try await TestDatabase(Self.rows)
    let proxy = try PostgresProxy(to: database.server)
    let pool = try makePool(proxy.connectionString(database: database.name))
    let recorder = SourceRecorder(try makeSource(pool))
    try await recorder.wait(for: makeItems(1...3))
    proxy.setDown(true)
    try await recorder.waitUntilFailed()
    for id in 4...9 {
      try await database.connection.execute("INSERT INTO item VALUES ($1, $2)", [id, "row \(id)"])
    }
    try await database.connection.execute("DELETE FROM item WHERE id IN (1, 9)")
    #expect(recorder.record.contents == makeItems(1...3))
    proxy.setDown(false)
    let record = try await recorder.wait(for: makeItems(2...8))
    #expect(record.changes.count == 2 && record.violations.isEmpty)
    #expect(record.changes.last?.changeset.deletions == [0])
    #expect(record.changes.last?.changeset.insertions == [2, 3, 4, 5, 6])
  }

  @Test func `a server that appears later is loaded`() async throws {
    let database = try await TestDatabase(Self.rows)
    let proxy = try PostgresProxy(to: database.server)
    proxy.setDown(true)
    let nowhere = proxy.directory + "/none"
    let missing = SourceRecorder(
      try makeSource(makePool("host=\(nowhere) dbname=\(database.name) user=postgres")))
    let error = try await missing.waitForFailure(.cannotConnect)
    #expect(error.description.contains(nowhere))
    let recorder = SourceRecorder(
      try makeSource(makePool(proxy.connectionString(database: database.name))))
    try await recorder.waitForFailure(.cannotConnect)
    proxy.setDown(false)
    let record = try await recorder.wait(for: makeItems(1...3))
    #expect(record.changes.count == 1 && record.violations.isEmpty)
    // The socket of the other server appears, too.
    try FileManager.default.createSymbolicLink(
      atPath: nowhere, withDestinationPath: database.server.directory)
    try await missing.wait(for: makeItems(1...3))
  }

  @Test func `a server that does not answer is a status`() async throws {
    let database = try await TestDatabase(Self.rows)
    let proxy = try PostgresProxy(to: database.server)
    let pool = try makePool(
      proxy.connectionString(database: database.name),
      options: PostgresOptions(connectTimeout: .milliseconds(400)))
    let source = try makeSource(pool)
    let recorder = SourceRecorder(source)
    try await recorder.wait(for: makeItems(1...3))
    proxy.stall()
    try await recorder.waitForFailure(.cannotConnect) { $0.message.contains("no answer") }
    // Usually, a look has noticed it before. A read that happens to begin first finds no connection.
    for failure in recorder.failures {
      let message = failure.code == .connectionLost ? "did not answer within" : "no answer"
      #expect(failure.message.contains(message))
      #expect([.connectionLost, .cannotConnect].contains(failure.code))
    }
    try await database.connection.execute("INSERT INTO item VALUES (4, 'row 4')")
    #expect(recorder.record.contents == makeItems(1...3))
    // A read that is asked for ends as well.
    await source.refresh()
    #expect(recorder.record.contents == makeItems(1...3))
    proxy.resume()
    let record = try await recorder.wait(for: makeItems(1...4))
    #expect(record.changes.count == 2 && record.violations.isEmpty)
  }

  @Test func `a read that hangs on a dead connection begins again when the server answers`()
    async throws
  {
    let item = Item(id: 1, title: String(repeating: "x", count: 10_000))
    let database = try await TestDatabase(
      itemTable + "; INSERT INTO item VALUES (1, repeat('x', 10000))")
    let proxy = try PostgresProxy(to: database.server)
    // Never forward the first row, as if the network had lost it. All other messages are smaller.
    let isStuck = Flag()
    let stuck = DispatchSemaphore(value: 0)
    defer { stuck.signal() }
    let (stucks, continuation) = AsyncStream.makeStream(of: Void.self)
    proxy.setPolicy { message in
      guard message.direction == .toClient, message.size > 10_000, isStuck.set() else {
        return .forward
      }
      return .call { _ in
        continuation.finish()
        stuck.wait()
      }
    }
    let pool = try makePool(
      proxy.connectionString(database: database.name),
      options: PostgresOptions(connectTimeout: .milliseconds(400)))
    let recorder = SourceRecorder(try makeSource(pool))
    for await _ in stucks {}
    #expect(recorder.record.state == .loading)
    // The monitor loses its connection, too, and opens a new one.
    try database.server.psql(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database.name)'
      AND query LIKE '%pg_current_snapshot%' AND pid <> pg_backend_pid()
      """)
    let record = try await recorder.wait(for: [item])
    #expect(record.changes.count == 1 && record.violations.isEmpty)
  }

  @Test func `no free connection is a status until one is free`() async throws {
    let server = try PostgresServer(
      configuration: ["max_connections = 6", "superuser_reserved_connections = 0"])
    let database = try await TestDatabase(Self.rows, on: server)
    let others = try (0..<5).map { _ in try PostgresConnection(database.connectionString) }
    for other in others { _ = try await other.query("SELECT 1") }
    let recorder = SourceRecorder(try makeSource(makePool(database.connectionString)))
    let error = try await recorder.waitForFailure(.tooManyConnections)
    #expect(error.description.contains("max_connections"))
    #expect(recorder.record.contents.isEmpty)
    // One connection is not enough for the monitor and a read.
    try await close(others[0], server)
    try await recorder.waitForFailure(.tooManyConnections)
    try await close(others[1], server)
    let record = try await recorder.wait(for: makeItems(1...3))
    #expect(record.changes.count == 1 && record.violations.isEmpty)
    withExtendedLifetime(others) {}
  }

  private func close(_ connection: PostgresConnection, _ server: PostgresServer) async throws {
    connection.close()
  }

  @Test func `another host of the connection string takes over`() async throws {
    let primary = try PostgresServer(configuration: ["synchronous_commit = on"])
    let database = try await TestDatabase(Self.rows, on: primary)
    let standby = try PostgresServer(standbyOf: primary)
    let string =
      "host=\(primary.directory),\(standby.directory) dbname=\(database.name) user=postgres "
      + "target_session_attrs=read-write"
    let recorder = SourceRecorder(try makeSource(makePool(string)))
    try await recorder.wait(for: makeItems(1...3))
    try await database.connection.execute("INSERT INTO item VALUES (4, 'row 4')")
    try await recorder.wait(for: makeItems(1...4))
    try await wait(for: "the rows of the standby server") {
      try standby.psql("SELECT count(*) FROM item", database: database.name) == "4"
    }
    try primary.stop(.immediate)
    let error = try await recorder.waitForFailure(.cannotConnect)
    #expect(error.message.contains("read-only") || error.message.contains("read only"), "\(error)")
    #expect(recorder.record.contents == makeItems(1...4))
    try standby.promote()
    try await recorder.wait(for: makeItems(1...4))
    #expect(recorder.record.changes.count == 2)
    try standby.psql("INSERT INTO item VALUES (5, 'row 5')", database: database.name)
    let record = try await recorder.wait(for: makeItems(1...5))
    #expect(record.changes.count == 3 && record.violations.isEmpty)
  }

  @Test func `a host that does not answer is passed over`() async throws {
    let database = try await TestDatabase(Self.rows)
    let dead = try PostgresProxy(to: database.server)
    dead.stall()
    let connection = try PostgresConnection(
      "host=\(dead.directory),\(database.server.directory) dbname=\(database.name) user=postgres",
      options: PostgresOptions(connectTimeout: .milliseconds(300)))
    #expect(try await connection.query("SELECT 1") { try $0.value(at: 0, as: Int.self) } == [1])
    dead.resume()
  }

  @Test func `a standby server is polled, also after its promotion`() async throws {
    let primary = try PostgresServer(configuration: ["synchronous_commit = on"])
    let database = try await TestDatabase(Self.rows, on: primary)
    let standby = try PostgresServer(standbyOf: primary)
    let recorder = SourceRecorder(
      try makeSource(makePool(standby.connectionString(database: database.name))))
    try await recorder.wait(for: makeItems(1...3))
    try await database.connection.execute("INSERT INTO item VALUES (4, 'row 4')")
    try await recorder.wait(for: makeItems(1...4))
    try primary.stop(.fast)
    try standby.promote()
    try standby.psql("INSERT INTO item VALUES (5, 'row 5')", database: database.name)
    let record = try await recorder.wait(for: makeItems(1...5))
    #expect(record.changes.count == 3 && record.violations.isEmpty)
  }
}
