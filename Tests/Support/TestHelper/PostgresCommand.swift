import DataSourceTesting
import Diffing
import Dispatch
import Foundation
import ObservableCollections
import PostgresSources

/// A row of the observed query, whose first column is the identity.
private struct ObservedRow: Differentiable, Equatable, Sendable {
  var values: [PostgresValue]
  var differenceIdentifier: PostgresValue { values[0] }

  init(_ row: PostgresRow) { values = row.values }
}

/// `postgres CONNINFO SQL`: observes a query until the input ends.
///
/// It answers each line `check` when the observer shows the result of a fresh query, with `ok` and the number of
/// events. If an event breaks the event contract, or the result is not shown within two minutes, it answers with an
/// error.
func runPostgresCommand(_ arguments: [String]) -> Int32 {
  guard arguments.count == 2 else {
    answer("error: postgres needs a connection string and a query")
    return 2
  }
  do {
    let pool = try PostgresPool(arguments[0])
    let source = try PostgresDataSource(pool: pool, sql: arguments[1]) { ObservedRow($0) }
    let observer = RecordingObserver(source, keeps: 4)
    answer("ok")
    Thread.detachNewThread {
      while readLine() != nil {
        let done = DispatchSemaphore(value: 0)
        Task {
          answer(await check(pool, source, observer))
          done.signal()
        }
        done.wait()
      }
      exitHelper(0)
    }
    dispatchMain()
  } catch {
    answer("error: \(error)")
    return 1
  }
}

private func check(
  _ pool: PostgresPool, _ source: PostgresDataSource<ObservedRow>,
  _ observer: RecordingObserver<ObservedRow>
) async -> String {
  do {
    let fresh = try await pool.withConnection { connection in
      try await connection.query(source.sql) { ObservedRow($0) }
    }
    try await observer.wait(forContents: fresh, timeout: .seconds(120))
    try observer.check(against: source)
    return "ok \(observer.eventCount)"
  } catch {
    return "error: \(error), status: \(source.status)".replacing("\n", with: " ")
  }
}
