import Foundation
import Swappable
import SynchronizerStores
import Synchronizers
import TestSupport
import Testing

/// Tests of the code in the guide "Differential synchronization".
@Suite(.timeLimit(.minutes(10))) struct DifferentialSynchronizationGuideTests {
  struct Stock: Codable, Hashable, Identifiable, Sendable, Differentiable {
    let id: Int
    var count: Int
  }

  actor Shelf: SynchronizationRemote {
    private var stocks: [Stock] = []
    private var version = 0
    private var accepted: [String: Int] = [:]

    func fetch(unlessAt known: Int?) -> RemoteContents<Stock, Int>? {
      known == version ? nil : RemoteContents(stocks, version: version)
    }

    func push(_ push: RemotePush<Stock, Int>) -> RemotePush<Stock, Int>.Answer {
      // The answer to this push was lost. Do not apply the push again.
      if let version = accepted[push.id] { return .accepted(version) }
      guard push.version == version else { return .outdated }
      stocks = Array(push.after)
      version += 1
      accepted[push.id] = version
      return .accepted(version)
    }
  }

  @Test func `the code of the guide is the code that runs here`() throws {
    let guide = try Guide("DifferentialSynchronization")
    #expect(guide.code.count == 7)
    let recipe = try Guide.package().appendingPathComponent(
      "Tests/GuideTests/FilesInStepGuideTests.swift")
    let missing = try Set(guide.paragraphs(missingIn: #filePath))
      .intersection(guide.paragraphs(missingIn: recipe.path))
    #expect(missing == [])
  }

  @Test func `a merge takes theirs unless a closure decides`() {
    let base = [Stock(id: 1, count: 1)]
    let mine = [Stock(id: 1, count: 5)]
    let theirs = [Stock(id: 1, count: 3)]
    let merge = ThreeWayMerge(base: base, mine: mine, theirs: theirs)
    print(merge.merged)  // the contents for both sides
    print(merge.changesForMine, merge.changesForTheirs)  // the changes for each side
    for resolved in merge.conflicts { print(resolved) }
    #expect(merge.merged == theirs)
    #expect(
      merge.conflicts.map(\.description) == [
        "conflict at 1: both sides edited it (count is 5 in mine and 3 in theirs); theirs wins"
      ])

    let larger = ThreeWayMerge(base: base, mine: mine, theirs: theirs) { conflict in
      guard let mine = conflict.mine, let theirs = conflict.theirs else { return .theirs }
      return .merged(Stock(id: mine.id, count: max(mine.count, theirs.count)))
    }
    #expect(larger.merged == mine)
  }

  @Test func `a session sends its edits`() async throws {
    let server = Shelf()  // see below
    let session = SynchronizationSession(remote: server)
    session.client.append(Stock(id: 7, count: 1))
    let outcome = try await session.synchronize()
    print("\(outcome.changesForRemote.summary) sent, \(outcome.conflicts.count) conflicts")
    #expect(outcome.changesForRemote.summary == "1 inserted" && outcome.conflicts.isEmpty)
    #expect(
      await server.fetch(unlessAt: nil).map { Array($0.elements) } == [Stock(id: 7, count: 1)])
  }

  @Test func `a session with a store continues after a restart`() async throws {
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
