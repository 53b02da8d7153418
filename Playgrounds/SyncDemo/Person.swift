import Swappable
import Synchronizers

/// One who edits the list on a device of their own.
struct Person: Sendable {
  typealias Session = SynchronizationSession<Connection>
  typealias Store = SynchronizationStore<Item, Int>

  let name: String
  let connection: Connection
  /// Where the session finds itself again when the program is started anew.
  private let store: any Store
  private(set) var session: Session

  init(_ name: String, _ connection: Connection, _ store: any Store) async throws {
    (self.name, self.connection, self.store) = (name, connection, store)
    session = try await Person.open(connection, store)
  }

  /// Ends the program, and starts it again: all that is left is what the store holds.
  mutating func restart() async throws {
    session = try await Person.open(connection, store)
  }

  private static func open(
    _ connection: Connection, _ store: some Store
  ) async throws -> Session {
    try await Session(remote: connection, store: store)
  }

  /// Edits the list in one step, and waits until that is saved.
  func edit(_ body: @Sendable (CollectionDraft<Item>) -> Void) async throws {
    session.client.transaction(body)
    try await session.save()
  }
}
