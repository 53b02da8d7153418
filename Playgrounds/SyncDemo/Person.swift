import Swappable
import Synchronizers

/// A person who edits the list on their own device.
struct Person: Sendable {
  typealias Session = SynchronizationSession<Connection>
  typealias Store = SynchronizationStore<Item, Int>

  let name: String
  let connection: Connection
  /// The store from which a session continues after a restart.
  private let store: any Store
  private(set) var session: Session

  init(_ name: String, _ connection: Connection, _ store: any Store) async throws {
    (self.name, self.connection, self.store) = (name, connection, store)
    session = try await Person.open(connection, store)
  }

  /// Restarts the program. The new session knows only the contents of the store.
  mutating func restart() async throws {
    session = try await Person.open(connection, store)
  }

  private static func open(
    _ connection: Connection, _ store: some Store
  ) async throws -> Session {
    try await Session(remote: connection, store: store)
  }

  /// Edits the list in one transaction, and waits until the edit is saved.
  func edit(_ body: @Sendable (CollectionDraft<Item>) -> Void) async throws {
    session.client.transaction(body)
    try await session.save()
  }
}
