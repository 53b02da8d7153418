import Diffing
import ObservableCollections
import SQLiteSources
import Testing

@testable import SQLiteSources

/// An element that holds all that a row does.
struct Record: Differentiable, Equatable, Sendable {
  var key: SQLiteValue
  var values: [SQLiteValue]

  var differenceIdentifier: SQLiteValue { key }
}

/// Runs a query's keeper step by step, and compares what it shows with what a fresh query gives.
final class KeeperHarness {
  let keeper: QueryKeeper<Record>
  let contents = CollectionProperty<Record>(status: .loading)
  private let expectedSQL: String
  private let arguments: SQLiteArguments
  private let keyColumn: Int

  /// - Parameters:
  ///   - sql: The query.
  ///   - expected: The same with the primary key as the last term of its order.
  init(
    _ monitor: ChangeMonitor, _ sql: String, expected: String? = nil,
    arguments: SQLiteArguments = [], keyColumn: Int = 0, tracking: ChangeTracking = .init()
  ) {
    expectedSQL = expected ?? sql
    self.arguments = arguments
    self.keyColumn = keyColumn
    let query = SQLiteQuery(sql: sql, arguments: arguments, needsUniqueColumnNames: false)
    keeper = QueryKeeper(monitor: monitor, query: query, tracking: tracking) { row in
      Record(key: row[keyColumn], values: row.values)
    }
  }

  var isIncremental: Bool { keeper.diagnostics.allSatisfy { $0.code != "not-incremental" } }

  /// Lets the keeper run, and shows what came of it.
  ///
  /// - Returns: The error, where it failed.
  @discardableResult
  func run(looks: Bool) -> SQLiteError? {
    switch keeper.run(looks: looks, client: nil, shown: { contents.collection.snapshot }) {
    case .unchanged: return nil
    case .replaced(let elements): contents.publish(elements, status: .loaded)
    case .changed(let changeset, let inserted, let updated):
      let old = contents.collection.snapshot
      contents.edit { $0.apply(changeset, inserted: inserted, updated: updated) }
      // Where identities are unique, no fewer moves could do, and no fewer updates are true.
      let new = contents.collection.snapshot
      if Set(old.map(\.key)).count == old.count, Set(new.map(\.key)).count == new.count {
        let difference = Changeset(from: Array(old), to: Array(new))
        #expect(changeset.changeCount == difference.changeCount)
      }
    case .failed(let error, _, _): return error
    }
    return nil
  }

  /// What a fresh query gives.
  func expected(_ connection: SQLiteConnection) throws -> [Record] {
    try connection.query(expectedSQL, arguments).map {
      Record(key: $0[keyColumn], values: $0.values)
    }
  }

  var shown: [Record] { Array(contents.collection.snapshot) }
}
