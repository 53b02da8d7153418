import Swappable
import Synchronization
import Synchronizers

/// The connection of one person to the server. It can fail like a network.
final class Connection: SynchronizationRemote {
  /// A way in which the connection fails.
  enum Fault: Sendable {
    /// The connection works.
    case none
    /// The server cannot be reached.
    case offline
    /// The server receives a push, but its answer is lost.
    case losesAnswer
  }

  struct ConnectionError: Error, CustomStringConvertible {
    let description: String
  }

  private let server: InMemoryRemote<Item>
  private let fault = Mutex(Fault.none)
  /// A closure that is called once, after the next fetch.
  private let afterFetch = Mutex<(@Sendable () async throws -> Void)?>(nil)

  init(to server: InMemoryRemote<Item>) {
    self.server = server
  }

  /// Sets the way in which the connection fails from now on.
  func set(_ fault: Fault) {
    self.fault.withLock { $0 = fault }
  }

  /// Sets a closure to call between the next fetch and the push that follows it.
  func afterNextFetch(_ body: @escaping @Sendable () async throws -> Void) {
    afterFetch.withLock { $0 = body }
  }

  func fetch(unlessAt version: Int?) async throws -> RemoteContents<Item, Int>? {
    try checkIsOnline()
    let contents = await server.fetch(unlessAt: version)
    let body = afterFetch.withLock { body in
      defer { body = nil }
      return body
    }
    try await body?()
    return contents
  }

  func push(_ push: RemotePush<Item, Int>) async throws -> RemotePush<Item, Int>.Answer {
    try checkIsOnline()
    let answer = await server.push(push)
    if fault.withLock({ $0 == .losesAnswer }) {
      throw ConnectionError(description: "the line went dead")
    }
    return answer
  }

  private func checkIsOnline() throws {
    if fault.withLock({ $0 == .offline }) {
      throw ConnectionError(description: "there is no network")
    }
  }
}

extension Connection: CustomStringConvertible {
  var description: String { "the server" }
}
