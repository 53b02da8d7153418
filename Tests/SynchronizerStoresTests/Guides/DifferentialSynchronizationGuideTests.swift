import Diffing
import Foundation
import ObservableCollections
import SynchronizerStores
import Synchronizers
import TestSupport
import Testing

struct Stock: Codable, Hashable, Identifiable, Sendable, Differentiable {
  let id: Int
  var count: Int
}

actor Shelf: SynchronizationRemote {
  private var stocks: [Stock] = []
  private var version = 0
  private var taken: [PushIdentifier: Int] = [:]

  func fetch(unlessAt known: Int?) -> RemoteContents<Stock, Int>? {
    known == version ? nil : RemoteContents(stocks, version: version)
  }

  func push(_ push: RemotePush<Stock, Int>) -> PushAnswer<Int> {
    // Repeated, as the answer was lost: done once.
    if let version = taken[push.id] { return .accepted(version) }
    guard push.version == version else { return .refused }
    stocks = Array(push.after)
    version += 1
    taken[push.id] = version
    return .accepted(version)
  }
}

/// The code of the guide "Differential synchronisation".
@Suite struct DifferentialSynchronizationGuideTests {
  @Test func theGuidesCodeIsWhatIsRunHere() throws {
    let guide = try Guide("DifferentialSynchronization")
    #expect(guide.code.count == 5)
    #expect(try guide.paragraphs(missingIn: #filePath) == [])
  }

  @Test func merging() {
    let base = [Stock(id: 1, count: 1)]
    let mine = [Stock(id: 1, count: 5)]
    let theirs = [Stock(id: 1, count: 3)]
    let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs)
    print(merge.merged)  // what both are to hold
    print(merge.changesForMine, merge.changesForTheirs)  // what leads each side there
    for resolved in merge.conflicts { print(resolved.conflict.kind, resolved.resolution) }
    #expect(merge.merged == theirs && merge.conflicts.count == 1)

    let larger = ThreeWayMerge(base: base, mine: mine, theirs: theirs) { conflict in
      guard let mine = conflict.mine, let theirs = conflict.theirs else { return .theirs }
      return .merged(Stock(id: mine.id, count: max(mine.count, theirs.count)))
    }
    #expect(larger.merged == mine)
  }

  @Test func aSession() async throws {
    let server = Shelf()  // as below
    let session = SynchronizationSession(remote: server)
    session.client.append(Stock(id: 7, count: 1))
    let outcome = try await session.synchronize()
    print("\(outcome.changesForRemote.summary) sent, \(outcome.conflicts.count) conflicts")
    #expect(outcome.changesForRemote.summary == "1 inserted" && outcome.conflicts.isEmpty)
    #expect(
      await server.fetch(unlessAt: nil).map { Array($0.elements) } == [Stock(id: 7, count: 1)])
  }

  @Test func aSessionWithAStore() async throws {
    let directory = try TemporaryDirectory()
    let path = directory("stock.db")
    let server = Shelf()
    for count in 1...3 {
      let store = try SQLiteSynchronizationStore<Stock, Int>(path: path, name: "stock")
      let kept = try await SynchronizationSession(remote: server, store: store)
      #expect(kept.client.count == count - 1)
      kept.client.append(Stock(id: count, count: 0))
      if count == 2 { try await kept.synchronize() } else { try await kept.save() }
    }
  }
}
