import DataSourceTesting
import Diffing
import ReactiveSignals
import Synchronization
import TestTags
import Testing

@testable import ObservableCollections

@Suite struct SourceFeedTests {
  private typealias Feed = SourceFeed<TestElement>

  private func makeFeed(_ ids: [Int]? = nil) -> Feed {
    let feed = Feed(of: LiveCollection<TestElement>.self, location: "here")
    if let ids { feed.publish(.whole(ids.map { TestElement($0) })) }
    return feed
  }

  private func ids(_ feed: Feed) -> [Int] { feed.collection.snapshot.map(\.id) }

  @Test func `an exact change, a status and remarks are one step`() {
    let feed = makeFeed()
    #expect(feed.collection.status == .idle && !feed.collection.state.hasLoaded)
    feed.show(.loading)
    feed.publish(.whole([TestElement(1), TestElement(2)]))
    let observer = RecordingObserver(feed.collection)
    let statuses = Mutex<[SourceStatus]>([])
    let observation = feed.collection.observeStatus { status in
      statuses.withLock { $0.append(status) }
    }
    defer { observation.dispose() }
    let remark = SourceStatus.Diagnostic(code: "slow", message: "The disk is slow.")
    feed.publish(
      .changed(
        Changeset(deletions: [0], insertions: [1], updates: [.init(from: 1, to: 0)]),
        inserted: [TestElement(3)], updated: [TestElement(2, 1)]),
      diagnostics: [remark])
    #expect(ids(feed) == [2, 3] && feed.collection[0].content == 1)
    #expect(observer.changes.count == 1)
    #expect(statuses.withLock { $0 } == [.loaded, SourceStatus(.loaded, diagnostics: [remark])])
    // Nothing changes, so nothing is delivered.
    feed.publish(.same, diagnostics: [remark])
    #expect(observer.changes.count == 1 && statuses.withLock { $0.count } == 2)
  }

