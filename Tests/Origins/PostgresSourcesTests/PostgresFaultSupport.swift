import ObservableCollections
import PostgresSources
import SwappablePrimitives
import TestSupport
import Testing

/// The query of fault tests.
let itemQuery = "SELECT id, title FROM item ORDER BY id"
let itemTable = "CREATE TABLE item (id integer PRIMARY KEY, title text NOT NULL)"

func makeItems(_ ids: some Sequence<Int>, _ title: String = "row") -> [Item] {
  ids.map { Item(id: $0, title: "\(title) \($0)") }
}

func makePool(
  _ connectionString: String, polling: Duration = .milliseconds(20),
  safety: Duration = .seconds(3600), maximumConnections: Int = 4,
  options: PostgresOptions = PostgresOptions()
) throws -> PostgresPool {
  try PostgresPool(
    connectionString, maximumConnections: maximumConnections, options: options,
    intervals: PostgresIntervals(polling: polling, safety: safety))
}

func makeSource(
  _ pool: PostgresPool, _ sql: String = itemQuery
) throws -> PostgresDataSource<Item> {
  try PostgresDataSource(pool: pool, sql: sql) { try Item($0) }
}

extension SourceRecorder {
  /// Waits until the source has failed with an error of PostgreSQL, and returns the error.
  @discardableResult
  func waitForFailure(
    _ code: PostgresError.Code, where condition: (PostgresError) -> Bool = { _ in true }
  ) async throws -> PostgresError {
    var found: PostgresError?
    try await wait { record in
      found = record.state.flatMap(postgresError)
      return found.map { $0.code == code && condition($0) } ?? false
    }
    return try #require(found)
  }

  /// Waits until a status was a failure, also if it is over.
  func waitUntilFailed() async throws {
    try await wait { record in record.statuses.contains { postgresError($0.state) != nil } }
  }

  /// The errors of all statuses so far.
  var failures: [PostgresError] {
    record.statuses.compactMap { postgresError($0.state) }
  }
}

/// Returns the error of a status.
func postgresError(_ state: SourceStatus.State) -> PostgresError? {
  switch state {
  case .failed(let error), .missing(let error): error.underlying as? PostgresError
  default: nil
  }
}

/// Runs a closure with each element, a few of them at the same time.
func forEachConcurrently<Element: Sendable>(
  _ elements: [Element], limit: Int = 8, _ body: @escaping @Sendable (Element) async throws -> Void
) async throws {
  try await withThrowingTaskGroup(of: Void.self) { group in
    for (position, element) in elements.enumerated() {
      if position >= limit { try await group.next() }
      group.addTask { try await body(element) }
    }
    try await group.waitForAll()
  }
}

/// A Boolean value that is set once.
final class Flag: Sendable {
  private let value = Locked(false)

  var isSet: Bool { value.withLock { $0 } }

  /// Sets the flag.
  ///
  /// - Returns: `true` if it was not set before.
  @discardableResult
  func set() -> Bool {
    value.withLock { value in
      defer { value = true }
      return !value
    }
  }
}
