import DataSourceTesting
import Diffing
import ReactiveSignals
import Synchronization
import TestTags
import Testing

@testable import ObservableCollections

@Suite struct SourceWriterTests {
  private typealias Feed = SourceWriter<TestElement>

  private func makeFeed(_ ids: [Int]? = nil) -> Feed {
    let writer = Feed(of: LiveCollection<TestElement>.self, location: "here")
    if let ids { writer.publish(.whole(ids.map { TestElement($0) })) }
    return writer
  }

  private func ids(_ writer: Feed) -> [Int] { writer.collection.snapshot.map(\.id) }

  @Test func `an exact change, a status and remarks are one step`() {
    let writer = makeFeed()
    #expect(writer.collection.status == .idle && !writer.collection.state.hasLoaded)
    writer.show(.loading)
    writer.publish(.whole([TestElement(1), TestElement(2)]))
    let observer = RecordingObserver(writer.collection)
    let statuses = Mutex<[SourceStatus]>([])
    let observation = writer.collection.observeStatus { status in
      statuses.withLock { $0.append(status) }
    }
    defer { observation.dispose() }
    let remark = SourceStatus.Diagnostic(code: "slow", message: "The disk is slow.")
    writer.publish(
      .changed(
        Changeset(deletions: [0], insertions: [1], updates: [.init(from: 1, to: 0)]),
        inserted: [TestElement(3)], updated: [TestElement(2, 1)]),
      diagnostics: [remark])
    #expect(ids(writer) == [2, 3] && writer.collection[0].content == 1)
    #expect(observer.changes.count == 1)
    #expect(statuses.withLock { $0 } == [.loaded, SourceStatus(.loaded, diagnostics: [remark])])
    // Nothing changes, so nothing is delivered.
    writer.publish(.same, diagnostics: [remark])
    #expect(observer.changes.count == 1 && statuses.withLock { $0.count } == 2)
  }

