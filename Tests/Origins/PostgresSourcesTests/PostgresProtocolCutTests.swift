import Foundation
import ObservableCollections
import PostgresSources
import SwappablePrimitives
import TestSupport
import TestTags
import Testing

/// Connections that end at each step of the protocol, and at each byte in a long run.
@Suite(.tags(.system), .requiresPostgres, .timeLimit(.minutes(TestRun.isLong ? 60 : 5)))
struct PostgresProtocolCutTests {
  typealias Message = PostgresProxy.Message

  private static let rows =
    itemTable + "; INSERT INTO item SELECT n, 'row ' || n FROM generate_series(1, 3) n"

  /// The way in which a connection ends at a message.
  enum Fault: Sendable {
    case cut(Message, after: Int)
    case termination(Message)

    /// Whether the fault belongs to a message of a connection that behaves as it did before.
    ///
    /// A notification is not such a message: it may come from another case, and its connection is that of the monitor.
    func matches(_ message: Message) -> Bool {
      switch self {
      case .cut(let expected, _), .termination(let expected):
        message.connection == expected.connection && message.direction == expected.direction
          && message.number == expected.number && message.type != UInt8(ascii: "A")
      }
    }
  }

  private func faults(at messages: [Message]) -> [Fault] {
    // The last message of a client comes when the source is released.
    let others = [UInt8(ascii: "X"), UInt8(ascii: "A")]
    return messages.filter { !others.contains($0.type) }.flatMap { message -> [Fault] in
      let offsets = TestRun.isLong ? Array(0..<message.size) : [0, message.size / 2]
      let cuts = offsets.map { Fault.cut(message, after: $0) }
      // Between two messages of the server, its process has already ended its work.
      return TestRun.isLong || message.direction == .toServer
        ? cuts + [.termination(message)] : cuts
    }
  }

  /// Returns a policy that applies a fault once, and whether it was applied.
  private func policy(
    _ fault: Fault, _ server: PostgresServer
  ) -> (PostgresProxy.Policy, Flag) {
    let isApplied = Flag()
    let policy: PostgresProxy.Policy = { message in
      guard fault.matches(message), isApplied.set() else {
        return .forward
      }
      switch fault {
      case .cut(_, let count): return .cut(after: min(count, message.size))
      case .termination:
        return .call { processID in
          if processID != 0 {
            _ = try? server.psql("SELECT pg_terminate_backend(\(processID), 10000)")
          }
        }
      }
    }
    return (policy, isApplied)
  }

  @Test func `a first load survives the end of a connection at each step`() async throws {
    let database = try await TestDatabase(Self.rows)
    let expected = makeItems(1...3)
    let proxy = try PostgresProxy(to: database.server)
    do {
      let pool = try makePool(
        proxy.connectionString(database: database.name), polling: .seconds(3600))
      try await SourceRecorder(makeSource(pool)).wait(for: expected)
    }
    let messages = proxy.messages
    #expect(messages.contains { $0.connection == 1 })
    try await forEachConcurrently(faults(at: messages)) { fault in
      let (policy, isApplied) = policy(fault, database.server)
      let proxy = try PostgresProxy(to: database.server, policy: policy)
      let pool = try makePool(
        proxy.connectionString(database: database.name), polling: .seconds(3600))
      let recorder = SourceRecorder(try makeSource(pool))
      let record = try await recorder.wait { record in
        record.contents == expected && record.state == .loaded && isApplied.isSet
      }
      #expect(record.changes.count == 1 && record.violations.isEmpty, "\(fault)")
      #expect(record.events.allSatisfy { [[], expected].contains(Array($0.snapshot)) }, "\(fault)")
      for error in recorder.failures {
        #expect([.connectionLost, .cannotConnect].contains(error.code), "\(fault): \(error)")
      }
    }
  }

  @Test(arguments: [false, true])
  func `a refetch survives the end of its connection at each step`(isKeyed: Bool) async throws {
    let database = try await TestDatabase(Self.rows)
    if isKeyed { try await database.connection.installChangeTriggers(on: ["item"]) }
    // The first run finds the messages of a refetch.
    let messages = try await refetch(database, fault: nil)
    #expect(messages.contains { $0.type == UInt8(ascii: "D") })
    try await forEachConcurrently(faults(at: messages)) { fault in
      try await refetch(database, fault: fault)
    }
  }

