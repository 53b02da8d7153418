import DataSourceTesting
import Diffing
import ObservableCollections
import SQLSources
import SQLiteSources
import Testing

@testable import SQLiteSources

/// An element with all values of a row.
struct Record: Differentiable, Equatable, Sendable {
  var key: SQLiteValue
  var values: [SQLiteValue]

  var differenceIdentifier: SQLiteValue { key }
}

/// Updates a live query step by step, and publishes its changes.
final class LiveQueryHarness {
  let query: SQLiteLiveQuery<Record>
  let contents = ArrayDataSource<Record>(status: .loading)
  private let expectedSQL: String
  private let arguments: SQLiteArguments
  private let keyColumn: Int

  /// Creates a live query that is updated by hand.
  ///
  /// - Parameters:
  ///   - monitor: The monitor of the database.
  ///   - sql: The query.
  ///   - expected: The query with the primary key as its last ORDER BY term, for the comparison.
  ///   - arguments: The arguments of the query.
  ///   - keyColumn: The position of the identity.
  ///   - tracking: The way in which written rows are collected.
  init(
    _ monitor: ChangeMonitor, _ sql: String, expected: String? = nil,
    arguments: SQLiteArguments = [], keyColumn: Int = 0, tracking: ChangeTracking = .init()
  ) {
    expectedSQL = expected ?? sql
    self.arguments = arguments
    self.keyColumn = keyColumn
    let query = SQLiteQuery(sql: sql, arguments: arguments, needsUniqueColumnNames: false)
    self.query = SQLiteLiveQuery(monitor: monitor, query: query, tracking: tracking) { row in
      Record(key: row[keyColumn], values: row.values)
    }
  }

  var isIncremental: Bool { query.diagnostics.allSatisfy { $0.code != "not-incremental" } }

  /// Updates the query and publishes the change.
  ///
  /// - Returns: The error, if the update failed.
  @discardableResult
  func run(including changes: DatabaseChange.Extent) -> SQLiteError? {
    let result = query.update(including: changes, client: nil) { contents.collection.snapshot }
    guard case .contents(let change, _) = result.outcome else { return result.error }
    switch change {
    case .same, .appended: return nil
    case .whole(let elements): contents.publish(elements, status: .loaded)
    case .changed(let changeset, let inserted, let updated):
      Coverage.note(changeset)
      let old = contents.collection.snapshot
      contents.edit { $0.apply(changeset, inserted: inserted, updated: updated) }
      // With unique identities, the change has the fewest possible moves and only true updates.
      let new = contents.collection.snapshot
      if Set(old.map(\.key)).count == old.count, Set(new.map(\.key)).count == new.count {
        let difference = Changeset(from: Array(old), to: Array(new))
        #expect(changeset.changeCount == difference.changeCount)
      }
    }
    return nil
  }

  /// Returns the result of a fresh query.
  func expected(_ connection: SQLiteConnection) throws -> [Record] {
    try connection.query(expectedSQL, arguments).map {
      Record(key: $0[keyColumn], values: $0.values)
    }
  }

  var shown: [Record] { Array(contents.collection.snapshot) }
}

extension PolledDataSource.ReadResult {
  /// The error of a read that has failed.
  var error: SQLiteError? {
    switch outcome {
    case .failure(.failed(let error), _), .failure(.missing(let error), _):
      error.underlying as? SQLiteError
    default: nil
    }
  }
}