  @Test func `a source that has published nothing cannot show that it has loaded`() async {
    await #expect(processExitsWith: .failure) {
      SourceWriter<TestElement>(of: LiveCollection<TestElement>.self).show(.loaded)
    }
  }

  @Test func `the elements of one identity are looked for again if the last one is replaced`() {
    let writer = makeFeed([1, 2, 1])
    #expect(writer.collection.status.diagnostics[0].message.hasPrefix("Elements 0 and 2 "))
    writer.publish(.appended([3, 1].map { TestElement($0) }, replacingLast: true))
    #expect(ids(writer) == [1, 2, 3, 1])
    #expect(writer.collection.status.diagnostics[0].message.hasPrefix("Elements 0 and 3 "))
    writer.publish(.appended([TestElement(4)], replacingLast: true))
    #expect(writer.collection.status.diagnostics.isEmpty)
  }

  @Test func `a failure keeps the contents and the remarks`() {
    let writer = makeFeed([1])
    let remark = SourceStatus.Diagnostic(code: "slow", message: "The disk is slow.")
    writer.publish(.same, diagnostics: [remark])
    let error = SourceError(code: "lost", message: "the line is dead")
    writer.show(.failed(error))
    #expect(writer.collection.status == SourceStatus(.failed(error), diagnostics: [remark]))
    #expect(ids(writer) == [1])
    writer.show(.missing(error), diagnostics: [])
    #expect(writer.collection.status == .missing(error))
    writer.publish(.same)
    #expect(writer.collection.status == .loaded)
  }

  @Test func `an empty list has loaded, also if a failure is published with it`() {
    let writer = makeFeed()
    let error = SourceError(code: "lost", message: "the line is dead")
    writer.show(.failed(error))
    #expect(!writer.collection.state.hasLoaded)
    writer.publish(.whole([]), .failed(error))
    #expect(writer.collection.state.hasLoaded && writer.collection.status == .failed(error))
  }

  @Test func `elements are appended, and the last one is replaced`() {
    let writer = makeFeed([1, 2])
    let observer = RecordingObserver(writer.collection)
    writer.publish(.appended([TestElement(3)]))
    writer.publish(.appended([TestElement(3, 1), TestElement(4)], replacingLast: true))
    #expect(ids(writer) == [1, 2, 3, 4])
    #expect(observer.changes[1].changeset.updates.count == 1)
    writer.publish(.appended([TestElement(5)], replacingLast: true))
    #expect(ids(writer) == [1, 2, 3, 5])
    writer.publish(.appended([], replacingLast: true))
    #expect(ids(writer) == [1, 2, 3])
  }

  @Test func `a wrong exact change stops the program, and says both lengths`() async {
    let result = await #expect(
      processExitsWith: .failure, observing: [\.standardErrorContent]
    ) {
      let writer = SourceWriter<TestElement>(of: LiveCollection<TestElement>.self)
      writer.publish(.whole([TestElement(1), TestElement(2)]))
      writer.publish(.changed(Changeset(deletions: [2]), inserted: [], updated: []))
    }
    let message = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(message.contains("2") && message.contains("3"), "\(message)")
  }

  @Test func `location, mode and reads appear in explanations`() throws {
    let writer = makeFeed()
    writer.setMode("polled", reason: "There are no notifications.")
    writer.publish(.whole([TestElement(1)]), startedAt: .now)
    let text = "\(writer.collection.explain())"
    for part in ["here", "polled", "There are no notifications."] {
      #expect(text.contains(part), "\(text)")
    }
    #expect(writer.collection.explain().nodes.last?.source?.location == "here")
  }

  // MARK: Duplicate identities

  @Test func `a remark names the identity that is repeated first`() {
    let writer = makeFeed([1, 7, 7, 1, 5, 5])
    func message() -> String? { writer.collection.status.diagnostics.first?.message }
    #expect(message()?.contains("Elements 1 and 2 have the same key, 7;") == true)
    writer.publish(.whole([4, 4].map { TestElement($0) }))
    writer.publish(.appended([9, 9, 8, 8].map { TestElement($0) }))
    #expect(message()?.contains("Elements 0 and 1 have the same key, 4;") == true)
    writer.publish(.whole([TestElement(4)]))
    writer.publish(.appended([9, 9, 8, 8].map { TestElement($0) }))
    #expect(message()?.contains("Elements 1 and 2 have the same key, 9;") == true)
  }

  @Test func `a remark names an identity while it is repeated`() {
    let writer = makeFeed([1, 2, 3, 2, 2])
    func message() -> String? { writer.collection.status.diagnostics.first?.message }
    #expect(writer.collection.status.diagnostics.map(\.code) == ["duplicate-identity"])
    #expect(message()?.contains("Elements 1 and 3 have the same key, 2;") == true)
    writer.publish(
      .changed(
        Changeset(deletions: [0, 1], insertions: [3]), inserted: [TestElement(3)], updated: [])
    )
    #expect(ids(writer) == [3, 2, 2, 3])
    #expect(message()?.contains("the same key, 2;") == true)
    writer.publish(.changed(Changeset(deletions: [1]), inserted: [], updated: []))
    #expect(message()?.contains("the same key, 3;") == true)
    writer.publish(.appended([TestElement(1)], replacingLast: true))
    #expect(writer.collection.status == .loaded)
    writer.publish(.appended([TestElement(1)]))
    #expect(message()?.contains("the same key, 1;") == true)
    writer.show(.failed(SourceError(code: "lost", message: "")))
    #expect(message()?.contains("the same key, 1;") == true)
    writer.publish(.whole([]))
    #expect(writer.collection.status == .loaded)
  }

  @Test func `the remarks of a publication that was rolled back are not shown`() {
    struct Failure: Error {}
    let writer = makeFeed([1])
    let remark = SourceStatus.Diagnostic(code: "slow", message: "")
    writer.show(.loading, diagnostics: [remark])
    try? withTransaction { () throws(Failure) in
      writer.publish(.whole([]), diagnostics: [.init(code: "other", message: "")])
      writer.show(.loading)
      throw Failure()
    }
    writer.show(.loaded)
    #expect(writer.collection.status.diagnostics == [remark])
    withTransaction {
      writer.publish(.whole([]), diagnostics: [.init(code: "other", message: "")])
      writer.show(.loading)
    }
    #expect(writer.collection.status.diagnostics.map(\.code) == ["other"])
  }

  @Test func `a list has not loaded if the only publication was rolled back`() {
    struct Failure: Error {}
    let writer = makeFeed()
    withTransaction {
      writer.show(.loading)
      try? withTransaction { () throws(Failure) in
        writer.publish(.whole([TestElement(1)]), diagnostics: [.init(code: "slow", message: "")])
        throw Failure()
      }
      writer.show(.failed(SourceError(code: "lost", message: "")))
    }
    #expect(!writer.collection.state.hasLoaded && writer.collection.isEmpty)
    #expect(writer.collection.status.error?.code == "lost")
    #expect(writer.collection.status.diagnostics == [])
  }

  @Test(
    .reaches("whole", "appended", "changed", "same", "failed transaction", "repeated identity"),
    arguments: 0..<20)
  func `the remark is right after random changes, also if a transaction fails`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    struct Failure: Error {}
    let writer = makeFeed([])
    for _ in 0..<200 {
      let old = writer.collection.snapshot
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
      case .whole: Coverage.note("whole")
      case .appended: Coverage.note("appended")
      case .changed: Coverage.note("changed")
      case .same: Coverage.note("same")
      }
      if random.below(5) == 0 {
        Coverage.note("failed transaction")
        try? withTransaction { () throws(Failure) in
          writer.publish(contents)
          throw Failure()
        }
        #expect(writer.collection.snapshot.elementsEqual(old) { $0.isSame(as: $1) })
      } else {
        writer.publish(contents)
      }
      let ids = ids(writer)
      let isRepeated = Set(ids).count < ids.count
      if isRepeated { Coverage.note("repeated identity") }
      let codes = writer.collection.status.diagnostics.map(\.code)
      #expect(codes == (isRepeated ? ["duplicate-identity"] : []), "seed \(seed): \(ids)")
      // Offsets are those of the first two elements with the identity.
      let message = writer.collection.status.diagnostics.first?.message ?? ""
      let numbers = message.split { !$0.isNumber }.prefix(3).compactMap { Int($0) }
      if message.hasPrefix("Elements") {
        let offsets = ids.indices.filter { ids[$0] == numbers[2] }.prefix(2)
        #expect(numbers.prefix(2) == offsets, "seed \(seed): \(ids), \(message)")
      }
    }
  }
}
