import Diffing
import Foundation
import ObservableCollections
import PostgresSources
import TestSupport
import Testing

extension Trait where Self == ConditionTrait {
  /// Runs the tests only if PostgreSQL is installed, or required.
  static var requiresPostgres: Self {
    .enabled(if: PostgresServer.isAvailable, Comment(rawValue: PostgresServer.advice))
  }
}

/// A database of its own, on the server of the test process.
struct TestDatabase: Sendable {
  let server: PostgresServer
  let name: String
  let connection: PostgresConnection

  /// Creates a database and runs SQL in it.
  init(_ sql: String = "", on server: PostgresServer? = nil) async throws {
    self.server = try server ?? .shared()
    name = try self.server.makeDatabase()
    connection = try PostgresConnection(self.server.connectionString(database: name))
    if !sql.isEmpty { try await connection.executeScript(sql) }
  }

  var connectionString: String { server.connectionString(database: name) }

  /// Makes a pool.
  ///
  /// - Parameter listens: A Boolean value that indicates whether the pool listens to notifications.
  func makePool(
    polling: Duration = .milliseconds(20), safety: Duration = .seconds(3600),
    looking: Duration = .milliseconds(2), listens: Bool = false
  ) throws -> PostgresPool {
    try PostgresPool(
      connectionString, listeningOn: listens ? connectionString : nil,
      intervals: PostgresIntervals(polling: polling, safety: safety, looking: looking))
  }
}

struct Item: Differentiable, Equatable, Sendable, Decodable {
  var id: Int
  var title: String
  var differenceIdentifier: Int { id }

  init(id: Int, title: String) {
    self.id = id
    self.title = title
  }

  init(_ row: PostgresRow) throws {
    self.init(id: try row.value("id"), title: try row.value("title"))
  }
}
