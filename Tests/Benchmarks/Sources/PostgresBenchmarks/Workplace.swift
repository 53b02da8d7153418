import Foundation
import PostgresSources
import Swappable

/// A row as a program uses it.
struct Item: Identifiable, Hashable, Sendable, Differentiable {
  let id: Int
  var name: String
  var category: String
  var score: Int

  /// The query of all entries. Its order differs from the order of the table.
  static let sql = sql(of: "item")

  /// Returns the query of all entries of a table.
  static func sql(of table: String) -> String {
    "SELECT id, name, category, score FROM \(table) ORDER BY name, id"
  }

  init(_ row: PostgresRow) throws {
    id = try row.value(at: 0)
    name = try row.value(at: 1)
    category = try row.value(at: 2)
    score = try row.value(at: 3)
  }
}

/// The change triggers of a database.
enum Triggers: String, CaseIterable {
  case none = "no triggers"
  case records = "records"
  case recordsAndWakeup = "records and wake-up"

  /// The longest time in milliseconds until a source with nothing else to do looks for a write.
  var interval: Int {
    switch self {
    case .none: 500
    case .records, .recordsAndWakeup: 100
    }
  }
}

/// A database on a server of the benchmarks.
struct Workplace: Sendable {
  let connectionString: String
  let connection: PostgresConnection
  let triggers: Triggers

  /// Creates a database with the table `item`.
  ///
  /// - Parameters:
  ///   - count: The number of rows.
  ///   - triggers: The change triggers of the table.
  init(_ server: PostgresServer, rows count: Int, _ triggers: Triggers) async throws {
    connectionString = server.connectionString(database: try server.makeDatabase())
    connection = try PostgresConnection(connectionString)
    self.triggers = triggers
    try await makeTable("item", rows: count)
  }

  /// Creates a database with 100,000 rows for each kind of change triggers.
  static func forAllTriggers(_ server: PostgresServer) async throws -> [Workplace] {
    var workplaces: [Workplace] = []
    for triggers in Triggers.allCases {
      workplaces.append(try await Workplace(server, rows: 100_000, triggers))
    }
    return workplaces
  }

  /// Creates a table with change triggers.
  func makeTable(_ name: String, rows count: Int) async throws {
    // A permutation of the numbers: the order of the names differs from the order of the table.
    try await connection.executeScript(
      """
      CREATE TABLE \(name) (
        id integer PRIMARY KEY, name text COLLATE "C" NOT NULL, category text NOT NULL,
        score bigint NOT NULL);
      INSERT INTO \(name)
        SELECT n, 'Item number ' || (n * 48271::bigint) % 2147483647, 'Category ' || n % 100, 0
        FROM generate_series(1, \(count)) n
      """)
    try await connection.execute("VACUUM ANALYZE \(name)")
    if triggers != .none {
      try await connection.installChangeTriggers(
        on: [name], wakesReaders: triggers == .recordsAndWakeup)
    }
  }

  /// Creates a data source with a pool of its own. It listens if the triggers wake it up.
  func makeSource(sql: String = Item.sql) throws -> PostgresDataSource<Item> {
    let pool = try PostgresPool(
      connectionString, listeningOn: triggers == .recordsAndWakeup ? connectionString : nil)
    return try PostgresDataSource(pool: pool, sql: sql) { try Item($0) }
  }
}

/// The scores that an observer receives, in order.
final class Arrivals {
  private let observation: Disposable
  private var scores: AsyncStream<(score: Int, time: ContinuousClock.Instant)>.Iterator

  init(_ source: PostgresDataSource<Item>) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: (score: Int, time: ContinuousClock.Instant).self)
    scores = stream.makeAsyncIterator()
    observation = source.observe { event in
      guard case .change(let change) = event else { return }
      let now = ContinuousClock().now
      for update in change.updated { continuation.yield((update.new.score, now)) }
    }
  }

  /// Waits for a score, and returns the time of its arrival.
  func wait(for score: Int) async -> ContinuousClock.Instant {
    while let next = await scores.next() {
      if next.score == score { return next.time }
    }
    fatalError("the observation ended before score \(score) arrived")
  }

  deinit { observation.dispose() }
}

extension Duration {
  var nanoseconds: Double {
    let (seconds, attoseconds) = components
    return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
  }
}

/// Returns the resident memory of this process and its highest value, in bytes.
func residentMemory() -> (now: Int, highest: Int) {
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  func value(_ name: String) -> Int {
    let line = status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
    let words = line?.split(whereSeparator: \.isWhitespace) ?? []
    return words.count > 1 ? (Int(words[1]) ?? 0) * 1024 : 0
  }
  return (value("VmRSS"), value("VmHWM"))
}
