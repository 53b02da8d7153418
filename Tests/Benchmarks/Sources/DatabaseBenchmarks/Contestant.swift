import Dispatch
import GRDB
import SQLiteSources
import Swappable

/// An observer of the table `item` of a database, with a writer.
protocol Contestant: AnyObject {
  var name: String { get }
  /// Writes one row with the library's own connection, and does not wait for the observer.
  func write(_ score: Int, to id: Int64) throws
  /// Notes the values that the observer receives.
  var arrival: Arrival { get }
}

/// A data source and a connection of Swappable.
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

/// A connection that the observers do not know, like a connection of another process.
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

/// A `ValueObservation` of all rows and a pool of GRDB.
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
          // The same row is written repeatedly, and only its values change.
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

  /// Sets the row that another connection will write.
  func watch(_ id: Int64) { watched.id = id }

  /// Notifies the pool of a write of another process, as its user must do.
  func notifyChanges() throws {
    try pool.write { try $0.notifyChanges(in: .fullDatabase) }
  }

  /// The row that is written.
  final class Watched: @unchecked Sendable {
    // Sendable: set before a write, and read only by the observer that the write notifies.
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
