import Dispatch
import GRDB
import SQLiteSources
import Swappable

/// Somebody who observes the table `item` of a database and writes to it.
protocol Contestant: AnyObject {
  var name: String { get }
  /// Writes one row in the observed way, and returns at once.
  func write(_ score: Int, to id: Int64) throws
  /// Where the value arrives.
  var arrival: Arrival { get }
}

/// Swappable's data source, and a connection.
final class SwappableContestant: Contestant {
  let name = "Swappable"
  let arrival = Arrival()
  private let connection: Connection
  private let source: SQLiteDataSource<Item>
  private let observation: Disposable

  init(path: String) async throws {
    connection = try Connection(writingTo: path)
    source = try SQLiteDataSource(path: path, sql: Item.sql) { try Item($0) }
    observation = source.observe { [arrival] event in
      guard case .change(let change) = event else { return }
      for update in change.updated { arrival.saw(update.new.score) }
    }
    try await source.loaded()
  }

  func write(_ score: Int, to id: Int64) throws {
    try connection.execute(
      "UPDATE item SET score = ? WHERE id = ?", [Double(score), id])
  }
}

/// A connection that nobody is told of, as another process's.
final class Stranger {
  private let queue: DatabaseQueue

  init(path: String) throws {
    var configuration = Configuration()
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = NORMAL") }
    queue = try DatabaseQueue(path: path, configuration: configuration)
  }

  func write(_ score: Int, to id: Int64) throws {
    try queue.write { database in
      try database.execute(
        sql: "UPDATE item SET score = ? WHERE id = ?", arguments: [Double(score), id])
    }
  }
}

/// GRDB's `ValueObservation` of all rows, and its pool.
final class GRDBContestant<Record: FetchableRecord & Scored & Sendable>: Contestant {
  let name: String
  let arrival = Arrival()
  private let pool: DatabasePool
  private let observation: AnyDatabaseCancellable
  private let watched = Watched()

  init(_ name: String, path: String) throws {
    self.name = name
    pool = try DatabasePool(path: path)
    let (arrival, watched) = (arrival, watched)
    let first = DispatchSemaphore(value: 0)
    observation =
      ValueObservation
      .tracking { try Record.fetchAll($0, sql: Item.sql) }
      .start(
        in: pool, scheduling: .async(onQueue: DispatchQueue(label: "observer")),
        onError: { fatalError("\($0)") },
        onChange: { records in
          // One row is written again and again, and values are what changes in it.
          arrival.saw(records[watched.place(in: records)].score)
          first.signal()
        })
    first.wait()
  }

  func write(_ score: Int, to id: Int64) throws {
    watched.id = id
    try pool.write { database in
      try database.execute(
        sql: "UPDATE item SET score = ? WHERE id = ?", arguments: [Double(score), id])
    }
  }

  /// Tells which row will be written by somebody else.
  func watch(_ id: Int64) { watched.id = id }

  /// What its user has to do after another process has written.
  func notifyChanges() throws {
    try pool.write { try $0.notifyChanges(in: .fullDatabase) }
  }

  /// Which row is written.
  final class Watched: @unchecked Sendable {
    // Sendable: written before a write, read by what that write leads to.
    var id: Int64 = 1
    private var known = (id: Int64(0), place: 0)

    func place(in records: [Record]) -> Int {
      if known.id != id {
        known = (id, records.firstIndex { $0.id == id } ?? 0)
      }
      return known.place
    }
  }
}
