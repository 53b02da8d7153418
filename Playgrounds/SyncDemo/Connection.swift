import Swappable
import Synchronization
import Synchronizers

/// One person's way to the server, which can fail in the ways that networks do.
final class Connection: SynchronizationRemote {
  /// What a connection does wrong.
  enum Fault: Sendable {
    /// Nothing.
    case none
    /// There is no connection.
    case offline
    /// The server is reached, and its answer to a push is lost.
    case losesAnswer
  }

  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  private let server: InMemoryRemote<Item>
  private let fault = Mutex(Fault.none)
  /// Called once, when contents were fetched.
  private let whenFetched = Mutex<(@Sendable () async throws -> Void)?>(nil)

  init(to server: InMemoryRemote<Item>) {
    self.server = server
  }

  /// From now on it does this.
  func set(_ fault: Fault) {
    self.fault.withLock { $0 = fault }
  }

  /// Does something between the next fetch and the push that follows it.
  func afterNextFetch(_ body: @escaping @Sendable () async throws -> Void) {
    whenFetched.withLock { $0 = body }
  }

  func fetch(unlessAt version: Int?) async throws -> RemoteContents<Item, Int>? {
    try checkIsOnline()
    let contents = await server.fetch(unlessAt: version)
    let body = whenFetched.withLock { body in
      defer { body = nil }
      return body
    }
    try await body?()
    return contents
  }

  func push(_ push: RemotePush<Item, Int>) async throws -> PushAnswer<Int> {
    try checkIsOnline()
    let answer = await server.push(push)
    if fault.withLock({ $0 == .losesAnswer }) { throw Failure(description: "the line went dead") }
    return answer
  }

  private func checkIsOnline() throws {
    if fault.withLock({ $0 == .offline }) { throw Failure(description: "there is no network") }
  }
}

extension Connection: CustomStringConvertible {
  var description: String { "the server" }
}
