import Swappable
import SynchronizerStores
import Synchronizers
import TestSupport
import Testing

/// Tests of the code in the guide "A synchronizing program".
@Suite(.timeLimit(.minutes(10))) struct SynchronizingProgramGuideTests {
  struct Item: Codable, Hashable, Identifiable, Sendable, Differentiable {
    let id: String
    var count: Int
  }

  actor Server: SynchronizationRemote {
    enum Failure { case unreachable, answerLost }
    struct NetworkError: Error {}

    private(set) var items: [Item] = []
    private var version = 0
    private var accepted: [String: Int] = [:]
    private var failures: [Failure] = []

    func fetch(unlessAt known: Int?) throws -> RemoteContents<Item, Int>? {
      try failIfNeeded(.unreachable)
      return known == version ? nil : RemoteContents(items, version: version)
    }

    func push(_ push: RemotePush<Item, Int>) throws -> RemotePush<Item, Int>.Answer {
      try failIfNeeded(.unreachable)
      let answer = apply(push)
      try failIfNeeded(.answerLost)
      return answer
    }

    private func apply(_ push: RemotePush<Item, Int>) -> RemotePush<Item, Int>.Answer {
      if let version = accepted[push.id] { return .accepted(version) }
      guard push.version == version else { return .outdated }
      items = Array(push.after)
      version += 1
      accepted[push.id] = version
      return .accepted(version)
    }

    func fail(_ failure: Failure, times count: Int) {
      failures = Array(repeating: failure, count: count)
    }

    private func failIfNeeded(_ failure: Failure) throws {
      guard failures.last == failure else { return }
      failures.removeLast()
      throw NetworkError()
    }
  }

  typealias Session = SynchronizationSession<Server>

  func start(
    _ store: FileSynchronizationStore<Item, Int>, _ server: Server
  ) async throws -> Session {
    let retry = RetryPolicy(retries: 2, backoff: Backoff(first: .milliseconds(1)))
    let options = Session.Options(retry: retry) { conflict in
      guard let mine = conflict.mine, let theirs = conflict.theirs else { return .theirs }
      return .merged(Item(id: mine.id, count: max(mine.count, theirs.count)))
    }
    return try await Session(remote: server, store: store, options: options)
  }

  func list(_ session: Session) -> String {
    session.client.snapshot.map { "\($0.id) \($0.count)" }.joined(separator: ", ")
  }

  @Test func `the code of the guide is the code that runs here`() throws {
    let guide = try Guide("SynchronizingProgram")
    #expect(guide.code.count == 11)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func `two devices converge after a conflict, retries and a restart`() async throws {
    let directory = try TemporaryDirectory()
    let folder = directory.path
    let print = Printed()

    let server = Server()
    let phoneStore = try FileSynchronizationStore<Item, Int>(path: folder + "/phone.json")
    let laptopStore = try FileSynchronizationStore<Item, Int>(path: folder + "/laptop.json")
    var phone = try await start(phoneStore, server)
    let laptop = try await start(laptopStore, server)

    phone.client.append(Item(id: "Apples", count: 4))
    phone.client.append(Item(id: "Bread", count: 1))
    try await phone.synchronize()
    try await laptop.synchronize()
    print("laptop:", list(laptop))

    phone.client.append(Item(id: "Tea", count: 1))
    laptop.client.remove(identifiedBy: "Bread")
    try await laptop.synchronize()
    try await phone.synchronize()
    try await laptop.synchronize()
    print("phone:", list(phone))
    print("laptop:", list(laptop))

    phone.client.update(identifiedBy: "Apples") { $0.count = 6 }
    laptop.client.update(identifiedBy: "Apples") { $0.count = 5 }
    try await laptop.synchronize()
    let outcome = try await phone.synchronize()
    for resolved in outcome.conflicts {
      print("conflict about", resolved.conflict.mine?.id ?? "a deleted item")
    }
    try await laptop.synchronize()
    print("laptop:", list(laptop))

    phone.client.update(identifiedBy: "Tea") { $0.count = 2 }
    await server.fail(.unreachable, times: 2)
    let repeated = try await phone.synchronize()
    print("phone sent:", repeated.changesForRemote.summary)

    laptop.client.append(Item(id: "Milk", count: 2))
    await server.fail(.unreachable, times: 3)
    do {
      try await laptop.synchronize()
    } catch let error as SynchronizationError {
      print("laptop failed:", error.code)
    }
    try await laptop.synchronize()
    try await phone.synchronize()
    print("phone:", list(phone))

    phone.client.append(Item(id: "Honey", count: 1))
    await server.fail(.answerLost, times: 3)
    do {
      try await phone.synchronize()
    } catch let error as SynchronizationError {
      print("phone failed:", error.code)
    }

    try await laptop.synchronize()
    laptop.client.remove(identifiedBy: "Honey")
    try await laptop.synchronize()

    try await phone.save()
    phone = try await start(phoneStore, server)
    print("phone after the restart:", list(phone))
    try await phone.synchronize()
    print("phone:", list(phone))

    #expect(try print.lines == Guide("SynchronizingProgram").output)
    #expect(await server.items == Array(phone.client.snapshot))
    #expect(laptop.client.snapshot.hasSameContents(as: phone.client.snapshot))

    let background = Task { [phone] in await phone.synchronizeContinuously(every: .seconds(60)) }
    background.cancel()
    await background.value
  }
}