  @Test func `a source that has published nothing cannot show that it has loaded`() async {
    await #expect(processExitsWith: .failure) {
      SourceFeed<TestElement>(of: LiveCollection<TestElement>.self).show(.loaded)
    }
  }

  @Test func `the elements of one identity are looked for again if the last one is replaced`() {
    let feed = makeFeed([1, 2, 1])
    #expect(feed.collection.status.diagnostics[0].message.hasPrefix("Elements 0 and 2 "))
    feed.publish(.appended([3, 1].map { TestElement($0) }, replacingLast: true))
    #expect(ids(feed) == [1, 2, 3, 1])
    #expect(feed.collection.status.diagnostics[0].message.hasPrefix("Elements 0 and 3 "))
    feed.publish(.appended([TestElement(4)], replacingLast: true))
    #expect(feed.collection.status.diagnostics.isEmpty)
  }

  @Test func `a failure keeps the contents and the remarks`() {
    let feed = makeFeed([1])
    let remark = SourceStatus.Diagnostic(code: "slow", message: "The disk is slow.")
    feed.publish(.same, diagnostics: [remark])
    let error = SourceError(code: "lost", message: "the line is dead")
    feed.show(.failed(error))
    #expect(feed.collection.status == SourceStatus(.failed(error), diagnostics: [remark]))
    #expect(ids(feed) == [1])
    feed.show(.missing(error), diagnostics: [])
    #expect(feed.collection.status == .missing(error))
    feed.publish(.same)
    #expect(feed.collection.status == .loaded)
  }

  @Test func `an empty list has loaded, also if a failure is published with it`() {
    let feed = makeFeed()
    let error = SourceError(code: "lost", message: "the line is dead")
    feed.show(.failed(error))
    #expect(!feed.collection.state.hasLoaded)
    feed.publish(.whole([]), .failed(error))
    #expect(feed.collection.state.hasLoaded && feed.collection.status == .failed(error))
  }

  @Test func `elements are appended, and the last one is replaced`() {
    let feed = makeFeed([1, 2])
    let observer = RecordingObserver(feed.collection)
    feed.publish(.appended([TestElement(3)]))
    feed.publish(.appended([TestElement(3, 1), TestElement(4)], replacingLast: true))
    #expect(ids(feed) == [1, 2, 3, 4])
    #expect(observer.changes[1].changeset.updates.count == 1)
    feed.publish(.appended([TestElement(5)], replacingLast: true))
    #expect(ids(feed) == [1, 2, 3, 5])
    feed.publish(.appended([], replacingLast: true))
    #expect(ids(feed) == [1, 2, 3])
  }

  @Test func `a wrong exact change stops the program, and says both lengths`() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let feed = SourceFeed<TestElement>(of: LiveCollection<TestElement>.self)
      feed.publish(.whole([TestElement(1), TestElement(2)]))
      feed.publish(.changed(Changeset(deletions: [2]), inserted: [], updated: []))
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("2") && message.contains("3"), "\(message)")
  }

  @Test func `location, mode and reads appear in explanations`() throws {
    let feed = makeFeed()
    feed.setMode("polled", reason: "There are no notifications.")
    feed.publish(.whole([TestElement(1)]), startedAt: .now)
    let text = "\(feed.collection.explain())"
    for part in ["here", "polled", "There are no notifications."] {
      #expect(text.contains(part), "\(text)")
    }
    #expect(feed.collection.explain().nodes.last?.source?.location == "here")
  }

  // MARK: Duplicate identities

  @Test func `a remark names the identity that is repeated first`() {
    let feed = makeFeed([1, 7, 7, 1, 5, 5])
    func message() -> String? { feed.collection.status.diagnostics.first?.message }
    #expect(message()?.contains("Elements 1 and 2 have the same key, 7;") == true)
    feed.publish(.whole([4, 4].map { TestElement($0) }))
    feed.publish(.appended([9, 9, 8, 8].map { TestElement($0) }))
    #expect(message()?.contains("Elements 0 and 1 have the same key, 4;") == true)
    feed.publish(.whole([TestElement(4)]))
    feed.publish(.appended([9, 9, 8, 8].map { TestElement($0) }))
    #expect(message()?.contains("Elements 1 and 2 have the same key, 9;") == true)
  }

  @Test func `a remark names an identity while it is repeated`() {
    let feed = makeFeed([1, 2, 3, 2, 2])
    func message() -> String? { feed.collection.status.diagnostics.first?.message }
    #expect(feed.collection.status.diagnostics.map(\.code) == ["duplicate-identity"])
    #expect(message()?.contains("Elements 1 and 3 have the same key, 2;") == true)
    feed.publish(
      .changed(
        Changeset(deletions: [0, 1], insertions: [3]), inserted: [TestElement(3)], updated: [])
    )
    #expect(ids(feed) == [3, 2, 2, 3])
    #expect(message()?.contains("the same key, 2;") == true)
    feed.publish(.changed(Changeset(deletions: [1]), inserted: [], updated: []))
    #expect(message()?.contains("the same key, 3;") == true)
    feed.publish(.appended([TestElement(1)], replacingLast: true))
    #expect(feed.collection.status == .loaded)
    feed.publish(.appended([TestElement(1)]))
    #expect(message()?.contains("the same key, 1;") == true)
    feed.show(.failed(SourceError(code: "lost", message: "")))
    #expect(message()?.contains("the same key, 1;") == true)
    feed.publish(.whole([]))
    #expect(feed.collection.status == .loaded)
  }

  @Test func `the remarks of a publication that was rolled back are not shown`() {
    struct Failure: Error {}
    let feed = makeFeed([1])
    let remark = SourceStatus.Diagnostic(code: "slow", message: "")
    feed.show(.loading, diagnostics: [remark])
    try? withTransaction { () throws(Failure) in
      feed.publish(.whole([]), diagnostics: [.init(code: "other", message: "")])
      feed.show(.loading)
      throw Failure()
    }
    feed.show(.loaded)
    #expect(feed.collection.status.diagnostics == [remark])
    withTransaction {
      feed.publish(.whole([]), diagnostics: [.init(code: "other", message: "")])
      feed.show(.loading)
    }
    #expect(feed.collection.status.diagnostics.map(\.code) == ["other"])
  }

  @Test func `a list has not loaded if the only publication was rolled back`() {
    struct Failure: Error {}
    let feed = makeFeed()
    withTransaction {
      feed.show(.loading)
      try? withTransaction { () throws(Failure) in
        feed.publish(.whole([TestElement(1)]), diagnostics: [.init(code: "slow", message: "")])
        throw Failure()
      }
      feed.show(.failed(SourceError(code: "lost", message: "")))
    }
    #expect(!feed.collection.state.hasLoaded && feed.collection.isEmpty)
    #expect(feed.collection.status.error?.code == "lost")
    #expect(feed.collection.status.diagnostics == [])
  }

  @Test(
    .reaches("whole", "appended", "changed", "same", "failed transaction", "repeated identity"),
    arguments: 0..<20)
  func `the remark is right after random changes, also if a transaction fails`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    struct Failure: Error {}
    let feed = makeFeed([])
    for _ in 0..<200 {
      let old = feed.collection.snapshot
      let contents: Feed.Contents
      switch random.below(4) {
      case 0: contents = .whole((0..<random.below(8)).map { _ in TestElement(random.below(9)) })
      case 1:
        contents = .appended(
          [TestElement(random.below(9))], replacingLast: !old.isEmpty && random.below(2) == 0)
      case 2 where !old.isEmpty:
        let offset = random.below(old.count)
        contents = .changed(
          Changeset(deletions: [offset], insertions: [0]), inserted: [TestElement(random.below(9))],
          updated: [])
      default: contents = .same
      }
      switch contents {
      case .whole: Reach.note("whole")
      case .appended: Reach.note("appended")
      case .changed: Reach.note("changed")
      case .same: Reach.note("same")
      }
      if random.below(5) == 0 {
        Reach.note("failed transaction")
        try? withTransaction { () throws(Failure) in
          feed.publish(contents)
          throw Failure()
        }
        #expect(feed.collection.snapshot.elementsEqual(old) { $0.isSame(as: $1) })
      } else {
        feed.publish(contents)
      }
      let ids = ids(feed)
      let isRepeated = Set(ids).count < ids.count
      if isRepeated { Reach.note("repeated identity") }
      let codes = feed.collection.status.diagnostics.map(\.code)
      #expect(codes == (isRepeated ? ["duplicate-identity"] : []), "seed \(seed): \(ids)")
      // Offsets are those of the first two elements with the identity.
      let message = feed.collection.status.diagnostics.first?.message ?? ""
      let numbers = message.split { !$0.isNumber }.prefix(3).compactMap { Int($0) }
      if message.hasPrefix("Elements") {
        let offsets = ids.indices.filter { ids[$0] == numbers[2] }.prefix(2)
        #expect(numbers.prefix(2) == offsets, "seed \(seed): \(ids), \(message)")
      }
    }
  }
}