  /// Loads a source, changes a row for this source alone, and reads again with a fault.
  @discardableResult
  private func refetch(_ database: TestDatabase, fault: Fault?) async throws -> [Message] {
    let id = Int.random(in: 1_000_000..<1_000_000_000)
    let connection = try PostgresConnection(database.connectionString)
    try await connection.execute("INSERT INTO item VALUES ($1, 'old'), ($2, 'kept')", [id, id + 1])
    let proxy = try PostgresProxy(to: database.server)
    let pool = try makePool(
      proxy.connectionString(database: database.name), polling: .seconds(3600))
    let source = try makeSource(
      pool, "SELECT id, title FROM item WHERE id IN (\(id), \(id + 1)) ORDER BY id")
    let recorder = SourceRecorder(source)
    let old = [Item(id: id, title: "old"), Item(id: id + 1, title: "kept")]
    let new = [Item(id: id, title: "new"), Item(id: id + 1, title: "kept")]
    try await recorder.wait(for: old)
    // The first connection is that of the monitor: a source reads after it.
    let isKeyed = try await source.explainQuery().mode == .keyed
    let start = proxy.messages.count
    try await connection.execute("UPDATE item SET title = 'new' WHERE id = $1", [id])
    if let fault { proxy.setPolicy(policy(fault, database.server).0) }
    // With triggers, a record leads to the read.
    if !isKeyed { await source.refresh() }
    let record = try await recorder.wait(for: new)
    // A statement that the server has ended is sent again at once, so the status stays as it was.
    #expect(record.changes.count == 2 && record.violations.isEmpty, "\(String(describing: fault))")
    #expect(record.events.allSatisfy { [[], old, new].contains(Array($0.snapshot)) })
    #expect(recorder.failures.isEmpty, "\(String(describing: fault)): \(recorder.failures)")
    // The first connection looks for changes, and its end is a status.
    return proxy.messages[start...].filter { $0.connection != 0 }
  }

  @Test func `a look for changes survives the end of its connection at each step`() async throws {
    let database = try await TestDatabase(Self.rows)
    let messages = try await look(database, fault: nil)
    try await forEachConcurrently(faults(at: messages)) { fault in
      try await look(database, fault: fault)
    }
  }

  /// Loads a source and ends the connection that looks for changes, while a row changes.
  @discardableResult
  private func look(_ database: TestDatabase, fault: Fault?) async throws -> [Message] {
    let id = Int.random(in: 1_000_000..<1_000_000_000)
    let connection = try PostgresConnection(database.connectionString)
    try await connection.execute("INSERT INTO item VALUES ($1, 'old')", [id])
    let proxy = try PostgresProxy(to: database.server)
    let pool = try makePool(proxy.connectionString(database: database.name))
    let recorder = SourceRecorder(
      try makeSource(pool, "SELECT id, title FROM item WHERE id = \(id)"))
    try await recorder.wait(for: [Item(id: id, title: "old")])
    guard let fault else {
      // One look is everything between two queries.
      var messages: [Message] = []
      try await wait(for: "two queries of the monitor") {
        let ofMonitor = proxy.messages.filter { $0.connection == 0 }
        let ends = ofMonitor.indices.filter { ofMonitor[$0].type == UInt8(ascii: "Z") }.suffix(2)
        guard let first = ends.first, let last = ends.last, first < last,
          ofMonitor[first...last].contains(where: { $0.type == UInt8(ascii: "D") })
        else { return false }
        messages = Array(ofMonitor[(first + 1)...last])
        return true
      }
      return messages
    }
    // Looks repeat: apply the fault to the next message of the same kind.
    let isApplied = Flag()
    let (policy, _) = policy(fault, database.server)
    proxy.setPolicy { message in
      let expected: Message =
        switch fault {
        case .cut(let expected, _), .termination(let expected): expected
        }
      guard message.connection == 0, message.direction == expected.direction,
        message.type == expected.type, isApplied.set()
      else { return .forward }
      return policy(expected)
    }
    try await recorder.wait { _ in isApplied.isSet || !recorder.failures.isEmpty }
    try await connection.execute("UPDATE item SET title = 'new' WHERE id = $1", [id])
    try await recorder.waitUntilFailed()
    let record = try await recorder.wait(for: [Item(id: id, title: "new")])
    #expect(record.changes.count == 2 && record.violations.isEmpty, "\(fault)")
    for error in recorder.failures {
      #expect([.connectionLost, .cannotConnect].contains(error.code), "\(fault): \(error)")
    }
    return []
  }

  @Test func `an idle connection that the server ended is named in the status`() async throws {
    let database = try await TestDatabase(Self.rows)
    let pool = try makePool(database.connectionString, polling: .seconds(3600))
    let recorder = SourceRecorder(try makeSource(pool))
    try await recorder.wait(for: makeItems(1...3))
    try database.server.psql(
      """
      SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = '\(database.name)' AND query LIKE '%pg_current_snapshot%'
      """)
    try await recorder.waitUntilFailed()
    let record = try await recorder.wait(for: makeItems(1...3))
    #expect(record.changes.count == 1)
    let error = try #require(recorder.failures.first)
    #expect(error.code == .connectionLost)
    #expect(error.message.contains("terminating connection"), "\(error)")
  }
}
