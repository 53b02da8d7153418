import Foundation
import ObservableCollections
import SQLSources
import SwappablePrimitives
import TestSupport
import Testing

@testable import PostgresSources

/// Servers that break the protocol, or that say nothing or too much. Nothing crashes, hangs or grows without limit.
@Suite(.enabled(if: (try? LibPQ.shared(LibPQ.names)) != nil), .timeLimit(.minutes(10)))
struct PostgresHostileServerTests {
  typealias Client = HostileServer.Client
  typealias Fault = HostileServer.Fault
  typealias Moment = HostileServer.Moment

  private static let options = PostgresOptions(
    connectTimeout: .milliseconds(300), lockTimeout: .milliseconds(100))

  private static func makeSource(
    _ server: HostileServer
  ) throws -> PostgresDataSource<Item> {
    try PostgresSourcesTests.makeSource(makePool(server.connectionString, options: options))
  }

  /// Checks that a fault is a status from the first load on, and during the observation of a loaded source, that the
  /// contents stay, and that the source recovers when the server behaves again.
  private func check(_ faults: [Fault]) async throws {
    try await forEachConcurrently(faults.flatMap { [($0, false), ($0, true)] }) { fault, isLoaded in
      let server = try HostileServer()
      var moments: AsyncStream<Moment>?
      if !isLoaded { moments = server.begin(fault) }
      let recorder = SourceRecorder(try Self.makeSource(server))
      if isLoaded {
        try await recorder.wait(for: makeItems(1...3))
        moments = server.begin(fault, cutting: true)
      }
      // A later attempt shows that the first one has ended.
      var iterator = moments?.makeAsyncIterator()
      for _ in 0..<fault.attempts { _ = await iterator?.next() }
      try await recorder.wait { $0.state.flatMap(postgresError) != nil }
      let error = try #require(recorder.failures.last)
      #expect(!error.message.isEmpty && !error.help.isEmpty, "\(fault.name)")
      #expect(error.description.count < 20_000, "\(fault.name)")
      #expect(recorder.record.contents == (isLoaded ? makeItems(1...3) : []), "\(fault.name)")
      server.behave(rows: HostileServer.rows(1...4))
      let record = try await recorder.wait(for: makeItems(1...4))
      #expect(
        record.changes.count == (isLoaded ? 2 : 1) && record.violations.isEmpty, "\(fault.name)")
    }
  }

  // MARK: Connecting

  /// A fault that answers the first message of a client, and then says nothing.
  private static func start(_ name: String, _ bytes: [UInt8]) -> Fault {
    Fault(name: name, happens: { $0 == .startup }) { _, client in
      client.send(bytes)
      client.waitForEnd()
    }
  }

  /// A fault that lets a client in, and then repeats messages for ever.
  private static func flood(
    _ name: String, _ bytes: @escaping @Sendable (Int) -> [UInt8]
  ) -> Fault {
    Fault(name: name, happens: { $0 == .startup }) { _, client in
      client.send(HostileServer.message("R", HostileServer.integer(0)))
      client.flood(bytes)
    }
  }

  @Test func `a server that does not let clients in is a status`() async throws {
    let unknown = HostileServer.integer(10) + HostileServer.text("GUESS") + [0]
    try await check([
      Fault(name: "close", happens: { $0 == .accept }) { _, client in client.close() },
      Fault(name: "close after a message", happens: { $0 == .startup }) { _, client in
        client.close()
      },
      Self.start("silence", []),
      Self.start("garbage", Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)),
      Self.start("zeros", [UInt8](repeating: 0, count: 4096)),
      Self.start("an error without fields", HostileServer.message("E", [0])),
      Self.start("an error without an end", HostileServer.message("E", [77, 65, 66])),
      Self.start("another login", HostileServer.message("R", HostileServer.integer(99))),
      Self.start("an unknown mechanism", HostileServer.message("R", unknown)),
      Self.start("a negative length", [UInt8(ascii: "R"), 255, 255, 255, 255]),
      Self.start("a huge length", [UInt8(ascii: "R"), 127, 255, 255, 255]),
      Self.flood("notices") { HostileServer.notice("notice \($0)") },
      Self.flood("parameters") { _ in
        HostileServer.message("S", HostileServer.text("application_name") + [0])
      },
    ])
  }

  // MARK: Answers

  /// The statement that is answered in a wrong way.
  enum Place: String, CaseIterable, Sendable {
    case recovery = "SELECT pg_catalog.pg_is_in_recovery()"
    case state = "pg_current_snapshot"
    case begin = "BEGIN ISOLATION"
    case query = "FROM item"
    case commit = "COMMIT"

    /// A Boolean value that indicates whether the client asks separately whether the server is ready.
    var isSynchronized: Bool { [.recovery, .state, .query].contains(self) }

    func isExecuted(_ moment: Moment) -> Bool {
      if case .execute(let sql) = moment { sql.contains(rawValue) } else { false }
    }
  }

  /// A fault that sends bytes instead of a result.
  private static func answer(_ place: Place, _ name: String, _ bytes: [UInt8]) -> Fault {
    Fault(name: "\(name) at \(place)", happens: place.isExecuted) { _, client in
      client.send(bytes)
      if !place.isSynchronized { client.send(HostileServer.ready) }
    }
  }

  @Test(arguments: Place.allCases)
  func `a wrong answer is a status`(place: Place) async throws {
    typealias Server = HostileServer
    func position(_ text: String) -> [UInt8] {
      Server.error([("C", "42601"), ("M", "wrong"), ("P", text)])
    }
    let long = String(repeating: "long ", count: 200_000)
    let answers: [(String, [UInt8])] = [
      ("nothing", []),
      ("an error without fields", Server.message("E", [0])),
      ("a position before the statement", position("0")),
      ("a negative position", position("\(Int.min)")),
      ("a position after the statement", position("\(Int.max)")),
      ("a long message", Server.error([("C", "XX000"), ("M", long)])),
      ("a long hint", Server.error([("C", "XX000"), ("M", "x"), ("H", long), ("D", long)])),
      ("COPY in", Server.message("G", [0, 0, 0])),
      ("COPY out", Server.message("H", [0, 0, 0])),
      ("COPY both", Server.message("W", [0, 0, 0])),
      ("an unknown message", Server.message("!", [1, 2, 3])),
      ("too many values", Server.row(["1"] + [String?](repeating: nil, count: 20))),
      ("no values", Server.message("D", Server.short(0))),
      ("a value longer than its row", Server.message("D", [0, 1, 0, 0, 9, 9, 1])),
      ("a negative count of values", Server.message("D", Server.short(-1))),
      ("a huge length", [UInt8(ascii: "D"), 127, 255, 255, 255]),
      ("a length that is too small", [UInt8(ascii: "D"), 0, 0, 0, 1]),
    ]
    try await check(answers.map { Self.answer(place, $0, $1) })
  }

  @Test(arguments: [Place.recovery, .state, .query])
  func `a result of another statement is a status`(place: Place) async throws {
    typealias Server = HostileServer
    let many = (0..<65_535).map { Server.Column(name: "c\($0)") }
    let results: [(String, [UInt8], [UInt8])] = [
      ("a command", Server.message("n"), Server.complete("INSERT 0 1")),
      (
        "no columns", Server.description([]), Server.row([String?]()) + Server.complete("SELECT 1")
      ),
      (
        "too many columns", Server.description(many),
        Server.row([String?](repeating: "x", count: 65_535)) + Server.complete("SELECT 1")
      ),
      ("nameless columns", Server.message("T", Server.short(65_535)), Server.complete("SELECT 0")),
      (
        "a description that ends early",
        Server.message("T", Server.short(3) + Server.text("a")), Server.complete("SELECT 0")
      ),
    ]
    try await check(
      results.map { name, description, rows in
        Fault(
          name: "\(name) at \(place)",
          // A statement without columns is no query, and is not tried again.
          attempts: place == .query ? 1 : 4,
          happens: { moment in
            if case .describe(let sql) = moment { return sql.contains(place.rawValue) }
            return place.isExecuted(moment)
          },
          misbehave: { moment, client in
            client.send(place.isExecuted(moment) ? rows : description)
          })
      })
  }

  @Test func `silence, or the end of the connection, is a status`() async throws {
    try await check(
      Place.allCases.flatMap { place in
        let silence = Fault(name: "silence at \(place)", happens: place.isExecuted) {
          $1.waitForEnd()
        }
        let end = Fault(name: "end at \(place)", happens: place.isExecuted) { _, client in
          if place == .query { client.send(Array(HostileServer.row(["9", "row 9"]).dropLast(3))) }
          client.close()
        }
        // A query may take any time.
        return place == .query ? [end] : [silence, end]
      })
  }

  @Test func `silence at the description of a query is a status`() async throws {
    try await check([
      Fault(name: "silence", happens: { $0 == .describe(itemQuery) }) { $1.waitForEnd() }
    ])
  }

  @Test func `a result without its end is not shown`() async throws {
    try await check([
      Self.answer(.query, "no end", HostileServer.row(["7", "row 7"]))
    ])
  }

  // MARK: Messages without end

  @Test(arguments: Place.allCases.filter { $0 != .query })
  func `messages without end are a status`(place: Place) async throws {
    typealias Server = HostileServer
    func flood(_ name: String, _ bytes: @escaping @Sendable (Int) -> [UInt8]) -> Fault {
      Fault(name: "\(name) at \(place)", happens: place.isExecuted) { _, client in
        if !place.isSynchronized { client.send(Server.description([.init(name: "state")])) }
        client.flood(bytes)
      }
    }
    let before = Self.residentMegabytes
    let row = Server.row([String(repeating: "x", count: 1000)])
    try await check([
      flood("notices") { Server.notice("notice \($0)") },
      flood("rows") { _ in row },
      flood("notifications") { _ in Server.notification([255, 254], [255]) },
      flood("long notifications") { _ in
        Server.notification(Array("swappable".utf8), [UInt8](repeating: 120, count: 100_000))
      },
    ])
    #expect(Self.residentMegabytes - before < 500)
  }

  /// Returns a query whose result may take few bytes.
  private static func makeLimitedQuery() throws -> PostgresQuery {
    var query = try PostgresQuery(sql: itemQuery, arguments: [], needsUniqueColumnNames: false)
    query.byteLimit = 1 << 20
    return query
  }

  @Test(arguments: [false, true])
  func `rows without end are an error, also if the server does not cancel the query`(
    isCancelSilent: Bool
  ) async throws {
    let server = try HostileServer()
    server.begin(
      Fault(
        name: "rows",
        happens: { Place.query.isExecuted($0) || isCancelSilent && $0 == .cancel },
        misbehave: { moment, client in
          if moment == .cancel { return client.waitForEnd() }
          client.flood { HostileServer.row(["\($0)", "row"]) }
        }))
    let pool = try makePool(server.connectionString, options: Self.options)
    let query = PostgresLiveQuery<Item>(pool: pool, query: try Self.makeLimitedQuery()) {
      try Item($0)
    }
    let error = await #expect(throws: PostgresError.self) {
      _ = try await query.update(.everything) { Snapshot([]) }
    }
    #expect(
      error?.message.contains("larger than 1048576 bytes") == true,
      "\(String(describing: error))")
    server.behave(rows: HostileServer.rows(1...2))
    #expect(try await query.update(.everything) { Snapshot([]) }.changeCount == 2)
  }

  @Test func `servers that do not answer requests to cancel take few threads`() async throws {
    let server = try HostileServer()
    let moments = server.begin(
      Fault(
        name: "silence", happens: { Place.query.isExecuted($0) || $0 == .cancel },
        misbehave: { $1.waitForEnd() }))
    let connections = try (0..<40).map { _ in
      try PostgresConnection(server.connectionString, options: Self.options)
    }
    let tasks = connections.map { connection in Task { try await connection.query(itemQuery) } }
    var iterator = moments.makeAsyncIterator()
    for _ in tasks { _ = await iterator.next() }
    for task in tasks { task.cancel() }
    for task in tasks {
      await #expect(throws: PostgresError.self) { try await task.value }
    }
    server.behave(rows: [])
    var count = 0
    while await iterator.next() != nil { count += 1 }
    #expect((1...16).contains(count))
  }

  // MARK: Values

  @Test(arguments: [
    (23, "abc"), (20, "99999999999999999999"), (21, ""), (16, "maybe"), (700, "1e400"),
    (701, "1e400"), (701, "abc"), (1700, "1e1000000"), (1082, "2024-13-99"),
    (1082, "999999999-01-01"), (1114, "2024-01-01 99:99:99.99999999999"), (1184, "-infinity"),
    (1184, "2024-01-01 00:00:00+999999999:999999999"), (2950, "not a uuid"), (17, "\\x1"),
    (17, "\\xzz"), (114, "{\"a\":"), (1007, "{1,{2"), (1007, "[0:1={1}"), (1007, "{1}}"),
    (1007, "{1,\\"), (1009, "{\"a"), (4_000_000_000, "?"),
  ])
  func `a value that is not of its type is text, or cannot be mapped`(
    type: Int, text: String
  ) throws {
    try check(type: UInt32(type), Array(text.utf8))
  }

  @Test func `values of any length and any bytes can be read`() throws {
    let braces = [UInt8](repeating: UInt8(ascii: "{"), count: 1_000_000)
    let value = braces.withUnsafeBytes { PostgresValue($0, type: PostgresType(rawValue: 1007)) }
    guard case .other = value else {
      Issue.record("braces are an array")
      return
    }
    for type in [16, 17, 20, 23, 25, 700, 701, 1007, 1009, 1082, 1114, 1184, 1700, 2950] {
      for bytes in [
        [], [0], [255, 254], [0xED, 0xA0, 0x80],
        [UInt8](repeating: UInt8(ascii: "{"), count: 500),
        [UInt8](repeating: UInt8(ascii: "9"), count: 500), Array("-".utf8), Array("\\x".utf8),
        [UInt8(ascii: "{")] + [UInt8](repeating: UInt8(ascii: ","), count: 500),
      ] as [[UInt8]] {
        try check(type: UInt32(type), bytes)
      }
    }
  }

  /// Reads a value in all ways. Only a crash is an error.
  private func check(type: UInt32, _ bytes: [UInt8]) throws {
    var rows = RowBatches<PostgresRow>(columns: ResultColumns(["v"], types: [type]))
    rows.cells = [.init(offset: 0, count: Int32(bytes.count))]
    rows.bytes = bytes
    rows.endRow()
    var found: PostgresRow?
    rows.consume { found = $0 }
    let row = try #require(found)
    _ = (row[0], row.description, row.hashValue, row[0].parameterText)
    for read: (PostgresRow) throws -> Any? in [
      { try $0.value(at: 0, as: Int8?.self) }, { try $0.value(at: 0, as: Bool?.self) },
      { try $0.value(at: 0, as: Double?.self) }, { try $0.value(at: 0, as: Float?.self) },
      { try $0.value(at: 0, as: String?.self) }, { try $0.value(at: 0, as: Date?.self) },
      { try $0.value(at: 0, as: UUID?.self) }, { try $0.value(at: 0, as: [Int?].self) },
      { try $0.value(at: 0, as: [UInt8].self) }, { try $0.value(at: 0, as: [[String]].self) },
    ] {
      do throws(any Error) {
        _ = try read(row)
      } catch let error as PostgresError {
        #expect(error.description.utf8.count < 2000)
      }
    }
    var writer = SortKeyWriter()
    for kind in [
      PostgresIncrementalPlan.Order.Kind.integer, .floatingPoint, .numeric, .bytes, .time,
    ] {
      writer.removeAll()
      bytes.withUnsafeBytes { writer.add($0, as: kind) }
    }
  }

  /// The memory of this process, where the system tells it.
  private static var residentMegabytes: Int {
    let status = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
    return (status.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) * 4096 >> 20
  }
}
